"""The state of a partition for preemption (chapter 60)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.model.asks.ages import Ages
from remuda.core.model.preemption.attempts import Attempts
from remuda.core.model.preemption.candidates import Candidates
from remuda.core.model.preemption.evictions import Evictions
from remuda.core.model.preemption.live import Preemption

if TYPE_CHECKING:
    from remuda.core.model.queues.queue import Queue


@final
class QuotaChanges:
    """The queues of a partition whose usage is above a changed maximum.

    ``armed``: queues with a start time of quota preemption (``quota_due_ns``), by path.
    ``running``: queues with a quota preemption under way (``quota_run``), by its number. ``ended``:
    preemptions whose last victim ended in the current call. ``tick_ns``: when the queues are
    checked next, always a whole second of Unix time; 0: no timer is set.
    """

    __slots__ = ("armed", "ended", "running", "tick_ns")

    def __init__(self) -> None:
        self.armed: dict[str, Queue] = {}
        self.running: dict[int, Queue] = {}
        self.ended: list[Preemption] = []
        self.tick_ns: int = 0

    def arm(self, queue: Queue, due_ns: int) -> None:
        """Set or change the start time of a queue. Implements: PRE-64."""
        queue.quota_due_ns = max(1, due_ns)
        self.armed[queue.path] = queue

    def disarm(self, queue: Queue) -> None:
        """Remove the start time of a queue, if it has one. Rules: PRE-64, PRE-66."""
        queue.quota_due_ns = 0
        self.armed.pop(queue.path, None)

    def disarm_all(self) -> None:
        """Remove all start times. Rules: OBJ-9."""
        for queue in list(self.armed.values()):
            self.disarm(queue)
        self.tick_ns = 0


@final
class PreemptionState:
    """The preemptions of one partition, with the data that attempts need."""

    __slots__ = ("ages", "attempts", "candidates", "evictions", "made", "quotas", "revision")

    def __init__(self) -> None:
        # All preemptions by number, oldest first, ended ones included (PRE-91).
        self.made: dict[int, Preemption] = {}
        # Allocations that may be victims; None while no ask may preempt.
        self.candidates: Candidates | None = None
        # Asks that may not preempt yet (PRE-5).
        self.ages = Ages()
        # Attempts that were fruitless (PRE-90).
        self.attempts = Attempts()
        # Counts the changes after which an attempt may have another result (PRE-90).
        self.revision: int = 0
        # Repeated evictions (PRE-92).
        self.evictions = Evictions()
        # Queues above a changed maximum (PRE-64).
        self.quotas = QuotaChanges()
