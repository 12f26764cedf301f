"""Asks in the order they are served, which is mostly the order in which they came.

So those that come in order form a *run*, a list that is read from its head; only asks that belong
before one that is already there go into a heap. Adding, serving and taking out an ask costs O(1)
in the usual case and O(log n) in the worst, but for a shift of the run's memory when one is taken
out of its middle.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING, Final, final

from remuda.core.model.ranking import SortKey

if TYPE_CHECKING:
    from remuda.core.model.request import Request

# Entries of the heap tolerated beyond four for each ask, and asks before the head of the run; both
# keep memory proportional to content.
_SLACK: Final = 4
_SMALL: Final = 64
_SERVED: Final = 16

_by_key: Final = attrgetter("sort_key")


@final
class AskOrder:
    """Asks by sort key, smallest first (QUE-44).

    ``asks``: by number; changed by ``put`` and ``drop`` only. All in the run, from its head on, are
    in, before it there is nothing; an entry of the heap counts while an ask that is in has that
    very key.
    """

    __slots__ = ("_first", "_head", "_late", "_run", "asks")

    def __init__(self) -> None:
        self.asks: dict[int, Request] = {}
        self._run: list[Request | None] = []
        self._head: int = 0
        self._late: list[SortKey] = []
        self._first: Request | None = None

    def put(self, request: Request) -> None:
        """Add an ask that is not in."""
        key = request.sort_key
        self.asks[request.number] = request
        run = self._run
        last = run[-1] if run else None
        if last is None or key > last.sort_key:
            run.append(request)
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
        run = self._run
        head = self._head
        if head < len(run) and run[head] is request:
            run[head] = None  # an ask that ended is kept by nobody
            self._head = head + 1
            if head >= _SERVED and 2 * head >= len(run):
                del run[: head + 1]
                self._head = 0
        else:
            place = bisect_left(run, request.sort_key, head, key=_by_key)
            if place < len(run) and run[place] is request:
                del run[place]
        if len(self._late) > _SLACK * len(asks) + _SMALL:
            self._run = [*sorted(asks.values(), key=_by_key)]
            self._late = []
            self._head = 0

    def first(self) -> Request:
        """Return the ask that is served next; there must be one."""
        found = self._first
        if found is None:
            found = self._find() if self._late else self._run[self._head]
            assert found is not None
            self._first = found
        return found

    def _find(self) -> Request:
        """Return the first of run and heap; drop what does not count any more from the heap."""
        found = self._run[self._head] if self._head < len(self._run) else None
        late = self._late
        while late:
            number = late[0][-1]
            assert isinstance(number, int)
            other = self.asks.get(number)
            if other is not None and other.sort_key is late[0]:
                if found is None or late[0] < found.sort_key:
                    found = other
                break
            heappop(late)
        assert found is not None
        return found
