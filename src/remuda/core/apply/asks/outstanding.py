"""Tells RMs which asks wait for a larger cluster, at most once a second (rules: CYC-30).

A timer is set when an ask was tried without success, and when a change may allow an ask to be
reported that could not be before. While nothing changes, or no ask is to be reported, there is no
timer.
"""

from __future__ import annotations

from typing import Final

from remuda.core.apply.turn import Turn
from remuda.core.messages.effects import FAILED, ContainerStateUpdated
from remuda.core.model import deadlines, states
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.policy.outstanding import to_report

# Asks reported at a time, and the pause before the next ones.
PORTION: Final = 1_024
PAUSE_NS: Final = 1_000_000

REASON: Final = "request is waiting for cluster resources become available"


def plan_look(turn: Turn, partition: Partition) -> None:
    """Set the timer for a report if one is needed.

    Called before the changes of a turn are settled.

    Rules: CYC-30.
    """
    outstanding = partition.waiting.outstanding
    if not outstanding.leaves:
        return
    if partition.waiting.shares_stale:
        outstanding.all_changed = True
    else:
        outstanding.changed.update(partition.waiting.leaves_to_reorder)
    if outstanding.timer_set or not (outstanding.changed or outstanding.all_changed):
        return
    outstanding.timer_set = True
    turn.set_timer(partition, deadlines.OUTSTANDING, deadlines.OUTSTANDING_NS)


def report_outstanding(turn: Turn, partition: Partition) -> None:
    """Tell the RM which asks wait for a larger cluster, each once, a portion at a time.

    Implements: CYC-30, REST-134, SI-82. Emits: ContainerStateUpdated.
    """
    outstanding = partition.waiting.outstanding
    outstanding.timer_set = False
    if not outstanding.to_report:
        left = _look(partition) if partition.state == states.ACTIVE else []
        outstanding.changed = {leaf.path: leaf for leaf in left}
        outstanding.all_changed = False
        outstanding.unfinished = len(left) > 0
    for _ in range(min(PORTION, len(outstanding.to_report))):
        request = outstanding.to_report.pop()
        if request.outstanding:
            _report(turn, partition, request)
    if outstanding.to_report or outstanding.unfinished:
        outstanding.timer_set = True
        turn.set_timer(partition, deadlines.OUTSTANDING, PAUSE_NS)
    else:
        plan_look(turn, partition)


def _look(partition: Partition) -> list[Queue]:
    """Find the asks that qualify, and keep them in reverse order: the next one is last.

    Return the leaves where the next look has to go on. Rules: CYC-30.
    """
    outstanding = partition.waiting.outstanding
    look = to_report(partition)
    for path, by_quota in look.by_quota.items():
        outstanding.leaves[path].quota = by_quota
    outstanding.to_report = look.found
    outstanding.to_report.reverse()
    return look.unfinished


def _report(turn: Turn, partition: Partition, request: Request) -> None:
    partition.waiting.outstanding.discard(request)
    request.reported = True
    application_id, key = request.ask.application_id, request.ask.allocation_key
    turn.emit(ContainerStateUpdated(partition.rm_id, application_id, key, FAILED, REASON))
