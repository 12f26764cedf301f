"""Replaces placeholders by real allocations (rules: CYC-23, chapter 80 section 3).

A swap begins with the request to the RM to release the placeholder, and is complete when the
placeholder ends. ``cancelled_swaps`` undoes a swap in between.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.history import book_history
from remuda.core.accounting.replacement import begin_replacement, end_replacement
from remuda.core.accounting.usage import count_early
from remuda.core.apply.allocations.identities import next_allocation_id
from remuda.core.apply.allocations.release_requests import limit_execution, request_release
from remuda.core.apply.applications.lifecycle import allocation_left, member_arrived
from remuda.core.apply.applications.past_asks import end_request
from remuda.core.apply.asks.ask_findings import note_reason, note_refusals, report_mismatch
from remuda.core.apply.asks.reservations import trim_reservations
from remuda.core.apply.tracking import report_usage
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import PLACEHOLDER_REPLACED, TIMEOUT
from remuda.core.messages.effects import AllocationNew
from remuda.core.model.allocation import Allocation
from remuda.core.model.decision import Replacement, Swap
from remuda.core.model.partition import Partition
from remuda.core.pending.asks import mark_looked
from remuda.core.pending.changes import node_renewed
from remuda.core.pending.swaps import note_failed_swap

TOO_SMALL: Final = "cancel placeholder: resource incompatible"


def swap_placeholders(turn: Turn, partition: Partition, swap: Swap) -> None:
    """Request the release of the placeholder a real ask replaces, and of those that are too small.

    Rules: CYC-6, CYC-23, GANG-14, GANG-15, GANG-16. Emits: EventRecord, AllocationsReleased.
    """
    for refused, reason in swap.reasons:
        note_reason(turn, refused, reason)
    for larger, small in swap.discarded:
        report_mismatch(turn, partition, larger, small)
        request_release(turn, partition, [small], TIMEOUT, TOO_SMALL)
    for class_queue in swap.judged:
        class_queue.ask_class.predicate_class.forget()
    if swap.tried is not None:
        note_refusals(turn, partition, swap.tried, swap.refusals)
    if swap.replacement is not None:
        _begin(turn, partition, swap.replacement)
    elif not swap.discarded:
        _look_on(partition, swap)


def _look_on(partition: Partition, swap: Swap) -> None:
    """Note where the next decision goes on, if a try takes several decisions.

    After the last of them, no swap is tried for a while. If a node changed during the try, the try
    begins anew. Rules: GANG-16 (decision 67 of docs/spec).
    """
    gang = swap.application.gang
    assert gang is not None
    if not gang.looked_until:
        gang.looked_since = partition.waiting.changes
    gang.looked_until = swap.looked_until
    if not swap.looked_until and gang.looked_since == partition.waiting.changes:
        note_failed_swap(partition, swap.application)


def _begin(turn: Turn, partition: Partition, replacement: Replacement) -> None:
    """Request the release of a placeholder for a real allocation.

    Implements: GANG-14. Rules: GANG-16.
    """
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
    request_release(turn, partition, [placeholder], PLACEHOLDER_REPLACED, text)


def complete_swap(turn: Turn, partition: Partition, placeholder: Allocation) -> Allocation:
    """Put the real allocation in its placeholder's place; the caller reports it to the RM.

    Implements: GANG-17 (Ours), EVT-88, EVT-61. Rules: SI-66, APP-7. Emits: EventRecord,
    ApplicationUpdated.
    """
    application = placeholder.application
    gang = application.gang
    assert gang is not None
    first = len(application.allocations) == len(gang.placeholders)  # nothing real runs yet
    gang.replacing[placeholder.allocation_id].created_ns = turn.now_ns
    book_history(placeholder, turn.now_ns)
    real = end_replacement(partition, placeholder)
    end_request(partition, application, placeholder.ask.allocation_key)
    real.placeholder_ns = placeholder.created_ns
    limit_execution(turn, partition, real, real.ask.execution_timeout_ms)
    report_usage(turn, partition, application, events.REMOVE, placeholder.amounts.resource)
    turn.allocation_event(partition, placeholder, events.REMOVE, events.ALLOC_REPLACED)
    turn.node_event(partition, placeholder, events.REMOVE)
    if real.node is placeholder.node:
        turn.node_event(partition, real, events.ADD)
    member_arrived(turn, partition, application, first=first)
    report_usage(turn, partition, application, events.ADD, real.amounts.resource)
    turn.allocation_event(partition, real, events.ADD, events.APP_ALLOC)
    allocation_left(turn, partition, application, placeholder=True)
    count_early(partition, application)
    if partition.nodes.get(placeholder.node.node_id) is placeholder.node:
        node_renewed(partition, placeholder.node)
    return real


def report_new(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    """Report an allocation to the RM that may run now.

    Implements: SI-42. Rules: SI-76. Emits: AllocationNew.
    """
    identity, node_id = allocation.allocation_id, allocation.node.node_id
    turn.emit(AllocationNew(partition.rm_id, partition.name, identity, node_id, allocation.ask))
