"""Keeps pending asks in their lanes, parks lanes that cannot be served and wakes them.

A parked lane costs nothing. It is woken, and only then looked at again, when what stopped it
changed enough for its shape: the limit of one queue, user or group, or the room on one node.
"""

from __future__ import annotations

from remuda.core.accounting.accounts import account_of
from remuda.core.accounting.standing import place_group, place_lane
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.bound import Bound
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Group, Lane, LaneKey, Request, Shape, ShapeKey
from remuda.core.model.trackers import Account
from remuda.core.model.vectors import fits


def enqueue(partition: Partition, request: Request) -> None:
    """Add an ask that has something pending. Cost: O(log n)."""
    application = request.application
    shape = _shape(partition, request)
    group = application.request_groups.get(shape.number)
    if group is None:
        lane = _lane(partition, application, shape)
        group = Group(application, lane)
        application.request_groups[shape.number] = group
        shape.groups += 1
        _join(partition, lane, group)
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
    shape = group.lane.shape
    del group.application.request_groups[shape.number]
    _part(partition, group)
    shape.groups -= 1
    if shape.groups == 0:
        del partition.shapes[shape.key]
    return None


def regroup(partition: Partition, application: Application) -> None:
    """Put the asks of an application into the lanes they belong to now.

    Needed when it may start, or what limits it changed. Rules: QUE-25, LIM-60, LIM-63.
    """
    for group in application.request_groups.values():
        lane = _lane(partition, application, group.lane.shape)
        if lane is not group.lane:
            _part(partition, group)
            group.lane = lane
            _join(partition, lane, group)
            place_group(group)


def park(partition: Partition, lane: Lane, limiting: Bound | None) -> None:
    """Set a lane aside until its limit, or without one a node, has room for it."""
    lane.parked = True
    lane.parked_at = limiting
    shape = lane.shape
    lane.leaf.ready.drop(lane.number)
    if limiting is None:
        shape.waiting[lane.number] = lane
        partition.starved.add(shape)
    else:
        limiting.waiting.setdefault(shape.number, {})[lane.number] = lane
    partition.unsettled[lane.leaf.path] = lane.leaf
    if lane.gated:
        _pass_on(partition, lane)


def hold(partition: Partition, lane: Lane, full: Bound) -> None:
    """Set a lane aside until one more application may start there. Rules: QUE-25, LIM-60."""
    lane.parked = True
    lane.held = True
    lane.parked_at = full
    lane.leaf.ready.drop(lane.number)
    full.held.put(lane)
    partition.unsettled[lane.leaf.path] = lane.leaf
    _pass_on(partition, lane)


def wake_held(partition: Partition, bound: Bound) -> None:
    """Let the first lane of each leaf that is held at a limit try again, if there is a place.

    Should it not take the place, the next one gets its turn. Rules: QUE-22, LIM-61.
    """
    if bound.held.lanes and not bound.full():
        for lane in bound.held.firsts():
            _wake(partition, lane)


def wake_at(partition: Partition, bound: Bound) -> None:
    """Wake the lanes a limit stopped and that now fit it. Rules: CYC-25, LIM-63."""
    for lanes in list(bound.waiting.values()):
        waiting = list(lanes.values())
        if bound.fits(waiting[0].shape.amounts):
            for lane in waiting:
                _wake(partition, lane)


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


def _lane(partition: Partition, application: Application, shape: Shape) -> Lane:
    """Return the lane for asks of a shape of an application, opening it if need be."""
    leaf = application.queue
    assert leaf is not None
    account = account_of(partition, application)
    gated = application.state == states.ACCEPTED and _has_gate(leaf, account)
    key: LaneKey = (shape.number, account.number, gated)
    lane = leaf.lane_keys.get(key)
    if lane is None:
        lane = Lane(partition.next_number(), leaf, shape, account, gated=gated)
        leaf.lane_keys[key] = lane
        leaf.lanes[lane.number] = lane
    return lane


def _has_gate(leaf: Queue, account: Account) -> bool:
    """Whether a number of applications limits those of an account in a leaf."""
    if account.gates:
        return True
    for queue in leaf.path_up:
        if queue.max_applications:
            return True
    return False


def _pass_on(partition: Partition, lane: Lane) -> None:
    """Let the next held lane of the leaf try where a gated lane left a place free.

    The lane was set aside, or one of its applications started or went.
    """
    path = lane.leaf.path
    bounds: list[Bound] = [*lane.leaf.path_up, *lane.account.gates]
    for bound in bounds:
        if bound.held.lanes and not bound.full():
            first = bound.held.first(path)
            if first is not None:
                _wake(partition, first)


def _join(partition: Partition, lane: Lane, group: Group) -> None:
    """Add a group to a lane; who calls places it."""
    application = group.application
    lane.groups[application.number] = group
    if not application.seen:
        lane.fresh[application.number] = application
        if lane.held:
            _wake(partition, lane)


def _part(partition: Partition, group: Group) -> None:
    """Take a group out of its lane, which ends with its last one."""
    lane = group.lane
    number = group.application.number
    del lane.groups[number]
    lane.fresh.pop(number, None)
    lane.order.drop(number)
    leaf = lane.leaf
    if not lane.groups:
        _unlist(partition, lane)
        del leaf.lane_keys[lane.key()]
        del leaf.lanes[lane.number]
        leaf.ready.drop(lane.number)
    else:
        place_lane(lane)
    if lane.gated:
        _pass_on(partition, lane)


def _wake_shape(partition: Partition, shape: Shape) -> None:
    for lane in list(shape.waiting.values()):
        _wake(partition, lane)


def _wake(partition: Partition, lane: Lane) -> None:
    _unlist(partition, lane)
    if lane.order.keys:
        lane.leaf.ready.put(lane.number, lane.order.first_key())
    partition.unsettled[lane.leaf.path] = lane.leaf


def _unlist(partition: Partition, lane: Lane) -> None:
    """Take a lane out of the list it waits in."""
    if not lane.parked:
        return
    bound = lane.parked_at
    if bound is None:
        del lane.shape.waiting[lane.number]
        if not lane.shape.waiting:
            partition.starved.remove(lane.shape)
    elif lane.held:
        bound.held.remove(lane)
    else:
        waiting = bound.waiting[lane.shape.number]
        del waiting[lane.number]
        if not waiting:
            del bound.waiting[lane.shape.number]
    lane.parked = False
    lane.held = False
    lane.parked_at = None
