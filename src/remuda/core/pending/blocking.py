"""Blocks class queues and limit groups that cannot be served, and unblocks them.

A blocked class queue or limit group costs nothing: no decision looks at it. ``changes`` unblocks it
when a limit or node has room for it again. Several limit groups of one class queue may wait at the
same limit. Then only the first is unblocked, and after it was served or blocked again, the next
one.
"""

from __future__ import annotations

from collections.abc import Sequence

from remuda.core.messages.gates import AWAITING_PREDICATES, POSTPONED
from remuda.core.model.asks.blocked import Blocked
from remuda.core.model.asks.class_queue import ClassQueue, LimitGroup
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound, WaitKey, Waitlist
from remuda.core.model.queues.queue import Queue
from remuda.core.pending.marks import leaf_changed
from remuda.core.pending.ordering import sort_class_queue, sort_limit_group


def block(partition: Partition, class_queue: ClassQueue, blocked: Blocked) -> None:
    """Do not try a class queue until something changes.

    Implements: CYC-25. Rules: EXT-14, EXT-17.
    """
    class_queue.blocked = blocked
    ask_class = class_queue.ask_class
    class_queue.ranking.drop(ask_class.number)
    queue = blocked.at
    if isinstance(queue, Queue):
        queue.waiting.setdefault(ask_class.number, {})[class_queue.number] = class_queue
        queue.waiting_classes.add(ask_class)
    elif blocked.reason == AWAITING_PREDICATES:
        partition.waiting.questions.awaiting[class_queue.number] = class_queue
    elif blocked.reason == POSTPONED:
        partition.waiting.questions.postponed[class_queue.number] = class_queue
    else:
        ask_class.waiting[class_queue.number] = class_queue
        ask_class.tried = partition.waiting.gained_room.gains
        partition.waiting.waiting_classes.add(ask_class)
    leaf_changed(partition, class_queue.leaf)


def block_group(partition: Partition, limit_group: LimitGroup, blocked: Blocked) -> None:
    """Do not try a limit group until its limit changes; the next one of its class queue is tried.

    Rules: LIM-53, LIM-60, QUE-25.
    """
    limit_group.blocked = blocked
    waitlist = blocked.waitlist()
    assert waitlist is not None
    waitlist.put(limit_group)
    withdraw(partition, limit_group.class_queue, limit_group)
    pass_on(partition, limit_group)


def unblock(partition: Partition, class_queue: ClassQueue) -> None:
    """Let decisions try a class queue, whatever blocked it. Rules: CYC-25."""
    _leave_list(partition, class_queue)
    sort_class_queue(class_queue)
    leaf_changed(partition, class_queue.leaf)


def unblock_group(partition: Partition, limit_group: LimitGroup) -> None:
    """Put a limit group back into its class queue. Rules: CYC-25, LIM-53, LIM-61."""
    leave_waitlist(limit_group)
    if limit_group.order.keys:
        sort_limit_group(limit_group)
    leaf_changed(partition, limit_group.class_queue.leaf)


def pass_on(partition: Partition, limit_group: LimitGroup) -> None:
    """Unblock the next limit group of the class queue where this one left room.

    Called when this limit group was blocked or served, or when one of its applications left it.
    Room is resources under a limit, or a free place for an application to start. Rules: LIM-53,
    LIM-61.
    """
    ask_class = limit_group.class_queue.ask_class
    for tracker in limit_group.limit_set.limited:
        if tracker.waiting.limit_groups and ask_class.fits(tracker):
            _unblock_first(partition, tracker.waiting, limit_group.wait_key())
    bounds: list[Bound] = [*limit_group.start_queues, *limit_group.start_trackers]
    for bound in bounds:
        if bound.starting.limit_groups and not bound.full():
            _unblock_first(partition, bound.starting, limit_group.wait_key())


def withdraw(partition: Partition, class_queue: ClassQueue, limit_group: LimitGroup) -> None:
    """Drop a limit group from its class queue's order; if that is empty, unblock the class queue.

    Rules: CYC-25.
    """
    class_queue.order.drop(limit_group.number)
    if not class_queue.order.keys:
        _leave_list(partition, class_queue)
        class_queue.ranking.drop(class_queue.ask_class.number)
    sort_class_queue(class_queue)
    leaf_changed(partition, class_queue.leaf)


def leave_waitlist(limit_group: LimitGroup) -> None:
    """Remove a limit group from the list it waits in. Rules: LIM-53, LIM-61."""
    blocked = limit_group.blocked
    waitlist = None if blocked is None else blocked.waitlist()
    if waitlist is not None:
        waitlist.remove(limit_group)
        limit_group.blocked = None


def _unblock_first(partition: Partition, waitlist: Waitlist, key: WaitKey) -> None:
    limit_group = waitlist.first(key)
    if limit_group is not None:
        unblock_group(partition, limit_group)


def _leave_list(partition: Partition, class_queue: ClassQueue) -> None:
    """Remove a class queue from the list it waits in."""
    blocked = class_queue.blocked
    if blocked is None:
        return
    class_queue.blocked = None
    ask_class = class_queue.ask_class
    queue = blocked.at
    if isinstance(queue, Queue):
        waiting = queue.waiting[ask_class.number]
        del waiting[class_queue.number]
        if not waiting:
            del queue.waiting[ask_class.number]
            queue.waiting_classes.remove(ask_class)
    elif blocked.reason == AWAITING_PREDICATES:
        del partition.waiting.questions.awaiting[class_queue.number]
    elif blocked.reason == POSTPONED:
        del partition.waiting.questions.postponed[class_queue.number]
    else:
        del ask_class.waiting[class_queue.number]
        if not ask_class.waiting:
            partition.waiting.waiting_classes.remove(ask_class)


def unblock_in_turn(partition: Partition, class_queues: Sequence[ClassQueue]) -> None:
    """Unblock class queues; if there are none, nothing waits for gained room. Rules: CYC-25."""
    gained_room = partition.waiting.gained_room
    if class_queues:
        gained_room.batch *= 2
        gained_room.unblocked = {class_queue.number: class_queue for class_queue in class_queues}
    else:
        gained_room.forget()
    for class_queue in class_queues:
        unblock(partition, class_queue)
