"""Ends allocations (rules: chapter 70 section 7).

An allocation ends when the RM ends it, when the RM confirms a release request, or when its node or
application is removed. A real allocation that waits for the end of a placeholder then takes its
place.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.gangs import lose_placeholder
from remuda.core.accounting.history import book_history
from remuda.core.accounting.usage import count_early, refund
from remuda.core.apply.allocations.cancelled_swaps import cancel_swap, cancel_swaps
from remuda.core.apply.allocations.foreign import forget_foreign, release_foreign
from remuda.core.apply.allocations.release_requests import released_allocation
from remuda.core.apply.applications.lifecycle import allocation_left, asks_left, drop_requests, fire
from remuda.core.apply.applications.past_asks import end_request
from remuda.core.apply.decisions.swaps import complete_swap, report_new
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
from remuda.core.model.applications.application import Application
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.pending.changes import node_renewed

# Implements: EVT-27. The event detail by termination type; a release of unknown type is one by the
# RM (SI-60).
REMOVAL_DETAIL: Final = {
    TIMEOUT: events.ALLOC_TIMEOUT,
    PREEMPTED_BY_SCHEDULER: events.ALLOC_PREEMPT,
    PLACEHOLDER_REPLACED: events.ALLOC_REPLACED,
}

# Releases of these types are confirmations; they get no answer (SI-60). Implements: SI-68.
CONFIRMATIONS: Final = (TIMEOUT, PREEMPTED_BY_SCHEDULER, PLACEHOLDER_REPLACED)

RELEASED_BY_RM: Final = "allocation remove as per RM request"


def release_allocations(turn: Turn, rm_id: str, releases: tuple[AllocationRelease, ...]) -> None:
    """End allocations that the RM releases, or whose release it confirms.

    A release without application is for a foreign allocation. Implements: SI-60. Rules: chapter 70
    section 7, CYC-29.
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
    """Return why a release cannot confirm the end of a placeholder. Implements: SI-64 (Ours)."""
    if release.termination_type != PLACEHOLDER_REPLACED:
        return ""
    key = release.allocation_key
    if not release.allocation_id and not key:
        name = application.application_id
        return f"application '{name}': replaced placeholder without allocation ID and key"
    named = named_allocations(application, release)
    for each in named:
        if not each.ask.placeholder:
            return f"allocation '{each.allocation_id}' is no placeholder and cannot be replaced"
    if len(named) > 1:
        return f"key '{key}' has {len(named)} placeholders; name the allocation ID of the replaced"
    return ""


def _release(
    turn: Turn, partition: Partition, application: Application, release: AllocationRelease
) -> None:
    """End the allocations of one release; a placeholder to be replaced is replaced, for any type.

    A release of all of an application's allocations replaces no placeholder.
    Implements: SI-63, SI-65, SI-66, SI-67 (Ours). Rules: SI-60, SI-61, GANG-19.
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
        report_new(turn, partition, real)


def named_allocations(application: Application, release: AllocationRelease) -> list[Allocation]:
    """Return the allocations a release means, oldest first. Implements: SI-61, SI-62."""
    live = application.allocations
    if release.allocation_id:
        found = live.get(release.allocation_id)
        return [] if found is None else [found]
    if release.allocation_key:
        return [live[identity] for identity in application.identities(release.allocation_key)]
    return list(live.values())


def note_removal(turn: Turn, partition: Partition, allocation: Allocation, detail: int) -> None:
    """Take an allocation off its application and queues, and emit the event.

    The caller reports the change of its user's and group's usage once. Implements: CYC-26, EVT-28.
    Rules: EVT-21, EVT-89.
    """
    _refund(turn, partition, allocation)
    turn.allocation_event(partition, allocation, events.REMOVE, detail)


def node_returns(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    """Give the node its room back, emit the event, and unblock asks that can use the room.

    Implements: EVT-50.
    """
    node = allocation.node
    node.remove(allocation)
    turn.node_event(partition, allocation, events.REMOVE)
    node_renewed(partition, node)


def end_on_node(
    turn: Turn, partition: Partition, node: Node
) -> tuple[list[Allocation], list[Allocation]]:
    """End everything on a node that goes away.

    A real allocation on another node takes the place of its placeholder here. A real allocation
    that was to come to this node is undone.

    Returns: the allocations that ended, and those that replaced a placeholder.
    Implements: NOD-6, CYC-27, GANG-18. Rules: NODE-13, NODE-14, SI-69.
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


def report_node_gone(
    turn: Turn,
    partition: Partition,
    node: Node,
    ended: list[Allocation],
    arrived: list[Allocation],
) -> None:
    """Report to the RM which allocations ended with a node, and which replaced placeholders there.

    Rules: GANG-18, NODE-13.  Emits: AllocationsReleased, AllocationNew.
    """
    if ended:
        turn.emit(released_by_rm(partition, ended, f"Node {node.node_id} Removed"))
    for real in arrived:
        report_new(turn, partition, real)


def fail_application(
    turn: Turn, partition: Partition, application: Application, cause: str
) -> None:
    """Fail an application and end all its asks and allocations, also on their nodes.

    Emits: EventRecord, ApplicationUpdated, AllocationsReleased.
    Implements: EVT-26. Rules: OBJ-9, APP-14.
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
    """Return the effect that the RM ended these allocations. Rules: SI-60, SI-77."""
    released = tuple(
        [released_allocation(partition, each, STOPPED_BY_RM, message) for each in allocations]
    )
    return AllocationsReleased(partition.rm_id, released)


def _end(turn: Turn, partition: Partition, allocation: Allocation, detail: int) -> None:
    """End one allocation in the order of EVT-87: application, its state, node.

    Implements: EVT-87. Rules: GANG-33, SI-60, SI-112.
    """
    application, ask = allocation.application, allocation.ask
    _refund(turn, partition, allocation)
    usage_shrank(turn, partition, application, allocation.amounts.resource)
    if ask.placeholder:
        lose_placeholder(partition, allocation)
        count_early(partition, application)
    allocation_left(turn, partition, application, placeholder=ask.placeholder)
    turn.allocation_event(partition, allocation, events.REMOVE, detail)
    node_returns(turn, partition, allocation)


def _refund(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    book_history(allocation, turn.now_ns)
    refund(partition, allocation)
    allocation.application.forget(allocation)
    end_request(partition, allocation.application, allocation.ask.allocation_key)
