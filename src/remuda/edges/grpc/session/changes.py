"""Which frame told an RM last that a node changed (EXT-5).

A verdict says up to which frame it is current. If a later frame told a change of a node, what the
verdict says about that node is worth nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from remuda.core.messages.effects import AllocationNew, Effect, EventRecord
from remuda.core.messages.events import NODE, NODE_DECOMISSION, NODE_RESERVATION

# Records about nodes that say nothing of what is on them.
_NO_CHANGE: Final = (NODE_RESERVATION,)


class Changes:
    """The last change of each node, by the number of the frame that told it. Rules: EXT-5."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}

    def note(self, node_ids: Iterable[str], number: int) -> None:
        """Nodes changed, and the frames up to ``number`` tell it."""
        for node_id in node_ids:
            self._told[node_id] = number

    def after(self, node_ids: Iterable[str], applied: int) -> tuple[str, ...]:
        """Return those nodes of which a frame after ``applied`` told a change."""
        told = self._told
        return tuple([node_id for node_id in node_ids if told.get(node_id, 0) > applied])

    def forget(self, node_id: str) -> None:
        """A node is gone."""
        self._told.pop(node_id, None)


def changed_nodes(effects: Sequence[Effect]) -> tuple[list[str], list[str]]:
    """Return the nodes that changed, and those of them that are gone."""
    changed: list[str] = []
    gone: list[str] = []
    for effect in effects:
        if isinstance(effect, AllocationNew):
            changed.append(effect.node_id)
        elif isinstance(effect, EventRecord) and effect.kind == NODE:
            if effect.detail not in _NO_CHANGE:
                changed.append(effect.object_id)
            if effect.detail == NODE_DECOMISSION:
                gone.append(effect.object_id)
    return changed, gone
