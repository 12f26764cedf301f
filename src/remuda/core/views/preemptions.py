"""Answers questions about preemptions (rules: PRE-91, PRE-92)."""

from __future__ import annotations

from typing import TypeAlias, final

from remuda.core.messages.preemption_queries import (
    EvictionsQuery,
    EvictionView,
    PreemptionsQuery,
    PreemptionView,
    PreemptorView,
    VictimView,
)
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import Preemption, Victim

# Numbers of preemptions, oldest first, by number of the application.
_Numbers: TypeAlias = dict[int, list[int]]


@final
class Involved:
    """Which applications had a part in the kept preemptions, from one walk over these.

    ``caused`` and ``suffered``: numbers of preemptions, by the number of the application whose ask
    preempted, or that lost allocations. Rules: PRE-91. Cost: O(victims known).
    """

    def __init__(self, partition: Partition) -> None:
        self.caused: _Numbers = {}
        self.suffered: _Numbers = {}
        for number, preemption in partition.preempting.made.items():
            if preemption.application_number:
                self.caused.setdefault(preemption.application_number, []).append(number)
            for application in dict.fromkeys([each[0] for each in preemption.victims]):
                self.suffered.setdefault(application, []).append(number)


def preemption_views(partition: Partition, query: PreemptionsQuery) -> tuple[PreemptionView, ...]:
    """Return the preemptions of a query, oldest first. Rules: PRE-91."""
    found = list(partition.preempting.made.values())
    if query.number:
        one = partition.preempting.made.get(query.number)
        found = [] if one is None else [one]
    if query.application:
        found = [each for each in found if _concerns(each, query.application)]
    if query.last:
        found = found[-query.last :]
    return tuple([_preemption_view(partition, each) for each in found])


def preemptor_view(preemption: Preemption | None) -> PreemptorView | None:
    """Return the view of the preemption that took an allocation, None without one.

    Rules: PRE-34, PRE-91.
    """
    if preemption is None:
        return None
    return PreemptorView(
        preemption.number,
        preemption.kind,
        preemption.application_id,
        preemption.allocation_key,
        preemption.queue_path,
    )


def eviction_views(partition: Partition, query: EvictionsQuery) -> tuple[EvictionView, ...]:
    """Return the applications and asks evicted too often, by application and then by ask.

    Rules: PRE-92.
    """
    to_wall = partition.calendar.to_wall
    evictions, now_ns = partition.preempting.evictions, partition.calendar.from_wall(query.now_ns)
    found = evictions.applications.repeated(now_ns) + evictions.asks.repeated(now_ns)
    return tuple(
        [
            EvictionView(application_id, key, len(times), to_wall(times[0]), to_wall(times[-1]))
            for (application_id, key), times in sorted(found)
        ]
    )


def _concerns(preemption: Preemption, application_id: str) -> bool:
    """Whether a preemption was caused by an ask of an application, or took allocations of it."""
    if preemption.application_id == application_id:
        return True
    return any(victim.application_id == application_id for victim in preemption.victims.values())


def _preemption_view(partition: Partition, preemption: Preemption) -> PreemptionView:
    to_wall = partition.calendar.to_wall
    return PreemptionView(
        number=preemption.number,
        kind=preemption.kind,
        created_ns=to_wall(preemption.created_ns),
        application_id=preemption.application_id,
        allocation_key=preemption.allocation_key,
        queue=preemption.queue_path,
        node_id=preemption.node_id,
        requested=dict(preemption.amounts.resource),
        reasons=preemption.reasons,
        victims=tuple([_victim_view(each) for each in preemption.victims.values()]),
        freed=partition.types.resource(preemption.freed()),
        outcome=preemption.outcome,
        cause=preemption.cause,
        ended_ns=to_wall(preemption.ended_ns),
    )


def _victim_view(victim: Victim) -> VictimView:
    return VictimView(
        application_id=victim.application_id,
        allocation_key=victim.key,
        allocation_id=victim.allocation_id,
        queue=victim.queue_path,
        node_id=victim.node_id,
        resource=dict(victim.amounts.resource),
        priority=victim.priority,
        originator=victim.originator,
        opted_out=victim.opted_out,
        for_queue=victim.for_queue,
        confirmed=victim.confirmed,
    )
