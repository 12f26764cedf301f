"""Makes reservations and ends them (rules: chapter 50 part D).

Whether a reservation keeps its node from others, and whether the node would take the ask now,
depends on room and limits, which most events change. ``review`` works both out again after each
command, decision and timer, for the reservations and nodes that changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from remuda.core.accounting.usage import count_early
from remuda.core.apply.asks.ages import plan_ages
from remuda.core.apply.asks.attempts import (
    complete_preemption,
    lose_preemption,
    plan_attempts,
    retry_blocked,
    try_again,
)
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model import deadlines
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.ages import FOREVER_NS
from remuda.core.model.asks.class_queue import CLOSED
from remuda.core.model.asks.request import NO_RESERVATIONS, Request
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound
from remuda.core.model.reservation import Reservation, ReservationClass, ReservationClassKey
from remuda.core.model.vectors import Amounts, Vector, add, fits, fits_limit
from remuda.core.pending.asks import reclassify
from remuda.core.pending.changes import node_gained_room, node_reservable, reservable_changed
from remuda.core.pending.limit_sets import limit_set_of
from remuda.core.pending.marks import headroom_changed, node_changed, preemption_changed


def reserve(turn: Turn, partition: Partition, request: Request, node: Node) -> Reservation:
    """Keep a node free for an ask.

    Implements: RSV-5, EVT-55, RSV-2. Rules: RSV-1, RSV-7. Emits: EventRecord.
    """
    number = partition.next_number()
    preemption_changed(partition)
    reservation_class = _reservation_class(partition, request)
    reservation = Reservation(number, request, node, reservation_class, turn.now_ns)
    reservation_class.reservations[number] = reservation
    partition.reserving.reservations[number] = reservation
    node.reservations[number] = reservation
    if request.reservations is NO_RESERVATIONS:
        request.reservations = {}
    request.reservations[node.node_id] = reservation
    request.application.reservations[number] = reservation
    _reservation_event(turn, partition, reservation, events.ADD)
    reservable_changed(partition)
    close_or_open(partition, node)
    node_changed(partition, node)
    reclassify(partition, request)
    count_early(partition, request.application)
    return reservation


def unreserve(
    turn: Turn, partition: Partition, reservation: Reservation, cause: str = "it was given up"
) -> None:
    """End a reservation: others may use the node, and the ask may reserve again.

    A preemption in effect for the ask ends with this cause, unless the ask has been placed.
    Implements: RSV-11 (Ours), EVT-56. Rules: RSV-8, RSV-9, PRE-6 (Ours). Emits: EventRecord.
    """
    number = reservation.number
    request, node = reservation.request, reservation.node
    preemption = request.preemption
    if preemption is not None and preemption.node_id == node.node_id:
        lose_preemption(turn, partition, request, cause)
    preemption_changed(partition)
    _leave_reservation_class(partition, reservation)
    del partition.reserving.reservations[number]
    del node.reservations[number]
    del request.reservations[node.node_id]
    del request.application.reservations[number]
    _reservation_event(turn, partition, reservation, events.REMOVE)
    reclassify(partition, request)
    count_early(partition, request.application)
    close_or_open(partition, node)
    reservable_changed(partition)
    if partition.preempting.attempts.blocked:
        retry_blocked(partition)
    if node.node_id in partition.nodes:
        node_reservable(partition, node)


def unreserve_all(
    turn: Turn, partition: Partition, reservations: Sequence[Reservation], cause: str
) -> None:
    """End some reservations for a cause, oldest first. Implements: RSV-9."""
    for reservation in reservations:
        unreserve(turn, partition, reservation, cause)


def use_reservation(turn: Turn, partition: Partition, request: Request, node: Node) -> None:
    """End one reservation of an ask that got an allocation.

    The choice: the reservation on the node where it preempted, else the one on its node, else the
    oldest.
    Implements: RSV-8. Rules: SI-44, PRE-89.
    """
    preemption = request.preemption
    complete_preemption(turn, partition, request)
    kept = node.node_id if preemption is None else preemption.node_id
    own = request.reservations.get(kept)
    reservation = own or request.oldest_reservation()
    if reservation is not None:
        unreserve(turn, partition, reservation)


def trim_reservations(turn: Turn, partition: Partition, request: Request) -> None:
    """End the reservations of an ask beyond its pending allocations, oldest first.

    Rules: RSV-6, SI-33.
    """
    beyond = len(request.reservations) - request.reservation_limit()
    for reservation in list(request.reservations.values())[: max(0, beyond)]:
        unreserve(turn, partition, reservation, "the ask wants less")


def free_held(turn: Turn, partition: Partition, application: Application) -> None:
    """End the reservations of asks that wait for placeholders. Rules: GANG-6, GANG-11."""
    for reservation in list(application.reservations.values()):
        group = reservation.request.group
        if group is not None and group.limit_group.admission == CLOSED:
            unreserve(turn, partition, reservation, "the ask waits for its placeholders")


def drop_unfit(turn: Turn, partition: Partition, reservations: list[Reservation]) -> None:
    """End the reservations, of those given, whose node is too small for the ask.

    Implements: NODE-16. Rules: SI-33, RSV-9.
    """
    for reservation in reservations:
        if not reservation.node.holds(reservation.request.amounts):
            unreserve(turn, partition, reservation, "the node is too small")


def review(turn: Turn, partition: Partition) -> None:
    """Bring reservations up to date with what changed, and set their timers.

    Rules: RSV-7, RSV-10, CYC-20, CYC-22 (Ours). Emits: EventRecord.
    """
    due = turn.now_ns >= partition.reserving.due_ns
    while True:
        if partition.reserving.classes and (partition.reserving.stale or due):
            _review_reservation_classes(turn, partition)
            due = False
        if not partition.reserving.nodes_to_review:
            break
        nodes_to_review, partition.reserving.nodes_to_review = (
            partition.reserving.nodes_to_review,
            {},
        )
        for node in nodes_to_review.values():
            for reservation in list(node.reservations.values()):
                _renew_node_ready(turn, partition, reservation)
    plan_ages(turn, partition)
    if partition.preempting.candidates is not None:
        plan_attempts(turn, partition)


def renew_reservation_class(partition: Partition, request: Request) -> None:
    """Move the reservations of an ask to the reservation class for its changed amounts.

    Rules: SI-33.
    """
    for reservation in request.reservations.values():
        _leave_reservation_class(partition, reservation)
        reservation.reservation_class = _reservation_class(partition, request)
        mates = reservation.reservation_class.reservations
        mates[reservation.number] = reservation
        reservation.reservation_class.reservations = dict(sorted(mates.items()))
        node_changed(partition, reservation.node)
        close_or_open(partition, reservation.node)


def renew_reservation_classes(partition: Partition) -> None:
    """Move every reservation to the class with the limits that concern its ask now.

    Rules: RLD-21, LIM-63.
    """
    partition.reserving.classes = {}
    for reservation in partition.reserving.reservations.values():
        reservation_class = _reservation_class(partition, reservation.request)
        reservation.reservation_class = reservation_class
        reservation_class.reservations[reservation.number] = reservation
    for node in {
        each.node.node_id: each.node for each in partition.reserving.reservations.values()
    }.values():
        close_or_open(partition, node)


def _reservation_class(partition: Partition, request: Request) -> ReservationClass:
    """Return the reservation class for asks like this one; make it if there is none.

    Rules: RSV-10.
    """
    application = request.application
    leaf = application.queue
    limit_set = limit_set_of(partition, application)
    key: ReservationClassKey = (leaf.path, limit_set.number, request.amounts.number)
    reservation_class = partition.reserving.classes.get(key)
    if reservation_class is None:
        bounds: list[Bound] = [*leaf.path_up, *limit_set.limited]
        reservation_class = ReservationClass(key, request.amounts, tuple(bounds))
        reservation_class.fits = reservation_class.fit()
        partition.reserving.classes[key] = reservation_class
        headroom_changed(partition)
    return reservation_class


def _leave_reservation_class(partition: Partition, reservation: Reservation) -> None:
    """Take a reservation out of its reservation class; an empty class is removed."""
    reservation_class = reservation.reservation_class
    del reservation_class.reservations[reservation.number]
    headroom_changed(partition)
    if not reservation_class.reservations:
        del partition.reserving.classes[reservation_class.key]


def _review_reservation_classes(turn: Turn, partition: Partition) -> None:
    """Work out which reservations fit the headroom now; end those that did not fit for too long."""
    partition.reserving.stale = False
    partition.reserving.due_ns = FOREVER_NS
    overpromised = False
    known: dict[Bound, int] = {}
    for reservation_class in list(partition.reserving.classes.values()):
        fit = reservation_class.fit()
        if fit != reservation_class.fits:
            reservation_class.fits = fit
            for reservation in reservation_class.reservations.values():
                close_or_open(partition, reservation.node)
        if not fit:
            overpromised = overpromised or reservation_class.overpromised(known)
        if not fit and partition.settings.reservation_limit_ns:
            _end_old(turn, partition, reservation_class)
    if overpromised:
        _end_without_room(turn, partition)


def _end_without_room(turn: Turn, partition: Partition) -> None:
    """End the preemptions of asks whose queue, user or group has lost the room promised to them.

    The scheduler never gives that room to others, but an RM may report that more is used (after a
    recovery, or because an allocation grew), and a maximum may become lower. The asks may wait
    without end then, and their nodes would be kept from others. What room there is goes to the
    oldest preemptions, whichever victims end first. A preemption whose victims have not all ended
    yet stays. Cost: O(preemptions that are remembered). Rules: PRE-6 (Ours), PRE-49 (Ours), PRE-89.
    """
    used: dict[Bound, Vector] = {}
    for preemption in list(partition.preempting.made.values()):
        request = preemption.request
        if request is None or not preemption.promised:
            continue
        bounds = request.reservations[preemption.node_id].reservation_class.bounds
        if _use_room(used, bounds, request.amounts) or preemption.left:
            continue
        cause = "its queue, its user or its group has no room for it any more"
        lose_preemption(turn, partition, request, cause)
        for each in request.reservations.values():
            close_or_open(partition, each.node)
            # The classes are reviewed once more after it, because others may fit now.
            partition.reserving.nodes_to_review[each.node.node_id] = each.node


def _use_room(used: dict[Bound, Vector], bounds: Sequence[Bound], amounts: Amounts) -> bool:
    """Add amounts to what is used at some bounds, unless a maximum has no room for them.

    ``used``: what the bounds looked at so far have without victims, and what was added.
    """
    for bound in bounds:
        if bound.maximum is None:
            continue
        if bound not in used:
            used[bound] = bound.stays()
        if not fits_limit(bound.maximum, used[bound], amounts):
            return False
    for bound in bounds:
        if bound.maximum is not None:
            add(used[bound], amounts)
    return True


def _end_old(turn: Turn, partition: Partition, reservation_class: ReservationClass) -> None:
    """End the too old ones of the reservations that do not fit the headroom.

    A reservation whose victims have not all ended yet stays. So does one with promised room: its
    class may not fit just because of that. Implements: RSV-10 (Ours). Rules: PRE-89.
    """
    for reservation in list(reservation_class.reservations.values()):
        preemption = reservation.request.preemption
        if preemption is not None and (preemption.left or preemption.promised):
            continue
        due_ns = reservation.created_ns + partition.settings.reservation_limit_ns + 1
        if due_ns > turn.now_ns:
            partition.reserving.due_ns = min(partition.reserving.due_ns, due_ns)
            if not reservation.timed:
                reservation.timed = True
                turn.set_timer(partition, deadlines.RESERVATION_AGE, due_ns - turn.now_ns)
            return
        unreserve(turn, partition, reservation, "it did not fit the headroom for too long")


def close_or_open(partition: Partition, node: Node) -> None:
    """Keep a node from others while an ask that reserved it fits its limits. Implements: RSV-7."""
    held = False
    for reservation in node.reservations.values():
        held = held or reservation.holds()
    if held == node.held:
        return
    node.held = held
    if node.schedulable:
        partition.pool.closed_nodes += 1 if held else -1
    if held:
        partition.pool.drop_node(node.node_id)
    elif node.node_id in partition.nodes:
        node_gained_room(partition, node)


def _end_lost_preemption(turn: Turn, partition: Partition, reservation: Reservation) -> None:
    """End the preemption in effect for an ask whose node has no room though all victims ended.

    Rules: PRE-6 (Ours), PRE-49 (Ours).
    """
    request, node = reservation.request, reservation.node
    preemption = request.preemption
    if preemption is not None and preemption.node_id == node.node_id and not preemption.left:
        lose_preemption(turn, partition, request, "the node does not take it any more")
        close_or_open(partition, node)


def _renew_node_ready(turn: Turn, partition: Partition, reservation: Reservation) -> None:
    """Work out whether a node would take the ask it is reserved for now.

    Rules: CYC-20, CYC-22 (Ours), NOD-8, NODE-11.
    """
    node, request = reservation.node, reservation.request
    group = request.group
    if group is None:
        return
    usable = node.schedulable or request.required_node() != ""
    known = group.limit_group.class_queue.ask_class.predicate_class.refused() in node.verdicts
    room = fits(node.available, request.amounts)
    node_ready = usable and room and not known and not reservation.refusal
    if not node_ready:
        _end_lost_preemption(turn, partition, reservation)
    if (
        not node_ready
        and group.limit_group.class_queue.tried is not None
        and request.required_node()
    ):
        try_again(partition, group.limit_group.class_queue)
    if node_ready != reservation.node_ready:
        reservation.node_ready = node_ready
        reclassify(partition, request)


def _reservation_event(
    turn: Turn, partition: Partition, reservation: Reservation, change: int
) -> None:
    request = reservation.request
    turn.event(
        partition,
        events.NODE,
        reservation.node.node_id,
        change,
        events.NODE_RESERVATION,
        request.ask.allocation_key,
        request.amounts.resource,
        queue=request.application.queue_path,
    )
