"""Answers about allocations (rules: REST-80), of which there are many.

What may change later is noted with the question; the view is made when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, final

from remuda.core.messages.queries import AllocationView
from remuda.core.messages.rows import Rows
from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import Preemption
from remuda.core.model.vectors import Amounts
from remuda.core.views.preemptions import preemptor_view

# Why an allocation was ordered out, and whose victim it is; and those of which there is one.
Going: TypeAlias = tuple[int, "Preemption | None"]
Leaving: TypeAlias = Mapping[Allocation, Going]
_STAYS: Final[Going] = (0, None)

# An allocation and what it held. No more of one changes, unless it leaves or is in flight.
NotedAllocation: TypeAlias = tuple[Allocation, Amounts]


def note_leaving(allocations: Iterable[Allocation]) -> Leaving:
    """Note which of some allocations were ordered out, and why. Rules: SI-69, PRE-91, DMP-15.

    Whoever is a victim was ordered out (PRE-34), so that need not be looked for.
    """
    return {each: (each.ordered, each.preemption) for each in allocations if each.ordered}


@final
class InFlight:
    """Allocations that wait for the end of the placeholders they are to replace, at one moment.

    ``replacing``: their IDs, by what identifies the placeholder. ``created_ns``, by what identifies
    them: it is set anew when they take the place. Rules: GANG-14, GANG-17.
    """

    __slots__ = ("created_ns", "replacing")

    def __init__(self, partition: Partition) -> None:
        self.replacing: dict[tuple[int, str], str] = {}
        self.created_ns: dict[tuple[int, str], int] = {}
        for application in partition.applications.values():
            gang = application.gang
            if gang is not None and gang.replacing:
                for placeholder_id, real in gang.replacing.items():
                    self.replacing[application.number, placeholder_id] = real.allocation_id
                    self.created_ns[real.key()] = real.created_ns


def allocation_views(
    partition: str, noted: Iterable[NotedAllocation], going: Leaving, flying: InFlight
) -> Rows[AllocationView]:
    """Return allocations as they were noted, each made when it is read. Any thread.

    Rules: REST-80, PRE-34, PRE-91.
    """
    pairs = list(noted)

    def make(place: int) -> AllocationView:
        allocation, amounts = pairs[place]
        return _view(partition, allocation, amounts, going.get(allocation, _STAYS), flying)

    return Rows(len(pairs), make)


def by_id(noted: NotedAllocation) -> str:
    """Order allocations of one application. Rules: REST-20."""
    return noted[0].allocation_id


def by_application(noted: NotedAllocation) -> tuple[str, str]:
    """Order allocations of one node. Rules: REST-20."""
    return (noted[0].ask.application_id, noted[0].allocation_id)


def _view(
    partition: str,
    allocation: Allocation,
    amounts: Amounts,
    going: Going,
    flying: InFlight,
) -> AllocationView:
    ask = allocation.ask
    ordered, preemption = going
    created_ns, placeholder_ns, replacement = allocation.created_ns, allocation.placeholder_ns, ""
    if flying.replacing:
        key = allocation.key()
        replacement = flying.replacing.get(key, "")
        if key in flying.created_ns:
            created_ns, placeholder_ns = flying.created_ns[key], 0
    preemptor = preemptor_view(preemption)
    return AllocationView(
        allocation_key=ask.allocation_key,
        allocation_id=allocation.allocation_id,
        tags=dict(ask.tags),
        request_time_ns=placeholder_ns or allocation.requested_ns,
        allocation_time_ns=created_ns,
        resource=dict(amounts.resource),
        priority=ask.priority,
        node_id=allocation.node.node_id,
        application_id=ask.application_id,
        partition=partition,
        task_group=ask.task_group,
        placeholder=ask.placeholder,
        placeholder_used=placeholder_ns > 0,
        placeholder_request_time_ns=placeholder_ns,
        ordered=ordered,
        replacement=replacement,
        preemption=0 if preemptor is None else preemptor.number,
        preempted_by=preemptor,
        originator=ask.originator,
    )
