"""Counts objects by priority, and gives the highest priority.

Applications, leaves and parents all show the highest priority below them (QUE-27, QUE-28). With
counts, that stays exact when the last object with the highest priority ends.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, final

MIN_PRIORITY: Final = -(2**31)
MAX_PRIORITY: Final = 2**31 - 1

# How many stale heap entries are tolerated before the heap is rebuilt, which bounds memory.
_SLACK: Final = 4
_SMALL: Final = 64


@final
class PriorityCount:
    """A multiset of priorities; ``highest`` is MIN_PRIORITY when empty.

    ``_most``: how many have the highest priority, which most changes concern; ``_counts``: how many
    have each other priority. The heap has the other priorities, negated.

    Implements: QUE-27. Rules: QUE-28.
    """

    __slots__ = ("_counts", "_heap", "_most", "highest")

    def __init__(self) -> None:
        self.highest: int = MIN_PRIORITY
        self._most: int = 0
        self._counts: dict[int, int] = {}
        self._heap: list[int] = []

    def add(self, priority: int) -> None:
        """Count one more at a priority. Cost: O(log n)."""
        if self._most == 0 or priority > self.highest:
            if self._most:
                self._put(self.highest, self._most)
            self.highest = priority
            self._most = 1
        elif priority == self.highest:
            self._most += 1
        else:
            self._put(priority, 1)

    def remove(self, priority: int) -> None:
        """Count one less at a priority that was added."""
        counts = self._counts
        if priority != self.highest:
            if counts[priority] > 1:
                counts[priority] -= 1
            else:
                del counts[priority]
            return
        self._most -= 1
        while self._most == 0 and self._heap:
            self.highest = -heappop(self._heap)
            self._most = counts.pop(self.highest, 0)
        if self._most == 0:
            self.highest = MIN_PRIORITY

    def counts(self) -> dict[int, int]:
        """Return priority -> count, for checks."""
        if not self._most:
            return self._counts.copy()
        return {**self._counts, self.highest: self._most}

    def _put(self, priority: int, more: int) -> None:
        """Count some at a priority that is not the highest."""
        count = self._counts.get(priority, 0)
        self._counts[priority] = count + more
        if count == 0:
            if len(self._heap) > _SMALL and len(self._heap) > _SLACK * len(self._counts):
                self._heap = [-each for each in self._counts]
                heapify(self._heap)
            else:
                heappush(self._heap, -priority)


def visible(current: int, offset: int, fence: bool) -> int:
    """Return the priority a queue shows to its parent. Implements: QUE-29."""
    if current == MIN_PRIORITY:
        return MIN_PRIORITY
    if fence:
        return offset
    return max(MIN_PRIORITY, min(MAX_PRIORITY, current + offset))
