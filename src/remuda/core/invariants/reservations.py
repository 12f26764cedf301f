"""Works out anew the indexes of reservations and the turns of applications (part of ``check``)."""

from __future__ import annotations

from remuda.config.queue_properties import STATEAWARE
from remuda.core.invariants.require import Name, require
from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.reservation import Reservation
from remuda.core.model.vectors import fits


def check_reservations(partition: Partition) -> None:
    """Reservations are listed at ask, application, node and reservation class, within their limits.

    Rules: RSV-1, RSV-5, RSV-6, RSV-7, RSV-11 (Ours), RSV-12, QUE-24, QUE-41, NODE-16.
    """
    for reservation in partition.reserving.reservations.values():
        _reservation(partition, reservation)
    closed = 0
    for node in partition.nodes.values():
        held = any(each.holds() for each in node.reservations.values())
        closed += held and node.schedulable
        require(node.held == held, partition, "node {} is held, or not", node.node_id)
        known = all(number in partition.reserving.reservations for number in node.reservations)
        require(known, partition, "node {} has a lost reservation", node.node_id)
    require(partition.pool.closed_nodes == closed, partition, "closed nodes are miscounted")
    early = _starters(partition)
    for queue in partition.queues(partition.root):
        right = queue.counted_early == early.get(queue.path, 0)
        require(right, partition, "{} miscounts applications early", queue.path)
        _turns(partition, queue)


def _reservation(partition: Partition, reservation: Reservation) -> None:
    number, node, request = reservation.number, reservation.node, reservation.request
    application = request.application
    name = Name("reservation of {} on {}", request.ask.allocation_key, node.node_id)
    reservation_class = reservation.reservation_class
    listed = (
        partition.nodes.get(node.node_id) is node
        and node.reservations.get(number) is reservation
        and request.reservations.get(node.node_id) is reservation
        and application.reservations.get(number) is reservation
        and application.requests.get(request.ask.allocation_key) is request
        and reservation_class.reservations.get(number) is reservation
        and partition.reserving.classes.get(reservation_class.key) is reservation_class
    )
    require(listed, partition, "{} is not listed everywhere", name)
    require(node.holds(request.amounts), partition, "{}: the node is too small", name)
    enough = len(request.reservations) <= request.pending
    require(enough, partition, "{}: its ask has more than it wants", name)
    required = request.required_node()
    require(required in ("", node.node_id), partition, "{}: another node is required", name)
    alone = len(node.reservations) == 1 or required != ""
    require(alone, partition, "{} shares the node", name)
    require(
        reservation_class.amounts.need == request.amounts.need,
        partition,
        "{}: a wrong reservation class",
        name,
    )
    require(
        reservation_class.fits == reservation_class.fit(), partition, "{}: its limits changed", name
    )
    group = request.group
    require(group is not None, partition, "{}: its ask is in no class queue", name)
    assert group is not None
    refused = (
        reservation.refusal != ""
        or group.limit_group.class_queue.ask_class.predicate_class.refused() in node.verdicts
    )
    usable = node.schedulable or required != ""
    node_ready = usable and not refused and fits(node.available, request.amounts)
    require(
        reservation.node_ready == node_ready, partition, "{} has a node that is ready, or not", name
    )


def _starters(partition: Partition) -> dict[str, int]:
    """Applications in Accepted with a reservation or a placeholder count at their queues.

    Returns how many it are, by path of a queue. Rules: QUE-24, APP-19.
    """
    early: dict[str, int] = {}
    for application in partition.applications.values():
        placeholders = [a for a in application.allocations.values() if a.ask.placeholder]
        holds = len(application.reservations) > 0 or len(placeholders) > 0
        right = application.state == states.ACCEPTED and holds
        require(
            application.counted_early == right,
            partition,
            "{}: counted early",
            application.application_id,
        )
        for queue in application.queue.path_up if right else ():
            early[queue.path] = early.get(queue.path, 0) + 1
    return early


def _turns(partition: Partition, queue: Queue) -> None:
    """In a StateAware leaf the oldest waiting application has the turn. Rules: QUE-41."""
    applications = queue.applications.values()
    starting = [each for each in applications if each.state == states.STARTING]
    require(queue.turns.starting == len(starting), partition, "{}: who is starting", queue.path)
    if queue.settings.application_sort == STATEAWARE:
        accepted = [each for each in applications if each.state == states.ACCEPTED]
        waiting: list[Application] = [each for each in accepted if each.request_groups]
        waiting.sort(key=lambda each: (each.submitted_ns, each.number))
        holder = waiting[0] if waiting and not starting else None
        require(queue.turns.holder is holder, partition, "{}: a wrong turn", queue.path)
