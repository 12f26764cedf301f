"""Asks in the order they are served, which is mostly the order in which they came.

So those that come in order form a *run*, a list that is read from its head; only asks that belong
before one that is already there go into a heap. Adding, serving and taking out an ask costs O(1)
in the usual case and O(log n) in the worst.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, final

from remuda.core.model.ranking import SortKey

if TYPE_CHECKING:
    from remuda.core.model.request import Request

# Entries tolerated beyond four for each ask; keeps memory proportional to content.
_SLACK = 4
_SMALL = 64


@final
class AskOrder:
    """Asks by sort key, smallest first (QUE-44).

    ``asks``: by number; changed by ``put`` and ``drop`` only. An entry of the run or the heap
    counts while an ask that is in has that very key; others are dropped when they surface.
    """

    __slots__ = ("_first", "_head", "_late", "_run", "asks")

    def __init__(self) -> None:
        self.asks: dict[int, Request] = {}
        self._run: list[SortKey] = []
        self._head: int = 0
        self._late: list[SortKey] = []
        self._first: Request | None = None

    def put(self, request: Request) -> None:
        """Add an ask that is not in."""
        key = request.sort_key
        self.asks[request.number] = request
        run = self._run
        if not run or key >= run[-1]:
            run.append(key)
        else:
            heappush(self._late, key)
        if self._first is not None and key < self._first.sort_key:
            self._first = request

    def drop(self, request: Request) -> None:
        """Take an ask out that is in."""
        asks = self.asks
        del asks[request.number]
        if request is self._first:
            self._first = None
            if self._head < len(self._run) and self._run[self._head] is request.sort_key:
                self._head += 1
        if len(self._run) + len(self._late) > _SLACK * len(asks) + _SMALL:
            self._run = sorted([each.sort_key for each in asks.values()])
            self._late = []
            self._head = 0

    def first(self) -> Request:
        """Return the ask that is served next; there must be one."""
        found = self._first
        if found is None:
            found = self._find()
            self._first = found
        return found

    def _find(self) -> Request:
        """Drop what does not count any more from the front, and return the first that does."""
        run = self._run
        found: Request | None = None
        while self._head < len(run):
            found = self._ask(run[self._head])
            if found is not None:
                break
            self._head += 1
        late = self._late
        while late:
            other = self._ask(late[0])
            if other is not None:
                if found is None or other.sort_key < found.sort_key:
                    found = other
                break
            heappop(late)
        assert found is not None
        return found

    def _ask(self, key: SortKey) -> Request | None:
        number = key[-1]
        assert isinstance(number, int)
        found = self.asks.get(number)
        return found if found is not None and found.sort_key is key else None
