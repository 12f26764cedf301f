"""Sets lanes and strands aside that cannot be served, and wakes them.

What is set aside costs nothing. It is woken, and only then looked at again, when what stopped it
changed enough: the maximum of a queue or the room on a node for a lane; the maximum of a user or
group, or their number of applications, for a strand. Of the strands of one lane that wait for the
same, only the first is woken; what it leaves goes to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from remuda.core.accounting.standing import place_lane, place_strand
from remuda.core.accounting.swaps import retry_swaps
from remuda.core.model.bound import Bound, WaitKey, Waitlist
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Lane, Strand
from remuda.core.model.shape import Shape
from remuda.core.model.trackers import QueueTracker
from remuda.core.model.vectors import fits, shortage


def park(partition: Partition, lane: Lane, limiting: Queue | None) -> None:
    """Set a lane aside until its queue's limit, or without one a node, has room. Rules: CYC-25."""
    lane.parked = True
    lane.parked_at = limiting
    shape = lane.shape
    lane.ranking.drop(shape.number)
    if limiting is None:
        shape.waiting[lane.number] = lane
        partition.starved.add(shape)
    else:
        limiting.waiting.setdefault(shape.number, {})[lane.number] = lane
    partition.unsettled[lane.leaf.path] = lane.leaf


def wait(partition: Partition, strand: Strand, tracker: QueueTracker) -> None:
    """Set a strand aside until its user or group has room for it. Rules: LIM-53."""
    strand.aside = tracker
    tracker.waiting.put(strand)
    _step_aside(partition, strand)


def hold(partition: Partition, strand: Strand, full: Bound) -> None:
    """Set a strand aside until one more application may start there. Rules: QUE-25, LIM-60."""
    strand.aside = full
    strand.held = True
    full.held.put(strand)
    _step_aside(partition, strand)


def wake_held(partition: Partition, bound: Bound) -> None:
    """Let the first strand of each lane that is held at a limit try again, if there is a place.

    Should it not take the place, the next one gets its turn. Rules: QUE-22, LIM-61.
    """
    if bound.held.strands and not bound.full():
        for strand in bound.held.firsts():
            resume(partition, strand)
            bound.woken[strand.number] = strand


def hold_again(partition: Partition, bound: Bound) -> None:
    """Set those aside again that were woken for a place somebody else has taken.

    They need not be tried for that: a place at the root of a thousand leaves wakes a thousand.
    Rules: QUE-22, LIM-61.
    """
    if bound.woken and bound.full():
        woken, bound.woken = bound.woken, {}
        for strand in woken.values():
            if not strand.waits() and strand.groups and not strand.unseen:
                hold(partition, strand, bound)


def wake_at(partition: Partition, queue: Queue) -> None:
    """Wake the lanes a queue's limit stopped and that now fit it. Rules: CYC-25, GANG-4."""
    for lanes in list(queue.waiting.values()):
        waiting = list(lanes.values())
        if queue.lets_in(waiting[0].shape):
            for lane in waiting:
                wake(partition, lane)


def wake_within(partition: Partition, leaf: Queue, trackers: Sequence[QueueTracker]) -> None:
    """Wake what fits the limits on a path, of which something was given back.

    Rules: CYC-25, LIM-53.
    """
    for queue in leaf.path_up:
        if queue.waiting:
            wake_at(partition, queue)
    for tracker in trackers:
        if tracker.waiting.strands:
            wake_waiting(partition, tracker)


def wake_waiting(partition: Partition, tracker: QueueTracker) -> None:
    """Let the first strand of each lane that now fits try again. Rules: LIM-53."""
    for strand in tracker.waiting.firsts():
        if strand.lane.shape.fits(tracker):
            resume(partition, strand)


def pass_on(partition: Partition, strand: Strand) -> None:
    """Let the next strand of the lane try where this one left room, or a place, that it could use.

    The strand was set aside or served, or one of its applications went. Rules: LIM-53, LIM-61.
    """
    lane = strand.lane
    for tracker in strand.account.limited:
        if tracker.waiting.strands and lane.shape.fits(tracker):
            _resume_first(partition, tracker.waiting, strand.place())
    bounds: list[Bound] = [*strand.queue_gates, *strand.quota_gates]
    for bound in bounds:
        if bound.held.strands and not bound.full():
            _resume_first(partition, bound.held, strand.place())


def offer(partition: Partition, node: Node) -> None:
    """Put a node that gained room where its score belongs, and wake what fits it.

    The room of a node that a reservation keeps from others is for that ask alone.
    Rules: NOD-14, RSV-7.
    """
    partition.revision += 1
    if node.reservations:
        partition.shaken[node.node_id] = node
    if partition.rebuffed:
        wake_rebuffed(partition)
    if node.is_open():
        partition.put_node(node)
    if partition.starved.shapes and not node.held:
        wake_for_node(partition, node)
    retry_swaps(partition)


def offer_anew(partition: Partition, node: Node) -> None:
    """Offer a node that changed: what predicates refused before may be asked again.

    Rules: NOD-13, NOD-14 (decision 3 of docs/spec).
    """
    node.verdicts.clear()
    offer(partition, node)


def wake_rebuffed(partition: Partition) -> None:
    """Wake the lanes whose best node to reserve was refused: another may be the best now.

    Rules: RSV-4, NOD-13 (decision 48 of docs/spec).
    """
    rebuffed, partition.rebuffed = partition.rebuffed, {}
    for lane, _ in rebuffed.values():
        if lane.waits_for_node():
            wake(partition, lane)


def wake_rebuffed_by(partition: Partition, node: Node) -> None:
    """Wake those lanes for which a node that lost room is the best to reserve now, or was.

    Having less it cannot be better than before, but among equals its place in the order counts.
    Rules: RSV-4, NOD-13 (decision 48 of docs/spec).
    """
    for number, (lane, best) in list(partition.rebuffed.items()):
        amounts = lane.shape.amounts
        if shortage(node.available, amounts) <= shortage(best.available, amounts):
            del partition.rebuffed[number]
            if lane.waits_for_node():
                wake(partition, lane)


def wake_for_node(partition: Partition, node: Node) -> None:
    """Wake the shapes that fit a node which changed or gained room. Rules: CYC-25, NOD-14."""
    for shape in partition.starved.within(node.available):
        if shape.reaches(node) and fits(node.available, shape.amounts):
            _wake_shape(partition, shape)


def wake_to_reserve(partition: Partition, node: Node) -> None:
    """Wake the shapes that might reserve a node which is new, larger or free of reservations.

    Rules: RSV-3, RSV-5, RSV-9.
    """
    for shape in list(partition.starved.shapes.values()):
        if shape.could_reserve(node) and node.holds(shape.amounts):
            _wake_shape(partition, shape)


def wake_volatile(partition: Partition) -> None:
    """Wake the shapes whose predicate answers may have changed on their own. Rules: SI-80."""
    for shape in list(partition.starved.shapes.values()):
        if shape.volatile:
            _wake_shape(partition, shape)
    retry_swaps(partition)
    for reservation in partition.reservations.values():
        if reservation.refusal:
            reservation.refusal = ""
            partition.shaken[reservation.node.node_id] = reservation.node


def _step_aside(partition: Partition, strand: Strand) -> None:
    """Take a strand that was set aside out of the order of its lane; the next may try."""
    withdraw(partition, strand.lane, strand)
    pass_on(partition, strand)


def withdraw(partition: Partition, lane: Lane, strand: Strand) -> None:
    """Drop a strand from a lane's order; a lane without any left has nothing to try or wait for.

    Rules: CYC-25.
    """
    lane.order.drop(strand.number)
    leaf = lane.leaf
    if not lane.order.keys:
        _unlist(partition, lane)
        lane.ranking.drop(lane.shape.number)
    place_lane(lane)
    partition.unsettled[leaf.path] = leaf


def _resume_first(partition: Partition, waitlist: Waitlist, key: WaitKey) -> None:
    strand = waitlist.first(key)
    if strand is not None:
        resume(partition, strand)


def resume(partition: Partition, strand: Strand) -> None:
    """Put a strand that was set aside back into its lane. Rules: CYC-25, LIM-53, LIM-61."""
    release(strand)
    if strand.order.keys:
        place_strand(strand)
    leaf = strand.lane.leaf
    partition.unsettled[leaf.path] = leaf


def release(strand: Strand) -> None:
    """Take a strand out of the list it waits in. Rules: LIM-53, LIM-61."""
    bound = strand.aside
    if bound is None:
        return
    if strand.held:
        bound.held.remove(strand)
    elif isinstance(bound, QueueTracker):
        bound.waiting.remove(strand)
    strand.aside = None
    strand.held = False


def _wake_shape(partition: Partition, shape: Shape) -> None:
    for lane in list(shape.waiting.values()):
        wake(partition, lane)


def wake(partition: Partition, lane: Lane) -> None:
    """Let a lane be tried, whatever it waits for. Rules: CYC-25."""
    _unlist(partition, lane)
    place_lane(lane)
    partition.unsettled[lane.leaf.path] = lane.leaf


def _unlist(partition: Partition, lane: Lane) -> None:
    """Take a lane out of the list it waits in."""
    if not lane.parked:
        return
    number = lane.shape.number
    if lane.listed is not None:
        del lane.listed[lane.number]
        lane.listed = None
    elif lane.parked_at is None:
        del lane.shape.waiting[lane.number]
        if not lane.shape.waiting:
            partition.starved.remove(lane.shape)
    else:
        waiting = lane.parked_at.waiting[number]
        del waiting[lane.number]
        if not waiting:
            del lane.parked_at.waiting[number]
    lane.parked = False
    lane.parked_at = None
