"""Changes usage and pending of applications and queues (rules: chapter 50 section A.2).

Each call changes the whole queue path, so no observer sees half of a change.
"""

from __future__ import annotations

from remuda.config.queue_properties import FAIR, STATEAWARE
from remuda.core.accounting.gangs import (
    add_member,
    add_placeholder,
    await_placeholders,
    drop_member,
    drop_placeholder,
)
from remuda.core.accounting.tags import drop_own_tags
from remuda.core.accounting.victims import forget_candidate, index_candidates, victim_gone
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.queues.priorities import MIN_PRIORITY
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts, add, add_times, define, move, subtract
from remuda.core.pending.asks import add_ask, note_turn, reclassify, regroup, remove_ask
from remuda.core.pending.blocking import pass_on
from remuda.core.pending.changes import (
    node_lost_room,
    path_gained_room,
    place_free,
    place_taken,
)
from remuda.core.pending.limit_sets import count_application, limit_set_of
from remuda.core.pending.marks import leaf_changed, usage_changed
from remuda.core.pending.ordering import first_ask_changed, update_application


def set_pending(partition: Partition, request: Request, pending: int) -> None:
    """Set how many allocations of an ask are pending, up the whole path.

    Implements: QUE-11. Rules: QUE-27.
    """
    application = request.application
    leaf = application.queue
    before = request.pending
    request.pending = pending
    amounts = request.amounts
    application.wanted += pending - before
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
        reclassify(partition, request)
    if leaf.settings.application_sort == STATEAWARE:
        note_turn(partition, application)
    leaf_changed(partition, leaf)


def charge(  # noqa: C901 - one call less for every allocation
    partition: Partition, allocation: Allocation, request: Request
) -> None:
    """Add an allocation to the usage of application, queues, user, group and node.

    Limits are not checked. The pending count of the ask shrinks by one in the same step.
    Implements: QUE-9, LIM-7, LIM-33, REC-5. Rules: QUE-8, NOD-2, LIM-32.
    """
    application = allocation.application
    leaf = application.queue
    amounts = allocation.amounts
    placeholder = allocation.ask.placeholder
    plain = not placeholder and not request.ask.placeholder
    _charge_quota(partition, application, amounts)
    if plain and request.pending and request.amounts is amounts:
        application.wanted -= 1
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
    leaf.counts.allocated += 1
    if partition.preempting.candidates is not None:
        partition.preempting.candidates.add(allocation)
    group = request.group
    if request.pending == 0 and group is not None:
        _unlist(partition, request, used_more=True)
        if leaf.settings.application_sort == STATEAWARE:
            note_turn(partition, application)
    elif leaf.settings.application_sort == FAIR:
        update_application(application)
    if group is not None and group.limit_group.limit_set.limited:
        pass_on(partition, group.limit_group)
    usage_changed(partition, leaf)
    # The same as take_room, without a call.
    node = allocation.node
    node.put(allocation)
    node_lost_room(partition, node)


def take_room(partition: Partition, allocation: Allocation) -> None:
    """Add an allocation to its node; whether it fits is not checked.

    Implements: NOD-10. Rules: NOD-2, NOD-14.
    """
    allocation.node.put(allocation)
    node_lost_room(partition, allocation.node)


def _move_up(leaf: Queue, amounts: Amounts) -> None:
    """Move amounts from pending to allocated, up the whole path. Rules: QUE-9, QUE-11.

    The same as ``move`` for each queue, without the calls.
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
            left[index] = left[index] - amount
            right[index] = right[index] + amount


def _charge_quota(partition: Partition, application: Application, amounts: Amounts) -> None:
    """Add an allocation to the trackers of its user and group.

    Implements: LIM-32. Rules: LIM-36.
    """
    limit_set = limit_set_of(partition, application)
    for tracker in limit_set.trackers:
        add(tracker.allocated, amounts)
    if not application.counted:
        count_application(application, 1)
        for tracker in limit_set.application_limits:
            place_taken(partition, tracker)


def refund(partition: Partition, allocation: Allocation) -> None:
    """Subtract an allocation from application, queues, user and group, but not from its node.

    Implements: QUE-10, LIM-34, LIM-38. Rules: LIM-35.
    """
    application = allocation.application
    leaf = application.queue
    amounts = allocation.amounts
    trackers = limit_set_of(partition, application).trackers
    for queue in leaf.path_up:
        subtract(queue.allocated, amounts)
    for tracker in trackers:
        subtract(tracker.allocated, amounts)
    application.note_peak(amounts)
    application.drop(allocation)
    if partition.waiting.own_tags:
        drop_own_tags(partition, allocation)
    if allocation.ask.placeholder:
        drop_placeholder(partition, allocation)
    else:
        subtract(application.allocated, amounts)
    if allocation.kind is not None:
        forget_candidate(partition, allocation)
    elif allocation.preemption is not None:
        victim_gone(partition, allocation)
    partition.allocation_count -= 1
    leaf.counts.released += 1
    if allocation.release_type:
        del partition.leaving[allocation]
        allocation.release_timer = None
    else:
        partition.totals.released += 1
    if leaf.settings.application_sort == FAIR:
        update_application(application)
    usage_changed(partition, leaf)
    path_gained_room(partition, leaf, trackers)


def count_running(partition: Partition, application: Application, change: int) -> None:
    """Add ``change`` (1 or -1) to the running applications, on every level. Implements: QUE-23.

    The count may exceed the maximum: applications that run again after they were idle are not
    stopped.
    """
    leaf = application.queue
    for queue in leaf.path_up:
        queue.running += change
        place_free(partition, queue)
        place_taken(partition, queue)


def count_early(partition: Partition, application: Application) -> None:
    """Count an application in Accepted at its queues early, while it holds room.

    It holds room if it has a reservation or a placeholder. Implements: QUE-24 (Ours), APP-19,
    LIM-70.
    """
    leaf, gang = application.queue, application.gang
    holds = bool(application.reservations) or (gang is not None and bool(gang.placeholders))
    counts = application.state == states.ACCEPTED and holds
    if counts == application.counted_early:
        return
    application.counted_early = counts
    for queue in leaf.path_up:
        queue.counted_early += 1 if counts else -1
        place_free(partition, queue)
        place_taken(partition, queue)
    regroup(partition, application)


def uncount(partition: Partition, application: Application) -> None:
    """Stop counting an application that has neither asks nor allocations.

    Implements: LIM-36. Rules: LIM-61.
    """
    limit_set = limit_set_of(partition, application)
    count_application(application, -1)
    for tracker in limit_set.application_limits:
        place_free(partition, tracker)


def grow_capacity(partition: Partition, amounts: Amounts, sign: int) -> None:
    """Add a node's capacity to the partition, or take it away.

    A type with amount zero is removed, as if no node had ever had it.

    Implements: QUE-6, PAR-4. Rules: NODE-4, RES-15.
    """
    capacity = partition.pool.capacity
    define(capacity, amounts.types)
    add_times(capacity, amounts, sign)
    for index, _ in amounts.pairs:
        if capacity.amounts[index] == 0:
            capacity.types &= ~(1 << index)


def _list(partition: Partition, request: Request) -> None:
    """Add a pending ask to its class queue, and its priority to its application."""
    application = request.application
    if not request.ages and partition.settings.reservation_delay_ns is not None:
        request.ages = True
        partition.reserving.ages.add(
            request.created_ns + partition.settings.reservation_delay_ns + 1, request
        )
    if request.ask.allow_preempt_other:
        await_preempt_age(partition, request)
    application.waiting_asks += 1
    partition.ask_count += 1
    application.priorities.add(request.ask.priority)
    if application.priority != application.priorities.highest:
        _set_priority(application)
        update_application(application)
    add_ask(partition, request)
    if request.ask.task_group and request.is_member():
        add_member(partition, request)
    if request.attempted:
        partition.waiting.outstanding.add(request)


def await_preempt_age(partition: Partition, request: Request) -> None:
    """Note when a pending ask may preempt, and index the candidates. Rules: PRE-1, PRE-5."""
    if partition.settings.config.preemption and request.may_preempt():
        index_candidates(partition)
        if not request.preempt_due and not request.preempt_timed:
            request.preempt_timed = True
            partition.preempting.ages.add(request.preempt_due_ns(), request)


def _unlist(partition: Partition, request: Request, *, used_more: bool) -> None:
    """Remove an ask with nothing pending from its class queue and its application's priorities.

    ``used_more``: the application's usage grew, too. With the fair policy that changes its sort
    key.
    """
    application = request.application
    application.waiting_asks -= 1
    partition.ask_count -= 1
    if request.unplaced:
        request.unplaced = False
        application.unplaced -= 1
    if request.outstanding:
        partition.waiting.outstanding.discard(request)
    if request.ask.task_group and request.is_member():
        drop_member(partition, request)
    group = remove_ask(partition, request)
    application.priorities.remove(request.ask.priority)
    leaf = application.queue
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
    """Take over an application's new highest priority and count it in its leaf.

    Implements: QUE-28.
    """
    leaf = application.queue
    if application.priority != MIN_PRIORITY:
        leaf.priorities.remove(application.priority)
    application.priority = application.priorities.highest
    if application.priority != MIN_PRIORITY:
        leaf.priorities.add(application.priority)
