"""Keeps pending asks in their lanes and strands.

A lane is opened with its first ask and ends with its last one, a strand likewise.
"""

from __future__ import annotations

from remuda.config.queue_properties import STATEAWARE
from remuda.core.accounting.accounts import account_of
from remuda.core.accounting.standing import first_ask_changed, place_group, place_strand
from remuda.core.accounting.waiting import pass_on, release, resume, wake, withdraw
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.gang import TaskGroup
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import CLOSED, FREE, GATED, QUOTA_GATED, Group, Lane, Request, Strand
from remuda.core.model.shape import AGED, HOME, PARTLY, RESERVED, YOUNG, Shape, ShapeKey
from remuda.core.model.trackers import Account


def enqueue(partition: Partition, request: Request) -> None:
    """Add an ask that has something pending. Cost: O(log n).

    One that nobody looked at must be: what it joins is tried again (LIM-20, EVT-32, EVT-36).
    """
    application = request.application
    shape = _shape(partition, request)
    group = application.request_groups.get(shape.number)
    new = group is None
    if group is None:
        strand = _strand(partition, application, shape)
        group = Group(application, strand)
        _register(group, shape)
        strand.groups[application.number] = group
    group.order.put(request)
    request.group = group
    if not request.looked:
        _note_fresh(partition, group.strand, request)
    if new:
        place_group(group)
    elif group.first() is request:
        first_ask_changed(group)


def dequeue(partition: Partition, request: Request) -> Group | None:
    """Take an ask out that has nothing pending any more. Cost: O(log n).

    Returns: its group if that has others left; the caller must place it anew.
    """
    group = request.group
    assert group is not None
    request.group = None
    group.order.drop(request)
    if not request.looked:
        _drop_fresh(group.strand, 1)
    if group.order.count:
        return group
    _leave_shape(partition, group)
    return None


def mark_looked(request: Request) -> None:
    """Note that a decision looked at an ask. Rules: LIM-20, EVT-32 (decision 51 of docs/spec)."""
    if not request.looked:
        request.looked = True
        if request.group is not None:
            _drop_fresh(request.group.strand, 1)


def look_again(partition: Partition, application: Application) -> None:
    """Let an application be looked at as if it were new. Rules: LIM-20, LIM-64."""
    for group in application.request_groups.values():
        for request in group.order.asks():
            if request.looked:
                request.looked = False
                _note_fresh(partition, group.strand, request)


def restage(partition: Partition, request: Request) -> None:
    """Put an ask into the lane it belongs to now. Rules: RSV-3, CYC-19, CYC-20, GANG-4."""
    group = request.group
    if group is None or _shape_key(partition, request) == group.strand.lane.shape.key:
        return
    left = dequeue(partition, request)
    if left is not None:
        first_ask_changed(left)
    enqueue(partition, request)
    leaf = group.strand.lane.leaf
    partition.unsettled[leaf.path] = leaf


def move_group(partition: Partition, group: Group) -> bool:
    """Put equal asks of an application into another lane: their stage changed, or their gang did.

    False: the application has asks there already, so they have to go one by one.
    Cost: O(log n), apart from a glance at each ask. Rules: RSV-3, GANG-4.
    """
    application = group.application
    shape = _shape(partition, group.first())
    if shape.number in application.request_groups:
        return False
    _leave_shape(partition, group)
    _register(group, shape)
    _join(partition, group, _strand(partition, application, shape))
    return True


def regroup(partition: Partition, application: Application) -> None:
    """Put the asks of an application into the strands they belong to now.

    Needed when its state, its gang, or what limits it changed.
    Rules: APP-12, GANG-6, QUE-24, QUE-25, QUE-41, CYC-33, LIM-60, LIM-63.
    """
    for group in application.request_groups.values():
        _regroup(partition, group)


def regroup_members(partition: Partition, members: TaskGroup) -> None:
    """Put the real asks of a task group into the strands they belong to now. Rules: GANG-11.

    An application may have many task groups; the asks of the others stay where they are.
    """
    groups: dict[int, Group] = {}
    for request in members.order.asks():
        if request.group is not None:
            groups[request.group.strand.lane.shape.number] = request.group
    for group in groups.values():
        _regroup(partition, group)


def pass_turn(partition: Partition, leaf: Queue) -> None:
    """Let the application that may start next in a StateAware leaf have its turn. Rules: QUE-41."""
    before, holder = leaf.turns.holder, leaf.turns.next()
    if holder is before:
        return
    leaf.turns.holder = holder
    for application in (before, holder):
        if application is not None:
            regroup(partition, application)


def note_turn(partition: Partition, application: Application) -> None:
    """Note whether an application waits for its turn. Rules: QUE-41."""
    leaf = application.queue
    if leaf is None or leaf.settings.application_sort != STATEAWARE:
        return
    if application.state == states.ACCEPTED and application.request_groups:
        leaf.turns.put(application)
    else:
        leaf.turns.drop(application)
    pass_turn(partition, leaf)


def _shape(partition: Partition, request: Request) -> Shape:
    key = _shape_key(partition, request)
    shape = partition.shapes.get(key)
    if shape is None:
        volatile = partition.predicates and not request.ask.equivalence
        gang = request.application.gang
        total = gang.total if gang is not None and key[8] else None
        shape = Shape(partition.next_number(), key, request.amounts, total, volatile)
        partition.shapes[key] = shape
    return shape


def _shape_key(partition: Partition, request: Request) -> ShapeKey:
    """Return what makes asks of a partition equal. In a leaf with back-off each ask is alone.

    So is one whose preemption stands, since the room that is kept is for it.
    Rules: CYC-15, NOD-13, NOD-23, CYC-33, GANG-4, GANG-11, PRE-5, PRE-89.
    """
    ask = request.ask
    application = request.application
    constraint = ""
    if partition.predicates:
        constraint = f"class {ask.equivalence}" if ask.equivalence else f"ask {request.number}"
    required = ask.tags.get(REQUIRED_NODE, "") if ask.tags else ""
    stage = AGED if request.aged or required else YOUNG
    if request.reservations:
        stage = _stage(request)
    leaf = application.queue
    promised = request.preemption is not None
    alone = stage == HOME or promised or (leaf is not None and leaf.settings.backoff > 0)
    own = request.number if alone else 0
    gated = 0
    gang = application.gang
    if ask.placeholder and gang is not None and gang.gated and gang.total is not None:
        gated = gang.total.number
    group = "" if ask.placeholder else ask.task_group
    number, policy = request.amounts.number, application.node_policy
    placeholder = ask.placeholder
    preempts = None
    if request.ripe and not promised and stage != HOME and partition.config.preemption:
        preempts = ask.priority
    return (
        number,
        required,
        constraint,
        policy,
        stage,
        own,
        group,
        placeholder,
        gated,
        preempts,
        promised,
    )


def _stage(request: Request) -> int:
    """Return how far an ask with a reservation got. Rules: RSV-3, CYC-19 to CYC-21."""
    for reservation in request.reservations.values():
        if reservation.home:
            return HOME
    return PARTLY if request.wants_reservation() else RESERVED


def _regroup(partition: Partition, group: Group) -> None:
    """Put a group into the strand it belongs to now, if that is another one."""
    strand = _strand(partition, group.application, group.strand.lane.shape)
    if strand is not group.strand:
        _part(partition, group)
        _join(partition, group, strand)


def _register(group: Group, shape: Shape) -> None:
    """Note a group as its application's group of a shape.

    With the second one it begins to matter which ask is the first of the other.
    """
    groups = group.application.request_groups
    groups[shape.number] = group
    shape.groups += 1
    if len(groups) == 2:
        for other in groups.values():
            if other is not group:
                first_ask_changed(other)


def _leave_shape(partition: Partition, group: Group) -> None:
    """Take a group out of its strand and its shape; that ends with its last group."""
    shape = group.strand.lane.shape
    del group.application.request_groups[shape.number]
    _part(partition, group)
    shape.groups -= 1
    if shape.groups == 0:
        del partition.shapes[shape.key]


def _strand(partition: Partition, application: Application, shape: Shape) -> Strand:
    """Return the strand for asks of a shape of an application, opening it if need be."""
    leaf = application.queue
    assert leaf is not None
    lane = leaf.lanes.get(shape.number)
    if lane is None:
        lane = Lane(partition.next_number(), leaf, shape)
        leaf.lanes[shape.number] = lane
    account = account_of(partition, application)
    gate = gate_of(application, account, lane)
    strand = lane.strand_keys.get((account.number, gate))
    if strand is None:
        strand = Strand(partition.next_number(), lane, account, gate)
        lane.strand_keys[strand.key()] = strand
        lane.strands[strand.number] = strand
    return strand


def gate_of(application: Application, account: Account, lane: Lane) -> int:
    """Return how the asks of an application in a lane are let through.

    Turns and back-off concern the regular pass only; what waits for a node anyway goes on waiting.
    Rules: APP-12, CYC-11, CYC-19, CYC-33, QUE-24, QUE-25, QUE-41, GANG-6, GANG-11.
    """
    if application.state in (states.FAILING, states.RESUMING):
        return CLOSED
    gang, shape = application.gang, lane.shape
    if gang is not None and not shape.placeholder and gang.holds_back(shape.task_group):
        return CLOSED
    leaf = lane.leaf
    accepted = application.state == states.ACCEPTED
    if not lane.shape.urgent:
        in_turn = leaf.settings.application_sort != STATEAWARE or leaf.turns.holder is application
        backs_off = application.backoff_until_ns > 0 and not lane.waits_for_node()
        if backs_off or (accepted and not in_turn):
            return CLOSED
    if not accepted:
        return FREE
    if application.starter:
        return QUOTA_GATED if account.gates else FREE
    return GATED if _has_gate(leaf, account) else FREE


def _has_gate(leaf: Queue, account: Account) -> bool:
    """Whether a number of applications limits those of an account in a leaf."""
    if account.gates:
        return True
    for queue in leaf.path_up:
        if queue.max_applications:
            return True
    return False


def _note_fresh(partition: Partition, strand: Strand, request: Request) -> None:
    """Note that nobody looked at an ask yet, and let its lane be tried."""
    lane = strand.lane
    if not strand.unseen:
        lane.fresh[strand.number] = strand
    strand.note_fresh(request)
    if strand.aside is not None:
        resume(partition, strand)
    if lane.parked:
        wake(partition, lane)


def _drop_fresh(strand: Strand, count: int) -> None:
    """Note that asks were looked at, or left."""
    strand.drop_fresh(count)
    if not strand.unseen:
        del strand.lane.fresh[strand.number]


def _join(partition: Partition, group: Group, strand: Strand) -> None:
    """Put a group into a strand of which it is no part yet."""
    group.strand = strand
    strand.groups[group.application.number] = group
    for request in group.order.asks():
        if not request.looked:
            _note_fresh(partition, strand, request)
    place_group(group)
    leaf = strand.lane.leaf
    partition.unsettled[leaf.path] = leaf


def _part(partition: Partition, group: Group) -> None:
    """Take a group out of its strand; that ends with its last one, and so does the lane."""
    strand = group.strand
    lane = strand.lane
    number = group.application.number
    del strand.groups[number]
    fresh = [request for request in group.order.asks() if not request.looked]
    if fresh:
        _drop_fresh(strand, len(fresh))
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
