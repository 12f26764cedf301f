"""Works out anew what reservations and turns say (part of ``check``)."""

from __future__ import annotations

from remuda.config.queue_properties import STATEAWARE
from remuda.core.invariants.require import require
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.reservation import Reservation
from remuda.core.model.vectors import fits


def check_reservations(partition: Partition) -> None:
    """Reservations are listed at ask, application, node and claim, within their limits.

    Rules: RSV-1, RSV-5, RSV-6, RSV-7, RSV-11 (Ours), RSV-12, QUE-24, QUE-41, NODE-16.
    """
    for reservation in partition.reservations.values():
        _reservation(partition, reservation)
    closed = 0
    for node in partition.nodes.values():
        held = any(each.holds() for each in node.reservations.values())
        closed += held and node.schedulable
        require(node.held == held, partition, f"node {node.node_id} is held, or not")
        known = all(number in partition.reservations for number in node.reservations)
        require(known, partition, f"node {node.node_id} has a lost reservation")
    require(partition.closed_nodes == closed, partition, "closed nodes are miscounted")
    for queue in partition.queues(partition.root):
        _starters(partition, queue)
        _turns(partition, queue)


def _reservation(partition: Partition, reservation: Reservation) -> None:
    number, node, request = reservation.number, reservation.node, reservation.request
    application = request.application
    name = f"reservation of {request.ask.allocation_key} on {node.node_id}"
    claim = reservation.claim
    listed = (
        partition.nodes.get(node.node_id) is node
        and node.reservations.get(number) is reservation
        and request.reservations.get(node.node_id) is reservation
        and application.reservations.get(number) is reservation
        and application.requests.get(request.ask.allocation_key) is request
        and claim.reservations.get(number) is reservation
        and partition.claims.get(claim.key) is claim
    )
    require(listed, partition, f"{name} is not listed everywhere")
    require(node.holds(request.amounts), partition, f"{name}: the node is too small")
    enough = len(request.reservations) <= request.pending
    require(enough, partition, f"{name}: its ask has more than it wants")
    required = request.required_node()
    require(required in ("", node.node_id), partition, f"{name}: another node is required")
    alone = len(node.reservations) == 1 or required != ""
    require(alone, partition, f"{name} shares the node")
    require(claim.amounts.need == request.amounts.need, partition, f"{name}: a wrong claim")
    require(claim.fits == claim.fit(), partition, f"{name}: its limits changed")
    group = request.group
    require(group is not None, partition, f"{name}: its ask is in no lane")
    assert group is not None
    refused = reservation.refusal != "" or group.strand.lane.shape.constraint in node.verdicts
    usable = node.schedulable or required != ""
    home = usable and not refused and fits(node.available, request.amounts)
    require(reservation.home == home, partition, f"{name} is at home, or not")


def _starters(partition: Partition, queue: Queue) -> None:
    """Applications in Accepted with a reservation or a placeholder count at their queues.

    Rules: QUE-24, APP-19.
    """
    count = 0
    for application in partition.applications.values():
        if application.queue is None or queue not in application.queue.path_up:
            continue
        placeholders = [a for a in application.allocations.values() if a.ask.placeholder]
        holds = len(application.reservations) > 0 or len(placeholders) > 0
        right = application.state == states.ACCEPTED and holds
        require(application.starter == right, partition, f"{application.application_id}: starter")
        count += right
    require(queue.starters == count, partition, f"{queue.path} miscounts its starters")


def _turns(partition: Partition, queue: Queue) -> None:
    """In a StateAware leaf the oldest application that waits has the turn. Rules: QUE-41."""
    applications = queue.applications.values()
    starting = [each for each in applications if each.state == states.STARTING]
    require(queue.turns.starting == len(starting), partition, f"{queue.path}: who is starting")
    if queue.settings.application_sort == STATEAWARE:
        accepted = [each for each in applications if each.state == states.ACCEPTED]
        waiting: list[Application] = [each for each in accepted if each.request_groups]
        waiting.sort(key=lambda each: (each.submitted_ns, each.number))
        holder = waiting[0] if waiting and not starting else None
        require(queue.turns.holder is holder, partition, f"{queue.path}: a wrong turn")
