"""Counts placeholders and members of task groups, and lets asks through accordingly.

A placeholder is an allocation like any other for queues, users and nodes (GANG-7); here is what
its application keeps of it besides.
"""

from __future__ import annotations

from collections import Counter

from remuda.config.queue_properties import GREEDY
from remuda.core.accounting.lanes import move_group, regroup, regroup_members, restage
from remuda.core.accounting.swaps import place_swaps
from remuda.core.accounting.victims import forget_candidate
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.gang import Gang
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.model.vectors import Amounts, add, subtract


def gang_of(application: Application) -> Gang:
    """Return what an application has of placeholders; it begins with the first task group."""
    if application.gang is None:
        application.gang = Gang(None)
    return application.gang


def add_placeholder(partition: Partition, allocation: Allocation) -> None:
    """Note a placeholder that was allocated. Rules: GANG-7, GANG-10, GANG-37."""
    application = allocation.application
    gang = gang_of(application)
    gang.placeholders[allocation.allocation_id] = allocation
    add(gang.usage, allocation.amounts)
    group = gang.group(allocation.ask.task_group)
    if not allocation.ordered:
        group.free[allocation.allocation_id] = allocation
    partition.placeholder_count += 1
    _renew_group(partition, application, group.name)


def drop_placeholder(partition: Partition, allocation: Allocation) -> None:
    """Note that a placeholder is no more. Rules: GANG-7, GANG-37."""
    application = allocation.application
    gang = gang_of(application)
    del gang.placeholders[allocation.allocation_id]
    subtract(gang.usage, allocation.amounts)
    group = gang.group(allocation.ask.task_group)
    group.free.pop(allocation.allocation_id, None)
    partition.placeholder_count -= 1
    _renew_group(partition, application, group.name)


def add_member(partition: Partition, request: Request) -> None:
    """Note a real ask of a task group that has something pending now. Rules: GANG-10."""
    application = request.application
    group = gang_of(application).group(request.ask.task_group)
    group.order.put(request)
    _renew_group(partition, application, group.name)


def drop_member(partition: Partition, request: Request) -> None:
    """Note that nothing of a real ask of a task group is pending any more. Rules: GANG-10."""
    application = request.application
    group = gang_of(application).group(request.ask.task_group)
    group.order.drop(request)
    _renew_group(partition, application, group.name)


def await_placeholders(partition: Partition, application: Application, change: int) -> None:
    """Count placeholders that are asked for and not placed. Rules: GANG-6, GANG-32."""
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
    """Count members that went without being replaced. Rules: GANG-35, SI-60, SI-112."""
    gang_of(application).group(task_group).lose(members)
    _renew_group(partition, application, task_group)


def count_replaced(partition: Partition, placeholder: Allocation) -> None:
    """Count a member whose placeholder made room for it. Rules: GANG-17, GANG-35."""
    application = placeholder.application
    group = gang_of(application).group(placeholder.ask.task_group)
    group.replace()
    _renew_group(partition, application, group.name)


def give_up_members(partition: Partition, application: Application) -> None:
    """Count all members that were neither replaced nor are about to be. Rules: GANG-23."""
    gang = gang_of(application)
    coming = Counter([real.ask.task_group for real in gang.replacing.values()])
    for group in list(gang.groups.values()):
        group.give_up(coming[group.name])
        _renew_group(partition, application, group.name)


def order_out(partition: Partition, allocation: Allocation, termination_type: int) -> None:
    """Note that the RM was told to end an allocation; a placeholder is not replaced any more.

    Rules: SI-69, GANG-10, GANG-22, MET-16.
    """
    if not allocation.ordered:
        partition.totals.released += 1
    allocation.ordered = termination_type
    partition.leaving[allocation] = None
    forget_candidate(partition, allocation)
    if allocation.ask.placeholder:
        application = allocation.application
        group = gang_of(application).group(allocation.ask.task_group)
        group.free.pop(allocation.allocation_id, None)
        _renew_group(partition, application, group.name)


def renew_gang(partition: Partition, application: Application) -> None:
    """Let the asks of an application through as its placeholders and its state now say.

    Rules: GANG-4, GANG-6, GANG-10, APP-12.
    """
    gang = application.gang
    leaf = application.queue
    if gang is None or leaf is None:
        return
    greedy = leaf.settings.gang_admission == GREEDY
    gate_changed, hold_changed = gang.renew(application.state, greedy=greedy)
    if gate_changed:
        for group in list(application.request_groups.values()):
            if group.strand.lane.shape.placeholder and not move_group(partition, group):
                for request in group.order.asks():
                    restage(partition, request)
    if hold_changed:
        regroup(partition, application)
    place_swaps(partition, application)


def _renew_group(partition: Partition, application: Application, name: str) -> None:
    """Take note of a change in one task group: what failed before may work now."""
    gang = gang_of(application)
    partition.stuck.pop(application.number, None)
    gang.stuck = False
    gang.looked_until = ()
    group = gang.group(name)
    if gang.note(group):
        regroup_members(partition, group)
    renew_gang(partition, application)
