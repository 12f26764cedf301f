"""Makes reservations and ends them (rules: chapter 50 part D).

What a reservation keeps from others, and whether its own node would take the ask, follows from
room and limits, which change with everything that happens. ``review`` works it out again after
each command, decision and timer, for what changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from remuda.core.accounting.accounts import account_of
from remuda.core.accounting.lanes import restage
from remuda.core.accounting.usage import count_starter
from remuda.core.accounting.waiting import offer, wake_rebuffed, wake_to_reserve
from remuda.core.apply.ages import plan_ages
from remuda.core.apply.attempts import (
    lose_standing,
    place_standing,
    plan_attempts,
    retry_blocked,
    try_again,
)
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model import deadlines
from remuda.core.model.ages import FOREVER_NS
from remuda.core.model.application import Application
from remuda.core.model.bound import Bound
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.request import CLOSED, NO_RESERVATIONS, Request
from remuda.core.model.reservation import Claim, ClaimKey, Reservation
from remuda.core.model.vectors import fits


def reserve(turn: Turn, partition: Partition, request: Request, node: Node) -> Reservation:
    """Keep a node free for an ask. Rules: RSV-1, RSV-5, RSV-7, EVT-55. Emits: EventRecord."""
    number = partition.next_number()
    partition.revision += 1
    claim = _claim(partition, request)
    reservation = Reservation(number, request, node, claim, turn.now_ns)
    claim.reservations[number] = reservation
    partition.reservations[number] = reservation
    node.reservations[number] = reservation
    if request.reservations is NO_RESERVATIONS:
        request.reservations = {}
    request.reservations[node.node_id] = reservation
    request.application.reservations[number] = reservation
    _reservation_event(turn, partition, reservation, events.ADD)
    wake_rebuffed(partition)
    close_or_open(partition, node)
    partition.shaken[node.node_id] = node
    restage(partition, request)
    count_starter(partition, request.application)
    return reservation


def unreserve(
    turn: Turn, partition: Partition, reservation: Reservation, cause: str = "it was given up"
) -> None:
    """End a reservation; others may use the node, the ask may reserve again.

    What was preempted for it is lost then, for this cause, unless the ask has been placed.
    Rules: RSV-8, RSV-9, RSV-11 (Ours), PRE-6 (Ours), EVT-56. Emits: EventRecord.
    """
    number = reservation.number
    request, node = reservation.request, reservation.node
    preemption = request.preemption
    if preemption is not None and preemption.node_id == node.node_id:
        lose_standing(turn, partition, request, cause)
    partition.revision += 1
    _leave_claim(partition, reservation)
    del partition.reservations[number]
    del node.reservations[number]
    del request.reservations[node.node_id]
    del request.application.reservations[number]
    _reservation_event(turn, partition, reservation, events.REMOVE)
    restage(partition, request)
    count_starter(partition, request.application)
    close_or_open(partition, node)
    wake_rebuffed(partition)
    if partition.attempts.blocked:
        retry_blocked(partition)
    if node.node_id in partition.nodes:
        wake_to_reserve(partition, node)


def unreserve_all(
    turn: Turn, partition: Partition, reservations: Sequence[Reservation], cause: str
) -> None:
    """End some reservations for a cause, oldest first. Rules: RSV-9."""
    for reservation in reservations:
        unreserve(turn, partition, reservation, cause)


def use_reservation(turn: Turn, partition: Partition, request: Request, node: Node) -> None:
    """End one reservation of an ask that got an allocation.

    That on the node for which others were preempted, else that on its node, else the oldest.
    Rules: RSV-8, SI-44, PRE-89.
    """
    standing = request.preemption
    place_standing(turn, partition, request)
    kept = node.node_id if standing is None else standing.node_id
    own = request.reservations.get(kept)
    reservation = own or request.oldest_reservation()
    if reservation is not None:
        unreserve(turn, partition, reservation)


def trim_reservations(turn: Turn, partition: Partition, request: Request) -> None:
    """End what an ask has reserved beyond what it wants, oldest first. Rules: RSV-6, SI-33."""
    beyond = len(request.reservations) - request.reservation_limit()
    for reservation in list(request.reservations.values())[: max(0, beyond)]:
        unreserve(turn, partition, reservation, "the ask wants less")


def free_held(turn: Turn, partition: Partition, application: Application) -> None:
    """Give up the reservations of asks that wait for placeholders. Rules: GANG-6, GANG-11."""
    for reservation in list(application.reservations.values()):
        group = reservation.request.group
        if group is not None and group.strand.gate == CLOSED:
            unreserve(turn, partition, reservation, "the ask waits for its placeholders")


def drop_unfit(turn: Turn, partition: Partition, reservations: list[Reservation]) -> None:
    """End those of some reservations whose node is too small for the ask.

    Rules: NODE-16, SI-33, RSV-9.
    """
    for reservation in reservations:
        if not reservation.node.holds(reservation.request.amounts):
            unreserve(turn, partition, reservation, "the node is too small")


def review(turn: Turn, partition: Partition) -> None:
    """Take note of what changed for reservations, and see that timers are set.

    Rules: RSV-7, RSV-10, CYC-20, CYC-22 (Ours). Emits: EventRecord.
    """
    due = turn.now_ns >= partition.claims_due_ns
    while True:
        if partition.claims and (partition.claims_stale or due):
            _review_claims(turn, partition)
            due = False
        if not partition.shaken:
            break
        shaken, partition.shaken = partition.shaken, {}
        for node in shaken.values():
            for reservation in list(node.reservations.values()):
                _settle_home(turn, partition, reservation)
    plan_ages(turn, partition)
    if partition.candidates is not None:
        plan_attempts(turn, partition)


def renew_claim(partition: Partition, request: Request) -> None:
    """Tie the reservations of an ask to the limits for its amounts, which changed. Rules: SI-33."""
    for reservation in request.reservations.values():
        _leave_claim(partition, reservation)
        reservation.claim = _claim(partition, request)
        mates = reservation.claim.reservations
        mates[reservation.number] = reservation
        reservation.claim.reservations = dict(sorted(mates.items()))
        partition.shaken[reservation.node.node_id] = reservation.node
        close_or_open(partition, reservation.node)


def renew_claims(partition: Partition) -> None:
    """Tie every reservation to the limits that now concern its ask. Rules: RLD-21, LIM-63."""
    partition.claims = {}
    for reservation in partition.reservations.values():
        claim = _claim(partition, reservation.request)
        reservation.claim = claim
        claim.reservations[reservation.number] = reservation
    for node in {each.node.node_id: each.node for each in partition.reservations.values()}.values():
        close_or_open(partition, node)


def _claim(partition: Partition, request: Request) -> Claim:
    """Return the claim for asks like this one, opening it if need be. Rules: RSV-10."""
    application = request.application
    leaf = application.queue
    assert leaf is not None
    account = account_of(partition, application)
    key: ClaimKey = (leaf.path, account.number, request.amounts.number)
    claim = partition.claims.get(key)
    if claim is None:
        bounds: list[Bound] = [*leaf.path_up, *account.limited]
        claim = Claim(key, request.amounts, tuple(bounds))
        claim.fits = claim.fit()
        partition.claims[key] = claim
        partition.claims_stale = True
    return claim


def _leave_claim(partition: Partition, reservation: Reservation) -> None:
    """Take a reservation out of its claim, which ends with the last one."""
    claim = reservation.claim
    del claim.reservations[reservation.number]
    partition.claims_stale = True
    if not claim.reservations:
        del partition.claims[claim.key]


def _review_claims(turn: Turn, partition: Partition) -> None:
    """See which reservations fit the headroom now, and end those that did not for too long."""
    partition.claims_stale = False
    partition.claims_due_ns = FOREVER_NS
    for claim in list(partition.claims.values()):
        fit = claim.fit()
        if fit != claim.fits:
            claim.fits = fit
            for reservation in claim.reservations.values():
                close_or_open(partition, reservation.node)
        if not fit and partition.reservation_limit_ns:
            _end_old(turn, partition, claim)


def _end_old(turn: Turn, partition: Partition, claim: Claim) -> None:
    """End what is too old of reservations that do not fit the headroom.

    Not while victims are still to go. Rules: RSV-10 (Ours), PRE-89.
    """
    for reservation in list(claim.reservations.values()):
        preemption = reservation.request.preemption
        if preemption is not None and preemption.left:
            continue
        due_ns = reservation.created_ns + partition.reservation_limit_ns + 1
        if due_ns > turn.now_ns:
            partition.claims_due_ns = min(partition.claims_due_ns, due_ns)
            if not reservation.timed:
                reservation.timed = True
                turn.set_timer(partition, deadlines.CLAIM, due_ns - turn.now_ns)
            return
        unreserve(turn, partition, reservation, "it did not fit the headroom for too long")


def close_or_open(partition: Partition, node: Node) -> None:
    """Keep a node from others while an ask that reserved it fits its limits. Rules: RSV-7."""
    held = False
    for reservation in node.reservations.values():
        held = held or reservation.holds()
    if held == node.held:
        return
    node.held = held
    if node.schedulable:
        partition.closed_nodes += 1 if held else -1
    if held:
        partition.drop_node(node.node_id)
    elif node.node_id in partition.nodes:
        offer(partition, node)


def _lose_taken(turn: Turn, partition: Partition, reservation: Reservation) -> None:
    """Note that the room is gone for which all victims went. Rules: PRE-6 (Ours), PRE-49 (Ours)."""
    request, node = reservation.request, reservation.node
    preemption = request.preemption
    if preemption is not None and preemption.node_id == node.node_id and not preemption.left:
        lose_standing(turn, partition, request, "the node does not take it any more")
        close_or_open(partition, node)


def _settle_home(turn: Turn, partition: Partition, reservation: Reservation) -> None:
    """See whether a node would take the ask it is reserved for now.

    Rules: CYC-20, CYC-22 (Ours), NOD-8, NODE-11.
    """
    node, request = reservation.node, reservation.request
    group = request.group
    if group is None:
        return
    usable = node.schedulable or request.required_node() != ""
    known = group.strand.lane.shape.constraint in node.verdicts
    room = fits(node.available, request.amounts)
    home = usable and room and not known and not reservation.refusal
    if not home:
        _lose_taken(turn, partition, reservation)
    if not home and group.strand.lane.tried is not None and request.required_node():
        try_again(partition, group.strand.lane)
    if home != reservation.home:
        reservation.home = home
        restage(partition, request)


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
