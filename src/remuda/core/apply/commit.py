"""Carries out what the cycle decided (rules: CYC-17, CYC-18)."""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.lanes import mark_looked, regroup
from remuda.core.accounting.usage import charge, count_unplaced
from remuda.core.accounting.waiting import hold, park, wait
from remuda.core.apply.attempts import note_attempt, place_standing
from remuda.core.apply.gangs import placeholder_entered
from remuda.core.apply.identities import next_allocation_id
from remuda.core.apply.lifecycle import allocation_added, first_ask_came
from remuda.core.apply.looking import (
    look_at_held,
    look_at_parked,
    look_at_served,
    look_at_waiting,
    note_refusals,
    tell_refusals,
)
from remuda.core.apply.orders import limit_execution
from remuda.core.apply.questions import forget
from remuda.core.apply.reservations import reserve, unreserve, unreserve_all
from remuda.core.apply.tracking import look, usage_grew
from remuda.core.apply.turn import Turn
from remuda.core.messages.effects import AllocationNew, EventRecord
from remuda.core.messages.events import ADD, APP, APP_ALLOC, NODE, NODE_ALLOC
from remuda.core.model import deadlines, states
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.decision import Allocate, Hold, Park, Pause, Refusals, Reserve, Wait
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.model.shape import HOME

# Why reservations end that are cancelled (CYC-14).
DISPLACED: Final = "an ask for just this node came first"


def allocate(turn: Turn, partition: Partition, decision: Allocate) -> None:
    """Place one allocation. It cannot fail: the decision was made on this very state.

    A reservation that it makes use of ends with it, and so do those it takes precedence over.
    Rules: CYC-6, CYC-14, CYC-17, RSV-8, EVT-84. Emits: EventRecord, ApplicationUpdated,
    AllocationNew.
    """
    request = decision.request
    node = decision.node
    assert request.pending > 0, "an ask without pending was chosen"
    if decision.cancelled:
        unreserve_all(turn, partition, decision.cancelled, DISPLACED)
    application = request.application
    if not (application.seen and application.queue_lets and application.quota_lets) or not (
        request.fits_user and request.fits_queue
    ):
        look_at_served(turn, partition, request)
    elif not request.looked and request.pending > 1:
        mark_looked(request)
    request.attempted = True
    if decision.refusals.told:
        _note_search(turn, partition, request, decision.refusals)
    allocation = Allocation(
        next_allocation_id(request), request.ask, request.amounts, application, node
    )
    allocation.requested_ns = request.created_ns
    enter(turn, partition, request, allocation)
    if request.ask.execution_timeout_ms:
        limit_execution(turn, partition, allocation, request.ask.execution_timeout_ms)
    if request.pending:
        partition.outstanding.add(request)
    reservation = decision.reservation
    preemption = request.preemption
    if preemption is not None:
        reservation = request.reservations.get(preemption.node_id)
        place_standing(turn, partition, request)
    if reservation is not None:
        unreserve(turn, partition, reservation)
    turn.emit(
        AllocationNew(
            partition.rm_id, partition.name, allocation.allocation_id, node.node_id, request.ask
        )
    )


def keep_node(turn: Turn, partition: Partition, decision: Reserve) -> None:
    """Reserve a node for an ask that found none. Rules: CYC-6, CYC-14. Emits: EventRecord."""
    request = decision.request
    unreserve_all(turn, partition, decision.cancelled, DISPLACED)
    look_at_served(turn, partition, request)
    if request.group is not None:
        forget(request.group.strand.lane)
    note_refusals(turn, partition, request, decision.refusals)
    tell_refusals(turn, partition, request, decision.refusals)
    reservation = reserve(turn, partition, request, decision.node)
    for node, reason in decision.refusals.now + decision.refusals.known:
        if node is decision.node:
            reservation.refusal = reason


def park_lane(turn: Turn, partition: Partition, decision: Park) -> None:
    """Park a lane in which nothing can be placed now. Rules: CYC-12, CYC-33. Emits: EventRecord.

    An ask whose own node was refused by predicates goes on looking at other nodes.
    """
    lane = decision.lane
    for stop in decision.others:
        if isinstance(stop, Wait):
            let_wait(turn, partition, stop)
        else:
            hold_back(turn, partition, stop)
    request = lane.first().first()
    look_at_parked(turn, partition, decision)
    if decision.attempt is not None:
        note_attempt(turn, partition, lane, decision.attempt)
    forget(lane)
    if lane.shape.stage == HOME and decision.limiting is None:
        for node, reason in decision.refusals.now + decision.refusals.known:
            request.reservations[node.node_id].refusal = reason
            partition.shaken[node.node_id] = node
        return
    park(partition, lane, decision.limiting)
    best = decision.refusals.best
    if best is not None:
        partition.rebuffed[lane.number] = (lane, best)
    if decision.counts:
        count_unplaced(request)
    if decision.pauses:
        back_off(turn, partition, request.application)


def _note_search(turn: Turn, partition: Partition, request: Request, refusals: Refusals) -> None:
    """Note what predicates refused on the way; verdicts end with the last ask they are for.

    Rules: CYC-24, SI-80, EXT-5.
    """
    note_refusals(turn, partition, request, refusals)
    group = request.group
    if group is not None and request.pending == 1:
        lane = group.strand.lane
        if group.order.count == len(group.strand.groups) == len(lane.strands) == 1:
            forget(lane)


def let_wait(turn: Turn, partition: Partition, decision: Wait) -> None:
    """Set a strand aside whose user or group has no room. Rules: LIM-53, LIM-54."""
    look_at_waiting(turn, partition, decision)
    forget(decision.strand.lane)
    wait(partition, decision.strand, decision.tracker)


def hold_back(turn: Turn, partition: Partition, decision: Hold) -> None:
    """Set a strand aside whose applications may not start yet. Rules: CYC-11, QUE-25, LIM-60."""
    look_at_held(turn, partition, decision)
    forget(decision.strand.lane)
    full = decision.queue or decision.quota
    assert full is not None
    hold(partition, decision.strand, full)


def back_off(turn: Turn, partition: Partition, application: Application) -> None:
    """Leave an application alone for a while: too many of its asks found no node. Rules: CYC-33."""
    leaf = application.queue
    assert leaf is not None
    delay_ns = leaf.settings.backoff_delay_ns
    application.backoff_until_ns = turn.now_ns + delay_ns
    turn.set_timer(partition, deadlines.BACKOFF, delay_ns, application)
    regroup(partition, application)


def let_pause(partition: Partition, decision: Pause) -> None:
    """Close what was woken of an application that backs off. Rules: CYC-33."""
    regroup(partition, decision.application)


def enter(
    turn: Turn,
    partition: Partition,
    request: Request,
    allocation: Allocation,
    since_ns: int | None = None,
) -> None:
    """Book an allocation, move the application's state, tell everybody.

    The state is announced with the total before this allocation (EVT-86). ``since_ns``: since when
    a reported one has been there, None if it is new.
    Rules: APP-4, GANG-5, GANG-21, EVT-84, EVT-85.
    """
    application = request.application
    identity = allocation.allocation_id
    resource = allocation.amounts.resource
    request.made += 1
    request.note_allocation(identity)
    node_id = allocation.node.node_id
    now_ns = turn.now_ns
    allocation.created_ns = now_ns
    rm_id, name, path = partition.rm_id, partition.name, application.queue_path
    tracking = turn.cluster.tracking
    # Built here and not by turn.event: this is the one path where a call less is worth it.
    emit = turn.effects.append
    if tracking:
        detail = NODE_ALLOC
        emit(
            EventRecord(
                rm_id, name, NODE, node_id, identity, ADD, detail, now_ns, resource, "", path
            )
        )
    if allocation.ask.placeholder:
        first_ask_came(turn, partition, application)
    elif application.state != states.RUNNING:
        allocation_added(turn, partition, application)
    charge(partition, allocation, request)
    if not application.seen:
        look(turn, partition, application)
    usage_grew(turn, partition, application, resource)
    if allocation.ask.placeholder:
        placeholder_entered(turn, partition, allocation, since_ns)
    if tracking:
        subject, detail = application.record.application_id, APP_ALLOC
        emit(
            EventRecord(
                rm_id, name, APP, subject, identity, ADD, detail, now_ns, resource, "", path
            )
        )
