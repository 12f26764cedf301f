"""Lets real allocations take the place of placeholders (rules: CYC-23, GANG-14 to GANG-17).

A swap begins with the order to the RM to end the placeholder and is complete with its end; what
takes it back meanwhile is in ``cancelled_swaps``.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.history import book_history
from remuda.core.accounting.lanes import mark_looked
from remuda.core.accounting.replacement import begin_replacement, end_replacement
from remuda.core.accounting.swaps import set_stuck
from remuda.core.accounting.usage import count_starter
from remuda.core.accounting.waiting import offer_anew
from remuda.core.apply.identities import next_allocation_id
from remuda.core.apply.lifecycle import allocation_left, member_arrived
from remuda.core.apply.looking import note_reason, note_refusals, tell_mismatch
from remuda.core.apply.orders import limit_execution, order
from remuda.core.apply.questions import forget
from remuda.core.apply.reservations import trim_reservations
from remuda.core.apply.tracking import tell_usage
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import PLACEHOLDER_REPLACED, TIMEOUT
from remuda.core.messages.effects import AllocationNew
from remuda.core.model.allocation import Allocation
from remuda.core.model.decision import Replacement, Swap
from remuda.core.model.partition import Partition

TOO_SMALL: Final = "cancel placeholder: resource incompatible"


def swap_placeholders(turn: Turn, partition: Partition, swap: Swap) -> None:
    """Order placeholders out: the one that a real ask replaces, those that are too small.

    Rules: CYC-6, CYC-23, GANG-14, GANG-15, GANG-16. Emits: EventRecord, AllocationsReleased.
    """
    for refused, reason in swap.reasons:
        note_reason(turn, refused, reason)
    for larger, small in swap.discarded:
        tell_mismatch(turn, partition, larger, small)
        order(turn, partition, [small], TIMEOUT, TOO_SMALL)
    for lane in swap.judged:
        forget(lane)
    if swap.tried is not None:
        note_refusals(turn, partition, swap.tried, swap.refusals)
    if swap.replacement is not None:
        _begin(turn, partition, swap.replacement)
    elif not swap.discarded:
        _look_on(partition, swap)


def _look_on(partition: Partition, swap: Swap) -> None:
    """Go on with a long try in the next decision, or leave the application alone after the last.

    If a node changed while it went on, it begins anew. Rules: GANG-16 (decision 67 of docs/spec).
    """
    gang = swap.application.gang
    assert gang is not None
    if not gang.looked_until:
        gang.looked_since = partition.changes
    gang.looked_until = swap.looked_until
    if not swap.looked_until and gang.looked_since == partition.changes:
        set_stuck(partition, swap.application)


def _begin(turn: Turn, partition: Partition, replacement: Replacement) -> None:
    """Order a placeholder out for a real allocation. Rules: GANG-14, GANG-16."""
    request, placeholder = replacement.request, replacement.placeholder
    mark_looked(request)
    identity = next_allocation_id(request)
    application, node = request.application, replacement.node
    real = Allocation(identity, request.ask, request.amounts, application, node)
    real.requested_ns = request.created_ns
    begin_replacement(partition, request, placeholder, real)
    trim_reservations(turn, partition, request)
    if real.node is not placeholder.node:
        turn.node_event(partition, real, events.ADD)
    text = f"replacing allocationID: {identity}"
    order(turn, partition, [placeholder], PLACEHOLDER_REPLACED, text)


def complete_swap(turn: Turn, partition: Partition, placeholder: Allocation) -> Allocation:
    """Put the real allocation in the place of its placeholder; the caller tells the RM of it.

    Rules: GANG-17 (Ours), SI-66, APP-7, EVT-88. Emits: EventRecord, ApplicationUpdated.
    """
    application = placeholder.application
    gang = application.gang
    assert gang is not None
    first = len(application.allocations) == len(gang.placeholders)  # nothing real runs yet
    gang.replacing[placeholder.allocation_id].created_ns = turn.now_ns
    book_history(placeholder, turn.now_ns)
    real = end_replacement(partition, placeholder)
    real.placeholder_ns = placeholder.created_ns
    limit_execution(turn, partition, real, real.ask.execution_timeout_ms)
    tell_usage(turn, partition, application, events.REMOVE, placeholder.amounts.resource)
    turn.allocation_event(partition, placeholder, events.REMOVE, events.ALLOC_REPLACED)
    turn.node_event(partition, placeholder, events.REMOVE)
    if real.node is placeholder.node:
        turn.node_event(partition, real, events.ADD)
    member_arrived(turn, partition, application, first=first)
    tell_usage(turn, partition, application, events.ADD, real.amounts.resource)
    turn.allocation_event(partition, real, events.ADD, events.APP_ALLOC)
    allocation_left(turn, partition, application, placeholder=True)
    count_starter(partition, application)
    if partition.nodes.get(placeholder.node.node_id) is placeholder.node:
        offer_anew(partition, placeholder.node)
    return real


def tell_new(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    """Tell the RM of an allocation that runs now. Rules: SI-42, SI-76. Emits: AllocationNew."""
    identity, node_id = allocation.allocation_id, allocation.node.node_id
    turn.emit(AllocationNew(partition.rm_id, partition.name, identity, node_id, allocation.ask))
