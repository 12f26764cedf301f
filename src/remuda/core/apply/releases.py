"""Ends allocations (rules: chapter 70 section 7).

The RM ends them, or confirms what the core ordered; a node or an application goes and takes them
along. A placeholder that ends makes room for the real allocation that waits for it, if one does.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.gangs import lose
from remuda.core.accounting.history import book_history
from remuda.core.accounting.usage import count_starter, refund
from remuda.core.accounting.waiting import offer_anew
from remuda.core.apply.cancelled_swaps import cancel_swap, cancel_swaps
from remuda.core.apply.foreign import forget_foreign, release_foreign
from remuda.core.apply.lifecycle import allocation_left, asks_left, drop_requests, fire
from remuda.core.apply.orders import released_allocation
from remuda.core.apply.swaps import complete_swap, tell_new
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
from remuda.core.messages.effects import AllocationsReleased, ReleaseRefused
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition

# EVT-27: the event detail of ways to end. A release of no known type is one by the RM (SI-60).
REMOVAL_DETAIL: Final = {
    TIMEOUT: events.ALLOC_TIMEOUT,
    PREEMPTED_BY_SCHEDULER: events.ALLOC_PREEMPT,
    PLACEHOLDER_REPLACED: events.ALLOC_REPLACED,
}

# What the RM confirms with these is not answered (SI-60, SI-68).
CONFIRMATIONS: Final = (TIMEOUT, PREEMPTED_BY_SCHEDULER, PLACEHOLDER_REPLACED)

RELEASED_BY_RM: Final = "allocation remove as per RM request"


def release_allocations(turn: Turn, rm_id: str, releases: tuple[AllocationRelease, ...]) -> None:
    """End allocations on demand of the RM, or after it confirmed.

    A release without application is one of a foreign allocation. Rules: SI-60 to SI-69, CYC-29.
    Emits: EventRecord, ApplicationUpdated, AllocationsReleased, AllocationNew, ReleaseRefused.
    """
    for release in releases:
        partition = turn.cluster.partition(rm_id, release.partition)
        if not partition:
            continue
        if not release.application_id:
            if release.termination_type != PLACEHOLDER_REPLACED:
                release_foreign(turn, partition, release)
            continue
        application = partition.applications.get(release.application_id)
        if not application:
            continue
        fault = _replacement_fault(application, release)
        if fault:
            turn.emit(ReleaseRefused(rm_id, fault, "SI-64"))
            continue
        _release(turn, partition, application, release)


def _replacement_fault(application: Application, release: AllocationRelease) -> str:
    """Return why a release cannot confirm the end of a placeholder. Rules: SI-64 (Ours)."""
    if release.termination_type != PLACEHOLDER_REPLACED:
        return ""
    if not release.allocation_id:
        return f"application '{application.application_id}': replaced placeholder without ID"
    found = application.allocations.get(release.allocation_id)
    if found is not None and not found.ask.placeholder:
        return f"allocation '{release.allocation_id}' is no placeholder and cannot be replaced"
    return ""


def _release(
    turn: Turn, partition: Partition, application: Application, release: AllocationRelease
) -> None:
    """End what one release means; a placeholder that was to be replaced is, whatever the type.

    When everything of an application ends, nothing takes the place of anything.
    Rules: SI-60, SI-61, SI-63, SI-65 to SI-67 (Ours), GANG-19.
    """
    if not release.allocation_id and not release.allocation_key:
        cancel_swaps(turn, partition, application, again=True)
    allocations = named_allocations(application, release)
    gang = application.gang
    arrived: list[Allocation] = []
    for allocation in allocations:
        if gang is not None and allocation.allocation_id in gang.replacing:
            arrived.append(complete_swap(turn, partition, allocation))
        else:
            detail = REMOVAL_DETAIL.get(release.termination_type, events.ALLOC_CANCEL)
            _end(turn, partition, allocation, detail)
    if allocations and release.termination_type not in CONFIRMATIONS:
        turn.emit(released_by_rm(partition, allocations, RELEASED_BY_RM))
    for real in arrived:
        tell_new(turn, partition, real)


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
    _refund(turn, partition, allocation)
    turn.allocation_event(partition, allocation, events.REMOVE, detail)


def node_returns(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    """Give the node its room back, with the event, and wake who can use it. Rules: EVT-50."""
    node = allocation.node
    node.remove(allocation)
    turn.node_event(partition, allocation, events.REMOVE)
    offer_anew(partition, node)


def end_on_node(
    turn: Turn, partition: Partition, node: Node
) -> tuple[list[Allocation], list[Allocation]]:
    """End everything on a node that goes away.

    Real allocations whose placeholder goes take its place if they are on another node; those that
    were to come to this one are undone.

    Returns: what ended, and what took the place of a placeholder.
    Rules: NODE-13, NODE-14, NOD-6, GANG-18, SI-69.
    """
    forget_foreign(partition, node)
    _undo_on_node(turn, partition, node)
    ended: list[Allocation] = []
    arrived: list[Allocation] = []
    for allocation in list(node.allocations):
        ended.append(allocation)
        gang = allocation.application.gang
        if gang is not None and allocation.allocation_id in gang.replacing:
            arrived.append(complete_swap(turn, partition, allocation))
        else:
            _end(turn, partition, allocation, events.ALLOC_NODEREMOVED)
    return ended, arrived


def _undo_on_node(turn: Turn, partition: Partition, node: Node) -> None:
    """Undo the replacements by allocations on a node that goes away. Rules: GANG-18."""
    for allocation in list(node.allocations):
        if allocation.replaces is not None:
            cancel_swap(turn, partition, allocation.replaces, again=True)
            continue
        gang = allocation.application.gang
        real = None if gang is None else gang.replacing.get(allocation.allocation_id)
        if real is not None and real.node is node:
            cancel_swap(turn, partition, allocation, again=True)


def tell_node_gone(
    turn: Turn,
    partition: Partition,
    node: Node,
    ended: list[Allocation],
    arrived: list[Allocation],
) -> None:
    """Tell the RM what ended with a node, and what took the place of placeholders there.

    Rules: NODE-13, GANG-18. Emits: AllocationsReleased, AllocationNew.
    """
    if ended:
        turn.emit(released_by_rm(partition, ended, f"Node {node.node_id} Removed"))
    for real in arrived:
        tell_new(turn, partition, real)


def fail_application(
    turn: Turn, partition: Partition, application: Application, cause: str
) -> None:
    """Fail an application and end all it has, on its nodes too. Rules: OBJ-9, APP-14, EVT-26.

    Emits: EventRecord, ApplicationUpdated, AllocationsReleased.
    """
    if application.state != states.FAILING:
        fire(turn, partition, application, states.FAIL, cause)
    drop_requests(turn, partition, application)
    allocations = list(application.allocations.values())
    if allocations:
        turn.emit(released_by_rm(partition, allocations, cause))
    for allocation in allocations:
        _end(turn, partition, allocation, events.ALLOC_CANCEL)
    asks_left(turn, partition, application)


def released_by_rm(
    partition: Partition, allocations: list[Allocation], message: str
) -> AllocationsReleased:
    """Return the answer that these allocations were ended by the RM. Rules: SI-60, SI-77."""
    released = tuple(
        [released_allocation(partition, each, STOPPED_BY_RM, message) for each in allocations]
    )
    return AllocationsReleased(partition.rm_id, released)


def _end(turn: Turn, partition: Partition, allocation: Allocation, detail: int) -> None:
    """End one allocation: application, its state, node, in the order of EVT-87.

    Rules: GANG-33, SI-60, SI-112.
    """
    application, ask = allocation.application, allocation.ask
    _refund(turn, partition, allocation)
    usage_shrank(turn, partition, application, allocation.amounts.resource)
    if ask.placeholder:
        lose(partition, application, ask.task_group, 1)
        count_starter(partition, application)
    allocation_left(turn, partition, application, placeholder=ask.placeholder)
    turn.allocation_event(partition, allocation, events.REMOVE, detail)
    node_returns(turn, partition, allocation)


def _refund(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    book_history(allocation, turn.now_ns)
    refund(partition, allocation)
    allocation.application.forget(allocation)
