"""Recomputes orders after limits or settings of queues changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from remuda.core.accounting.gangs import renew_gang
from remuda.core.accounting.usage import await_preempt_age
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.queues.child_order import ChildOrder
from remuda.core.model.queues.queue import Queue
from remuda.core.pending.asks import note_turn, reclassify, regroup
from remuda.core.pending.blocking import leave_waitlist
from remuda.core.pending.changes import place_free, queue_gained_room, settings_changed
from remuda.core.pending.ordering import sort_group, update_application


def renew_leaf(partition: Partition, leaf: Queue) -> None:
    """Apply changed limits of one dynamic leaf to its asks. Rules: QUE-7, PLC-81, PLC-85."""
    queue_gained_room(partition, leaf)
    place_free(partition, leaf)
    for application in leaf.applications.values():
        update_application(application)
        regroup(partition, application)
    partition.renew_shares(leaf)


def renew_bounds(partition: Partition, queues: Sequence[Queue]) -> None:
    """Unblock all asks below queues whose limits changed, whatever blocked them.

    Asks may not fit the new limits either, but then their findings name the new limits.
    Rules: RLD-21, RLD-22, CYC-24.
    """
    below: dict[str, Queue] = {}
    for top in queues:
        if top.path not in below:
            for queue in partition.queues(top):
                below[queue.path] = queue
        place_free(partition, top)
    for queue in below.values():
        for class_queue in queue.class_queues.values():
            settings_changed(partition, class_queue)


def renew_admission(partition: Partition, top: Queue) -> None:
    """Recompute which applications must be checked before they start. Rules: RLD-22, QUE-25."""
    for queue in partition.queues(top):
        for application in queue.applications.values():
            regroup(partition, application)


def renew_order(partition: Partition, leaf: Queue) -> None:
    """Sort the applications of a leaf by the settings now in force.

    Sort keys of different policies cannot be compared, so all orders of the leaf are emptied first.
    Each class queue is unblocked, and each ask is moved to the class queue it belongs to now.
    Rules: QUE-21 (Ours), QUE-30 (Ours), QUE-41, RLD-23, CYC-33, GANG-4, KV-5, PRE-2, PRE-5.
    """
    for class_queue in list(leaf.class_queues.values()):
        settings_changed(partition, class_queue)
        class_queue.order.clear()
        for limit_group in class_queue.limit_groups.values():
            leave_waitlist(limit_group)
            limit_group.order.clear()
    leaf.ready.clear()
    leaf.urgent.clear()
    leaf.turns.clear()
    leaf.swaps.clear()
    applications = list(leaf.applications.values())
    for application in applications:
        update_application(application)
        for group in application.request_groups.values():
            sort_group(group)
    for application in applications:
        note_turn(partition, application)
        renew_gang(partition, application)
        regroup(partition, application)
    renew_stages(partition, applications)


def renew_child_orders(partition: Partition, queues: Iterable[Queue]) -> None:
    """Sort the children of queues by the settings now in force, before the next decision.

    Sort keys of different settings cannot be compared, so the orders are emptied.
    Rules: QUE-21 (Ours), QUE-33, KV-5.
    """
    for queue in queues:
        queue.child_order = ChildOrder()
        partition.renew_shares(queue)


def renew_stages(partition: Partition, applications: Iterable[Application]) -> None:
    """Put pending asks into the class queues they belong to by the settings now in force.

    Rules: CYC-33, PRE-2, PRE-5, RLD-23.
    """
    for application in applications:
        for group in list(application.request_groups.values()):
            for request in group.order.asks():
                _restart_preempt_age(partition, request)
                reclassify(partition, request)


def _restart_preempt_age(partition: Partition, request: Request) -> None:
    """Restart the time until a pending ask may preempt, by the new settings. Rules: PRE-5."""
    if request.ask.allow_preempt_other:
        request.preempt_due = False
        request.preempt_timed = False
        await_preempt_age(partition, request)
