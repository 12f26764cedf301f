"""Keeps queues and applications where their usage, priority and pending put them.

Only what lies on the path of a change gets a new key: O(depth x log siblings). A change only
notes its leaf; the new keys are worked out once before they are needed, however many changes a
request or an allocation made there.
"""

from __future__ import annotations

from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.priorities import MIN_PRIORITY
from remuda.core.model.queue import Queue
from remuda.core.model.request import CLOSED, Group, Lane, Strand
from remuda.core.model.trackers import QueueTracker
from remuda.core.policy.shares import divisors, fair_maximum
from remuda.core.policy.standing import application_key, child_key, shown_priority


def settle(partition: Partition) -> None:
    """Give every noted leaf and its ancestors their places anew.

    New shares can wait while nothing is pending: then nothing is in any order.

    Rules: QUE-28, QUE-32, QUE-33, QUE-38.
    """
    if partition.shares_stale and any(partition.root.pending.amounts):
        _forget_shares(partition)
    if partition.unsettled:
        for leaf in partition.unsettled.values():
            if leaf.urgent.keys or partition.urgent or leaf.swaps.order.keys or partition.swapping:
                _settle_passes(partition, leaf)
            for queue in leaf.path_up:
                if queue.parent is not None:
                    _update(queue, queue.parent, parity=partition.parity)
        partition.root.priority = partition.root.priorities.highest
    partition.unsettled.clear()


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
    """Let the parent count what a queue shows now instead of what it showed. Rules: QUE-28."""
    shown = shown_priority(queue)
    if queue.shown_priority != MIN_PRIORITY:
        parent.priorities.remove(queue.shown_priority)
    if shown != MIN_PRIORITY:
        parent.priorities.add(shown)
    queue.shown_priority = shown


def reshow_priority(queue: Queue) -> None:
    """Let a queue, and those above it, show their priority by the settings now in force.

    Rules: QUE-28, QUE-30.
    """
    for each in queue.path_up:
        each.priority = each.priorities.highest
        if each.parent is not None:
            _show_priority(each, each.parent)


def update_application(application: Application) -> bool:
    """Give an application and its groups their places anew; False if it stays. Rules: QUE-40."""
    leaf = application.queue
    assert leaf is not None
    standing = application_key(leaf, application)
    if standing == application.standing:
        return False
    application.standing = standing
    if application.number in leaf.swaps.order.keys:
        leaf.swaps.put(application)
    for group in application.request_groups.values():
        place_group(group)
    return True


def first_ask_changed(group: Group) -> None:
    """Put a lane where it belongs now that another ask of its first group is the first.

    It matters only among groups of one application, see ``Lane.key_of``. Rules: QUE-44.
    """
    application = group.application
    if len(application.request_groups) > 1:
        strand = group.strand
        lane = strand.lane
        leads = strand.order.first() == application.number and lane.order.first() == strand.number
        if leads and not lane.parked:
            lane.ranking.put(lane.key_of(group))


def place_group(group: Group) -> None:
    """Put a group where its application stands; if it is or was the first there, its strand too.

    Rules: QUE-40.
    """
    strand = group.strand
    application = group.application
    before = strand.order.first()
    strand.order.put(application.standing)
    number = application.number
    if before == number or before < 0 or strand.order.first() == number:
        place_strand(strand)


def place_lane(lane: Lane) -> None:
    """Put a lane that has something to try where its first ask belongs. Rules: QUE-40."""
    if lane.order.keys and not lane.parked:
        lane.ranking.put(lane.first_key())


def place_strand(strand: Strand) -> None:
    """Put a strand where its first application stands: in its lane, or where it waits. QUE-40."""
    if strand.gate == CLOSED:
        return
    bound = strand.aside
    if bound is None:
        lane = strand.lane
        lane.place(strand)
        place_lane(lane)
    elif strand.held:
        bound.held.put(strand)
    elif isinstance(bound, QueueTracker):
        bound.waiting.put(strand)


def _forget_shares(partition: Partition) -> None:
    """Forget the divisors of stale queues and of all below; leaves with work get their place anew.

    Needed after a change of cluster size or configuration. Each queue is worked out again when it
    is placed next, for most have nothing pending then. Cost: O(queues concerned), once for each
    stale queue above them. Rules: RES-52, QUE-38.
    """
    stale, partition.shares_stale = partition.shares_stale, {}
    for top in stale.values():
        for queue in partition.queues(top):
            queue.divisors = None
            if queue.leaf and _waits(queue):
                partition.unsettled[queue.path] = queue


def _waits(leaf: Queue) -> bool:
    """Whether a leaf may be in the order of its parent, or among those of another pass."""
    return any(leaf.pending.amounts) or bool(leaf.urgent.keys or leaf.swaps.order.keys)


def _work_out_shares(queue: Queue) -> None:
    """Work out what usage of a queue is divided by, from the top downwards. Rules: RES-52, QUE-38.

    If that of a queue is known, that of all above it is.
    """
    parent = queue.parent
    if parent is not None and parent.divisors is None:
        _work_out_shares(parent)
    queue.fair_maximum = fair_maximum(queue, None if parent is None else parent.fair_maximum)
    queue.divisors = divisors(queue, queue.fair_maximum)


def _settle_passes(partition: Partition, leaf: Queue) -> None:
    """Note whether the reserved pass, and that of placeholders, have something to try there.

    Rules: CYC-5, CYC-19, CYC-23, QUE-4.
    """
    stopped = [queue for queue in leaf.path_up if queue.state == states.STOPPED]
    _mark(partition.urgent, leaf, present=bool(leaf.urgent.keys) and not stopped)
    _mark(partition.swapping, leaf, present=bool(leaf.swaps.order.keys) and not stopped)


def _mark(leaves: dict[str, Queue], leaf: Queue, *, present: bool) -> None:
    if present:
        leaves[leaf.path] = leaf
    elif leaves:
        leaves.pop(leaf.path, None)
