"""Timers as data: what must happen when, in a heap.

A timer is cancelled by moving on: it carries the generation of the thing it was set for and
acts only if that still is the current one (APP-17). While an RM is away its timers stand still,
outside the heap, each with the time it has left (RM-15).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, final

from remuda.core.messages.tags import CREATION_TIME

if TYPE_CHECKING:
    from remuda.core.model.allocation import Allocation
    from remuda.core.model.application import Application
    from remuda.core.model.partition import Partition

MILLISECOND_NS: Final = 1_000_000
SECOND_NS: Final = 1_000_000_000
STARTING_TIMEOUT_NS: Final = 300 * SECOND_NS
COMPLETING_TIMEOUT_NS: Final = 30 * SECOND_NS
RESERVATION_TIMEOUT_NS: Final = 900 * SECOND_NS
RETENTION_NS: Final = 3 * 24 * 3600 * SECOND_NS

# Applications that are kept after they ended, of a partition; the oldest go when there are more.
COMPLETED_LIMIT: Final = 50_000
REJECTED_LIMIT: Final = 10_000
QUEUE_CLEANUP_NS: Final = 10 * SECOND_NS

# How often asks that wait for a larger cluster are looked for (CYC-30).
OUTSTANDING_NS: Final = SECOND_NS

# How long an ask is left alone after its predicates got no answer (EXT-17).
POSTPONED_NS: Final = SECOND_NS

# The longest timeout that is understood, in milliseconds: as nanoseconds it fits 64 bits (SI-28).
TIMEOUT_MS_LIMIT: Final = (2**63 - 1) // MILLISECOND_NS

# What a timer is for: an application leaves its state; one tries again after a pause (CYC-33);
# empty queues go, or the next portion of a partition; asks are old enough to reserve (RSV-3);
# a reservation is old enough to go (RSV-10); asks may wait for a larger cluster (CYC-30);
# placeholders wait too long (GANG-20), an application runs too long (APP-30), an allocation does
# (SI-37); an order is not confirmed (SI-69); asks that got no answer from predicates are tried
# again (EXT-17); asks have waited long enough to preempt (PRE-5); fruitless attempts to do so may
# be repeated (PRE-90), or reservations in their way are old enough (RSV-10); a queue was above its
# changed maximum for long enough (PRE-65); the oldest application that ended is kept long enough
# (APP-18).
STATE: Final = "state"
BACKOFF: Final = "back-off"
QUEUES: Final = "queues"
AGE: Final = "age"
CLAIM: Final = "claim"
OUTSTANDING: Final = "outstanding"
RETENTION: Final = "retention"
PLACEHOLDERS: Final = "placeholders"
LIMIT: Final = "limit"
EXECUTION: Final = "execution"
CONFIRM: Final = "confirm"
POSTPONED: Final = "postponed"
RIPE: Final = "ripe"
ATTEMPTS: Final = "attempts"
OPENS: Final = "opens"
QUOTA: Final = "quota"


@final
class Deadline:
    """One timer of a partition, or of one of its applications or allocations.

    It refers to the objects, not to their names: a later object of the same name is another one.
    ``at_ns``: when it runs out; ``period_ns``: after how long it comes again, 0 never.
    """

    __slots__ = (
        "allocation",
        "application",
        "at_ns",
        "generation",
        "partition",
        "period_ns",
        "what",
    )

    def __init__(self, partition: Partition, what: str, application: Application | None) -> None:
        self.partition = partition
        self.what = what
        self.application = application
        self.generation: int = 0 if application is None else application.generation
        self.allocation: Allocation | None = None
        self.at_ns: int = 0
        self.period_ns: int = 0

    def stands_still(self) -> bool:
        """Whether the timer waits while its RM is away: all but those that clean up. Rules: RM-15.

        These are the expiry of applications that are over, and the cleaner of queues and
        partitions.
        """
        return self.what not in (QUEUES, RETENTION)


@final
class Deadlines:
    """All timers of the scheduler, earliest first, equal ones in the order they were set.

    ``frozen``: those that stand still, by RM in the order in which they went, with what they have
    left instead of their time.
    """

    __slots__ = ("_heap", "_number", "frozen")

    def __init__(self) -> None:
        self.frozen: dict[str, list[tuple[int, int, Deadline]]] = {}
        self._heap: list[tuple[int, int, Deadline]] = []
        self._number = 0

    def set(self, now_ns: int, delay_ns: int, deadline: Deadline) -> None:
        """Add a timer; of an RM that is away it does not run yet. Cost: O(log n). Rules: RM-15."""
        self._number += 1
        frozen = self.frozen.get(deadline.partition.rm_id) if self.frozen else None
        if frozen is not None and deadline.stands_still():
            frozen.append((delay_ns, self._number, deadline))
        else:
            deadline.at_ns = now_ns + delay_ns
            heappush(self._heap, (deadline.at_ns, self._number, deadline))

    def freeze(self, rm_id: str, now_ns: int) -> None:
        """Let the timers of an RM stand still. Rules: RM-15. Cost: O(timers)."""
        if rm_id in self.frozen:
            return
        frozen = self.frozen[rm_id] = []
        running: list[tuple[int, int, Deadline]] = []
        for entry in self._heap:
            at_ns, number, deadline = entry
            if deadline.partition.rm_id == rm_id and deadline.stands_still():
                frozen.append((max(0, at_ns - now_ns), number, deadline))
            else:
                running.append(entry)
        heapify(running)
        self._heap = running

    def thaw(self, rm_id: str, now_ns: int) -> None:
        """Let the timers of an RM go on with what they have left. Rules: RM-15."""
        for rest_ns, number, deadline in self.frozen.pop(rm_id, []):
            deadline.at_ns = now_ns + rest_ns
            heappush(self._heap, (deadline.at_ns, number, deadline))

    def running(self) -> list[Deadline]:
        """Return all timers that do not stand still, in no particular order."""
        return [each[2] for each in self._heap]

    def forget(self, partitions: Collection[Partition]) -> None:
        """Drop the timers of partitions that are gone, and with them what they refer to.

        Rules: RM-9, RM-19, OBJ-9. Cost: O(timers).
        """
        self._heap = [each for each in self._heap if each[2].partition not in partitions]
        heapify(self._heap)
        for rm_id, frozen in self.frozen.items():
            self.frozen[rm_id] = [each for each in frozen if each[2].partition not in partitions]

    def earliest(self) -> int | None:
        """Return the time of the next timer, None when there is none."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_ns: int) -> bool:
        """Whether a timer may have run out by now; every decision asks."""
        return bool(self.frozen) or (bool(self._heap) and self._heap[0][0] <= now_ns)

    def pop_due(self, now_ns: int) -> Deadline | None:
        """Take the earliest timer that is due, None when none is."""
        if not self._heap or self._heap[0][0] > now_ns:
            return None
        return heappop(self._heap)[2]


def created_ns(tags: Mapping[str, str], now_ns: int) -> int:
    """Return when an ask was created: what its RM says in Unix seconds, else, or if later, now.

    Rules: QUE-44 [>=1.6], SI-45 (decision 54 of docs/spec).
    """
    text = tags.get(CREATION_TIME, "")
    if text.isascii() and text.isdigit() and len(text) <= 11:
        return min(int(text) * SECOND_NS, now_ns)
    return now_ns
