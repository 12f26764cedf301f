"""Does what is due when a timer runs out (rules: APP-16, APP-17, OBJ-5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remuda.core.accounting.lanes import regroup
from remuda.core.apply.ages import grow_old
from remuda.core.apply.attempts import open_old, repeat_attempts, ripen
from remuda.core.apply.lifecycle import fire, let_go
from remuda.core.apply.orders import end_execution, repeat_order
from remuda.core.apply.outstanding import report_outstanding
from remuda.core.apply.partitions import go_on_draining
from remuda.core.apply.questions import end_postponements
from remuda.core.apply.queues import remove_empty_queues
from remuda.core.apply.quota_changes import enforce_quotas
from remuda.core.apply.timeouts import end_left_over, end_running_time, give_up_waiting
from remuda.core.apply.turn import Turn
from remuda.core.model import deadlines, states
from remuda.core.model.application import Application
from remuda.core.model.deadlines import Deadline
from remuda.core.model.partition import Partition


def expire_due(turn: Turn) -> None:
    """Run all timers that are due, in order. Rules: APP-16.

    Emits: EventRecord, ApplicationUpdated, AllocationsReleased, AsksReleased.
    """
    while (deadline := turn.cluster.deadlines.pop_due(turn.now_ns)) is not None:
        partition = deadline.partition
        if turn.cluster.has(partition):
            _run(turn, partition, deadline)


def _run(turn: Turn, partition: Partition, deadline: Deadline) -> None:
    """Do what one timer is for. Rules: APP-16.

    Nothing for CLAIM: it is set so that there is a call when a reservation gets too old, and each
    call ends with a review of reservations.
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
    """Do what a timer of an application is for, if it still concerns it. Rules: APP-17."""
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
    """Let empty queues go, or the next portion of a partition that goes. Rules: OBJ-5, OBJ-9."""
    if partition.state == states.DRAINING:
        go_on_draining(turn, partition)
    else:
        remove_empty_queues(turn, partition)


def _try_again(turn: Turn, partition: Partition, application: Application) -> None:
    """End the pause of an application that backed off. Rules: CYC-33."""
    if 0 < application.backoff_until_ns <= turn.now_ns:
        application.backoff_until_ns = 0
        regroup(partition, application)


def _leave_state(turn: Turn, partition: Partition, application: Application, *, live: bool) -> None:
    """End the state a timer was set for.

    One that the RM removed is in no list, and nothing happens to it any more. One that completes
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


def _expire(turn: Turn, partition: Partition) -> None:
    """Forget the application that ended first and those that ended with it.

    The timer is set anew for the next one, which may be due as well. Rules: APP-15, APP-16, APP-18.
    """
    oldest = next(iter(partition.kept.values()))
    first_ns = oldest.finished_ns
    if first_ns + deadlines.RETENTION_NS <= turn.now_ns:
        while oldest.finished_ns == first_ns:
            rejected = oldest.state == states.REJECTED
            let_go(turn, partition, partition.rejected if rejected else partition.ended)
            if not partition.kept:
                return
            oldest = next(iter(partition.kept.values()))
    rest_ns = oldest.finished_ns + deadlines.RETENTION_NS - turn.now_ns
    turn.set_timer(partition, deadlines.RETENTION, rest_ns)


_OF_PARTITIONS: Final[dict[str, Callable[[Turn, Partition], None]]] = {
    deadlines.AGE: grow_old,
    deadlines.ATTEMPTS: repeat_attempts,
    deadlines.OPENS: open_old,
    deadlines.RETENTION: _expire,
    deadlines.RIPE: ripen,
    deadlines.OUTSTANDING: report_outstanding,
    deadlines.POSTPONED: end_postponements,
    deadlines.QUEUES: _look_after_queues,
    deadlines.QUOTA: enforce_quotas,
}

_OF_ALLOCATIONS: Final[dict[str, Callable[[Turn, Partition, Deadline], None]]] = {
    deadlines.EXECUTION: end_execution,
    deadlines.CONFIRM: repeat_order,
}
