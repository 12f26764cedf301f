"""Timers as data: what must happen when, in a heap.

A timer is cancelled by moving on: it carries the generation of the thing it was set for and
acts only if that still is the current one (APP-17).
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from remuda.core.model.application import Application
    from remuda.core.model.partition import Partition

SECOND_NS: Final = 1_000_000_000
STARTING_TIMEOUT_NS: Final = 300 * SECOND_NS
COMPLETING_TIMEOUT_NS: Final = 30 * SECOND_NS
RETENTION_NS: Final = 3 * 24 * 3600 * SECOND_NS
QUEUE_CLEANUP_NS: Final = 10 * SECOND_NS

# How old an ask must be to reserve a node (RSV-3).
RESERVATION_DELAY_NS: Final = 2 * SECOND_NS


@final
class Deadline:
    """One timer of a partition, for one of its applications or, without one, for itself.

    It refers to the objects, not to their names: a later object of the same name is another one.
    What is due follows from the state the application is still in.
    """

    __slots__ = ("application", "generation", "partition")

    def __init__(self, partition: Partition, application: Application | None) -> None:
        self.partition = partition
        self.application = application
        self.generation: int = 0 if application is None else application.generation


@final
class Deadlines:
    """All timers of the scheduler, earliest first, equal ones in the order they were set."""

    __slots__ = ("_heap", "_number")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Deadline]] = []
        self._number = 0

    def set(self, at_ns: int, deadline: Deadline) -> None:
        """Add a timer. Cost: O(log n)."""
        self._number += 1
        heappush(self._heap, (at_ns, self._number, deadline))

    def forget(self, partitions: Collection[Partition]) -> None:
        """Drop the timers of partitions that are gone, and with them what they refer to.

        Rules: RM-9, RM-19, OBJ-9. Cost: O(timers).
        """
        self._heap = [each for each in self._heap if each[2].partition not in partitions]
        heapify(self._heap)

    def earliest(self) -> int | None:
        """Return the time of the next timer, None when there is none."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ns: int) -> Deadline | None:
        """Take the earliest timer that is due, None when none is."""
        if not self._heap or self._heap[0][0] > now_ns:
            return None
        return heappop(self._heap)[2]
