"""Lets asks that are old enough reserve nodes (rules: RSV-3, decision 45 of docs/spec)."""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.lanes import move_group, restage
from remuda.core.apply.turn import Turn
from remuda.core.model import deadlines
from remuda.core.model.ages import FOREVER_NS
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request

# Asks that get into their lanes one by one at a time, and the pause before the next ones.
PORTION: Final = 1_024
PAUSE_NS: Final = 1_000_000


def plan_ages(turn: Turn, partition: Partition) -> None:
    """See that a timer runs out when the next asks are old enough. Rules: RSV-3."""
    ages = partition.ages
    due_ns = ages.next_ns()
    if due_ns != FOREVER_NS and (ages.timer_ns == 0 or due_ns < ages.timer_ns):
        ages.timer_ns = due_ns
        turn.set_timer(partition, deadlines.AGE, due_ns - turn.now_ns)


def grow_old(turn: Turn, partition: Partition) -> None:
    """Let the asks that are old enough reserve nodes.

    An application's equal asks that grow old together move at once; what is left moves ask by ask,
    a portion at a time, by priority and arrival. Rules: RSV-3 (decision 45 of docs/spec).
    """
    ages = partition.ages
    left: list[Request] = []
    for requests in _by_group(ages.grown(turn.now_ns)):
        group = requests[0].group
        assert group is not None
        if len(requests) < len(group.requests) or not move_group(partition, group):
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
    """Mark asks as old enough; return those that still wait, each group of them together."""
    groups: dict[int, list[Request]] = {}
    for request in requests:
        request.aged = True
        group = request.group
        if group is not None:
            groups.setdefault(group.first().number, []).append(request)
    return list(groups.values())
