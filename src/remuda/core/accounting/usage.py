"""Adds to and takes from what applications and queues use and want (rules: QUE-8 to QUE-12).

Every change goes up the whole queue path in one call, so no observer sees half of it.
"""

from __future__ import annotations

from remuda.config.queue_properties import FAIR, STATEAWARE
from remuda.core.accounting.accounts import account_of, count_application
from remuda.core.accounting.gangs import (
    add_member,
    add_placeholder,
    await_placeholders,
    drop_member,
    drop_placeholder,
)
from remuda.core.accounting.lanes import dequeue, enqueue, note_turn, regroup, restage
from remuda.core.accounting.standing import first_ask_changed, update_application
from remuda.core.accounting.victims import forget_candidate, index_candidates, victim_gone
from remuda.core.accounting.waiting import (
    hold_again,
    pass_on,
    wake_held,
    wake_rebuffed_by,
    wake_within,
)
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.priorities import MIN_PRIORITY
from remuda.core.model.queue import Queue
from remuda.core.model.request import Request
from remuda.core.model.vectors import Amounts, add, add_times, define, move, subtract


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
    if request.ask.placeholder:
        await_placeholders(partition, application, pending - before)
    if before == 0 and pending > 0:
        _list(partition, request)
    elif before > 0 and pending == 0:
        _unlist(partition, request, used_more=False)
    elif request.reservations:
        restage(partition, request)
    if leaf.settings.application_sort == STATEAWARE:
        note_turn(partition, application)
    partition.unsettled[leaf.path] = leaf


def charge(  # noqa: C901 - a call less where every allocation comes
    partition: Partition, allocation: Allocation, request: Request
) -> None:
    """Book an allocation on its application, queues, user, group and node; limits do not count.

    What the ask has pending shrinks by one in the same step.
    Rules: QUE-8, QUE-9, NOD-2, LIM-7, LIM-32, LIM-33.
    """
    application = allocation.application
    leaf = application.queue
    assert leaf is not None
    amounts = allocation.amounts
    placeholder = allocation.ask.placeholder
    plain = not placeholder and not request.ask.placeholder
    _charge_quota(partition, application, amounts)
    if plain and request.pending and request.amounts is amounts:
        move(application.pending, application.allocated, amounts)
        _move_up(leaf, amounts)
        request.pending -= 1
    else:
        if request.pending:
            set_pending(partition, request, request.pending - 1)
        if not placeholder:
            add(application.allocated, amounts)
        for queue in leaf.path_up:
            add(queue.allocated, amounts)
    application.hold(allocation)
    if placeholder:
        add_placeholder(partition, allocation)
    partition.allocation_count += 1
    partition.totals.allocated += 1
    leaf.tally.allocated += 1
    partition.claims_stale = True
    partition.revision += 1
    if partition.candidates is not None:
        partition.candidates.add(allocation)
    group = request.group
    if request.pending == 0 and group is not None:
        _unlist(partition, request, used_more=True)
        if leaf.settings.application_sort == STATEAWARE:
            note_turn(partition, application)
    elif leaf.settings.application_sort == FAIR:
        update_application(application)
    if group is not None and group.strand.account.limited:
        pass_on(partition, group.strand)
    partition.unsettled[leaf.path] = leaf
    take_room(partition, allocation)


def take_room(partition: Partition, allocation: Allocation) -> None:
    """Let an allocation take room on its node, be there some or not. Rules: NOD-2, NOD-14."""
    node = allocation.node
    node.put(allocation)
    if node.verdicts:
        node.verdicts.clear()
    if node.reservations:
        partition.shaken[node.node_id] = node
    if partition.rebuffed:
        wake_rebuffed_by(partition, node)
    if node.schedulable and not node.held:
        partition.put_node(node)


def _move_up(leaf: Queue, amounts: Amounts) -> None:
    """Turn what is pending into what is allocated, up the whole path. Rules: QUE-9, QUE-11.

    As ``move`` for each queue, without a call for each.
    """
    types = amounts.types
    pairs = amounts.pairs
    for queue in leaf.path_up:
        pending = queue.pending
        allocated = queue.allocated
        if types & pending.types & allocated.types != types:
            define(pending, types)
            define(allocated, types)
        left = pending.amounts
        right = allocated.amounts
        for index, amount in pairs:
            left[index] -= amount
            right[index] += amount


def _charge_quota(partition: Partition, application: Application, amounts: Amounts) -> None:
    """Book an allocation where its user and group are limited. Rules: LIM-32, LIM-36."""
    account = account_of(partition, application)
    for tracker in account.trackers:
        add(tracker.allocated, amounts)
    if not application.counted:
        count_application(application, 1)
        for tracker in account.gates:
            hold_again(partition, tracker)


def refund(partition: Partition, allocation: Allocation) -> None:
    """Give back an allocation's part of application, queues, user and group, not the node's.

    Rules: QUE-10, LIM-34, LIM-35.
    """
    application = allocation.application
    leaf = application.queue
    assert leaf is not None
    amounts = allocation.amounts
    trackers = account_of(partition, application).trackers
    for queue in leaf.path_up:
        subtract(queue.allocated, amounts)
    for tracker in trackers:
        subtract(tracker.allocated, amounts)
    application.note_peak(amounts)
    application.drop(allocation)
    if allocation.ask.placeholder:
        drop_placeholder(partition, allocation)
    else:
        subtract(application.allocated, amounts)
    if allocation.kind is not None:
        forget_candidate(partition, allocation)
    elif allocation.preemption is not None:
        victim_gone(partition, allocation)
    partition.allocation_count -= 1
    leaf.tally.released += 1
    if allocation.ordered:
        del partition.leaving[allocation]
    else:
        partition.totals.released += 1
    partition.claims_stale = True
    partition.revision += 1
    if leaf.settings.application_sort == FAIR:
        update_application(application)
    partition.unsettled[leaf.path] = leaf
    wake_within(partition, leaf, trackers)


def count_running(partition: Partition, application: Application, change: int) -> None:
    """Count an application as running or no longer, on every level. Rules: QUE-23.

    The count is exact: it may exceed the maximum, by applications that went on after a pause.
    """
    leaf = application.queue
    if leaf is not None:
        for queue in leaf.path_up:
            queue.running += change
            wake_held(partition, queue)
            hold_again(partition, queue)


def count_starter(partition: Partition, application: Application) -> None:
    """Count an application in Accepted at its queues while it holds room.

    That is a reservation or a placeholder. Rules: QUE-24 (Ours), APP-19, LIM-70.
    """
    leaf, gang = application.queue, application.gang
    holds = bool(application.reservations) or (gang is not None and bool(gang.placeholders))
    starter = application.state == states.ACCEPTED and holds
    if leaf is None or starter == application.starter:
        return
    application.starter = starter
    for queue in leaf.path_up:
        queue.starters += 1 if starter else -1
        wake_held(partition, queue)
        hold_again(partition, queue)
    regroup(partition, application)


def uncount(partition: Partition, application: Application) -> None:
    """Let an application without asks and allocations no longer count. Rules: LIM-36, LIM-61."""
    account = account_of(partition, application)
    count_application(application, -1)
    for tracker in account.gates:
        wake_held(partition, tracker)


def grow_capacity(partition: Partition, amounts: Amounts, sign: int) -> None:
    """Add a node's capacity to the partition, or take it away. Rules: NODE-4, QUE-6, RES-15.

    A type of which nothing is left is not there any more, as if no node had ever had it.
    """
    capacity = partition.capacity
    define(capacity, amounts.types)
    add_times(capacity, amounts, sign)
    for index, _ in amounts.pairs:
        if capacity.amounts[index] == 0:
            capacity.types &= ~(1 << index)


def _list(partition: Partition, request: Request) -> None:
    """Put an ask that has something pending now into its lane and its application's priorities."""
    application = request.application
    if not request.ages and partition.reservation_delay_ns is not None:
        request.ages = True
        partition.ages.add(request.created_ns + partition.reservation_delay_ns + 1, request)
    if request.ask.allow_preempt_other:
        await_ripeness(partition, request)
    application.priorities.add(request.ask.priority)
    if application.priority != application.priorities.highest:
        _set_priority(application)
        update_application(application)
    enqueue(partition, request)
    if request.ask.task_group and request.is_member():
        add_member(partition, request)
    if request.attempted:
        partition.outstanding.add(request)


def await_ripeness(partition: Partition, request: Request) -> None:
    """Note when a pending ask may preempt others; from now on it is known whom. PRE-1, PRE-5."""
    if partition.config.preemption and request.may_preempt():
        index_candidates(partition)
        if not request.ripe and not request.ripens:
            request.ripens = True
            partition.ripening.add(request.ripe_ns(), request)


def _unlist(partition: Partition, request: Request, *, used_more: bool) -> None:
    """Take an ask without pending out of its lane and its application's priorities.

    ``used_more``: the application's usage changed as well, which moves it where that counts.
    """
    application = request.application
    if request.unplaced:
        request.unplaced = False
        application.unplaced -= 1
    if request.outstanding:
        partition.outstanding.discard(request)
    if request.ask.task_group and request.is_member():
        drop_member(partition, request)
    group = dequeue(partition, request)
    application.priorities.remove(request.ask.priority)
    leaf = application.queue
    assert leaf is not None
    moved = used_more and leaf.settings.application_sort == FAIR
    if application.priority != application.priorities.highest:
        _set_priority(application)
        moved = True
    if moved and update_application(application):
        return
    if group is not None:
        first_ask_changed(group)


def count_unplaced(request: Request) -> None:
    """Count an ask as one that found no node, until nothing of it is pending. Rules: CYC-33."""
    request.unplaced = True
    request.application.unplaced += 1


def _set_priority(application: Application) -> None:
    """Take over an application's new highest priority and count it in its leaf. Rules: QUE-28."""
    leaf = application.queue
    assert leaf is not None
    if application.priority != MIN_PRIORITY:
        leaf.priorities.remove(application.priority)
    application.priority = application.priorities.highest
    if application.priority != MIN_PRIORITY:
        leaf.priorities.add(application.priority)
