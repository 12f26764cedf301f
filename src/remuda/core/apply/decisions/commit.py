"""Carries out what the cycle decided (rules: CYC-17, CYC-18).

The state is the one that the decision was made on, so an allocation cannot fail here.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.usage import charge, count_unplaced
from remuda.core.apply.allocations.identities import next_allocation_id
from remuda.core.apply.allocations.release_requests import limit_execution
from remuda.core.apply.applications.gangs import placeholder_entered
from remuda.core.apply.applications.lifecycle import allocation_added, first_ask_came
from remuda.core.apply.asks.ask_findings import (
    note_application_limit,
    note_blocked,
    note_over_user_quota,
    note_refusals,
    note_served,
    report_refusals,
)
from remuda.core.apply.asks.attempts import complete_preemption, note_attempt
from remuda.core.apply.asks.reservations import reserve, unreserve, unreserve_all
from remuda.core.apply.asks.retries import note_change, note_refused
from remuda.core.apply.tracking import look, usage_grew
from remuda.core.apply.turn import Turn
from remuda.core.messages.effects import AllocationNew, EventRecord
from remuda.core.messages.events import ADD, APP, APP_ALLOC, NODE, NODE_ALLOC
from remuda.core.messages.gates import MAX_APPLICATIONS, USER_QUOTA
from remuda.core.model import deadlines, states
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.ask_class import NODE_READY
from remuda.core.model.asks.blocked import Blocked
from remuda.core.model.asks.request import Request
from remuda.core.model.decision import (
    Allocate,
    ApplicationLimitReached,
    BackedOff,
    NoRoom,
    Reserve,
    UserQuotaReached,
)
from remuda.core.model.partition import Partition
from remuda.core.pending.asks import mark_looked, regroup
from remuda.core.pending.blocking import block, block_group
from remuda.core.pending.marks import node_changed

# Why a cancelled reservation ends (CYC-14).
DISPLACED: Final = "an ask for just this node came first"


def allocate(turn: Turn, partition: Partition, decision: Allocate) -> None:
    """Place one allocation; this cannot fail, because the state is the one it was decided on.

    The reservation it uses ends, and so do the reservations over which it has precedence.
    Implements: CYC-8. Rules: CYC-6, CYC-14, CYC-17, RSV-8, EVT-84. Emits: EventRecord,
    ApplicationUpdated, AllocationNew.
    """
    request = decision.request
    node = decision.node
    if partition.waiting.gained_room.any:
        partition.waiting.gained_room.unblocked = {}
    assert request.pending > 0, "an ask without pending was chosen"
    if decision.cancelled:
        unreserve_all(turn, partition, decision.cancelled, DISPLACED)
    application = request.application
    if not (application.seen and application.queue_lets and application.quota_lets) or not (
        request.fits_user and request.fits_queue
    ):
        note_served(turn, partition, request)
    elif not request.looked and request.pending > 1:
        mark_looked(request)
    request.attempted = True
    if decision.refusals.to_note:
        _use_verdicts(turn, partition, decision)
    allocation = Allocation(
        next_allocation_id(request), request.ask, request.amounts, application, node
    )
    allocation.requested_ns = request.created_ns
    enter(turn, partition, request, allocation)
    if request.ask.execution_timeout_ms:
        limit_execution(turn, partition, allocation, request.ask.execution_timeout_ms)
    if request.pending:
        partition.waiting.outstanding.add(request)
    reservation = decision.reservation
    preemption = request.preemption
    if preemption is not None:
        reservation = request.reservations.get(preemption.node_id)
        complete_preemption(turn, partition, request)
    if reservation is not None:
        unreserve(turn, partition, reservation)
    turn.emit(
        AllocationNew(
            partition.rm_id, partition.name, allocation.allocation_id, node.node_id, request.ask
        )
    )


def _use_verdicts(turn: Turn, partition: Partition, decision: Allocate) -> None:
    """Note refusals, and that an ask of the class used one of the verdicts. Rules: EXT-13."""
    group = decision.request.group
    if group is not None:
        group.limit_group.class_queue.ask_class.predicate_class.used += 1
    note_refusals(turn, partition, decision.request, decision.refusals)


def keep_node(turn: Turn, partition: Partition, decision: Reserve) -> None:
    """Reserve a node for an ask that no node takes now.

    Implements: CYC-7. Rules: CYC-6, CYC-14. Emits: EventRecord.
    """
    request = decision.request
    unreserve_all(turn, partition, decision.cancelled, DISPLACED)
    note_served(turn, partition, request)
    if request.group is not None:
        request.group.limit_group.class_queue.ask_class.predicate_class.forget()
    note_refusals(turn, partition, request, decision.refusals)
    report_refusals(turn, partition, request, decision.refusals)
    partition.waiting.retries.stale = partition.settings.predicates
    reservation = reserve(turn, partition, request, decision.node)
    for node, reason in decision.refusals.now + decision.refusals.known:
        if node is decision.node:
            reservation.refusal = reason


def block_no_room(turn: Turn, partition: Partition, decision: NoRoom) -> None:
    """Block a class queue in which nothing can be placed now.

    An ask for which predicates refused its reserved node is tried on other nodes.

    Rules: CYC-12, CYC-33. Emits: EventRecord.
    """
    class_queue = decision.class_queue
    for stop in decision.others:
        if isinstance(stop, UserQuotaReached):
            block_user_quota(turn, partition, stop)
        else:
            block_application_limit(turn, partition, stop)
    request = class_queue.first().first()
    note_blocked(turn, partition, decision)
    if decision.attempt is not None:
        note_attempt(turn, partition, class_queue, decision.attempt)
    class_queue.ask_class.predicate_class.forget()
    if partition.settings.predicates and decision.limiting is None:
        note_refused(turn, partition, decision)
    if class_queue.ask_class.stage == NODE_READY and decision.limiting is None:
        for node, reason in decision.refusals.now + decision.refusals.known:
            request.reservations[node.node_id].refusal = reason
            node_changed(partition, node)
        return
    finding = class_queue.finding
    assert finding is not None
    block(partition, class_queue, Blocked(finding.gate, decision.limiting))
    best = decision.refusals.best
    if best is not None:
        partition.reserving.refused[class_queue.number] = (class_queue, best)
    if decision.counts:
        count_unplaced(request)
    if decision.pauses:
        back_off(turn, partition, request.application)


def block_user_quota(turn: Turn, partition: Partition, decision: UserQuotaReached) -> None:
    """Block a limit group whose user or group has no headroom.

    Implements: LIM-54. Rules: LIM-53.
    """
    note_over_user_quota(turn, partition, decision)
    decision.limit_group.class_queue.ask_class.predicate_class.forget()
    block_group(partition, decision.limit_group, Blocked(USER_QUOTA, decision.tracker))


def block_application_limit(
    turn: Turn, partition: Partition, decision: ApplicationLimitReached
) -> None:
    """Block a limit group whose applications may not start yet.

    Implements: QUE-25, LIM-60. Rules: CYC-11.
    """
    note_application_limit(turn, partition, decision)
    decision.limit_group.class_queue.ask_class.predicate_class.forget()
    full = decision.queue or decision.quota
    assert full is not None
    block_group(partition, decision.limit_group, Blocked(MAX_APPLICATIONS, full))


def back_off(turn: Turn, partition: Partition, application: Application) -> None:
    """Try no ask of an application for a while, as too many of its asks found no node.

    Implements: CYC-33.
    """
    leaf = application.queue
    delay_ns = leaf.settings.backoff_delay_ns
    application.backoff_until_ns = turn.now_ns + delay_ns
    turn.set_timer(partition, deadlines.BACKOFF, delay_ns, application)
    regroup(partition, application)


def keep_backed_off(partition: Partition, decision: BackedOff) -> None:
    """Block the unblocked asks of an application that still backs off. Rules: CYC-33."""
    regroup(partition, decision.application)


def enter(
    turn: Turn,
    partition: Partition,
    request: Request,
    allocation: Allocation,
    since_ns: int | None = None,
) -> None:
    """Book an allocation, change its application's state, and emit the events of both.

    The event of the state has the total before this allocation (EVT-86). ``since_ns``: when a
    reported allocation was created, None for a new one.
    Implements: EVT-84, EVT-85, EVT-86. Rules: APP-4, GANG-5, GANG-21.
    """
    application = request.application
    identity = allocation.allocation_id
    resource = allocation.amounts.resource
    request.made += 1
    request.note_allocation(identity)
    node_id = allocation.node.node_id
    wall_ns = turn.wall_ns
    allocation.created_ns = turn.now_ns
    rm_id, name, path = partition.rm_id, partition.name, application.queue_path
    tracking = turn.cluster.tracking
    # Built here and not by turn.event: on this path alone one call less is worth it.
    emit = turn.effects.append
    if tracking:
        detail = NODE_ALLOC
        emit(
            EventRecord(
                rm_id, name, NODE, node_id, identity, ADD, detail, wall_ns, resource, "", path
            )
        )
    if allocation.ask.placeholder:
        first_ask_came(turn, partition, application)
    elif application.state != states.RUNNING:
        allocation_added(turn, partition, application)
    charge(partition, allocation, request)
    if turn.fault_point is not None:
        turn.fault_point()
    if not application.seen:
        look(turn, partition, application)
    usage_grew(turn, partition, application, resource)
    if allocation.ask.placeholder:
        placeholder_entered(turn, partition, allocation, since_ns)
    if partition.waiting.retries.count:
        note_change(turn, partition)
    if tracking:
        subject, detail = application.record.application_id, APP_ALLOC
        emit(
            EventRecord(
                rm_id, name, APP, subject, identity, ADD, detail, wall_ns, resource, "", path
            )
        )
