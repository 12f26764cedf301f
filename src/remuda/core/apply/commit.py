"""Carries out what the cycle decided (rules: CYC-17, CYC-18)."""

from __future__ import annotations

from remuda.core.accounting.usage import charge
from remuda.core.accounting.waiting import hold, park, wait
from remuda.core.apply.lifecycle import allocation_added
from remuda.core.apply.tracking import look, usage_grew
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.effects import AllocationNew, EventRecord
from remuda.core.messages.events import ADD, APP, APP_ALLOC, NODE, NODE_ALLOC
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.decision import Allocate, Hold, Park, Wait
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request, Strand


def allocate(turn: Turn, partition: Partition, decision: Allocate) -> None:
    """Place one allocation. It cannot fail: the decision was made on this very state.

    Rules: CYC-17, EVT-84. Emits: EventRecord, ApplicationUpdated, AllocationNew.
    """
    request = decision.request
    node = decision.node
    assert request.pending > 0, "an ask without pending was chosen"
    application = request.application
    if not application.seen or not application.queue_lets or not application.quota_lets:
        _look_at_first(turn, partition, application)
    allocation = Allocation(
        next_allocation_id(request), request.ask, request.amounts, application, node
    )
    allocation.requested_ns = request.created_ns
    _remember_refusals(request, decision.refused)
    request.attempted = True
    enter(turn, partition, request, allocation)
    turn.emit(
        AllocationNew(
            partition.rm_id, partition.name, allocation.allocation_id, node.node_id, request.ask
        )
    )


def park_lane(turn: Turn, partition: Partition, decision: Park) -> None:
    """Park a lane in which nothing can be placed now. Rules: CYC-12. Emits: EventRecord."""
    lane = decision.lane
    request = lane.first().first()
    request.attempted = True
    _look_at_first(turn, partition, request.application)
    for strand in list(lane.fresh.values()):
        _look_at_fresh(turn, partition, strand)
    _remember_refusals(request, decision.refused)
    park(partition, lane, decision.limiting)


def let_wait(turn: Turn, partition: Partition, decision: Wait) -> None:
    """Set a strand aside whose user or group has no room; that was no attempt to place it.

    Rules: CYC-12, LIM-53, LIM-54. Emits: EventRecord.
    """
    strand = decision.strand
    _look_at_first(turn, partition, strand.first().application)
    _look_at_fresh(turn, partition, strand)
    wait(partition, strand, decision.tracker)


def hold_back(turn: Turn, partition: Partition, decision: Hold) -> None:
    """Set a strand aside whose applications may not start yet.

    Rules: CYC-11, QUE-25, QUE-26, LIM-60, EVT-23, EVT-24, EVT-32, EVT-33. Emits: EventRecord.
    """
    strand = decision.strand
    full = decision.queue or decision.quota
    assert full is not None
    first = strand.first().application
    for application in [first, *strand.fresh.values()]:
        look(turn, partition, application)
        _tell_runnable(turn, partition, application, decision)
    _seen_all(strand)
    hold(partition, strand, full)


def next_allocation_id(request: Request) -> str:
    """Return the identity of an ask's next allocation, never one given out before.

    Rules: CYC-18, SI-35. A recovered allocation, or one of an earlier ask with this key, may bear
    an identity of this form.
    """
    live = request.application.allocations
    key = request.ask.allocation_key
    number = max(request.made, request.next_identity)
    allocation_id = f"{key}-{number}"
    while allocation_id in live:
        number += 1
        allocation_id = f"{key}-{number}"
    request.next_identity = number + 1
    return allocation_id


def enter(turn: Turn, partition: Partition, request: Request, allocation: Allocation) -> None:
    """Book an allocation, move the application's state, tell everybody. Rules: APP-4, EVT-84.

    The state is announced with the total before this allocation (EVT-86).
    """
    application = request.application
    identity = allocation.allocation_id
    resource = allocation.amounts.resource
    request.made += 1
    request.allocation_ids[identity] = None
    node_id = allocation.node.node_id
    now_ns = turn.now_ns
    allocation.created_ns = now_ns
    rm_id, name = partition.rm_id, partition.name
    # Built here and not by turn.event: this is the one path where a call less is worth it.
    emit = turn.effects.append
    emit(EventRecord(rm_id, name, NODE, node_id, identity, ADD, NODE_ALLOC, now_ns, resource))
    if application.state != states.RUNNING:
        allocation_added(turn, partition, application)
    charge(partition, allocation, request)
    if not application.seen:
        look(turn, partition, application)
    usage_grew(turn, partition, application, resource)
    application_id = application.record.application_id
    emit(EventRecord(rm_id, name, APP, application_id, identity, ADD, APP_ALLOC, now_ns, resource))


def _look_at_first(turn: Turn, partition: Partition, application: Application) -> None:
    """Look at the application that is served: it may run."""
    look(turn, partition, application)
    _tell_runnable(turn, partition, application, None)
    for group in application.request_groups.values():
        strand = group.strand
        if strand.fresh.pop(application.number, None) and not strand.fresh:
            strand.lane.fresh.pop(strand.number, None)


def _look_at_fresh(turn: Turn, partition: Partition, strand: Strand) -> None:
    for application in strand.fresh.values():
        look(turn, partition, application)
    _seen_all(strand)


def _seen_all(strand: Strand) -> None:
    strand.fresh.clear()
    strand.lane.fresh.pop(strand.number, None)


def _tell_runnable(
    turn: Turn, partition: Partition, application: Application, hold: Hold | None
) -> None:
    """Send an event where the answer to "may it start" changed. Rules: QUE-26, EVT-23, EVT-24."""
    queue_lets = hold is None or hold.queue is None
    quota_lets = hold is None or hold.quota is None
    if application.queue_lets != queue_lets:
        application.queue_lets = queue_lets
        detail = events.APP_RUNNABLE_QUEUE if queue_lets else events.APP_CANNOTRUN_QUEUE
        turn.application_event(partition, application, events.NONE, detail)
    if application.quota_lets != quota_lets:
        application.quota_lets = quota_lets
        detail = events.APP_RUNNABLE_QUOTA if quota_lets else events.APP_CANNOTRUN_QUOTA
        turn.application_event(partition, application, events.NONE, detail)


def _remember_refusals(request: Request, refused: list[Node]) -> None:
    """Keep refusals that hold for the whole predicate class until the node changes."""
    group = request.group
    if group is not None and not group.strand.lane.shape.volatile:
        for node in refused:
            node.refused.add(group.strand.lane.shape.constraint)
