"""Does what is due when a timer runs out (rules: APP-16, APP-17, OBJ-5)."""

from __future__ import annotations

from remuda.core.accounting.lanes import regroup
from remuda.core.apply.ages import grow_old
from remuda.core.apply.lifecycle import fire
from remuda.core.apply.outstanding import report_outstanding
from remuda.core.apply.partitions import go_on_draining
from remuda.core.apply.queues import remove_empty_queues
from remuda.core.apply.turn import Turn
from remuda.core.model import deadlines, states
from remuda.core.model.application import Application
from remuda.core.model.deadlines import Deadline
from remuda.core.model.partition import Partition


def expire_due(turn: Turn) -> None:
    """Run all timers that are due, in order. Rules: APP-16.

    Emits: EventRecord, ApplicationUpdated.
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
    application = deadline.application
    if deadline.what == deadlines.AGE:
        grow_old(turn, partition)
    elif deadline.what == deadlines.OUTSTANDING:
        report_outstanding(turn, partition)
    elif deadline.what == deadlines.QUEUES:
        if partition.state == states.DRAINING:
            go_on_draining(turn, partition)
        else:
            remove_empty_queues(turn, partition)
    elif application is not None and deadline.what == deadlines.BACKOFF:
        _try_again(turn, partition, application)
    elif application is not None and application.generation == deadline.generation:
        _leave_state(turn, partition, application)


def _try_again(turn: Turn, partition: Partition, application: Application) -> None:
    """End the pause of an application that backed off. Rules: CYC-33."""
    if 0 < application.backoff_until_ns <= turn.now_ns:
        application.backoff_until_ns = 0
        regroup(partition, application)


def _leave_state(turn: Turn, partition: Partition, application: Application) -> None:
    """End the state a timer was set for; an ended application is deleted. Rules: APP-15 to APP-18.

    One that the RM removed is in no list, and nothing happens to it any more.
    """
    number = application.number
    if number in partition.ended or number in partition.rejected:
        partition.ended.pop(number, None)
        partition.rejected.pop(number, None)
        fire(turn, partition, application, states.EXPIRE)
    elif partition.applications.get(application.application_id) is application:
        if application.state == states.STARTING:
            fire(turn, partition, application, states.RUN)
        elif application.state == states.COMPLETING:
            fire(turn, partition, application, states.COMPLETE)
