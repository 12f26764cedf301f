"""Counts placeholders and members of task groups, and admits asks accordingly.

For queues, users and nodes a placeholder is an allocation like any other (GANG-7). This module
keeps what its application knows about it in addition.
Rules: GANG-7.
"""

from __future__ import annotations

from collections import Counter

from remuda.config.queue_properties import GREEDY
from remuda.core.accounting.victims import forget_candidate
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import Gang
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, add, subtract
from remuda.core.pending.asks import move_group, reclassify, regroup, regroup_members
from remuda.core.pending.gang_lacks import renew_lack
from remuda.core.pending.swaps import renew_swaps


def gang_of(application: Application) -> Gang:
    """Return the gang of an application; create it if it is missing."""
    if application.gang is None:
        application.gang = Gang(None)
    return application.gang


def add_placeholder(partition: Partition, allocation: Allocation) -> None:
    """Add an allocated placeholder to its gang. Implements: GANG-7, GANG-37. Rules: GANG-10."""
    application = allocation.application
    gang = gang_of(application)
    gang.placeholders[allocation.allocation_id] = allocation
    add(gang.usage, allocation.amounts)
    group = gang.group(allocation.ask.task_group)
    if not allocation.release_type:
        group.free[allocation.allocation_id] = allocation
    partition.placeholder_count += 1
    _renew_group(partition, application, group.name)


def drop_placeholder(partition: Partition, allocation: Allocation) -> None:
    """Remove a placeholder that ended from its gang. Rules: GANG-7, GANG-37."""
    application = allocation.application
    gang = gang_of(application)
    del gang.placeholders[allocation.allocation_id]
    subtract(gang.usage, allocation.amounts)
    group = gang.group(allocation.ask.task_group)
    group.free.pop(allocation.allocation_id, None)
    partition.placeholder_count -= 1
    _renew_group(partition, application, group.name)


def add_member(partition: Partition, request: Request) -> None:
    """Add a pending real ask to its task group. Rules: GANG-10."""
    application = request.application
    group = gang_of(application).group(request.ask.task_group)
    group.order.put(request)
    _renew_group(partition, application, group.name)


def drop_member(partition: Partition, request: Request) -> None:
    """Remove a real ask that has nothing pending from its task group. Rules: GANG-10."""
    application = request.application
    group = gang_of(application).group(request.ask.task_group)
    group.order.drop(request)
    _renew_group(partition, application, group.name)


def await_placeholders(partition: Partition, application: Application, change: int) -> None:
    """Add ``change`` to the number of pending placeholders. Rules: GANG-6, GANG-32."""
    gang_of(application).pending += change
    renew_gang(partition, application)


def enlist(
    partition: Partition, application: Application, task_group: str, amounts: Amounts, members: int
) -> None:
    """Count members of a task group that were asked for or recovered. Rules: GANG-9, GANG-35."""
    group = gang_of(application).group(task_group)
    group.enlist(amounts, members)
    _renew_group(partition, application, group.name)


def lose(partition: Partition, application: Application, task_group: str, members: int) -> None:
    """Count members that ended without being replaced.

    Implements: PRE-38. Rules: GANG-35, SI-60, SI-112.
    """
    gang_of(application).group(task_group).lose(members)
    _renew_group(partition, application, task_group)


def lose_placeholder(partition: Partition, placeholder: Allocation) -> None:
    """Count a placeholder that ended without being replaced. Rules: GANG-23, GANG-35, SI-60."""
    application = placeholder.application
    group = gang_of(application).group(placeholder.ask.task_group)
    group.lose_placeholder(ordered=placeholder.release_type != 0)
    _renew_group(partition, application, group.name)


def count_replaced(partition: Partition, placeholder: Allocation) -> None:
    """Count a member that replaced its placeholder. Rules: GANG-17, GANG-35."""
    application = placeholder.application
    group = gang_of(application).group(placeholder.ask.task_group)
    group.replace()
    _renew_group(partition, application, group.name)


def give_up_members(partition: Partition, application: Application) -> None:
    """Count as lost all members that are neither replaced nor in flight. Rules: GANG-23."""
    gang = gang_of(application)
    coming = Counter([real.ask.task_group for real in gang.replacing.values()])
    running = Counter([each.ask.task_group for each in gang.placeholders.values()])
    for group in list(gang.groups.values()):
        swaps = coming[group.name]
        group.give_up(swaps, running[group.name] - swaps)
        _renew_group(partition, application, group.name)


def note_release_request(
    partition: Partition, allocation: Allocation, termination_type: int
) -> None:
    """Note a release request; a placeholder with a release request is not replaced any more.

    Implements: MET-16. Rules: SI-69, GANG-10, GANG-22.
    """
    if not allocation.release_type:
        partition.totals.released += 1
    allocation.release_type = termination_type
    partition.leaving[allocation] = None
    forget_candidate(partition, allocation)
    if allocation.ask.placeholder:
        application = allocation.application
        group = gang_of(application).group(allocation.ask.task_group)
        group.free.pop(allocation.allocation_id, None)
        _renew_group(partition, application, group.name)


def renew_gang(partition: Partition, application: Application) -> None:
    """Admit the asks of an application according to its placeholders and its state.

    Rules: GANG-4, GANG-6, GANG-10, APP-12.
    """
    gang = application.gang
    leaf = application.queue
    if gang is None:
        return
    greedy = leaf.settings.gang_admission == GREEDY
    quota_changed, wait_changed = gang.renew(application.state, greedy=greedy)
    if quota_changed:
        for group in list(application.request_groups.values()):
            if group.limit_group.class_queue.ask_class.placeholder and not move_group(
                partition, group
            ):
                for request in group.order.asks():
                    reclassify(partition, request)
    if wait_changed:
        regroup(partition, application)
    renew_lack(partition, application)
    renew_swaps(partition, application)


def _renew_group(partition: Partition, application: Application, name: str) -> None:
    """Recompute one task group after a change, and let a failed swap be tried again."""
    gang = gang_of(application)
    partition.waiting.failed_swaps.pop(application.number, None)
    gang.swap_failed = False
    gang.looked_until = ()
    group = gang.group(name)
    if gang.note(group):
        regroup_members(partition, group)
    renew_gang(partition, application)
