"""Lets asks do more when they are old enough: reserve nodes, preempt others (rules: RSV-3, PRE-5).

See decision 45 of docs/spec.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.lanes import move_group, restage
from remuda.core.apply.turn import Turn
from remuda.core.model import deadlines
from remuda.core.model.ages import FOREVER_NS, Ages
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request

# Asks that get into their lanes one by one at a time, and the pause before the next ones.
PORTION: Final = 1_024
PAUSE_NS: Final = 1_000_000


def plan_ages(turn: Turn, partition: Partition) -> None:
    """See that a timer runs out when the next asks are old enough. Rules: RSV-3."""
    plan(turn, partition, partition.ages, deadlines.AGE)


def plan(turn: Turn, partition: Partition, ages: Ages, what: str) -> None:
    """See that a timer runs out when the next asks of some are old enough. Rules: RSV-3, PRE-5."""
    due_ns = ages.next_ns()
    if due_ns != FOREVER_NS and (ages.timer_ns == 0 or due_ns < ages.timer_ns):
        ages.timer_ns = due_ns
        turn.set_timer(partition, what, due_ns - turn.now_ns)


def grow_old(turn: Turn, partition: Partition) -> None:
    """Let the asks that are old enough reserve nodes. Rules: RSV-3."""
    grown = partition.ages.grown(turn.now_ns)
    for request in grown:
        request.aged = True
    let_in(turn, partition, partition.ages, grown)


def let_in(turn: Turn, partition: Partition, ages: Ages, grown: list[Request]) -> None:
    """Put asks into the lanes they belong to now that they are old enough.

    An application's equal asks that grow old together move at once; what is left moves ask by ask,
    a portion at a time, by priority and arrival. Rules: RSV-3, PRE-5 (decision 45 of docs/spec).
    """
    left: list[Request] = []
    for requests in _by_group(grown):
        group = requests[0].group
        assert group is not None
        if (
            len(requests) < group.order.count
            or not _are_alike(requests)
            or not move_group(partition, group)
        ):
            left += requests
    if left:
        ages.stragglers += left
        ages.stragglers.sort(key=lambda each: (each.ask.priority, -each.number))
    if turn.now_ns >= ages.pause_ns:
        for _ in range(min(PORTION, len(ages.stragglers))):
            restage(partition, ages.stragglers.pop())
        ages.pause_ns = turn.now_ns + PAUSE_NS if ages.stragglers else 0
    ages.timer_ns = 0


def _by_group(requests: list[Request]) -> list[list[Request]]:
    """Return those that still wait, each group of them together."""
    groups: dict[int, list[Request]] = {}
    for request in requests:
        group = request.group
        if group is not None:
            groups.setdefault(group.first().number, []).append(request)
    return list(groups.values())


def _are_alike(requests: list[Request]) -> bool:
    """Whether some asks of a group go to the same lane: those that preempt do so by priority."""
    first = requests[0]
    return all(
        each.ripe == first.ripe and (not each.ripe or each.ask.priority == first.ask.priority)
        for each in requests
    )
