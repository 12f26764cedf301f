"""Allows asks to reserve nodes and to preempt when they are old enough (rules: RSV-3, PRE-5).

See decision 45 of docs/spec.
"""

from __future__ import annotations

from typing import Final

from remuda.core.apply.turn import Turn
from remuda.core.model import deadlines
from remuda.core.model.asks.ages import FOREVER_NS, Ages
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.pending.asks import move_group, reclassify

# How many asks are moved singly to their class queues at a time, and the pause before the next.
PORTION: Final = 256
PAUSE_NS: Final = 1_000_000


def plan_ages(turn: Turn, partition: Partition) -> None:
    """Set the timers for the next asks that will be old enough. Rules: RSV-3."""
    plan(turn, partition, partition.reserving.ages, deadlines.AGE)


def plan(turn: Turn, partition: Partition, ages: Ages, what: str) -> None:
    """Set the timer for the next asks of one list that will be old enough. Rules: RSV-3, PRE-5."""
    due_ns = ages.next_ns()
    if due_ns != FOREVER_NS and (ages.timer_ns == 0 or due_ns < ages.timer_ns):
        ages.timer_ns = due_ns
        turn.set_timer(partition, what, due_ns - turn.now_ns)


def grow_old(turn: Turn, partition: Partition) -> None:
    """Allow the asks that are old enough to reserve nodes. Implements: RSV-3."""
    old_enough = partition.reserving.ages.take_old_enough(turn.now_ns)
    for request in old_enough:
        request.aged = True
    reclassify_old_enough(turn, partition, partition.reserving.ages, old_enough)


def reclassify_old_enough(
    turn: Turn, partition: Partition, ages: Ages, old_enough: list[Request]
) -> None:
    """Move asks that became old enough to the class queues they belong to now.

    Equal asks of an application that become old enough together move at once. The others move ask
    by ask, a portion at a time, by priority and arrival. Rules: RSV-3, PRE-5 (decision 45 of
    docs/spec).
    """
    left: list[Request] = []
    for requests in _by_group(old_enough):
        group = requests[0].group
        assert group is not None
        if (
            len(requests) < group.order.count
            or not _are_alike(requests)
            or not move_group(partition, group)
        ):
            left += requests
    if left:
        ages.add_to_reclassify(left)
    if turn.now_ns >= ages.pause_ns:
        for request in ages.take_to_reclassify(PORTION):
            reclassify(partition, request)
        ages.pause_ns = turn.now_ns + PAUSE_NS if ages.has_to_reclassify() else 0
    ages.timer_ns = 0


def _by_group(requests: list[Request]) -> list[list[Request]]:
    """Return the asks that still wait, by group."""
    groups: dict[int, list[Request]] = {}
    for request in requests:
        group = request.group
        if group is not None:
            groups.setdefault(group.first().number, []).append(request)
    return list(groups.values())


def _are_alike(requests: list[Request]) -> bool:
    """Whether the asks of a group share one class queue.

    Asks that may preempt do so per priority.
    """
    first = requests[0]
    return all(
        each.preempt_due == first.preempt_due
        and (not each.preempt_due or each.ask.priority == first.ask.priority)
        for each in requests
    )
