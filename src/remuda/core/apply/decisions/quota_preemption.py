"""Begins quota preemptions: the release of allocations above a lowered maximum.

Rules: chapter 60 part D. ``preempt.quota_victims`` decides which queue is next and which
allocations have to end; ``apply.queues.quota_changes`` knows when queues are due.
"""

from __future__ import annotations

from typing import Final

from remuda.base.resource_text import printable
from remuda.base.resources import sat
from remuda.core.apply.decisions.preemption import evict, record
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import QUOTA, Preemption
from remuda.core.model.vectors import Vector, add
from remuda.core.preempt.quota_change import Part, stays
from remuda.core.preempt.quota_victims import QuotaChoice

# The beginnings of the text of a release request, and of the event of a victim.
REQUEST_MESSAGE: Final = "preempting allocations to enforce new max quota for queue :"
EVENT_MESSAGE: Final = "Preempted by Quota change enforcement process in"


def begin_quota_run(turn: Turn, partition: Partition, choice: QuotaChoice) -> None:
    """Begin a run: request the release of its victims. A queue within its maximum has none.

    Rules: PRE-65, PRE-72, EVT-77. Emits: AllocationsReleased, EventRecord.
    """
    queue = choice.queue
    if not choice.excess:
        return
    if choice.victims:
        _evict(turn, partition, choice)
    assert queue.maximum is not None
    turn.event(
        partition,
        events.QUEUE,
        queue.path,
        events.SET,
        events.QUEUE_PREEMPTION,
        resource=partition.types.resource(queue.maximum),
        message=_summary(partition, choice),
    )


def _evict(turn: Turn, partition: Partition, choice: QuotaChoice) -> None:
    """Request the release of the victims, in one response for each application.

    Implements: PRE-72. Rules: PRE-75, PRE-91.
    """
    queue = choice.queue
    preemption = Preemption(
        partition.next_number(),
        kind=QUOTA,
        created_ns=turn.now_ns,
        queue_path=queue.path,
        amounts=partition.types.amounts(_named(partition, choice.excess)),
        reasons=_reasons(partition, choice),
    )
    queue.quota_run = preemption
    partition.preempting.quotas.running[preemption.number] = queue
    record(partition, preemption)
    victims: dict[int, list[Allocation]] = {}
    for victim in choice.victims:
        victims.setdefault(victim.application.number, []).append(victim)
    request, cause = f"{REQUEST_MESSAGE} {queue.path}", f"{EVENT_MESSAGE} {queue.path}"
    for own in victims.values():
        evict(turn, partition, preemption, own, message=request, event_message=cause)


def _reasons(partition: Partition, choice: QuotaChoice) -> list[str]:
    """Return the texts that justify a run. Rules: PRE-91."""
    queue = choice.queue
    assert queue.maximum is not None
    used = {index: stays(queue, index) for index in choice.excess}
    maximum = partition.types.resource(queue.maximum)
    found = [
        f"{queue.path} uses {printable(_named(partition, used))} and may use {printable(maximum)}"
    ]
    if choice.planned != choice.excess:
        found.append(f"guarantees let go {printable(_named(partition, choice.planned))} of it")
    return found


def _summary(partition: Partition, choice: QuotaChoice) -> str:
    """Return the text that sums up a run: planned and claimed amounts, candidates and victims.

    Implements: EVT-77. Rules: PRE-72.
    """
    claimed = Vector()
    for victim in choice.victims:
        add(claimed, victim.amounts)
    planned, freed = _named(partition, choice.planned), partition.types.resource(claimed)
    return (
        f"Quota Preemption results summary: preemptable resources: {printable(planned)}, "
        f"claimed resources: {printable(freed)}, selected victims: {choice.candidates}, "
        f"preempted victims: {len(choice.victims)}"
    )


def _named(partition: Partition, part: Part) -> dict[str, int]:
    """Return amounts by the names of their types, sorted."""
    return dict(sorted({partition.types.names[index]: sat(part[index]) for index in part}.items()))
