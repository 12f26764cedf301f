"""Keeps pending asks in their lanes and strands.

A lane is opened with its first ask and ends with its last one, a strand likewise.
"""

from __future__ import annotations

from remuda.core.accounting.accounts import account_of
from remuda.core.accounting.standing import place_group, place_strand
from remuda.core.accounting.waiting import pass_on, release, resume, wake, withdraw
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Group, Lane, Request, Shape, ShapeKey, Strand, StrandKey
from remuda.core.model.trackers import Account


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
        resume(partition, strand)
    if lane.parked:
        wake(partition, lane)


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
    release(strand)
    del lane.strands[strand.number]
    del lane.strand_keys[strand.key()]
    lane.fresh.pop(strand.number, None)
    withdraw(partition, lane, strand)
