"""Notes for each node the last frame that reported a change of it to the RM (EXT-5).

A verdict names the last frame that the RM had applied. If a later frame reported a change of a
node, the verdict on that node is void.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from remuda.core.messages.effects import AllocationNew, Effect, EventRecord
from remuda.core.messages.events import NODE, NODE_DECOMISSION, NODE_RESERVATION

# Records about nodes that do not concern the allocations on them.
_NO_CHANGE: Final = (NODE_RESERVATION,)


class Changes:
    """The last change of each node, by the number of the frame that reported it. Rules: EXT-5."""

    def __init__(self) -> None:
        self._reported: dict[str, int] = {}

    def note(self, node_ids: Iterable[str], number: int) -> None:
        """Note changed nodes; the frames up to ``number`` report the changes."""
        for node_id in node_ids:
            self._reported[node_id] = number

    def after(self, node_ids: Iterable[str], applied: int) -> tuple[str, ...]:
        """Return the nodes for which a frame after ``applied`` reported a change."""
        reported = self._reported
        return tuple([node_id for node_id in node_ids if reported.get(node_id, 0) > applied])

    def forget(self, node_id: str) -> None:
        """Forget a node that was removed."""
        self._reported.pop(node_id, None)


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
