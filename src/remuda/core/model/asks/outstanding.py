"""Asks to report to the RM: more nodes would allow them to be placed (rules: CYC-30).

An ask is listed from the first decision about it until nothing of it is pending or it was reported.
Reported asks cost nothing, and leaves without changes are not looked at again.
"""

from __future__ import annotations

from typing import final

from remuda.core.model.asks.request import Request
from remuda.core.model.queues.queue import Queue


@final
class LeafAsks:
    """The outstanding asks of one leaf, by number of their amounts, then by number of the ask.

    ``quota``: at the last look, limits of users or groups affected the result, so a change in
    another part of the tree may change it.
    """

    __slots__ = ("by_amounts", "leaf", "quota")

    def __init__(self, leaf: Queue) -> None:
        self.leaf = leaf
        self.by_amounts: dict[int, dict[int, Request]] = {}
        self.quota: bool = False

    def count(self) -> int:
        """Return how many there are. Rules: CYC-30."""
        return sum([len(equal) for equal in self.by_amounts.values()])


@final
class Outstanding:
    """Asks of a partition that were tried, still wait and were never reported.

    ``leaves``: the asks by path of their leaf. ``changed``: leaves with changes since the last
    look; ``all_changed``: settings or shares changed. ``timer_set``: the timer of the next look is
    set. ``to_report``: asks that the last look found and that were not reported yet, the next one
    last.
    """

    __slots__ = ("all_changed", "changed", "leaves", "timer_set", "to_report")

    def __init__(self) -> None:
        self.leaves: dict[str, LeafAsks] = {}
        self.changed: dict[str, Queue] = {}
        self.all_changed: bool = False
        self.timer_set: bool = False
        self.to_report: list[Request] = []

    def add(self, request: Request) -> None:
        """Add an ask that was tried and waits, unless it must not be reported. Rules: CYC-30."""
        if request.outstanding or request.reported or request.required_node():
            return
        leaf = request.application.queue
        asks = self.leaves.get(leaf.path)
        if asks is None:
            asks = LeafAsks(leaf)
            self.leaves[leaf.path] = asks
        asks.by_amounts.setdefault(request.amounts.number, {})[request.number] = request
        request.outstanding = True
        self.changed[leaf.path] = leaf

    def discard(self, request: Request) -> None:
        """Remove an ask; its amounts must be those it was added with. Rules: CYC-30."""
        leaf = request.application.queue
        request.outstanding = False
        asks = self.leaves[leaf.path]
        equal = asks.by_amounts[request.amounts.number]
        del equal[request.number]
        if not equal:
            del asks.by_amounts[request.amounts.number]
            if not asks.by_amounts:
                del self.leaves[leaf.path]
                if not self.leaves:
                    self.changed.clear()
