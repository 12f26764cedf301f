"""Answers about allocations (rules: REST-80), of which there are many.

What may change later is noted with the question; the view is made when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import Final, TypeAlias, cast, final

from remuda.core.messages.queries import AllocationView
from remuda.core.messages.rows import Rows
from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import Preemption
from remuda.core.model.vectors import Amounts
from remuda.core.views.preemptions import preemptor_view

# Why an allocation was ordered out, and whose victim it is.
Going: TypeAlias = tuple[int, "Preemption | None"]

# Allocations as they were at one moment: themselves, their amounts, and of those that were ordered
# out or are victims the order and the preemption. No more of an allocation changes, but in flight.
NotedAllocations: TypeAlias = tuple[
    list[Allocation],
    list[Amounts],
    Mapping[Allocation, Going],
]
NotedAllocation: TypeAlias = tuple[Allocation, Amounts]

# What orders them.
Order: TypeAlias = Callable[[NotedAllocation], tuple[str, str]]

_NONE_GOING: Final[Mapping[Allocation, Going]] = {}

_amounts: Final = cast("Callable[[Allocation], Amounts]", attrgetter("amounts"))


def note_allocations(groups: Iterable[Iterable[Allocation]]) -> NotedAllocations:
    """Note what allocations are at this moment. Hot: 0.15 µs each. Rules: REST-80, DMP-17."""
    found = list(chain.from_iterable(groups))
    going = [each for each in found if each.ordered or each.preemption is not None]
    return (
        found,
        list(map(_amounts, found)),
        {each: (each.ordered, each.preemption) for each in going} if going else _NONE_GOING,
    )


def some(noted: NotedAllocations, start: int, end: int) -> NotedAllocations:
    """Return a part of what was noted. Any thread."""
    return noted[0][start:end], noted[1][start:end], noted[2]


@final
class InFlight:
    """Allocations that wait for the end of the placeholders they are to replace, at one moment.

    ``replacing``: their IDs, by what identifies the placeholder; ``created_ns``: by what
    identifies them, which is set anew when they take the place. Rules: GANG-14, GANG-17.
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
    partition: str, noted: NotedAllocations, flying: InFlight, order: Order
) -> Rows[AllocationView]:
    """Return allocations as they were noted, in an order, each made when read. Any thread.

    Rules: REST-80, PRE-34, PRE-91.
    """
    allocations, amounts, going = noted
    sorted_pairs = sorted(zip(allocations, amounts, strict=True), key=order)

    def make(place: int) -> AllocationView:
        allocation, held = sorted_pairs[place]
        return _view(partition, allocation, held, going.get(allocation, (0, None)), flying)

    return Rows(len(sorted_pairs), make)


def by_id(noted: NotedAllocation) -> tuple[str, str]:
    """Orders allocations of one application by ID. Rules: REST-20."""
    return ("", noted[0].allocation_id)


def by_application(noted: NotedAllocation) -> tuple[str, str]:
    """Orders allocations of one node by application and ID. Rules: REST-20."""
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
