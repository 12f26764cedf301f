"""Keeps pending asks in their class queues and limit groups.

A class queue or limit group is created with its first ask and deleted with its last one.
"""

from __future__ import annotations

from remuda.config.queue_properties import STATEAWARE
from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import TaskGroup
from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.asks.class_queue import ClassQueue, Group, LimitGroup
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.pending.admission import admission_of
from remuda.core.pending.blocking import leave_waitlist, pass_on, withdraw
from remuda.core.pending.changes import new_ask
from remuda.core.pending.classes import ask_class_key, ask_class_of, drop_group
from remuda.core.pending.limit_sets import limit_set_of
from remuda.core.pending.marks import leaf_changed, node_changed
from remuda.core.pending.ordering import first_ask_changed, sort_group, sort_limit_group


def add_ask(partition: Partition, request: Request) -> None:
    """Add an ask that has something pending. Cost: O(log n).

    If no decision has looked at the ask yet, the class queue and limit group it joins are
    unblocked. Rules: LIM-20, EVT-32, EVT-36.
    """
    application = request.application
    ask_class = ask_class_of(partition, request)
    group = application.request_groups.get(ask_class.number)
    new = group is None
    if group is None:
        limit_group = _limit_group(partition, application, ask_class)
        group = Group(application, limit_group)
        _register(group, ask_class)
        limit_group.groups[application.number] = group
    group.order.put(request)
    request.group = group
    if not request.looked:
        _note_fresh(partition, group.limit_group, request)
    if new:
        sort_group(group)
    elif group.first() is request:
        first_ask_changed(group)


def remove_ask(partition: Partition, request: Request) -> Group | None:
    """Remove an ask that has nothing pending any more. Cost: O(log n).

    Return its group if other asks are left in it; the caller must then sort the group again.
    """
    group = request.group
    assert group is not None
    request.group = None
    group.order.drop(request)
    if not request.looked:
        _drop_fresh(group.limit_group, 1)
    if group.order.count:
        return group
    _leave(partition, group)
    return None


def mark_looked(request: Request) -> None:
    """Note that a decision looked at an ask. Rules: LIM-20, EVT-32 (decision 51 of docs/spec)."""
    if not request.looked:
        request.looked = True
        if request.group is not None:
            _drop_fresh(request.group.limit_group, 1)


def look_again(partition: Partition, application: Application) -> None:
    """Treat the asks of an application as if no decision had looked at them.

    Rules: LIM-20, LIM-64.
    """
    for group in application.request_groups.values():
        for request in group.order.asks():
            if request.looked:
                request.looked = False
                _note_fresh(partition, group.limit_group, request)


def reclassify(partition: Partition, request: Request) -> None:
    """Put an ask into the class queue it belongs to now. Rules: RSV-3, CYC-19, CYC-20, GANG-4."""
    group = request.group
    if (
        group is None
        or ask_class_key(partition, request) == group.limit_group.class_queue.ask_class.key
    ):
        return
    predicate_class = group.limit_group.class_queue.ask_class.predicate_class
    left = remove_ask(partition, request)
    if left is not None:
        first_ask_changed(left)
    add_ask(partition, request)
    group = request.group
    assert group is not None
    if group.limit_group.class_queue.ask_class.predicate_class is not predicate_class:
        # A new predicate class replaces the old one, so the verdicts kept at nodes are void.
        for reservation in request.reservations.values():
            node_changed(partition, reservation.node)
    leaf = group.limit_group.class_queue.leaf
    leaf_changed(partition, leaf)


def move_group(partition: Partition, group: Group) -> bool:
    """Move a group to another class queue because its stage or gang changed.

    Return False if the application already has a group there; the caller must then move the asks
    one by one. Cost: O(log n), and O(1) for each ask. Rules: RSV-3, GANG-4.
    """
    application = group.application
    ask_class = ask_class_of(partition, group.first())
    if ask_class.number in application.request_groups:
        return False
    fresh = _leave(partition, group)
    _register(group, ask_class)
    _join(partition, group, _limit_group(partition, application, ask_class), fresh)
    return True


def regroup(partition: Partition, application: Application) -> None:
    """Put the asks of an application into the limit groups they belong to now.

    Needed when its state, its gang or its limits changed.
    Rules: APP-12, GANG-6, QUE-24, QUE-25, QUE-41, CYC-33, LIM-60, LIM-63.
    """
    for group in application.request_groups.values():
        _regroup(partition, group)


def regroup_members(partition: Partition, members: TaskGroup) -> None:
    """Put the real asks of a task group into the limit groups they belong to now.

    An application may have many task groups; the asks of the others stay where they are.

    Rules: GANG-11.
    """
    groups: dict[int, Group] = {}
    for request in members.order.asks():
        if request.group is not None:
            groups[request.group.limit_group.class_queue.ask_class.number] = request.group
    for group in groups.values():
        _regroup(partition, group)


def pass_turn(partition: Partition, leaf: Queue) -> None:
    """Give the turn in a StateAware leaf to the application that may start next. Rules: QUE-41."""
    before, holder = leaf.turns.holder, leaf.turns.next()
    if holder is before:
        return
    leaf.turns.holder = holder
    for application in (before, holder):
        if application is not None:
            regroup(partition, application)


def note_turn(partition: Partition, application: Application) -> None:
    """Add an application to the turns of its leaf, or remove it. Rules: QUE-41."""
    leaf = application.queue
    if leaf.settings.application_sort != STATEAWARE:
        return
    if application.state == states.ACCEPTED and application.request_groups:
        leaf.turns.put(application)
    else:
        leaf.turns.drop(application)
    pass_turn(partition, leaf)


def _regroup(partition: Partition, group: Group) -> None:
    """Move a group to the limit group it belongs to now, unless it is there already."""
    limit_group = _limit_group(
        partition, group.application, group.limit_group.class_queue.ask_class
    )
    if limit_group is not group.limit_group:
        fresh = _part(partition, group)
        _join(partition, group, limit_group, fresh)


def _register(group: Group, ask_class: AskClass) -> None:
    """Note a group as its application's group of an ask class.

    The sort key of a class queue contains its first ask only if the application has several groups.
    So the second group changes the key of the first one.
    """
    groups = group.application.request_groups
    groups[ask_class.number] = group
    ask_class.groups += 1
    if len(groups) == 2:
        for other in groups.values():
            if other is not group:
                first_ask_changed(other)


def _leave(partition: Partition, group: Group) -> list[Request]:
    """Remove a group from its limit group and ask class; the class ends with its last group.

    Return its asks that no decision has looked at.
    """
    ask_class = group.limit_group.class_queue.ask_class
    del group.application.request_groups[ask_class.number]
    fresh = _part(partition, group)
    drop_group(partition, ask_class)
    return fresh


def _limit_group(partition: Partition, application: Application, ask_class: AskClass) -> LimitGroup:
    """Return the limit group of an application in an ask class; create it if it is missing."""
    leaf = application.queue
    class_queue = leaf.class_queues.get(ask_class.number)
    if class_queue is None:
        class_queue = ClassQueue(partition.next_number(), leaf, ask_class)
        leaf.class_queues[ask_class.number] = class_queue
    limit_set = limit_set_of(partition, application)
    admission = admission_of(application, limit_set, class_queue)
    limit_group = class_queue.limit_group_keys.get((limit_set.number, admission))
    if limit_group is None:
        limit_group = LimitGroup(partition.next_number(), class_queue, limit_set, admission)
        class_queue.limit_group_keys[limit_group.key()] = limit_group
        class_queue.limit_groups[limit_group.number] = limit_group
    return limit_group


def _note_fresh(partition: Partition, limit_group: LimitGroup, request: Request) -> None:
    """Note an ask that no decision has looked at, and unblock its class queue."""
    class_queue = limit_group.class_queue
    if not limit_group.unseen:
        class_queue.fresh[limit_group.number] = limit_group
    limit_group.note_fresh(request)
    if limit_group.blocked is not None or class_queue.blocked is not None:
        new_ask(partition, limit_group)


def _drop_fresh(limit_group: LimitGroup, count: int) -> None:
    """Note that decisions looked at some asks, or that the asks left."""
    limit_group.drop_fresh(count)
    if not limit_group.unseen:
        del limit_group.class_queue.fresh[limit_group.number]


def _join(
    partition: Partition, group: Group, limit_group: LimitGroup, fresh: list[Request]
) -> None:
    """Add a group to a limit group; ``fresh``: its asks that no decision has looked at."""
    group.limit_group = limit_group
    limit_group.groups[group.application.number] = group
    for request in fresh:
        _note_fresh(partition, limit_group, request)
    sort_group(group)
    leaf = limit_group.class_queue.leaf
    leaf_changed(partition, leaf)


def _part(partition: Partition, group: Group) -> list[Request]:
    """Remove a group from its limit group; an empty limit group or class queue is deleted.

    Return the asks of the group that no decision has looked at.
    """
    limit_group = group.limit_group
    class_queue = limit_group.class_queue
    number = group.application.number
    del limit_group.groups[number]
    fresh: list[Request] = []
    if limit_group.unseen and group.order.count:
        fresh = [request for request in group.order.asks() if not request.looked]
        if fresh:
            _drop_fresh(limit_group, len(fresh))
    limit_group.order.drop(number)
    if limit_group.groups:
        sort_limit_group(limit_group)
    else:
        _end(partition, limit_group)
    pass_on(partition, limit_group)
    if not class_queue.limit_groups:
        del class_queue.leaf.class_queues[class_queue.ask_class.number]
        partition.preempting.attempts.unlist(class_queue)
    return fresh


def _end(partition: Partition, limit_group: LimitGroup) -> None:
    """Delete an empty limit group."""
    class_queue = limit_group.class_queue
    leave_waitlist(limit_group)
    del class_queue.limit_groups[limit_group.number]
    del class_queue.limit_group_keys[limit_group.key()]
    class_queue.fresh.pop(limit_group.number, None)
    for queue in limit_group.start_queues:
        queue.unblocked.pop(limit_group.number, None)
    for tracker in limit_group.start_trackers:
        tracker.unblocked.pop(limit_group.number, None)
    withdraw(partition, class_queue, limit_group)
