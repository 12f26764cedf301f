"""Asks in the order they are served, which is mostly the order in which they came.

So those that come in order form a *run*, a list that is read from its head; an ask that belongs
before one that is already there is put between them where there are few, else into a heap, until
the heap has the most. Adding, serving and taking out an ask costs O(1) in the usual case and
O(log n) in the worst, but for a shift of the run's memory when one is taken out of its middle.
"""

from __future__ import annotations

from bisect import bisect_left, insort
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

# Among so many asks one is put between others, which is cheaper than a heap.
_FEW: Final = 16

_by_key: Final = attrgetter("sort_key")


@final
class AskOrder:
    """Asks by sort key, smallest first (QUE-44).

    ``count``: how many are in. All in the run, from its head on, are in, before it there is
    nothing. ``_late``: the others, by number; of the heap an entry counts while one of them has
    that very key.
    """

    __slots__ = ("_first", "_head", "_heap", "_late", "_run", "count")

    def __init__(self) -> None:
        self.count: int = 0
        self._run: list[Request | None] = []
        self._head: int = 0
        self._late: dict[int, Request] = {}
        self._heap: list[SortKey] = []
        self._first: Request | None = None

    def put(self, request: Request) -> None:
        """Add an ask that is not in."""
        self.count += 1
        key = request.sort_key
        run = self._run
        last = run[-1] if run else None
        if last is None or key > last.sort_key:
            run.append(request)
        elif self.count <= _FEW:
            insort(run, request, self._head, key=_by_key)
        else:
            self._late[request.number] = request
            heappush(self._heap, key)
        if self._first is not None and key < self._first.sort_key:
            self._first = request

    def drop(self, request: Request) -> None:
        """Take an ask out that is in."""
        self.count -= 1
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
        elif self._late.pop(request.number, None) is None:
            del run[bisect_left(run, request.sort_key, head, key=_by_key)]
        if len(self._heap) > _SLACK * self.count + _SMALL:
            self._merge()

    def first(self) -> Request:
        """Return the ask that is served next; there must be one."""
        found = self._first
        if found is None:
            found = self._find() if self._heap else self._run[self._head]
            assert found is not None
            self._first = found
        return found

    def asks(self) -> list[Request]:
        """Return all that are in, those that came in order first."""
        found = [request for request in self._run[self._head :] if request is not None]
        return [*found, *self._late.values()]

    def _merge(self) -> None:
        """Let all that are in be the run."""
        self._run = [*sorted(self.asks(), key=_by_key)]
        self._head = 0
        self._late = {}
        self._heap = []

    def _find(self) -> Request:
        """Return the first of run and heap; drop what does not count any more from the heap.

        Where most came late they are sorted into the run: that is paid once for each of them.
        """
        if 2 * len(self._late) > self.count:
            self._merge()
        found = self._run[self._head] if self._head < len(self._run) else None
        heap = self._heap
        while heap:
            number = heap[0][-1]
            assert isinstance(number, int)
            other = self._late.get(number)
            if other is not None and other.sort_key is heap[0]:
                if found is None or heap[0] < found.sort_key:
                    found = other
                break
            heappop(heap)
        assert found is not None
        return found
