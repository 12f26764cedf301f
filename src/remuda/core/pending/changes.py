"""Unblocks waiting asks after events: one function for each event.

The code that makes a change calls the function of that event. The function unblocks the class
queues and limit groups that may be served now; ``model.asks.blocked.UNBLOCKS`` has the same as a
table. If many class queues wait for the same room, each is unblocked only when it is served next,
see ``gained_room``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from remuda.core.messages.gates import MAX_APPLICATIONS
from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.asks.blocked import Blocked
from remuda.core.model.asks.class_queue import ClassQueue, LimitGroup
from remuda.core.model.nodes.gained_room import FEW
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import QueueTracker
from remuda.core.model.vectors import fits, shortage
from remuda.core.pending.blocking import block_group, unblock, unblock_group
from remuda.core.pending.marks import node_changed, preemption_changed
from remuda.core.pending.swaps import retry_swaps


def new_ask(partition: Partition, limit_group: LimitGroup) -> None:
    """Try a limit group and its class queue: an ask that is new to decisions joined them.

    Rules: LIM-20, EVT-32, EVT-36.
    """
    blocked = limit_group.blocked
    if blocked is not None and blocked.at is not None:
        unblock_group(partition, limit_group)
    if limit_group.class_queue.blocked is not None:
        unblock(partition, limit_group.class_queue)


# ------------------------------------------------------------------------ queues, users and groups


def queue_gained_room(partition: Partition, queue: Queue) -> None:
    """Try the class queues that a queue's maximum stopped and that fit it now.

    If they are many, each is tried only when it is served next. Rules: CYC-25, GANG-4.
    """
    few: list[ClassQueue] = []
    many = False
    at_once: list[ClassQueue] = []
    for ask_class in queue.stopped():
        if (ask_class.at_once or not many) and queue.has_room_for(ask_class):
            class_queues = queue.waiting[ask_class.number]
            if ask_class.at_once:
                at_once += class_queues.values()
            elif len(few) + len(class_queues) > FEW:
                many = True
            else:
                few += class_queues.values()
        elif many and not queue.waiting_classes.at_once:
            break
    if many:
        partition.waiting.gained_room.note_queue(queue)
    for class_queue in at_once if many else few + at_once:
        unblock(partition, class_queue)


def user_gained_room(partition: Partition, tracker: QueueTracker) -> None:
    """Try the first limit group of each class queue that fits a tracker now. Rules: LIM-53."""
    for limit_group in tracker.waiting.firsts():
        if limit_group.class_queue.ask_class.fits(tracker):
            unblock_group(partition, limit_group)


def path_gained_room(
    partition: Partition, leaf: Queue, trackers: Sequence[QueueTracker] = ()
) -> None:
    """Try what fits the limits of a leaf's path and users now, after something was released.

    Rules: CYC-25, LIM-53.
    """
    for queue in leaf.path_up:
        if queue.waiting:
            queue_gained_room(partition, queue)
    for tracker in trackers:
        if tracker.waiting.limit_groups:
            user_gained_room(partition, tracker)


def place_free(partition: Partition, bound: Bound) -> None:
    """Try the first limit group of each class queue that waits to start, if there is a place.

    If its applications do not take the place, the next limit group is tried. Rules: QUE-22, LIM-61.
    """
    if bound.starting.limit_groups and not bound.full():
        for limit_group in bound.starting.firsts():
            unblock_group(partition, limit_group)
            bound.unblocked[limit_group.number] = limit_group


def place_taken(partition: Partition, bound: Bound) -> None:
    """Block the limit groups again that were unblocked for a place which is taken now.

    No decision has to try them for that: a free place at root may unblock a limit group in each of
    a thousand leaves.
    Rules: QUE-22, LIM-61.
    """
    if bound.unblocked and bound.full():
        unblocked, bound.unblocked = bound.unblocked, {}
        for limit_group in unblocked.values():
            if not limit_group.waits() and limit_group.groups and not limit_group.unseen:
                block_group(partition, limit_group, Blocked(MAX_APPLICATIONS, bound))


# ------------------------------------------------------------------------------------------- nodes


def node_gained_room(partition: Partition, node: Node) -> None:
    """Sort a node that gained room by its score, and try what fits it.

    If a reservation closes the node to other asks, only that ask may use the room.
    Rules: NOD-14, RSV-7, CYC-25.
    """
    preemption_changed(partition)
    node_changed(partition, node)
    if partition.reserving.refused:
        reservable_changed(partition)
    if node.is_open():
        partition.pool.put_node(node)
    if partition.waiting.waiting_classes.ask_classes and not node.held:
        try_on_node(partition, node)
    retry_swaps(partition)


def node_renewed(partition: Partition, node: Node) -> None:
    """Try what fits a node that changed, and forget what predicates said about it.

    Rules: NOD-13, NOD-14 (decision 3 of docs/spec).
    """
    node.forget_verdicts()
    node_gained_room(partition, node)


def try_on_node(partition: Partition, node: Node) -> None:
    """Try the ask classes that fit a node which changed or gained room. Rules: CYC-25, NOD-14."""
    if _try_few(
        partition,
        (
            ask_class
            for ask_class in partition.waiting.waiting_classes.within(node.available)
            if ask_class.reaches(node) and fits(node.available, ask_class.amounts)
        ),
    ):
        partition.waiting.gained_room.note_node(node)


def node_lost_room(partition: Partition, node: Node) -> None:
    """Sort a node that has less room by its score, and try asks that would reserve another now.

    A node with less room cannot become better to reserve, except among equal nodes, where the order
    decides. Rules: NOD-13, NOD-14, RSV-4 (decision 48 of docs/spec).
    """
    if node.verdicts or node.reservations:
        node.forget_verdicts()
        node_changed(partition, node)
    if partition.reserving.refused:
        _best_node_changed(partition, node)
    if node.schedulable and not node.held:
        partition.pool.put_node(node)


def node_reservable(partition: Partition, node: Node) -> None:
    """Try asks that may reserve a node: it is new, larger or has no reservation any more.

    Rules: RSV-3, RSV-5, RSV-9.
    """
    if _try_few(
        partition,
        (
            ask_class
            for ask_class in partition.waiting.waiting_classes.ask_classes.values()
            if ask_class.could_reserve(node) and node.holds(ask_class.amounts)
        ),
    ):
        partition.waiting.gained_room.note_free_node(node)


def reservable_changed(partition: Partition) -> None:
    """Try class queues whose best node to reserve was refused: another node may be best now.

    Rules: RSV-4, NOD-13 (decision 48 of docs/spec).
    """
    refused, partition.reserving.refused = partition.reserving.refused, {}
    for class_queue, _ in refused.values():
        if class_queue.waits_for_node():
            unblock(partition, class_queue)


def node_order_changed(partition: Partition, *, own: bool) -> None:
    """Try class queues whose best node to reserve was refused: an equal one may be first now.

    ``own``: the orders that applications chose changed, too.

    Rules: RSV-4, NOD-21, NOD-23 (decisions 48 and 126 of docs/spec).
    """
    if own:
        reservable_changed(partition)
        return
    for number, (class_queue, _) in list(partition.reserving.refused.items()):
        if not class_queue.ask_class.node_policy:
            del partition.reserving.refused[number]
            if class_queue.waits_for_node():
                unblock(partition, class_queue)


def _best_node_changed(partition: Partition, node: Node) -> None:
    """Try the class queues for which a node that lost room is or was the best to reserve."""
    for number, (class_queue, best) in list(partition.reserving.refused.items()):
        amounts = class_queue.ask_class.amounts
        if shortage(node.available, amounts) <= shortage(best.available, amounts):
            del partition.reserving.refused[number]
            if class_queue.waits_for_node():
                unblock(partition, class_queue)


def _try_few(partition: Partition, ask_classes: Iterable[AskClass]) -> bool:
    """Try class queues that wait for a node; if they are many, only those of ``at_once`` classes.

    Return True if they are many: then each of the others is tried when it is served next.
    """
    few: list[AskClass] = []
    count = 0
    at_once: list[AskClass] = []
    for ask_class in ask_classes:
        if ask_class.at_once:
            at_once.append(ask_class)
        elif count <= FEW:
            few.append(ask_class)
            count += len(ask_class.waiting)
        elif not partition.waiting.waiting_classes.at_once:
            break
    for ask_class in at_once if count > FEW else few + at_once:
        for class_queue in list(ask_class.waiting.values()):
            unblock(partition, class_queue)
    return count > FEW


# -------------------------------------------------------------------------------- resource managers


def predicates_changed(partition: Partition, ask_class: AskClass) -> None:
    """Try all class queues of an ask class that wait for a node. Rules: CYC-25, EXT-15, SI-10."""
    for class_queue in list(ask_class.waiting.values()):
        unblock(partition, class_queue)


def reserve_again(partition: Partition, ask_class: AskClass) -> None:
    """Try the class queues whose best node to reserve was refused, of one ask class.

    The RM said that it would accept a reservation of such a node now.

    Rules: RSV-4.
    """
    for class_queue in list(ask_class.waiting.values()):
        if partition.reserving.refused.pop(class_queue.number, None) is not None:
            unblock(partition, class_queue)


def answered(partition: Partition, class_queue: ClassQueue) -> None:
    """Try a class queue whose question the RM answered. Rules: EXT-14."""
    unblock(partition, class_queue)


def pause_over(partition: Partition, class_queue: ClassQueue) -> None:
    """Try a class queue that got no answer a second ago. Rules: EXT-17."""
    unblock(partition, class_queue)


def preemption_due(partition: Partition, class_queue: ClassQueue) -> None:
    """Try a class queue that may try to preempt, unless it waits for its RM.

    Rules: PRE-90, EXT-14, EXT-17.
    """
    if class_queue.blocked is not None and not class_queue.waits_for_manager():
        unblock(partition, class_queue)


def settings_changed(partition: Partition, class_queue: ClassQueue) -> None:
    """Try a class queue by the settings now in force, whatever blocked it. Rules: RLD-21."""
    unblock(partition, class_queue)
