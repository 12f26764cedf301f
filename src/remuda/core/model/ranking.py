"""A priority queue whose keys may change: the one ordered structure of the scheduling path.

Queues, lanes, applications and asks are all kept in order incrementally. A heap with entries
that are dropped when they surface stale costs O(log n) per change and nothing for what does
not change. Every key ends in something unique, so the order never rests on insertion history.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TypeAlias, final

SortKey: TypeAlias = tuple[object, ...]

# Stale entries tolerated before the heap is rebuilt; keeps memory proportional to content.
_SLACK = 4
_SMALL = 64


@final
class Ranking:
    """Numbered members by key, smallest first."""

    __slots__ = ("_heap", "_keys")

    def __init__(self) -> None:
        self._heap: list[tuple[SortKey, int]] = []
        self._keys: dict[int, SortKey] = {}

    def __len__(self) -> int:
        """Return how many members there are."""
        return len(self._keys)

    def put(self, number: int, key: SortKey) -> None:
        """Add a member or change its key. Cost: O(log n)."""
        keys = self._keys
        if keys.get(number) == key:
            return
        keys[number] = key
        heap = self._heap
        if len(heap) > _SMALL and len(heap) > _SLACK * len(keys):
            self._heap = [(each, member) for member, each in keys.items()]
            heapify(self._heap)
        else:
            heappush(heap, (key, number))

    def drop(self, number: int) -> None:
        """Take a member out; unknown numbers are fine."""
        self._keys.pop(number, None)
        if not self._keys:
            self._heap.clear()

    def first(self) -> int:
        """Return the member with the smallest key, or -1 when there is none."""
        heap = self._heap
        keys = self._keys
        while heap:
            entry = heap[0]
            if keys.get(entry[1]) is entry[0]:
                return entry[1]
            heappop(heap)
        return -1

    def first_key(self) -> SortKey:
        """Return the smallest key. Must not be called when empty."""
        self.first()
        return self._heap[0][0]

    def key(self, number: int) -> SortKey | None:
        """Return the key of a member, None if it is not one."""
        return self._keys.get(number)

    def members(self) -> list[int]:
        """Return all members by number."""
        return sorted(self._keys)
