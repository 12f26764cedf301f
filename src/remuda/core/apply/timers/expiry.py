"""Calls what is due when a timer runs out (rules: APP-16, APP-17, OBJ-5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remuda.core.apply.allocations.release_requests import end_execution, repeat_release_request
from remuda.core.apply.applications.lifecycle import fire
from remuda.core.apply.applications.retention import expire_ended
from remuda.core.apply.asks.ages import grow_old
from remuda.core.apply.asks.attempts import allow_preemptions, open_old, repeat_attempts
from remuda.core.apply.asks.outstanding import report_outstanding
from remuda.core.apply.asks.questions import end_postponements
from remuda.core.apply.asks.retries import retry
from remuda.core.apply.queues.quota_changes import enforce_quotas
from remuda.core.apply.queues.settings import remove_empty_queues
from remuda.core.apply.requests.partitions import go_on_draining
from remuda.core.apply.timers.timeouts import end_left_over, end_running_time, give_up_waiting
from remuda.core.apply.turn import Turn
from remuda.core.model import deadlines, states
from remuda.core.model.applications.application import Application
from remuda.core.model.deadlines import Deadline
from remuda.core.model.partition import Partition
from remuda.core.pending.asks import regroup


def expire_due(turn: Turn) -> None:
    """Run all timers that are due, in order. Implements: APP-16.

    Emits: EventRecord, ApplicationUpdated, AllocationsReleased, AsksReleased.
    """
    while (deadline := turn.cluster.deadlines.pop_due(turn.now_ns)) is not None:
        partition = deadline.partition
        turn.rm_id = partition.rm_id
        if turn.cluster.has(partition):
            _run(turn, partition, deadline)


def _run(turn: Turn, partition: Partition, deadline: Deadline) -> None:
    """Carry out one timer. Rules: APP-16.

    RESERVATION_AGE needs no action here: each call ends with a review of reservations, and this
    timer only causes a call when a reservation gets too old.
    """
    if deadline.what in _OF_PARTITIONS:
        _OF_PARTITIONS[deadline.what](turn, partition)
    elif deadline.what in _OF_ALLOCATIONS:
        _OF_ALLOCATIONS[deadline.what](turn, partition, deadline)
    elif deadline.application is not None:
        _of_application(turn, partition, deadline, deadline.application)


def _of_application(
    turn: Turn, partition: Partition, deadline: Deadline, application: Application
) -> None:
    """Carry out what a timer of an application was set for, if that still applies.

    Implements: APP-17.
    """
    live = partition.applications.get(application.application_id) is application
    if deadline.what == deadlines.BACKOFF:
        _try_again(turn, partition, application)
    elif deadline.what == deadlines.PLACEHOLDERS:
        if live and application.gang is not None and application.gang.timer is deadline:
            give_up_waiting(turn, partition, application)
    elif deadline.what == deadlines.LIMIT:
        if live:
            end_running_time(turn, partition, application)
    elif application.generation == deadline.generation:
        _leave_state(turn, partition, application, live=live)


def _look_after_queues(turn: Turn, partition: Partition) -> None:
    """Remove empty queues, or the next portion of a removed partition. Rules: OBJ-5, OBJ-9."""
    if partition.state == states.DRAINING:
        go_on_draining(turn, partition)
    else:
        remove_empty_queues(turn, partition)


def _try_again(turn: Turn, partition: Partition, application: Application) -> None:
    """Unblock the asks of an application that backed off. Rules: CYC-33."""
    if 0 < application.backoff_until_ns <= turn.now_ns:
        application.backoff_until_ns = 0
        regroup(partition, application)


def _leave_state(turn: Turn, partition: Partition, application: Application, *, live: bool) -> None:
    """End the application state a timer was set for.

    An application that the RM removed is in no list and is left as it is. A completing application
    ends its placeholders first. Rules: APP-16, APP-17, APP-8 (e), GANG-30.
    """
    gang = application.gang
    if live and application.state == states.STARTING:
        fire(turn, partition, application, states.RUN)
    elif live and application.state == states.COMPLETING:
        if gang is not None and gang.placeholders:
            end_left_over(turn, partition, application)
        else:
            fire(turn, partition, application, states.COMPLETE)


_OF_PARTITIONS: Final[dict[str, Callable[[Turn, Partition], None]]] = {
    deadlines.AGE: grow_old,
    deadlines.ATTEMPTS: repeat_attempts,
    deadlines.OPENS: open_old,
    deadlines.RETENTION: expire_ended,
    deadlines.PREEMPT_AGE: allow_preemptions,
    deadlines.OUTSTANDING: report_outstanding,
    deadlines.POSTPONED: end_postponements,
    deadlines.QUEUES: _look_after_queues,
    deadlines.RETRY: retry,
    deadlines.QUOTA: enforce_quotas,
}

_OF_ALLOCATIONS: Final[dict[str, Callable[[Turn, Partition, Deadline], None]]] = {
    deadlines.EXECUTION: end_execution,
    deadlines.CONFIRM: repeat_release_request,
}
