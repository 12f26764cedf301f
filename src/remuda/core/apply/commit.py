"""Carries out what the cycle decided (rules: CYC-17, CYC-18)."""

from __future__ import annotations

from remuda.core.accounting.lanes import park
from remuda.core.accounting.usage import charge
from remuda.core.apply.lifecycle import allocation_added
from remuda.core.apply.turn import Turn
from remuda.core.messages.effects import AllocationNew, EventRecord
from remuda.core.messages.events import ADD, APP, APP_ALLOC, NODE, NODE_ALLOC
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.decision import Allocate, Park
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request


def allocate(turn: Turn, partition: Partition, decision: Allocate) -> None:
    """Place one allocation. It cannot fail: the decision was made on this very state.

    Rules: CYC-17, EVT-84. Emits: EventRecord, ApplicationUpdated, AllocationNew.
    """
    request = decision.request
    node = decision.node
    assert request.pending > 0, "an ask without pending was chosen"
    application = request.application
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


def park_lane(partition: Partition, decision: Park) -> None:
    """Park a lane in which nothing can be placed now. Rules: CYC-12."""
    request = decision.lane.first()
    request.attempted = True
    _remember_refusals(request, decision.refused)
    park(partition, decision.lane, decision.limiting)


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
    application_id = application.record.application_id
    emit(EventRecord(rm_id, name, APP, application_id, identity, ADD, APP_ALLOC, now_ns, resource))


def _remember_refusals(request: Request, refused: list[Node]) -> None:
    """Keep refusals that hold for the whole predicate class until the node changes."""
    group = request.group
    if group is not None and not group.lane.shape.volatile:
        for node in refused:
            node.refused.add(group.lane.shape.constraint)
