"""Keeps asks in the order of service, which is usually the order of arrival.

Asks that arrive in order form a *run*, a list that is read from its head. An ask that arrives late
is inserted into the run if that is short, else into a heap. If most asks are in the heap, they are
merged into the run. Adding, serving and removing an ask costs O(1) usually and O(log n) at worst;
removing one from the middle of the run also shifts the rest of the list.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING, Final, final

from remuda.core.model.ranking import SortKey

if TYPE_CHECKING:
    from remuda.core.model.asks.request import Request

# These limits keep memory proportional to the number of asks. The heap keeps _SLACK stale entries
# for each ask, and _SMALL more. The run keeps _SERVED places of asks that were served.
_SLACK: Final = 4
_SMALL: Final = 64
_SERVED: Final = 16

# Up to so many asks, inserting into the run is cheaper than a heap.
_FEW: Final = 16

_by_key: Final = attrgetter("sort_key")


@final
class AskOrder:
    """Asks by sort key, smallest first.

    ``count``: how many asks there are. ``_run``: asks in order, from index ``_head`` on. ``_late``:
    the other asks, by number; a heap entry is valid while one of them has that very key.
    Implements: QUE-44.
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
        """Add a new ask."""
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
        """Remove an ask, which has to be there."""
        self.count -= 1
        if request is self._first:
            self._first = None
        run = self._run
        head = self._head
        if head < len(run) and run[head] is request:
            run[head] = None  # do not keep a reference to the ask
            self._head = head + 1
            if head >= _SERVED and 2 * head >= len(run):
                del run[: head + 1]
                self._head = 0
        elif self._late.pop(request.number, None) is None:
            del run[bisect_left(run, request.sort_key, head, key=_by_key)]
        if len(self._heap) > _SLACK * self.count + _SMALL:
            self._merge()

    def first(self) -> Request:
        """Return the ask that is served next; the order must not be empty."""
        found = self._first
        if found is None:
            found = self._find() if self._heap else self._run[self._head]
            assert found is not None
            self._first = found
        return found

    def asks(self) -> list[Request]:
        """Return all asks: those of the run first, then the late ones."""
        found = [request for request in self._run[self._head :] if request is not None]
        return [*found, *self._late.values()]

    def in_order(self) -> Iterator[Request]:
        """Yield the asks in the order of service; nothing may change meanwhile.

        Cost: O(1) usually and O(log n) at worst for each ask that is taken, and once a copy of the
        heap.
        """
        late = self._late_in_order()
        other = next(late, None)
        for place in range(self._head, len(self._run)):
            request = self._run[place]
            assert request is not None
            while other is not None and other.sort_key < request.sort_key:
                yield other
                other = next(late, None)
            yield request
        if other is not None:
            yield other
            yield from late

    def _late_in_order(self) -> Iterator[Request]:
        """Yield the late asks, each once; one that came back may have several valid entries."""
        heap = self._heap.copy()
        last: Request | None = None
        while heap:
            key = heappop(heap)
            number = key[-1]
            assert isinstance(number, int)
            request = self._late.get(number)
            if request is not None and request.sort_key is key and request is not last:
                last = request
                yield request

    def oldest_ns(self) -> int:
        """Return when the oldest ask was created; the order must not be empty.

        Cost: a search in the run for each priority, and a look at each late ask.
        """
        run, place, found = self._run, self._head, 0
        if self.count == 1:
            return self.first().created_ns
        while place < len(run):
            request = run[place]
            assert request is not None
            if not found or request.created_ns < found:
                found = request.created_ns
            # Within a priority the oldest ask comes first; find where the next priority begins.
            place = bisect_left(run, (-request.ask.priority + 1,), place + 1, key=_by_key)
        for request in self._late.values():
            if not found or request.created_ns < found:
                found = request.created_ns
        return found

    def _merge(self) -> None:
        """Move all late asks into the run."""
        self._run = [*sorted(self.asks(), key=_by_key)]
        self._head = 0
        self._late = {}
        self._heap = []

    def _find(self) -> Request:
        """Return the first ask of run and heap; drop stale entries from the heap.

        If most asks are late, they are merged into the run; that costs once for each of them.
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
