"""The life of placeholders: allocated, replaced, timed out (rules: chapter 80 section 3).

What ends one is an order to the RM, and its confirmation; in between it counts as before.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.gangs import renew_gang, time_out
from remuda.core.accounting.lanes import mark_looked
from remuda.core.accounting.replacement import begin_replacement, end_replacement
from remuda.core.accounting.swaps import set_stuck
from remuda.core.accounting.usage import count_starter
from remuda.core.accounting.waiting import offer_anew
from remuda.core.apply.identities import next_allocation_id
from remuda.core.apply.lifecycle import (
    allocation_left,
    asks_left,
    drop_request,
    fire,
    member_arrived,
)
from remuda.core.apply.looking import note_reason, note_refusals, tell_mismatch
from remuda.core.apply.orders import limit_execution, order
from remuda.core.apply.questions import forget
from remuda.core.apply.reservations import unreserve_all
from remuda.core.apply.swaps import cancel_swaps
from remuda.core.apply.tracking import tell_usage
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import PLACEHOLDER_REPLACED, TIMEOUT
from remuda.core.messages.effects import AllocationNew, AsksReleased, ReleasedAsk
from remuda.core.model import deadlines, states
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.decision import Swap
from remuda.core.model.gang import Gang
from remuda.core.model.partition import Partition

HARD: Final = "Hard"
RESERVATION_TIMEOUT: Final = "ResourceReservationTimeout"
EXECUTION_TIMEOUT: Final = "ExecutionTimeout"
TOO_SMALL: Final = "cancel placeholder: resource incompatible"
TIMED_OUT: Final = "releasing allocated placeholders on placeholder timeout"
LEFT_OVER: Final = "releasing allocated placeholders on app complete"


def placeholder_entered(
    turn: Turn, partition: Partition, placeholder: Allocation, since_ns: int | None
) -> None:
    """Take note that a placeholder was booked: it starts the timer, the last one the application.

    ``since_ns``: since when a reported one has been there, None if it is new.
    Rules: GANG-5, GANG-20, GANG-21, GANG-41, APP-4 (e), APP-19.
    """
    application = placeholder.application
    gang = application.gang
    assert gang is not None
    _start_timer(turn, partition, application, gang, since_ns)
    count_starter(partition, application)
    if not gang.complete and gang.reserved():
        gang.complete = True
        renew_gang(partition, application)
        if application.state == states.ACCEPTED:
            fire(turn, partition, application, states.RUN)


def turn_away(turn: Turn, partition: Partition, application: Application) -> None:
    """Order out placeholders that were reported when all others were ordered out already.

    Rules: GANG-23, GANG-30, GANG-43 (decision 62 of docs/spec). Emits: AllocationsReleased.
    """
    gang = application.gang
    if gang is None:
        return
    late = application.state in (states.RESUMING, states.FAILING)
    if late or (application.state == states.COMPLETING and gang.ending):
        order(turn, partition, _not_ordered(gang), TIMEOUT, TIMED_OUT)


def _start_timer(
    turn: Turn, partition: Partition, application: Application, gang: Gang, since_ns: int | None
) -> None:
    """Let the reservation time out that long after the first placeholder, or the oldest reported.

    Rules: GANG-20 (Ours), GANG-21 (Ours), GANG-43, SI-28 (decisions 62 and 70 of docs/spec).
    """
    start_ns = turn.now_ns if since_ns is None else since_ns
    if gang.timer is None:
        if application.state not in (states.ACCEPTED, states.STARTING, states.RUNNING):
            return
    elif start_ns >= gang.since_ns:
        return
    gang.since_ns = start_ns
    timeout_ms = application.record.execution_timeout_ms
    timeout_ns = deadlines.RESERVATION_TIMEOUT_NS
    if 0 < timeout_ms <= deadlines.TIMEOUT_MS_LIMIT:
        timeout_ns = timeout_ms * deadlines.MILLISECOND_NS
    left_ns = max(deadlines.MILLISECOND_NS, start_ns + timeout_ns - turn.now_ns)
    gang.timer = turn.set_timer(partition, deadlines.PLACEHOLDERS, left_ns, application)


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
    request, placeholder = swap.request, swap.placeholder
    gang = swap.application.gang
    assert gang is not None
    gang.looked_until = () if swap.discarded or request else swap.looked_until
    if request is None or placeholder is None or swap.node is None:
        if not swap.discarded and not gang.looked_until:
            set_stuck(partition, swap.application)
        return
    mark_looked(request)
    identity = next_allocation_id(request)
    real = Allocation(identity, request.ask, request.amounts, swap.application, swap.node)
    real.requested_ns = request.created_ns
    begin_replacement(partition, request, placeholder, real)
    if real.node is not placeholder.node:
        _node_event(turn, partition, real, events.ADD)
    text = f"replacing allocationID: {identity}"
    order(turn, partition, [placeholder], PLACEHOLDER_REPLACED, text)


def complete_swap(turn: Turn, partition: Partition, placeholder: Allocation) -> Allocation:
    """Put the real allocation in the place of its placeholder; the caller tells the RM of it.

    Rules: GANG-17 (Ours), SI-66, APP-7, EVT-88. Emits: EventRecord, ApplicationUpdated.
    """
    application = placeholder.application
    gang = application.gang
    assert gang is not None
    first = len(application.allocations) == len(gang.placeholders)
    real = end_replacement(partition, placeholder)
    real.created_ns = turn.now_ns
    real.placeholder_ns = placeholder.created_ns
    limit_execution(turn, partition, real, real.ask.execution_timeout_ms)
    held, wanted = placeholder.amounts.resource, real.amounts.resource
    identity, detail = placeholder.allocation_id, events.ALLOC_REPLACED
    tell_usage(turn, partition, application, events.REMOVE, held)
    turn.application_event(partition, application, events.REMOVE, detail, identity, held)
    _node_event(turn, partition, placeholder, events.REMOVE)
    if real.node is placeholder.node:
        _node_event(turn, partition, real, events.ADD)
    member_arrived(turn, partition, application, first=first)
    tell_usage(turn, partition, application, events.ADD, wanted)
    identity, detail = real.allocation_id, events.APP_ALLOC
    turn.application_event(partition, application, events.ADD, detail, identity, wanted)
    allocation_left(turn, partition, application, placeholder=True)
    count_starter(partition, application)
    if partition.nodes.get(placeholder.node.node_id) is placeholder.node:
        offer_anew(partition, placeholder.node)
    return real


def tell_new(turn: Turn, partition: Partition, allocation: Allocation) -> None:
    """Tell the RM of an allocation that runs now. Rules: SI-42, SI-76. Emits: AllocationNew."""
    identity, node_id = allocation.allocation_id, allocation.node.node_id
    turn.emit(AllocationNew(partition.rm_id, partition.name, identity, node_id, allocation.ask))


def give_up_waiting(turn: Turn, partition: Partition, application: Application) -> None:
    """Do what is due when the reservation timed out.

    Before all placeholders were there the application fails or goes on as an ordinary one; later
    only what was not replaced goes.
    Rules: GANG-22 to GANG-26, APP-13. Emits: ApplicationUpdated, AsksReleased, AllocationsReleased,
    EventRecord.
    """
    gang = application.gang
    assert gang is not None
    gang.timer = None
    if not gang.placeholders:
        return
    if application.state in (states.STARTING, states.RUNNING, states.COMPLETING):
        order(turn, partition, _not_ordered(gang), TIMEOUT, TIMED_OUT)
    elif application.state == states.ACCEPTED:
        hard = application.record.gang_scheduling_style == HARD
        if hard:
            cancel_swaps(turn, partition, application, again=True)
        gang.over = True
        event = states.FAIL if hard else states.RESUME
        fire(turn, partition, application, event, RESERVATION_TIMEOUT)
        unreserve_all(turn, partition, list(application.reservations.values()))
        _time_out_asks(turn, partition, application, placeholders_only=not hard)
        time_out(partition, application)
        order(turn, partition, _not_ordered(gang), TIMEOUT, TIMED_OUT)


def end_left_over(turn: Turn, partition: Partition, application: Application) -> None:
    """Order out the placeholders nobody needed: nothing came while it was completing.

    Rules: GANG-30. Emits: AllocationsReleased.
    """
    gang = application.gang
    assert gang is not None
    gang.ending = True
    order(turn, partition, _not_ordered(gang), TIMEOUT, LEFT_OVER)


def end_running_time(turn: Turn, partition: Partition, application: Application) -> None:
    """Fail an application that ran for as long as it may, and order out all it has.

    Rules: APP-30 [S]. Emits: ApplicationUpdated, AsksReleased, AllocationsReleased, EventRecord.
    """
    if application.state == states.FAILING:
        return
    fire(turn, partition, application, states.FAIL, EXECUTION_TIMEOUT)
    cancel_swaps(turn, partition, application, again=True)
    unreserve_all(turn, partition, list(application.reservations.values()))
    _time_out_asks(turn, partition, application, placeholders_only=False)
    waiting = [each for each in application.allocations.values() if not each.ordered]
    order(turn, partition, waiting, TIMEOUT, EXECUTION_TIMEOUT)
    asks_left(turn, partition, application)


def _time_out_asks(
    turn: Turn, partition: Partition, application: Application, *, placeholders_only: bool
) -> None:
    """Drop asks of which something is pending, and tell the RM. Rules: GANG-23, GANG-26, SI-70."""
    released: list[ReleasedAsk] = []
    for key, request in list(application.requests.items()):
        if request.pending and (request.ask.placeholder or not placeholders_only):
            drop_request(turn, partition, application, key, events.REQUEST_TIMEOUT)
            application_id = application.application_id
            text = "released on timeout"
            released.append(ReleasedAsk(partition.name, application_id, key, TIMEOUT, text))
    if released:
        turn.emit(AsksReleased(partition.rm_id, tuple(released)))


def _not_ordered(gang: Gang) -> list[Allocation]:
    return [each for each in gang.placeholders.values() if not each.ordered]


def _node_event(turn: Turn, partition: Partition, allocation: Allocation, change: int) -> None:
    turn.event(
        partition,
        events.NODE,
        allocation.node.node_id,
        change,
        events.NODE_ALLOC,
        allocation.allocation_id,
        allocation.amounts.resource,
    )
