"""Asks to report to the RM: more nodes would allow them to be placed (rules: CYC-30).

An ask is listed from the first decision about it until nothing of it is pending or it was reported.
Reported asks cost nothing, and leaves without changes are not looked at again.
"""

from __future__ import annotations

from typing import final

from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts


@final
class LeafAsks:
    """The outstanding asks of one leaf: by application, then by number, as they were first tried.

    ``kinds``: number of amounts -> how many of the asks want these amounts, which are in
    ``amounts``. ``quota``: at the last look, limits of users or groups affected the result, so a
    change in another part of the tree may change it.
    """

    __slots__ = ("amounts", "by_application", "kinds", "leaf", "quota")

    def __init__(self, leaf: Queue) -> None:
        self.leaf = leaf
        self.by_application: dict[int, dict[int, Request]] = {}
        self.kinds: dict[int, int] = {}
        self.amounts: dict[int, Amounts] = {}
        self.quota: bool = False

    def count(self) -> int:
        """Return how many there are. Rules: CYC-30."""
        return sum([len(asks) for asks in self.by_application.values()])

    def count_of(self, application: Application) -> int:
        """Return how many an application has. Rules: CYC-30."""
        return len(self.by_application.get(application.number, ()))

    def add(self, request: Request) -> None:
        """Add an ask."""
        number, kind = request.application.number, request.amounts.number
        self.by_application.setdefault(number, {})[request.number] = request
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.amounts[kind] = request.amounts

    def discard(self, request: Request) -> None:
        """Remove an ask; its amounts must be those it was added with."""
        number, kind = request.application.number, request.amounts.number
        asks = self.by_application[number]
        del asks[request.number]
        if not asks:
            del self.by_application[number]
        self.kinds[kind] -= 1
        if not self.kinds[kind]:
            del self.kinds[kind], self.amounts[kind]


@final
class Outstanding:
    """Asks of a partition that were tried, still wait and were never reported.

    ``leaves``: the asks by path of their leaf. ``changed``: leaves with changes since the last
    look, and those which it left unfinished; ``all_changed``: settings or shares changed.
    ``unfinished``: the last look left some. ``timer_set``: the timer of the next look is set.
    ``to_report``: asks that the last look found and that were not reported yet, the next one last.
    """

    __slots__ = ("all_changed", "changed", "leaves", "timer_set", "to_report", "unfinished")

    def __init__(self) -> None:
        self.leaves: dict[str, LeafAsks] = {}
        self.changed: dict[str, Queue] = {}
        self.all_changed: bool = False
        self.unfinished: bool = False
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
        asks.add(request)
        request.outstanding = True
        self.changed[leaf.path] = leaf

    def discard(self, request: Request) -> None:
        """Remove an ask; its amounts must be those it was added with. Rules: CYC-30."""
        leaf = request.application.queue
        request.outstanding = False
        asks = self.leaves[leaf.path]
        asks.discard(request)
        if not asks.by_application:
            del self.leaves[leaf.path]
            if not self.leaves:
                self.changed.clear()
