"""Keeps pending asks in their lanes, parks lanes that cannot be served and wakes them.

A parked lane costs nothing. It is woken, and only then looked at again, when what stopped it
changed enough for its shape: the limit of one queue, or the room on one node.
"""

from __future__ import annotations

from remuda.core.accounting.standing import place_group
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Group, Lane, Request, Shape, ShapeKey
from remuda.core.model.vectors import Amounts, fits, fits_limit


def enqueue(partition: Partition, request: Request) -> None:
    """Add an ask that has something pending. Cost: O(log n)."""
    application = request.application
    leaf = application.queue
    assert leaf is not None
    shape = _shape(partition, request)
    lane = leaf.lanes.get(shape.number)
    if lane is None:
        lane = Lane(partition.next_number(), leaf, shape)
        leaf.lanes[shape.number] = lane
    group = application.groups.get(shape.number)
    if group is None:
        group = Group(application, lane)
        application.groups[shape.number] = group
        lane.groups[application.number] = group
        shape.groups += 1
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
    lane = group.lane
    shape = lane.shape
    del group.application.groups[shape.number]
    del lane.groups[group.application.number]
    lane.order.drop(group.application.number)
    shape.groups -= 1
    if not lane.groups:
        _unlist(partition, lane)
        del lane.leaf.lanes[shape.number]
        lane.leaf.ready.drop(shape.number)
    elif not lane.parked:
        lane.leaf.ready.put(shape.number, lane.order.first_key())
    if shape.groups == 0:
        del partition.shapes[shape.key]
    return None


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


def wake_at_queue(partition: Partition, queue: Queue) -> None:
    """Wake the lanes a queue's limit stopped and that now fit it."""
    for lanes in list(queue.waiting.values()):
        waiting = list(lanes.values())
        if fits_queue(queue, waiting[0].shape.amounts):
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


def fits_queue(queue: Queue, amounts: Amounts) -> bool:
    """Whether one more allocation stays within a queue's own limit. Rules: QUE-8, RES-34.

    A type root does not have is refused; elsewhere a type without a limit is unlimited.
    """
    maximum = queue.maximum
    if maximum is None:
        return True
    if queue.parent is None and amounts.need_types & ~maximum.types:
        return False
    return fits_limit(maximum, queue.allocated, amounts)


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


def _wake_shape(partition: Partition, shape: Shape) -> None:
    for lane in list(shape.waiting.values()):
        _wake(partition, lane)


def _wake(partition: Partition, lane: Lane) -> None:
    _unlist(partition, lane)
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
