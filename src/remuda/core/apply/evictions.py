"""Tells of asks and applications that preemption evicts again and again (rules: PRE-92)."""

from __future__ import annotations

from collections.abc import Sequence

from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import Preemption


def note_evictions(
    turn: Turn, partition: Partition, preemption: Preemption, victims: Sequence[Allocation]
) -> None:
    """Count what a preemption took, and tell what was taken from too often.

    However much it takes of an ask or an application, it counts once for each. Those asks are told
    of first, each with its key as reference, then the applications. Cost: O(victims).
    Rules: PRE-92. Emits: EventRecord.
    """
    evictions, number = partition.evictions, preemption.number
    for victim in victims:
        key = victim.ask.allocation_key
        subject = (victim.application.application_id, key)
        times = evictions.asks.note(subject, number, turn.now_ns)
        _tell(turn, partition, victim.application, key, times)
    for victim in victims:
        subject = (victim.application.application_id, "")
        times = evictions.applications.note(subject, number, turn.now_ns)
        _tell(turn, partition, victim.application, "", times)


def _tell(turn: Turn, partition: Partition, application: Application, key: str, times: int) -> None:
    if times:
        turn.application_event(
            partition,
            application,
            events.NONE,
            events.DETAILS_NONE,
            key,
            message=f"evicted {times} times within an hour by preemption",
        )
