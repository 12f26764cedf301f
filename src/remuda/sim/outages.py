"""Nodes that fail in a simulation, and come back.

At a failure the resource manager takes the node away, and the scheduler ends what runs on it. The
work of a task that is cut short is lost; the resource manager asks for the same task again at once.
When the node is repaired it is added anew. Without outages no node ever fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

from remuda.base.message import message


@message
class Outage:
    """One failure of a node (its place in the scenario), from one instant to a later one."""

    node: int
    from_ns: int
    to_ns: int


@final
class Outages:
    """The failures and repairs still to come."""

    def __init__(self, outages: Sequence[Outage]) -> None:
        changes = [(each.from_ns, 1, each.node) for each in outages]
        changes += [(each.to_ns, 0, each.node) for each in outages]
        # Latest first. At one instant repairs come before failures.
        self._changes = sorted(changes, reverse=True)

    def next_change(self) -> int | None:
        """Return when the next node fails or comes back."""
        return self._changes[-1][0] if self._changes else None

    def due(self, now_ns: int) -> Iterator[tuple[int, bool]]:
        """Yield the nodes that change now, once each, and whether they fail."""
        while self.next_change() == now_ns:
            _, fails, node = self._changes.pop()
            yield node, bool(fails)
