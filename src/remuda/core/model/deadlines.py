"""Timers as data, in a heap by the time when they run out.

A timer is not removed when it becomes obsolete. It carries the generation of its object and has an
effect only if the object still has that generation (APP-17). While an RM is away, its timers are
frozen: they are kept outside the heap, each with the time it has left (RM-15). While a request of
an RM was handled only in part, its timers that run out are held until the last part (SI-2).
Rules: APP-17, RM-15, SI-2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, TypeAlias, final

from remuda.core.messages.tags import CREATION_TIME

if TYPE_CHECKING:
    from remuda.core.model.allocation import Allocation
    from remuda.core.model.applications.application import Application
    from remuda.core.model.calendar import Calendar
    from remuda.core.model.partition import Partition

MILLISECOND_NS: Final = 1_000_000
SECOND_NS: Final = 1_000_000_000
STARTING_TIMEOUT_NS: Final = 300 * SECOND_NS
COMPLETING_TIMEOUT_NS: Final = 30 * SECOND_NS
RESERVATION_TIMEOUT_NS: Final = 900 * SECOND_NS
RETENTION_NS: Final = 3 * 24 * 3600 * SECOND_NS

# How many ended applications a partition keeps; the oldest ones are removed first.
COMPLETED_LIMIT: Final = 50_000
REJECTED_LIMIT: Final = 10_000
QUEUE_CLEANUP_NS: Final = 10 * SECOND_NS

# The interval of the search for asks that wait for a larger cluster (CYC-30).
OUTSTANDING_NS: Final = SECOND_NS

# How long an ask is postponed after the RM gave no answer about predicates (EXT-17).
POSTPONED_NS: Final = SECOND_NS

# Implements: SI-28. The longest timeout that is accepted, in milliseconds: as nanoseconds it
# fits 64 bits.
TIMEOUT_MS_LIMIT: Final = (2**63 - 1) // MILLISECOND_NS

# The purposes of timers: what has happened when one runs out.
STATE: Final = "state"  # An application leaves its state (APP-17).
BACKOFF: Final = "back-off"  # The back-off of an application ends (CYC-33).
QUEUES: Final = "queues"  # Empty queues, or the next part of a removed partition, are deleted.
AGE: Final = "age"  # Asks are old enough to reserve a node (RSV-3).
RESERVATION_AGE: Final = "reservation age"  # A reservation is old enough to be cancelled (RSV-10).
OUTSTANDING: Final = "outstanding"  # Asks may wait for a larger cluster (CYC-30).
RETENTION: Final = "retention"  # The oldest ended application was kept long enough (APP-18).
PLACEHOLDERS: Final = "placeholders"  # Placeholders have waited too long (GANG-20).
LIMIT: Final = "limit"  # An application has run too long (APP-30).
EXECUTION: Final = "execution"  # An allocation has run too long (SI-37).
CONFIRM: Final = "confirm"  # The RM has not confirmed a release in time (SI-69).
POSTPONED: Final = "postponed"  # Asks without an answer from predicates are tried again (EXT-17).
PREEMPT_AGE: Final = "preemption age"  # Asks have waited long enough to preempt (PRE-5).
ATTEMPTS: Final = "attempts"  # Fruitless attempts to preempt may be repeated (PRE-90).
OPENS: Final = "opens"  # Reservations that blocked such attempts are old enough (RSV-10).
RETRY: Final = "retry"  # The RM is asked again about refused asks (EXT-15).
QUOTA: Final = "quota"  # A queue was above its changed maximum for long enough (PRE-65).

# How many other timers are checked whenever a timer is set.
_LOOKED_AT: Final = 2

# When the timer runs out, its number, and the timer itself.
_Entry: TypeAlias = "tuple[int, int, Deadline]"


@final
class Deadline:
    """One timer of a partition, or of one of its applications or allocations.

    It refers to objects, not to names, since a later object may have the same name. ``at_ns``: when
    it runs out; ``period_ns``: after how long it repeats, 0: never.
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

    def freezes(self) -> bool:
        """Whether the timer is frozen while its RM is away; all but cleaning timers are.

        Cleaning timers remove ended applications, empty queues and removed partitions.

        Rules: RM-15.
        """
        return self.what not in (QUEUES, RETENTION)

    def stale(self) -> bool:
        """Whether the timer has no effect any more, since its object changed. Rules: APP-17."""
        live = self.partition.applications
        if self.allocation is not None:
            holder = self.allocation.application
            return (
                live.get(holder.application_id) is not holder
                or holder.allocations.get(self.allocation.allocation_id) is not self.allocation
                or (self.what == CONFIRM and self.allocation.release_timer is not self)
            )
        application = self.application
        if application is None:
            return False
        if live.get(application.application_id) is not application:
            return True
        if self.what == PLACEHOLDERS:
            return application.gang is None or application.gang.timer is not self
        return self.what == STATE and application.generation != self.generation


@final
class Deadlines:
    """All timers of the scheduler, earliest first, then in the order they were set.

    ``frozen``: frozen timers by RM ID, with the time they have left instead of their time; RMs are
    in the order in which they lost their connections. ``_held``: timers that ran out and are held,
    by RM ID. ``_looked``: up to which index the heap was checked for stale timers. A timer may be
    set for days and keeps its object in memory, so each new timer checks some others.
    """

    __slots__ = ("_heap", "_held", "_looked", "_number", "frozen")

    def __init__(self) -> None:
        self.frozen: dict[str, list[_Entry]] = {}
        self._heap: list[_Entry] = []
        self._held: dict[str, list[_Entry]] = {}
        self._number = 0
        self._looked = 0

    def set(self, now_ns: int, delay_ns: int, deadline: Deadline) -> None:
        """Add a timer; it is frozen if its RM is away. Cost: O(log n). Rules: RM-15."""
        self._number += 1
        self._tidy()
        frozen = self.frozen.get(deadline.partition.rm_id) if self.frozen else None
        if frozen is not None and deadline.freezes():
            frozen.append((delay_ns, self._number, deadline))
        else:
            deadline.at_ns = now_ns + delay_ns
            heappush(self._heap, (deadline.at_ns, self._number, deadline))

    def freeze(self, rm_id: str, now_ns: int) -> None:
        """Freeze the timers of an RM. Rules: RM-15. Cost: O(timers)."""
        if rm_id in self.frozen:
            return
        if rm_id in self._held:
            self.release(rm_id)
            self.hold(rm_id)
        frozen = self.frozen[rm_id] = []
        running: list[_Entry] = []
        for entry in self._heap:
            at_ns, number, deadline = entry
            if deadline.partition.rm_id == rm_id and deadline.freezes():
                frozen.append((max(0, at_ns - now_ns), number, deadline))
            else:
                running.append(entry)
        heapify(running)
        self._heap = running

    def thaw(self, rm_id: str, now_ns: int) -> None:
        """Let the timers of an RM run again for the time they have left. Rules: RM-15."""
        for rest_ns, number, deadline in self.frozen.pop(rm_id, []):
            deadline.at_ns = now_ns + rest_ns
            heappush(self._heap, (deadline.at_ns, number, deadline))

    def hold(self, rm_id: str) -> None:
        """Hold the timers of an RM that run out from now on. Rules: SI-2. Cost: O(1)."""
        self._held.setdefault(rm_id, [])

    def release(self, rm_id: str) -> None:
        """Let the held timers of an RM run out. Rules: SI-2. Cost: O(log n) for each of them."""
        for entry in self._held.pop(rm_id, ()):
            heappush(self._heap, entry)

    def running(self) -> list[Deadline]:
        """Return all timers that are not frozen, in no particular order."""
        held = [each[2] for entries in self._held.values() for each in entries]
        return [each[2] for each in self._heap] + held

    def forget(self, partitions: Collection[Partition]) -> None:
        """Drop the timers of removed partitions, so that their objects can be freed.

        Rules: RM-9, RM-19, OBJ-9. Cost: O(timers).
        """
        self._heap = [each for each in self._heap if each[2].partition not in partitions]
        heapify(self._heap)
        for rm_id, held in self._held.items():
            self._held[rm_id] = [each for each in held if each[2].partition not in partitions]
        for rm_id, frozen in self.frozen.items():
            self.frozen[rm_id] = [each for each in frozen if each[2].partition not in partitions]

    def _tidy(self) -> None:
        """Check the next few timers and drop the stale ones. Cost: O(log n)."""
        heap = self._heap
        for _ in range(_LOOKED_AT):
            if not heap:
                return
            if self._looked >= len(heap):
                self._looked = 0
            if heap[self._looked][2].stale():
                _drop(heap, self._looked)
            else:
                self._looked += 1

    def earliest(self) -> int | None:
        """Return the time of the next timer, None when there is none."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_ns: int) -> bool:
        """Whether a timer may have run out by now; called for every decision."""
        return bool(self.frozen) or (bool(self._heap) and self._heap[0][0] <= now_ns)

    def pop_due(self, now_ns: int) -> Deadline | None:
        """Remove and return the earliest timer that is due and not held, None if none is."""
        while self._heap and self._heap[0][0] <= now_ns:
            entry = heappop(self._heap)
            held = self._held.get(entry[2].partition.rm_id) if self._held else None
            if held is None:
                return entry[2]
            held.append(entry)
        return None


def _drop(heap: list[_Entry], place: int) -> None:
    """Remove the entry at an index of a heap. Cost: O(log n)."""
    moved = heap.pop()
    end = len(heap)
    if place == end:
        return
    while place and moved < heap[(place - 1) >> 1]:
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    while (child := 2 * place + 1) < end:
        if child + 1 < end and heap[child + 1] < heap[child]:
            child += 1
        if moved < heap[child]:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = moved


def created_ns(tags: Mapping[str, str], now_ns: int, calendar: Calendar) -> int:
    """Return when an ask was created: the time its RM gives in Unix seconds, at most now.

    Implements: SI-45 (decision 54 of docs/spec). Rules: QUE-44 [>=1.6], CYC-34.
    """
    text = tags.get(CREATION_TIME, "")
    if text.isascii() and text.isdigit() and len(text) <= 11:
        return calendar.past_from_wall(int(text) * SECOND_NS, now_ns)
    return now_ns
