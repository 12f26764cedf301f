"""A priority queue whose keys may change; the scheduling path uses it for all orders.

Class queues, limit groups and applications are kept in order incrementally, with a heap whose stale
entries are dropped when they reach the top. That costs O(log n) per change. No two keys are equal,
so the order never depends on the history of insertions.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import TypeAlias, final

SortKey: TypeAlias = tuple[object, ...]

# How many stale entries are tolerated before the heap is rebuilt, which bounds memory.
_SLACK = 4
_SMALL = 64


@final
class Ranking:
    """Numbered members by key, smallest first. A key ends in the number of its member.

    ``keys``: number -> key; changed by ``put`` and ``drop`` only. ``_first`` caches the result of
    ``first``, -1 after a change that may affect it.
    """

    __slots__ = ("_first", "_heap", "keys")

    def __init__(self) -> None:
        self._heap: list[SortKey] = []
        self._first: int = -1
        self.keys: dict[int, SortKey] = {}

    def put(self, key: SortKey) -> None:
        """Add a member or change its key. Cost: O(log n)."""
        keys = self.keys
        number = key[-1]
        assert isinstance(number, int)
        old = keys.get(number)
        heap = self._heap
        if old is not None:
            if len(keys) == 1:
                keys[number] = key
                self._heap = [key]
                self._first = number
                return
            if heap[0] is old:
                keys[number] = key
                self._first = -1
                heapreplace(heap, key)
                return
            if old == key:
                return
        keys[number] = key
        self._first = -1
        if len(heap) > _SMALL and len(heap) > _SLACK * len(keys):
            self._heap = [*keys.values()]
            heapify(self._heap)
        else:
            heappush(heap, key)

    def drop(self, number: int) -> None:
        """Remove a member; unknown numbers are ignored."""
        key = self.keys.pop(number, None)
        self._first = -1
        heap = self._heap
        if heap and heap[0] is key:
            heappop(heap)
        if not self.keys:
            self._heap = []

    def clear(self) -> None:
        """Remove all members. Rules: RLD-23."""
        self.keys.clear()
        self._heap = []
        self._first = -1

    def first(self) -> int:
        """Return the member with the smallest key, or -1 when there is none."""
        if self._first >= 0:
            return self._first
        heap = self._heap
        keys = self.keys
        while heap:
            key = heap[0]
            number = key[-1]
            assert isinstance(number, int)
            if keys.get(number) is key:
                self._first = number
                return number
            heappop(heap)
        return -1

    def first_key(self) -> SortKey:
        """Return the smallest key; the ranking must not be empty."""
        return self.keys[self.first()]
