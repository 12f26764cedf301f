"""Adds to and takes from what applications and queues use and want (rules: QUE-8 to QUE-12).

Every change goes up the whole queue path in one call, so no observer sees half of it.
"""

from __future__ import annotations

from remuda.core.accounting.lanes import dequeue, enqueue, wake_at_queue
from remuda.core.accounting.standing import update_application, update_path
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.priorities import MIN_PRIORITY
from remuda.core.model.queue import Queue
from remuda.core.model.request import Request
from remuda.core.model.vectors import Amounts, add, add_times, define, subtract


def set_pending(partition: Partition, request: Request, pending: int) -> None:
    """Change how many allocations an ask still wants, up the whole path. Rules: QUE-11, QUE-27."""
    application = request.application
    leaf = application.queue
    assert leaf is not None
    before = request.pending
    request.pending = pending
    amounts = request.amounts
    add_times(application.pending, amounts, pending - before)
    for queue in leaf.path_up:
        add_times(queue.pending, amounts, pending - before)
    if before == 0 and pending > 0:
        _count_priority(application, request.ask.priority, 1)
        update_application(application)
        enqueue(partition, request)
    elif before > 0 and pending == 0:
        dequeue(partition, request)
        _count_priority(application, request.ask.priority, -1)
        update_application(application)
    update_path(leaf)


def charge(partition: Partition, allocation: Allocation) -> None:
    """Book an allocation on its application, queues and node; limits are not checked here.

    Rules: QUE-8, QUE-9, NOD-2.
    """
    application = allocation.application
    leaf = application.queue
    assert leaf is not None
    amounts = allocation.amounts
    for queue in leaf.path_up:
        add(queue.allocated, amounts)
    add(application.allocated, amounts)
    _raise_maximum(application)
    application.allocations[allocation.allocation_id] = allocation
    partition.allocation_count += 1
    update_application(application)
    update_path(leaf)
    node = allocation.node
    node.put(allocation)
    node.refused.clear()
    if node.schedulable:
        partition.node_order.put(node)


def refund(partition: Partition, allocation: Allocation) -> None:
    """Give back an allocation's part of application and queues, not the node's. Rules: QUE-10."""
    application = allocation.application
    leaf = application.queue
    assert leaf is not None
    amounts = allocation.amounts
    for queue in leaf.path_up:
        subtract(queue.allocated, amounts)
    subtract(application.allocated, amounts)
    del application.allocations[allocation.allocation_id]
    partition.allocation_count -= 1
    update_application(application)
    update_path(leaf)
    wake_path(partition, leaf)


def wake_path(partition: Partition, leaf: Queue) -> None:
    """Wake what waits for the limits of a queue or its ancestors."""
    for queue in leaf.path_up:
        if queue.waiting:
            wake_at_queue(partition, queue)


def count_running(application: Application, change: int) -> None:
    """Count an application as running or no longer, on every level. Rules: QUE-23."""
    leaf = application.queue
    if leaf is not None:
        for queue in leaf.path_up:
            queue.running += change


def grow_capacity(partition: Partition, amounts: Amounts, sign: int) -> None:
    """Add a node's capacity to the partition, or take it away. Rules: NODE-4, QUE-6."""
    define(partition.capacity, amounts.types)
    add_times(partition.capacity, amounts, sign)


def _count_priority(application: Application, priority: int, change: int) -> None:
    """Count an ask's priority in its application, and the application's in its leaf."""
    leaf = application.queue
    assert leaf is not None
    before = application.priorities.highest()
    if change > 0:
        application.priorities.add(priority)
    else:
        application.priorities.remove(priority)
    after = application.priorities.highest()
    if before != after:
        if before != MIN_PRIORITY:
            leaf.priorities.remove(before)
        if after != MIN_PRIORITY:
            leaf.priorities.add(after)


def _raise_maximum(application: Application) -> None:
    """Keep the largest amounts an application ever held."""
    allocated = application.allocated
    maximum = application.max_allocated
    if allocated.types & ~maximum.types:
        define(maximum, allocated.types)
    for index, amount in enumerate(allocated.amounts):
        if amount > maximum.amounts[index]:
            maximum.amounts[index] = amount
