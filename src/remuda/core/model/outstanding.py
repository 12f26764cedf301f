"""The asks the RM may have to be told about: it should get more nodes (rules: CYC-30).

An ask is here from the moment somebody tried to place it until nothing of it is pending or it was
reported. What is reported costs nothing any more, and what did not change is not looked at again.
"""

from __future__ import annotations

from typing import final

from remuda.core.model.queue import Queue
from remuda.core.model.request import Request


@final
class LeafAsks:
    """Those of one leaf: by the number of their amounts, then by their own.

    ``quota``: at the last look limits of users or groups had a part in what qualified, so that a
    change in another part of the tree may change that.
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
    """Asks of a partition that were tried, wait and were never reported, by path of their leaf.

    ``changed``: leaves in which something changed since the last look; ``all_changed``: settings
    or shares did. ``timer_set``: a look is due. ``to_tell``: what the last look found and the RM
    was not told yet, the next one last.
    """

    __slots__ = ("all_changed", "changed", "leaves", "timer_set", "to_tell")

    def __init__(self) -> None:
        self.leaves: dict[str, LeafAsks] = {}
        self.changed: dict[str, Queue] = {}
        self.all_changed: bool = False
        self.timer_set: bool = False
        self.to_tell: list[Request] = []

    def add(self, request: Request) -> None:
        """Add an ask that was tried and waits, unless it is never reported. Rules: CYC-30."""
        if request.outstanding or request.reported or request.required_node():
            return
        leaf = request.application.queue
        assert leaf is not None
        asks = self.leaves.get(leaf.path)
        if asks is None:
            asks = LeafAsks(leaf)
            self.leaves[leaf.path] = asks
        asks.by_amounts.setdefault(request.amounts.number, {})[request.number] = request
        request.outstanding = True
        self.changed[leaf.path] = leaf

    def discard(self, request: Request) -> None:
        """Take an ask out that is in; its amounts are still those it came with. Rules: CYC-30."""
        leaf = request.application.queue
        assert leaf is not None
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
