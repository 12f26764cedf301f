"""Works orders out again after limits or settings of queues changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from remuda.core.accounting.gangs import renew_gang
from remuda.core.accounting.lanes import note_turn, regroup, restage
from remuda.core.accounting.standing import place_group, update_application
from remuda.core.accounting.usage import await_ripeness
from remuda.core.accounting.waiting import release, wake, wake_at, wake_held
from remuda.core.model.application import Application
from remuda.core.model.child_order import ChildOrder
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Request


def renew_leaf(partition: Partition, leaf: Queue) -> None:
    """Take note that the limits of one dynamic leaf changed. Rules: QUE-7, PLC-81, PLC-85."""
    wake_at(partition, leaf)
    wake_held(partition, leaf)
    for application in leaf.applications.values():
        update_application(application)
        regroup(partition, application)
    partition.renew_shares(leaf)


def renew_bounds(partition: Partition, queues: Sequence[Queue]) -> None:
    """Let everything try again below queues whose limits changed, whatever it waits for.

    It may not fit now either, but what is told of why it waits is of the new limits.
    Rules: RLD-21, RLD-22, CYC-24.
    """
    below: dict[str, Queue] = {}
    for top in queues:
        if top.path not in below:
            for queue in partition.queues(top):
                below[queue.path] = queue
        wake_held(partition, top)
    for queue in below.values():
        for lane in queue.lanes.values():
            wake(partition, lane)


def renew_gates(partition: Partition, top: Queue) -> None:
    """Let applications be asked whether they may start, or no more. Rules: RLD-22, QUE-25."""
    for queue in partition.queues(top):
        for application in queue.applications.values():
            regroup(partition, application)


def renew_order(partition: Partition, leaf: Queue) -> None:
    """Put the applications of a leaf where the settings now in force want them.

    Places by one policy cannot be compared with those by another, so its orders begin empty.
    Each of its lanes is tried again, and every ask is in the lane it belongs to now.
    Rules: QUE-21 (Ours), QUE-30 (Ours), QUE-41, RLD-23, CYC-33, GANG-4, KV-5, PRE-2, PRE-5.
    """
    for lane in list(leaf.lanes.values()):
        wake(partition, lane)
        lane.order.clear()
        for strand in lane.strands.values():
            release(strand)
            strand.order.clear()
    leaf.ready.clear()
    leaf.urgent.clear()
    leaf.turns.clear()
    leaf.swaps.clear()
    applications = list(leaf.applications.values())
    for application in applications:
        update_application(application)
        for group in application.request_groups.values():
            place_group(group)
    for application in applications:
        note_turn(partition, application)
        renew_gang(partition, application)
        regroup(partition, application)
    renew_stages(partition, applications)


def renew_child_orders(partition: Partition, queues: Iterable[Queue]) -> None:
    """Put the children of queues in order as settings now in force want, before the next decision.

    Places that were worked out otherwise cannot be compared, so the orders begin empty.
    Rules: QUE-21 (Ours), QUE-33, KV-5.
    """
    for queue in queues:
        queue.child_order = ChildOrder()
        partition.renew_shares(queue)


def renew_stages(partition: Partition, applications: Iterable[Application]) -> None:
    """Put pending asks into the lanes they belong to by the settings now in force.

    Rules: CYC-33, PRE-2, PRE-5, RLD-23.
    """
    for application in applications:
        for group in list(application.request_groups.values()):
            for request in group.order.asks():
                _ripen_anew(partition, request)
                restage(partition, request)


def _ripen_anew(partition: Partition, request: Request) -> None:
    """Let a pending ask wait until it may preempt by the settings now in force. Rules: PRE-5."""
    if request.ask.allow_preempt_other:
        request.ripe = False
        request.ripens = False
        await_ripeness(partition, request)
