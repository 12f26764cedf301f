"""Keeps applications that ended for a while, and forgets them (rules: APP-15, APP-18).

One timer of the partition serves all kept applications; it is set for the first that is due.
"""

from __future__ import annotations

from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.effects import ApplicationUpdated
from remuda.core.model import deadlines, states
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.ended import Ended, EndedApplication, completed, rejected
from remuda.core.model.applications.submission import Submission
from remuda.core.model.partition import Partition


def reject(turn: Turn, partition: Partition, submitted: Submission, reason: str) -> None:
    """Reject an application and keep a record of it.

    Rules: APP-1, APP-18, EVT-35, MET-19. Emits: EventRecord.
    """
    ended = rejected(submitted, turn.now_ns, reason)
    partition.totals.rejected += 1
    _announce(turn, partition, ended, ended.state, reason)
    _keep(turn, partition, ended, partition.kept.rejected, deadlines.REJECTED_LIMIT)


def keep_completed(turn: Turn, partition: Partition, application: Application) -> None:
    """Keep a record of an application that has completed or failed. Rules: APP-14, APP-18."""
    ended = completed(application, turn.now_ns)
    _keep(turn, partition, ended, partition.kept.completed, deadlines.COMPLETED_LIMIT)


def expire_ended(turn: Turn, partition: Partition) -> None:
    """Forget the application that ended first, and those that ended at the same time.

    The timer is set anew for the next ended application. Implements: QLC-5. Rules: APP-15, APP-16,
    APP-18.
    """
    kept = partition.kept
    oldest = next(iter(kept.applications.values()))
    first_ns = oldest.finished_ns
    if first_ns + deadlines.RETENTION_NS <= turn.now_ns:
        while oldest.finished_ns == first_ns:
            alike = kept.rejected if oldest.state == states.REJECTED else kept.completed
            _forget_oldest(turn, partition, alike)
            if not kept.applications:
                return
            oldest = next(iter(kept.applications.values()))
    rest_ns = oldest.finished_ns + deadlines.RETENTION_NS - turn.now_ns
    turn.set_timer(partition, deadlines.RETENTION, rest_ns)


def _keep(
    turn: Turn, partition: Partition, ended: EndedApplication, alike: Ended, most: int
) -> None:
    """Keep an ended application for three days, or until too many more of its kind have ended.

    Implements: APP-18. Rules: APP-16.
    """
    if not partition.kept.applications:
        turn.set_timer(partition, deadlines.RETENTION, deadlines.RETENTION_NS)
    alike.put(ended)
    partition.kept.applications[ended.number] = ended
    counts = partition.kept.states
    counts[ended.state] = counts.get(ended.state, 0) + 1
    if len(alike.keys) > most:
        _forget_oldest(turn, partition, alike)


def _forget_oldest(turn: Turn, partition: Partition, alike: Ended) -> None:
    """Forget the oldest of the kept applications that ended the same way. Rules: APP-15, APP-18."""
    ended = alike.first()
    alike.drop_first()
    del partition.kept.applications[ended.number]
    partition.kept.states[ended.state] -= 1
    entered = states.APPLICATION[ended.state, states.EXPIRE]
    _announce(turn, partition, ended, entered, "")
    turn.emit(
        ApplicationUpdated(
            partition.rm_id, ended.application_id, entered, turn.wall_ns, states.EXPIRE
        )
    )


def _announce(
    turn: Turn, partition: Partition, ended: EndedApplication, entered: str, cause: str
) -> None:
    """Emit the event that an ended application entered a state. Rules: EVT-15, EVT-16."""
    turn.event(
        partition,
        events.APP,
        ended.application_id,
        events.SET,
        states.STATE_DETAIL[entered],
        resource=partition.types.resource(ended.allocated),
        message=cause,
        queue=ended.queue_path,
    )
