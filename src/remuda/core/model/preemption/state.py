"""The state of a partition for preemption (chapter 60)."""

from __future__ import annotations

from typing import final

from remuda.core.model.asks.ages import Ages
from remuda.core.model.preemption.attempts import Attempts
from remuda.core.model.preemption.candidates import Candidates
from remuda.core.model.preemption.evictions import Evictions
from remuda.core.model.preemption.live import Preemption
from remuda.core.model.preemption.quota_changes import QuotaChanges


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
