"""Tells RMs which asks wait for a larger cluster, once a second at most (rules: CYC-30).

A look is planned when an ask was tried in vain and when something changed that may let one be
reported that could not be; while nothing changes, or there is nothing to report, there is no timer.
"""

from __future__ import annotations

from typing import Final

from remuda.core.apply.turn import Turn
from remuda.core.messages.effects import FAILED, ContainerStateUpdated
from remuda.core.model import deadlines, states
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.policy.outstanding import to_report

# Asks told about at a time, and the pause before the next ones.
PORTION: Final = 1_024
PAUSE_NS: Final = 1_000_000

REASON: Final = "request is waiting for cluster resources become available"


def plan_look(turn: Turn, partition: Partition) -> None:
    """Plan a look if one is needed, before the changes of a turn are settled. Rules: CYC-30."""
    outstanding = partition.outstanding
    if not outstanding.leaves:
        return
    if partition.shares_stale:
        outstanding.all_changed = True
    else:
        outstanding.changed.update(partition.unsettled)
    if outstanding.timer_set or not (outstanding.changed or outstanding.all_changed):
        return
    outstanding.timer_set = True
    turn.set_timer(partition, deadlines.OUTSTANDING, deadlines.OUTSTANDING_NS)


def report_outstanding(turn: Turn, partition: Partition) -> None:
    """Tell the RM which asks wait for a larger cluster, each once, a portion at a time.

    Rules: CYC-30, REST-134. Emits: ContainerStateUpdated.
    """
    outstanding = partition.outstanding
    outstanding.timer_set = False
    if not outstanding.to_tell:
        outstanding.to_tell = to_report(partition) if partition.state == states.ACTIVE else []
        outstanding.to_tell.reverse()
        outstanding.changed.clear()
        outstanding.all_changed = False
    for _ in range(min(PORTION, len(outstanding.to_tell))):
        request = outstanding.to_tell.pop()
        if request.outstanding:
            _report(turn, partition, request)
    if outstanding.to_tell:
        outstanding.timer_set = True
        turn.set_timer(partition, deadlines.OUTSTANDING, PAUSE_NS)
    else:
        plan_look(turn, partition)


def _report(turn: Turn, partition: Partition, request: Request) -> None:
    partition.outstanding.discard(request)
    request.reported = True
    application_id, key = request.ask.application_id, request.ask.allocation_key
    turn.emit(ContainerStateUpdated(partition.rm_id, application_id, key, FAILED, REASON))
