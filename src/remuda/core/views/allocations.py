"""Makes the views of allocations, of which there are many (rules: REST-80).

Values that may change are copied when the question is asked; a view is made when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, final

from remuda.core.messages.application_views import AllocationView
from remuda.core.messages.rows import Rows
from remuda.core.model.allocation import Allocation
from remuda.core.model.calendar import ToWall
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import Preemption
from remuda.core.model.vectors import Amounts
from remuda.core.views.preemptions import preemptor_view

# Why the release of an allocation was requested, and which preemption it is a victim of; then the
# allocations that have either.
Going: TypeAlias = tuple[int, "Preemption | None"]
Leaving: TypeAlias = Mapping[Allocation, Going]
_STAYS: Final[Going] = (0, None)

# The amounts an allocation held at one moment. Nothing else of an allocation changes, unless it
# leaves or is in flight.
Held: TypeAlias = Callable[[Allocation], Amounts]


def note_leaving(allocations: Iterable[Allocation]) -> Leaving:
    """Note which allocations are requested to be released, and why.

    The release of every victim was requested (PRE-34), so victims are among them.

    Rules: SI-69, PRE-91, DMP-15.
    """
    return {each: (each.release_type, each.preemption) for each in allocations if each.release_type}


@final
class InFlight:
    """Allocations that wait for the end of the placeholders they replace, at one moment.

    ``replacing``: their IDs, by the placeholder's ID. ``created_ns``: by their own ID; it is set
    anew when they replace the placeholder. ``to_wall``: see Calendar. Rules: GANG-14, GANG-17.
    """

    __slots__ = ("created_ns", "replacing", "to_wall")

    def __init__(self, partition: Partition) -> None:
        self.to_wall: ToWall = partition.calendar.to_wall
        self.replacing: dict[tuple[int, str], str] = {}
        self.created_ns: dict[tuple[int, str], int] = {}
        for application in partition.applications.values():
            gang = application.gang
            if gang is not None and gang.replacing:
                for placeholder_id, real in gang.replacing.items():
                    self.replacing[application.number, placeholder_id] = real.allocation_id
                    self.created_ns[real.key()] = real.created_ns


def allocation_views(
    partition: str,
    allocations: Sequence[Allocation],
    held: Held,
    *,
    going: Leaving,
    flying: InFlight,
    ordered: bool = True,
) -> Rows[AllocationView]:
    """Return the views of noted allocations, each made when it is read. Any thread.

    ``ordered``: they are sorted; otherwise the reader sorts them by ID.
    Rules: REST-20, REST-80, PRE-34, PRE-91.
    """

    def make(place: int) -> AllocationView:
        allocation = allocations[place]
        return _view(partition, allocation, held(allocation), going.get(allocation, _STAYS), flying)

    key = None if ordered else lambda place: allocations[place].allocation_id
    return Rows(len(allocations), make, key)


def by_id(allocation: Allocation) -> str:
    """Return the sort key of an allocation among those of its application. Rules: REST-20."""
    return allocation.allocation_id


def by_application(allocation: Allocation) -> tuple[str, str]:
    """Return the sort key of an allocation among those of its node. Rules: REST-20."""
    return (allocation.ask.application_id, allocation.allocation_id)


def _view(
    partition: str,
    allocation: Allocation,
    amounts: Amounts,
    going: Going,
    flying: InFlight,
) -> AllocationView:
    ask = allocation.ask
    release_type, preemption = going
    created_ns, placeholder_ns, replacement = allocation.created_ns, allocation.placeholder_ns, ""
    if flying.replacing:
        key = allocation.key()
        replacement = flying.replacing.get(key, "")
        if key in flying.created_ns:
            created_ns, placeholder_ns = flying.created_ns[key], 0
    preemptor, to_wall = preemptor_view(preemption), flying.to_wall
    return AllocationView(
        allocation_key=ask.allocation_key,
        allocation_id=allocation.allocation_id,
        tags=dict(ask.tags),
        request_time_ns=to_wall(placeholder_ns or allocation.requested_ns),
        allocation_time_ns=to_wall(created_ns),
        resource=dict(amounts.resource),
        priority=ask.priority,
        node_id=allocation.node.node_id,
        application_id=ask.application_id,
        partition=partition,
        task_group=ask.task_group,
        placeholder=ask.placeholder,
        placeholder_used=placeholder_ns > 0,
        placeholder_request_time_ns=to_wall(placeholder_ns),
        release_type=release_type,
        replacement=replacement,
        preemption=0 if preemptor is None else preemptor.number,
        preempted_by=preemptor,
        originator=ask.originator,
    )
