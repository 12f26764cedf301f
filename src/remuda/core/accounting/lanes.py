"""Keeps pending asks in their lanes and strands, sets aside what cannot be served and wakes it.

What is set aside costs nothing. It is woken, and only then looked at again, when what stopped it
changed enough: the maximum of a queue or the room on a node for a lane; the maximum of a user or
group, or their number of applications, for a strand. Of the strands of one lane that wait for the
same, only the first is woken; what it leaves goes to the next.
"""

from __future__ import annotations

from remuda.core.accounting.accounts import account_of
from remuda.core.accounting.standing import place_group, place_strand
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.bound import Bound, WaitKey, Waitlist
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Group, Lane, Request, Shape, ShapeKey, Strand, StrandKey
from remuda.core.model.trackers import Account, QueueTracker
from remuda.core.model.vectors import fits


def enqueue(partition: Partition, request: Request) -> None:
    """Add an ask that has something pending. Cost: O(log n)."""
    application = request.application
    shape = _shape(partition, request)
    group = application.request_groups.get(shape.number)
    if group is None:
        strand = _strand(partition, application, shape)
        group = Group(application, strand)
        application.request_groups[shape.number] = group
        shape.groups += 1
        _join(partition, strand, group)
    group.requests[request.number] = request
    group.order.put(request.number, request.sort_key)
    request.group = group
    place_group(group)


def dequeue(partition: Partition, request: Request) -> Group | None:
    """Take an ask out that has nothing pending any more. Cost: O(log n).

    Returns: its group if that has others left; the caller must place it anew.
    """
    group = request.group
    assert group is not None
    request.group = None
    del group.requests[request.number]
    group.order.drop(request.number)
    if group.requests:
        return group
    shape = group.strand.lane.shape
    del group.application.request_groups[shape.number]
    _part(partition, group)
    shape.groups -= 1
    if shape.groups == 0:
        del partition.shapes[shape.key]
    return None


def regroup(partition: Partition, application: Application) -> None:
    """Put the asks of an application into the strands they belong to now.

    Needed when it may start, or what limits it changed. Rules: QUE-25, LIM-60, LIM-63.
    """
    for group in application.request_groups.values():
        strand = _strand(partition, application, group.strand.lane.shape)
        if strand is not group.strand:
            _part(partition, group)
            group.strand = strand
            _join(partition, strand, group)
            place_group(group)


def park(partition: Partition, lane: Lane, limiting: Queue | None) -> None:
    """Set a lane aside until its queue's limit, or without one a node, has room for it."""
    lane.parked = True
    lane.parked_at = limiting
    shape = lane.shape
    lane.leaf.ready.drop(shape.number)
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
    _withdraw(partition, strand)


def hold(partition: Partition, strand: Strand, full: Bound) -> None:
    """Set a strand aside until one more application may start there. Rules: QUE-25, LIM-60."""
    strand.aside = full
    strand.held = True
    full.held.put(strand)
    _withdraw(partition, strand)


def wake_held(partition: Partition, bound: Bound) -> None:
    """Let the first strand of each lane that is held at a limit try again, if there is a place.

    Should it not take the place, the next one gets its turn. Rules: QUE-22, LIM-61.
    """
    if bound.held.strands and not bound.full():
        for strand in bound.held.firsts():
            _return(partition, strand)


def wake_at(partition: Partition, queue: Queue) -> None:
    """Wake the lanes a queue's limit stopped and that now fit it. Rules: CYC-25."""
    for lanes in list(queue.waiting.values()):
        waiting = list(lanes.values())
        if queue.fits(waiting[0].shape.amounts):
            for lane in waiting:
                _wake(partition, lane)


def wake_all(partition: Partition) -> None:
    """Wake every lane, whatever stopped it: settings changed. Rules: RLD-21, LIM-63."""
    for leaf in partition.queues(partition.root):
        for lane in leaf.lanes.values():
            _wake(partition, lane)


def wake_waiting(partition: Partition, tracker: QueueTracker) -> None:
    """Let the first strand of each lane that now fits try again. Rules: LIM-53."""
    for strand in tracker.waiting.firsts():
        if tracker.fits(strand.lane.shape.amounts):
            _return(partition, strand)


def pass_on(partition: Partition, strand: Strand) -> None:
    """Let the next strand of the lane try where this one left room, or a place, that it could use.

    The strand was set aside or served, or one of its applications went. Rules: LIM-53, LIM-61.
    """
    lane = strand.lane
    for tracker in strand.account.limited:
        if tracker.waiting.strands and tracker.fits(lane.shape.amounts):
            _return_first(partition, tracker.waiting, strand.place())
    if strand.gated:
        bounds: list[Bound] = [*lane.leaf.path_up, *strand.account.gates]
        for bound in bounds:
            if bound.held.strands and not bound.full():
                _return_first(partition, bound.held, strand.place())


def offer(partition: Partition, node: Node) -> None:
    """Put a node that gained room where its score belongs, and wake what fits it. Rules: NOD-14."""
    if node.schedulable:
        partition.node_order.put(node)
    if partition.starved.shapes:
        wake_for_node(partition, node)


def wake_for_node(partition: Partition, node: Node) -> None:
    """Wake the shapes that fit a node which changed or gained room."""
    for shape in partition.starved.within(node.available):
        if shape.reaches(node) and fits(node.available, shape.amounts):
            _wake_shape(partition, shape)


def wake_volatile(partition: Partition) -> None:
    """Wake the shapes whose predicate answers may have changed on their own."""
    for shape in list(partition.starved.shapes.values()):
        if shape.volatile:
            _wake_shape(partition, shape)


def _shape(partition: Partition, request: Request) -> Shape:
    ask = request.ask
    constraint = ""
    if partition.predicates:
        constraint = f"class {ask.equivalence}" if ask.equivalence else f"ask {request.number}"
    required = ask.tags.get(REQUIRED_NODE, "")
    key: ShapeKey = (request.amounts.number, required, constraint)
    shape = partition.shapes.get(key)
    if shape is None:
        volatile = partition.predicates and not ask.equivalence
        shape = Shape(partition.next_number(), key, request.amounts, volatile)
        partition.shapes[key] = shape
    return shape


def _strand(partition: Partition, application: Application, shape: Shape) -> Strand:
    """Return the strand for asks of a shape of an application, opening it if need be."""
    leaf = application.queue
    assert leaf is not None
    lane = leaf.lanes.get(shape.number)
    if lane is None:
        lane = Lane(partition.next_number(), leaf, shape)
        leaf.lanes[shape.number] = lane
    account = account_of(partition, application)
    gated = application.state == states.ACCEPTED and _has_gate(leaf, account)
    key: StrandKey = (account.number, gated)
    strand = lane.strand_keys.get(key)
    if strand is None:
        strand = Strand(partition.next_number(), lane, account, gated=gated)
        lane.strand_keys[key] = strand
        lane.strands[strand.number] = strand
    return strand


def _has_gate(leaf: Queue, account: Account) -> bool:
    """Whether a number of applications limits those of an account in a leaf."""
    if account.gates:
        return True
    for queue in leaf.path_up:
        if queue.max_applications:
            return True
    return False


def _join(partition: Partition, strand: Strand, group: Group) -> None:
    """Add a group to a strand; who calls places it.

    An application nobody looked at must be: what it joins is tried again (LIM-20, EVT-32).
    """
    application = group.application
    strand.groups[application.number] = group
    if application.seen:
        return
    strand.fresh[application.number] = application
    lane = strand.lane
    lane.fresh[strand.number] = strand
    if strand.aside is not None:
        _return(partition, strand)
    if lane.parked:
        _wake(partition, lane)


def _part(partition: Partition, group: Group) -> None:
    """Take a group out of its strand; that ends with its last one, and so does the lane."""
    strand = group.strand
    lane = strand.lane
    number = group.application.number
    del strand.groups[number]
    strand.fresh.pop(number, None)
    strand.order.drop(number)
    if strand.groups:
        place_strand(strand)
    else:
        _end(partition, strand)
    pass_on(partition, strand)
    if not lane.strands:
        del lane.leaf.lanes[lane.shape.number]


def _end(partition: Partition, strand: Strand) -> None:
    """Take an empty strand out of its lane."""
    lane = strand.lane
    _release(strand)
    del lane.strands[strand.number]
    del lane.strand_keys[strand.key()]
    lane.fresh.pop(strand.number, None)
    _withdraw_from(partition, lane, strand)


def _withdraw(partition: Partition, strand: Strand) -> None:
    """Take a strand that was set aside out of the order of its lane; the next may try."""
    _withdraw_from(partition, strand.lane, strand)
    pass_on(partition, strand)


def _withdraw_from(partition: Partition, lane: Lane, strand: Strand) -> None:
    """Drop a strand from a lane's order; a lane without any left has nothing to try or wait for."""
    lane.order.drop(strand.number)
    leaf = lane.leaf
    if not lane.order.keys:
        _unlist(partition, lane)
        leaf.ready.drop(lane.shape.number)
    elif not lane.parked:
        leaf.ready.put(lane.shape.number, lane.order.first_key())
    partition.unsettled[leaf.path] = leaf


def _return_first(partition: Partition, waitlist: Waitlist, key: WaitKey) -> None:
    strand = waitlist.first(key)
    if strand is not None:
        _return(partition, strand)


def _return(partition: Partition, strand: Strand) -> None:
    """Put a strand that was set aside back into its lane."""
    _release(strand)
    if strand.order.keys:
        place_strand(strand)
    leaf = strand.lane.leaf
    partition.unsettled[leaf.path] = leaf


def _release(strand: Strand) -> None:
    """Take a strand out of the list it waits in."""
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
        _wake(partition, lane)


def _wake(partition: Partition, lane: Lane) -> None:
    _unlist(partition, lane)
    if lane.order.keys:
        lane.leaf.ready.put(lane.shape.number, lane.order.first_key())
    partition.unsettled[lane.leaf.path] = lane.leaf


def _unlist(partition: Partition, lane: Lane) -> None:
    """Take a lane out of the list it waits in."""
    if not lane.parked:
        return
    number = lane.shape.number
    if lane.parked_at is None:
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
