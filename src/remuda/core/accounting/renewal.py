"""Works orders out again after limits or settings of queues changed."""

from __future__ import annotations

from remuda.core.accounting.gangs import renew_gang
from remuda.core.accounting.lanes import note_turn, regroup, restage
from remuda.core.accounting.standing import (
    place_group,
    reshow_priorities,
    update_application,
)
from remuda.core.accounting.usage import await_ripeness
from remuda.core.accounting.waiting import wake_all, wake_at, wake_held
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
    partition.shares_stale = True


def renew_orders(partition: Partition) -> None:
    """Put applications and queues where the settings now in force want them.

    Places by one policy cannot be compared with those by another, so every order begins empty.
    Every lane is tried again, and every ask is in the lane it belongs to now.
    Rules: QUE-21 (Ours), QUE-30 (Ours), QUE-41, RLD-23, CYC-33, GANG-4, KV-5, PRE-2, PRE-5.
    """
    wake_all(partition)
    for queue in partition.queues(partition.root):
        queue.child_order = ChildOrder()
        queue.ready.clear()
        queue.urgent.clear()
        queue.turns.clear()
        for lane in queue.lanes.values():
            lane.order.clear()
            for strand in lane.strands.values():
                strand.order.clear()
    for application in partition.applications.values():
        update_application(application)
        for group in application.request_groups.values():
            place_group(group)
    for application in list(partition.applications.values()):
        note_turn(partition, application)
        renew_gang(partition, application)
        regroup(partition, application)
        for request in application.requests.values():
            _ripen_anew(partition, request)
            restage(partition, request)
    partition.revision += 1
    reshow_priorities(partition)
    partition.shares_stale = True


def _ripen_anew(partition: Partition, request: Request) -> None:
    """Let a pending ask wait until it may preempt by the settings now in force. Rules: PRE-5."""
    if request.group is not None and request.ask.allow_preempt_other:
        request.ripe = False
        request.ripens = False
        await_ripeness(partition, request)
