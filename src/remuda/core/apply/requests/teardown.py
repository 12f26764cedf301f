"""Cuts the references inside a removed partition, so that its memory is freed at once.

Reference counting does not free objects that refer to each other, and a served process seldom
collects such garbage. So each object's reference to its owner is cut here. No code reads the
partition any more; answers that are read later have what they need, copied or lent.
"""

from __future__ import annotations

from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import Swaps
from remuda.core.model.asks.ask_order import AskOrder
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.asks.request import NO_RESERVATIONS
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.turns import Turns


def take_apart(partition: Partition) -> None:
    """Cut all cycles of references in a partition. Rules: RM-9, RM-19, OBJ-9.

    Cost: O(applications, nodes, queues, class queues), and what it takes to free all they have.
    """
    _cut_reservations(partition)
    _cut_preemptions(partition)
    for application in partition.applications.values():
        _cut_application(application)
    for order in (partition.pool.node_order, *partition.pool.node_orders.values()):
        order.end()
    for node in partition.nodes.values():
        _cut_node(node)
    for kind in partition.waiting.predicate_classes.values():
        kind.ask_classes = {}
    for tracker in partition.trackers.values():
        tracker.waiting.limit_groups = {}
        _cut_bound(tracker)
    for queue in partition.queues(partition.root):
        _cut_queue(queue)


def _cut_reservations(partition: Partition) -> None:
    """Cut the references between reservations, asks and reservation classes."""
    for reservation in partition.reserving.reservations.values():
        reservation.request.reservations = NO_RESERVATIONS
    for reservation_class in partition.reserving.classes.values():
        reservation_class.reservations = {}


def _cut_preemptions(partition: Partition) -> None:
    """Cut references of allocations to timers, of preemptions to asks, of candidates to kinds."""
    for allocation in partition.leaving:
        allocation.release_timer = None
        allocation.preemption = None
    for preemption in partition.preempting.made.values():
        if preemption.request is not None:
            preemption.request.preemption = None
            preemption.request = None
    if partition.preempting.candidates is not None:
        for kinds in partition.preempting.candidates.kinds.values():
            for kind in kinds.values():
                kind.allocations = {}


def _cut_application(application: Application) -> None:
    """Cut the references between an application and its parts."""
    application.gang = None
    application.limit_set = None
    application.requests = {}
    application.allocations = {}
    application.reservations = {}
    for group in application.request_groups.values():
        group.order = AskOrder()
        group.limit_group.groups = {}
    application.request_groups = {}


def _cut_node(node: Node) -> None:
    """Cut the references between a node and the allocations on it."""
    node.allocations = {}
    node.reservations = {}
    node.foreign = {}


def _cut_queue(queue: Queue) -> None:
    """Cut the references of a queue to its parent, children, class queues and waiters."""
    queue.parent = None
    queue.path_up = ()
    queue.children = {}
    queue.applications = {}
    queue.quota_run = None
    queue.waiting = {}
    queue.swaps = Swaps()
    _cut_bound(queue)
    queue.turns = Turns()
    for class_queue in queue.class_queues.values():
        _cut_class_queue(class_queue)
    queue.class_queues = {}


def _cut_bound(bound: Bound) -> None:
    """Cut the references of a limit to the asks that it blocks."""
    bound.starting.limit_groups = {}
    bound.unblocked = {}


def _cut_class_queue(class_queue: ClassQueue) -> None:
    """Cut the references between a class queue, its limit groups and its ask class."""
    for limit_group in class_queue.limit_groups.values():
        limit_group.drop_fresh(limit_group.unseen)
        limit_group.blocked = None
        limit_group.start_queues = ()
    class_queue.limit_groups = {}
    class_queue.limit_group_keys = {}
    class_queue.fresh = {}
    class_queue.blocked = None
    class_queue.ask_class.waiting = {}
