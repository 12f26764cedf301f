"""Does what is due when a timer runs out (rules: APP-16, APP-17, OBJ-5)."""

from __future__ import annotations

from remuda.core.apply.lifecycle import fire
from remuda.core.apply.partitions import go_on_draining
from remuda.core.apply.queues import remove_empty_queues
from remuda.core.apply.turn import Turn
from remuda.core.model import states
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
    application = deadline.application
    if application is None:
        if partition.state == states.DRAINING:
            go_on_draining(turn, partition)
        else:
            remove_empty_queues(turn, partition)
    elif application.generation == deadline.generation:
        _leave_state(turn, partition, application)


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
