"""Keeps queues, applications and class queues sorted by usage, priority and pending.

Only queues on the path of a change get a new sort key: O(depth x log siblings). A change just notes
its leaf. ``settle`` computes the new keys once before the next decision, however many changes were
made in the leaf.
"""

from __future__ import annotations

from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.class_queue import ClassQueue, Group, LimitGroup
from remuda.core.model.partition import Partition
from remuda.core.model.queues.demand import Scale
from remuda.core.model.queues.priorities import MIN_PRIORITY
from remuda.core.model.queues.queue import Queue
from remuda.core.pending.marks import leaf_changed
from remuda.core.policy.shares import divisors, fair_maximum
from remuda.core.policy.sort_keys import application_key, child_key, shown_priority


def settle(partition: Partition) -> None:
    """Give every noted leaf and its ancestors their new sort keys.

    While nothing is pending, no queue is in an order, so new shares are not needed yet.

    Implements: QUE-32, QUE-34. Rules: QUE-28, QUE-33, QUE-38.
    """
    waiting = partition.waiting
    if waiting.shares_stale and any(partition.root.pending.amounts):
        _forget_shares(partition)
    leaves = waiting.leaves_to_reorder
    if leaves:
        parity = partition.settings.parity
        for leaf in leaves.values():
            if leaf.urgent.keys or waiting.urgent or leaf.swaps.order.keys or waiting.swapping:
                _settle_passes(partition, leaf)
            for queue in leaf.path_up:
                if queue.parent is not None:
                    _update(queue, queue.parent, parity=parity)
        partition.root.priority = partition.root.priorities.highest
        leaves.clear()


def _update(queue: Queue, parent: Queue, *, parity: bool) -> None:
    priority = queue.priorities.highest
    if priority != queue.priority:
        queue.priority = priority
        _show_priority(queue, parent)
    if queue.state != states.STOPPED and any(queue.pending.amounts):
        if queue.divisors is None:
            _work_out_shares(queue)
        key = child_key(parent, queue, parity=parity)
        parent.child_order.put(queue.name, key, queue.pending, queue.has_ready())
    else:
        parent.child_order.drop(queue.name)


def _show_priority(queue: Queue, parent: Queue) -> None:
    """Replace the priority that the parent counts for a queue by the current one. Rules: QUE-28."""
    shown = shown_priority(queue)
    if queue.shown_priority != MIN_PRIORITY:
        parent.priorities.remove(queue.shown_priority)
    if shown != MIN_PRIORITY:
        parent.priorities.add(shown)
    queue.shown_priority = shown


def reshow_priority(queue: Queue) -> None:
    """Recompute the priorities that a queue and its ancestors show, after settings changed.

    Implements: QUE-30. Rules: QUE-28.
    """
    for each in queue.path_up:
        each.priority = each.priorities.highest
        if each.parent is not None:
            _show_priority(each, each.parent)


def update_application(application: Application) -> bool:
    """Give an application and its groups new sort keys; return False if nothing changed.

    Rules: QUE-40.
    """
    leaf = application.queue
    sort_key = application_key(leaf, application)
    if sort_key == application.sort_key:
        return False
    application.sort_key = sort_key
    if application.number in leaf.swaps.order.keys:
        leaf.swaps.put(application)
    for group in application.request_groups.values():
        sort_group(group)
    return True


def first_ask_changed(group: Group) -> None:
    """Sort a class queue again because the first ask of its first group changed.

    The first ask is part of the key only if its application has several groups, see
    ``ClassQueue.key_of``. Rules: QUE-44.
    """
    application = group.application
    if len(application.request_groups) > 1:
        limit_group = group.limit_group
        class_queue = limit_group.class_queue
        leads = (
            limit_group.order.first() == application.number
            and class_queue.order.first() == limit_group.number
        )
        if leads and class_queue.blocked is None:
            class_queue.ranking.put(class_queue.key_of(group))


def sort_group(group: Group) -> None:
    """Sort a group by its application's key, and its limit group if the group is or was first.

    Rules: QUE-40.
    """
    limit_group = group.limit_group
    application = group.application
    before = limit_group.order.first()
    limit_group.order.put(application.sort_key)
    number = application.number
    if before == number or before < 0 or limit_group.order.first() == number:
        sort_limit_group(limit_group)


def sort_class_queue(class_queue: ClassQueue) -> None:
    """Sort a class queue by its first ask, unless it is empty or blocked. Rules: QUE-40."""
    if class_queue.order.keys and class_queue.blocked is None:
        class_queue.ranking.put(class_queue.first_key())


def sort_limit_group(limit_group: LimitGroup) -> None:
    """Sort a limit group by its first application's key, in its class queue or waitlist.

    Rules: QUE-40.
    """
    blocked = limit_group.blocked
    if blocked is None:
        class_queue = limit_group.class_queue
        class_queue.sort(limit_group)
        sort_class_queue(class_queue)
        return
    waitlist = blocked.waitlist()
    if waitlist is not None:
        waitlist.put(limit_group)


def _forget_shares(partition: Partition) -> None:
    """Forget the divisors of stale queues and all below them; mark leaves with work to reorder.

    Needed after a change of cluster size or configuration. The divisors of a queue are computed
    again when it is sorted next; most queues have nothing pending and need none. Cost: O(queues
    concerned), once for each stale queue above them. Rules: RES-52, QUE-35, QUE-38.
    """
    stale, partition.waiting.shares_stale = partition.waiting.shares_stale, {}
    scale = Scale(partition.pool.capacity, parity=partition.settings.parity)
    if not scale.equals(partition.waiting.scale):
        partition.waiting.scale = scale
    for top in stale.values():
        for queue in partition.queues(top):
            queue.divisors = None
            if queue.leaf and _waits(queue):
                leaf_changed(partition, queue)


def _waits(leaf: Queue) -> bool:
    """Whether a leaf has pending asks, or something to try in the reserved or swap pass."""
    return any(leaf.pending.amounts) or bool(leaf.urgent.keys or leaf.swaps.order.keys)


def _work_out_shares(queue: Queue) -> None:
    """Compute the divisors of usage for a queue, and for its ancestors first.

    If the divisors of a queue are known, those of all its ancestors are.

    Rules: RES-52, QUE-38.
    """
    parent = queue.parent
    if parent is not None and parent.divisors is None:
        _work_out_shares(parent)
    queue.fair_maximum = fair_maximum(queue, None if parent is None else parent.fair_maximum)
    queue.divisors = divisors(queue, queue.fair_maximum)


def _settle_passes(partition: Partition, leaf: Queue) -> None:
    """Note whether the reserved pass and the swap pass have something to try in a leaf.

    Rules: CYC-5, CYC-19, CYC-23, QUE-4.
    """
    stopped = [queue for queue in leaf.path_up if queue.state == states.STOPPED]
    _mark(partition.waiting.urgent, leaf, present=bool(leaf.urgent.keys) and not stopped)
    _mark(partition.waiting.swapping, leaf, present=bool(leaf.swaps.order.keys) and not stopped)


def _mark(leaves: dict[str, Queue], leaf: Queue, *, present: bool) -> None:
    if present:
        leaves[leaf.path] = leaf
    elif leaves:
        leaves.pop(leaf.path, None)
