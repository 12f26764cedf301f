"""How many of something there are at each priority, and the highest of them.

Applications, leaves and parents all show "the highest priority below me" (QUE-27, QUE-28);
counting keeps that exact when the last holder of the highest goes away.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, final

MIN_PRIORITY: Final = -(2**31)
MAX_PRIORITY: Final = 2**31 - 1

# Stale heap entries tolerated before the heap is rebuilt; keeps memory proportional to content.
_SLACK: Final = 4
_SMALL: Final = 64


@final
class PriorityCount:
    """A multiset of priorities; ``highest`` is MIN_PRIORITY when empty. Rules: QUE-27, QUE-28."""

    __slots__ = ("_counts", "_heap", "highest")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._heap: list[int] = []
        self.highest: int = MIN_PRIORITY

    def add(self, priority: int) -> None:
        """Count one more at a priority. Cost: O(log n)."""
        count = self._counts.get(priority, 0)
        self._counts[priority] = count + 1
        if count == 0:
            if len(self._heap) > _SMALL and len(self._heap) > _SLACK * len(self._counts):
                self._heap = [-each for each in self._counts]
                heapify(self._heap)
            else:
                heappush(self._heap, -priority)
            if priority > self.highest:
                self.highest = priority

    def remove(self, priority: int) -> None:
        """Count one less at a priority that was added."""
        count = self._counts[priority]
        if count > 1:
            self._counts[priority] = count - 1
            return
        del self._counts[priority]
        if priority == self.highest:
            heap = self._heap
            while heap and -heap[0] not in self._counts:
                heappop(heap)
            self.highest = -heap[0] if heap else MIN_PRIORITY

    def counts(self) -> dict[int, int]:
        """Return priority -> count, sorted, for checks."""
        return dict(sorted(self._counts.items()))


def visible(current: int, offset: int, fence: bool) -> int:
    """Return the priority a queue shows to its parent. Rules: QUE-29."""
    if current == MIN_PRIORITY:
        return MIN_PRIORITY
    if fence:
        return offset
    return max(MIN_PRIORITY, min(MAX_PRIORITY, current + offset))
