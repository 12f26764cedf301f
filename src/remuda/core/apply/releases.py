"""Ends allocations (rules: chapter 70 section 7)."""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.usage import refund
from remuda.core.accounting.waiting import offer_anew
from remuda.core.apply.foreign import forget_foreign, release_foreign
from remuda.core.apply.lifecycle import complete_if_idle, drop_requests, fire
from remuda.core.apply.tracking import usage_shrank
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import (
    PLACEHOLDER_REPLACED,
    PREEMPTED_BY_SCHEDULER,
    STOPPED_BY_RM,
    TIMEOUT,
    AllocationRelease,
)
from remuda.core.messages.effects import AllocationsReleased, ReleasedAllocation
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition

# EVT-27: the event detail of ways to end. A release of no known type is one by the RM (SI-60).
REMOVAL_DETAIL: Final = {
    TIMEOUT: events.ALLOC_TIMEOUT,
    PREEMPTED_BY_SCHEDULER: events.ALLOC_PREEMPT,
}

RELEASED_BY_RM: Final = "allocation remove as per RM request"


def release_allocations(turn: Turn, rm_id: str, releases: tuple[AllocationRelease, ...]) -> None:
    """End allocations on demand of the RM, or after it confirmed.

    A release without application is one of a foreign allocation. Rules: SI-60 to SI-65, CYC-29.
    Emits: EventRecord, ApplicationUpdated, AllocationsReleased.
    """
    for release in releases:
        partition = turn.cluster.partition(rm_id, release.partition)
        if not partition or release.termination_type == PLACEHOLDER_REPLACED:
            continue  # SI-64: there is no placeholder this could confirm
        if not release.application_id:
            release_foreign(turn, partition, release)
        application = partition.applications.get(release.application_id)
        if not application:
            continue
        allocations = named_allocations(application, release)
        for allocation in allocations:
            detail = REMOVAL_DETAIL.get(release.termination_type, events.ALLOC_CANCEL)
            _end(turn, partition, allocation, detail)
        if allocations and release.termination_type not in (TIMEOUT, PREEMPTED_BY_SCHEDULER):
            turn.emit(released_by_rm(partition, allocations, RELEASED_BY_RM))


def named_allocations(application: Application, release: AllocationRelease) -> list[Allocation]:
    """Return the allocations a release means, oldest first. Rules: SI-61, SI-62."""
    live = application.allocations
    if release.allocation_id:
        found = live.get(release.allocation_id)
        return [] if found is None else [found]
    if release.allocation_key:
        return [live[identity] for identity in application.identities(release.allocation_key)]
    return list(live.values())


def note_removal(turn: Turn, partition: Partition, allocation: Allocation, detail: int) -> None:
    """Take an allocation off its application and queues, with the event.

    What its user and group lose by it is told once, by who calls. Rules: EVT-21, EVT-89, CYC-26.
    """
    _refund(partition, allocation)
    _removal_event(turn, partition, allocation, detail)


def node_returns(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    """Give the node its room back, with the event, and wake who can use it. Rules: EVT-50."""
    node = allocation.node
    node.remove(allocation)
    turn.event(
        partition,
        events.NODE,
        node.node_id,
        events.REMOVE,
        events.NODE_ALLOC,
        allocation.allocation_id,
        allocation.amounts.resource,
    )
    offer_anew(partition, node)


def end_on_node(turn: Turn, partition: Partition, node: Node) -> AllocationsReleased | None:
    """End everything on a node that goes away; None if there was nothing of ours.

    Rules: NODE-13, NODE-14, SI-69.
    """
    forget_foreign(partition, node)
    message = f"Node {node.node_id} Removed"
    released: list[ReleasedAllocation] = []
    for allocation in list(node.allocations.values()):
        _end(turn, partition, allocation, events.ALLOC_NODEREMOVED)
        released.append(_released(partition, allocation, message))
    return AllocationsReleased(partition.rm_id, tuple(released)) if released else None


def fail_application(
    turn: Turn, partition: Partition, application: Application, cause: str
) -> None:
    """Fail an application and end all it has, on its nodes too. Rules: OBJ-9, APP-14, EVT-26.

    Emits: EventRecord, ApplicationUpdated, AllocationsReleased.
    """
    fire(turn, partition, application, states.FAIL, cause)
    drop_requests(turn, partition, application)
    allocations = list(application.allocations.values())
    for allocation in allocations:
        _end(turn, partition, allocation, events.ALLOC_CANCEL)
    if allocations:
        turn.emit(released_by_rm(partition, allocations, cause))
    fire(turn, partition, application, states.FAIL, cause)


def released_by_rm(
    partition: Partition, allocations: list[Allocation], message: str
) -> AllocationsReleased:
    """Return the answer that these allocations were ended by the RM. Rules: SI-60, SI-77."""
    released = tuple([_released(partition, each, message) for each in allocations])
    return AllocationsReleased(partition.rm_id, released)


def _end(turn: Turn, partition: Partition, allocation: Allocation, detail: int) -> None:
    """End one allocation: application, its state, node, in the order of EVT-87."""
    _refund(partition, allocation)
    usage_shrank(turn, partition, allocation.application, allocation.amounts.resource)
    complete_if_idle(turn, partition, allocation.application)
    _removal_event(turn, partition, allocation, detail)
    node_returns(turn, partition, allocation)


def _refund(partition: Partition, allocation: Allocation) -> None:
    refund(partition, allocation)
    application = allocation.application
    key = allocation.ask.allocation_key
    application.identities(key).pop(allocation.allocation_id, None)
    if key in application.detached and not application.detached[key]:
        del application.detached[key]


def _removal_event(turn: Turn, partition: Partition, allocation: Allocation, detail: int) -> None:
    turn.application_event(
        partition,
        allocation.application,
        events.REMOVE,
        detail,
        allocation.allocation_id,
        allocation.amounts.resource,
    )


def _released(partition: Partition, allocation: Allocation, message: str) -> ReleasedAllocation:
    return ReleasedAllocation(
        partition.name,
        allocation.application.application_id,
        allocation.allocation_id,
        allocation.ask.allocation_key,
        STOPPED_BY_RM,
        message,
    )
