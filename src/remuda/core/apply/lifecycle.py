"""Moves applications between states, with what entering and leaving a state does.

What moves one on is told here: asks and allocations that came or left. The states and the ways
between them are the table in ``model.states``.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.gangs import lose, renew_gang
from remuda.core.accounting.lanes import note_turn, pass_turn, regroup
from remuda.core.accounting.standing import update_application
from remuda.core.accounting.usage import count_running, count_starter, set_pending
from remuda.core.apply.cancelled_swaps import cancel_swaps, cancel_swaps_of
from remuda.core.apply.identities import note_identity
from remuda.core.apply.reservations import unreserve_all
from remuda.core.apply.tracking import end_if_idle
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.effects import ApplicationUpdated
from remuda.core.messages.tags import STATEAWARE_DISABLE, application_tag
from remuda.core.model import deadlines, states
from remuda.core.model.application import Application
from remuda.core.model.ended import Ended
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Request

# Entries kept of an application's state log; an application may go back and forth for years.
STATE_LOG_LIMIT: Final = 1_000


def fire(
    turn: Turn, partition: Partition, application: Application, event: str, cause: str = ""
) -> bool:
    """Send an event to an application's state machine; False: refused, nothing changed.

    Rules: APP-1 to APP-3, SI-79. Emits: EventRecord, ApplicationUpdated.
    """
    left = application.state
    entered = states.APPLICATION.get((left, event))
    if entered is None:
        return False
    if entered == left:
        return True
    application.state = entered
    application.generation += 1
    log = (*application.state_log, (turn.now_ns, entered))
    application.state_log = log[-STATE_LOG_LIMIT:]
    _count(partition, application, left)
    _leave(partition, application, left)
    _announce(turn, partition, application, event, cause)
    _enter(turn, partition, application, left)
    _pass_gates(partition, application, left)
    return True


def _pass_gates(partition: Partition, application: Application, left: str) -> None:
    """Let the asks of an application through as its new state says.

    Rules: APP-12, GANG-6, QUE-24, QUE-25, QUE-41.
    """
    leaf = application.queue
    entered = application.state
    if states.ACCEPTED in (left, entered):
        count_starter(partition, application)
    if leaf is not None and states.STARTING in (left, entered):
        leaf.turns.starting += 1 if entered == states.STARTING else -1
        pass_turn(partition, leaf)
    note_turn(partition, application)
    if left in (states.ACCEPTED, states.RESUMING) or entered in (states.FAILING, states.RESUMING):
        regroup(partition, application)
    renew_gang(partition, application)


def first_ask_came(turn: Turn, partition: Partition, application: Application) -> None:
    """Accept a new application: its first ask or allocation came. Rules: APP-4, APP-6."""
    if application.state == states.NEW:
        fire(turn, partition, application, states.RUN)


def allocation_added(turn: Turn, partition: Partition, application: Application) -> None:
    """Move an application on because a real allocation came. Rules: APP-4, APP-6, APP-12 (Ours).

    One that comes before any ask takes a new application through Accepted. One that waits for the
    end of its placeholders goes on waiting.
    """
    first_ask_came(turn, partition, application)
    if application.state not in (states.RUNNING, states.RESUMING):
        fire(turn, partition, application, states.RUN)


def member_arrived(
    turn: Turn, partition: Partition, application: Application, *, first: bool
) -> None:
    """Move an application on because a real allocation took the place of a placeholder.

    The first one does not, for the last placeholder did, unless it never got so far or was about
    to complete. Rules: APP-7 (Ours).
    """
    state = application.state
    if state in (states.ACCEPTED, states.COMPLETING) or (state == states.STARTING and not first):
        fire(turn, partition, application, states.RUN)


def asks_left(turn: Turn, partition: Partition, application: Application) -> None:
    """Move an application on because asks went: nothing at all may be left.

    Rules: APP-8 (a), APP-11 (Ours), SI-51.
    """
    if application.idle():
        if application.state == states.FAILING:
            fire(turn, partition, application, states.FAIL)
        elif application.state != states.COMPLETING:
            fire(turn, partition, application, states.COMPLETE)


def allocation_left(
    turn: Turn, partition: Partition, application: Application, *, placeholder: bool
) -> None:
    """Move an application on because an allocation went; of placeholders only the last one counts.

    Rules: APP-4 (g), APP-8 (b, c, d, f), APP-10 (Ours), APP-11 (Ours), GANG-25, GANG-27, GANG-31,
    GANG-33.
    """
    gang = application.gang
    if placeholder and gang is not None:
        if gang.placeholders:
            return
        gang.timer = None
    state = application.state
    if state == states.FAILING:
        if application.idle():
            fire(turn, partition, application, states.FAIL)
    elif state == states.RESUMING and placeholder:
        fire(turn, partition, application, states.RUN)
        if application.real_count():
            fire(turn, partition, application, states.RUN)
    elif state == states.COMPLETING:
        if placeholder and gang is not None and gang.ending and application.at_rest():
            fire(turn, partition, application, states.COMPLETE)
    elif application.at_rest():
        fire(turn, partition, application, states.COMPLETE)


def admit(partition: Partition, request: Request) -> None:
    """Take a new ask into its application, which is as old as its oldest ask.

    What still runs under its key keeps its identity for itself.
    Rules: QUE-42 [>=1.7] (decision 54 of docs/spec), SI-35.
    """
    application = request.application
    application.admit(request)
    for identity in request.allocation_ids():
        note_identity(request, identity)
    if request.created_ns < application.submitted_ns:
        application.submitted_ns = request.created_ns
        update_application(application)
        note_turn(partition, application)


def drop_requests(turn: Turn, partition: Partition, application: Application) -> None:
    """Forget all asks of an application, with an event for each.

    What takes the place of placeholders is given up. Rules: EVT-18, EVT-30, SI-29, SI-53.
    """
    cancel_swaps(turn, partition, application, again=False)
    for key in list(application.requests):
        drop_request(turn, partition, application, key)


def drop_request(
    turn: Turn,
    partition: Partition,
    application: Application,
    key: str,
    detail: int = events.REQUEST_CANCEL,
) -> None:
    """Forget one ask: its pending goes up the path, its key may be used anew.

    A placeholder that never came is a member that timed out.
    Rules: SI-51, SI-53 (Ours), GANG-35, EVT-18, EVT-19.
    """
    request = application.requests[key]
    cancel_swaps_of(turn, partition, request)
    del application.requests[key]
    if request.pending:
        unreserve_all(turn, partition, list(request.reservations.values()), "the ask is gone")
        members = request.pending if request.ask.placeholder else 0
        set_pending(partition, request, 0)
        if members:
            lose(partition, application, request.ask.task_group, members)
    running = request.allocation_ids()
    if running:
        application.detached[key] = dict.fromkeys(running)
    turn.application_event(
        partition,
        application,
        events.REMOVE,
        detail,
        key,
        request.amounts.resource,
    )
    end_if_idle(turn, partition, application)


def leave_queue(turn: Turn, partition: Partition, application: Application) -> None:
    """Take an application out of its leaf. Rules: QUE-12, EVT-22, EVT-66."""
    leaf = application.queue
    if leaf is None or application.application_id not in leaf.applications:
        return
    del leaf.applications[application.application_id]
    leaf.swaps.drop(application)
    partition.stuck.pop(application.number, None)
    partition.questions.swaps.pop(application.number, None)
    partition.unsettled[leaf.path] = leaf
    turn.event(
        partition,
        events.QUEUE,
        leaf.path,
        events.REMOVE,
        events.QUEUE_APP,
        application.application_id,
    )
    allocated = partition.types.resource(application.allocated)
    turn.application_event(
        partition, application, events.REMOVE, events.DETAILS_NONE, resource=allocated
    )
    if not leaf.applications:
        plan_cleanup(turn, partition, leaf)


def plan_cleanup(turn: Turn, partition: Partition, queue: Queue) -> None:
    """Let the cleaner look after a queue that may have to go. Rules: QLC-3, OBJ-5."""
    if (queue.state == states.DRAINING or not queue.managed) and not partition.cleanup_set:
        partition.cleanup_set = True
        turn.set_timer(partition, deadlines.QUEUES, deadlines.QUEUE_CLEANUP_NS)


def _count(partition: Partition, application: Application, left: str) -> None:
    """Count an application that got in, or ended. Rules: MET-17, MET-19, MET-27, MET-36."""
    totals, leaf, entered = partition.totals, application.queue, application.state
    if left == states.NEW and entered != states.REJECTED:
        totals.accepted += 1
    if entered == states.REJECTED:
        totals.rejected += 1
    elif entered == states.COMPLETED:
        totals.completed += 1
        if leaf is not None:
            leaf.tally.completed += 1
    elif entered == states.FAILED:
        totals.failed += 1
        if leaf is not None:
            leaf.tally.failed += 1


def _leave(partition: Partition, application: Application, left: str) -> None:
    entered = application.state
    if left == states.RUNNING or (left == states.STARTING and entered != states.RUNNING):
        count_running(partition, application, -1)


def _announce(
    turn: Turn, partition: Partition, application: Application, event: str, cause: str
) -> None:
    allocated = partition.types.resource(application.allocated)
    detail = states.STATE_DETAIL[application.state]
    turn.application_event(
        partition, application, events.SET, detail, resource=allocated, message=cause
    )
    if application.state != states.REJECTED:
        turn.emit(
            ApplicationUpdated(
                partition.rm_id,
                application.application_id,
                application.state,
                turn.now_ns,
                cause or event,
            )
        )


def _enter(turn: Turn, partition: Partition, application: Application, left: str) -> None:
    entered = application.state
    if entered == states.STARTING:
        application.started_ns = turn.now_ns
        count_running(partition, application, 1)
        quick = application_tag(application.record.tags, STATEAWARE_DISABLE) != ""
        delay = 0 if quick else deadlines.STARTING_TIMEOUT_NS
        turn.set_timer(partition, deadlines.STATE, delay, application)
        limit_ms = application.record.execution_timeout_ms
        plain = application.gang is None or application.gang.total is None
        if partition.enforce_timeouts and plain and 0 < limit_ms <= deadlines.TIMEOUT_MS_LIMIT:
            delay = limit_ms * deadlines.MILLISECOND_NS
            turn.set_timer(partition, deadlines.LIMIT, delay, application)
    elif entered == states.RUNNING and left == states.COMPLETING:
        count_running(partition, application, 1)
    elif entered == states.COMPLETING:
        if application.gang is not None:
            application.gang.ending = False
        delay = deadlines.COMPLETING_TIMEOUT_NS
        turn.set_timer(partition, deadlines.STATE, delay, application)
    elif entered in (states.COMPLETED, states.FAILED):
        _finish(turn, partition, application)
    elif entered == states.REJECTED:
        application.finished_ns = turn.now_ns
        _retain(turn, partition, application, partition.rejected, deadlines.REJECTED_LIMIT)


def _finish(turn: Turn, partition: Partition, application: Application) -> None:
    """Leave the active list and the queue in the same step. Rules: APP-3, APP-14."""
    application.finished_ns = turn.now_ns
    application.requests.clear()
    if application.gang is not None:
        application.gang.timer = None
    leave_queue(turn, partition, application)
    live = partition.applications.get(application.application_id)
    if live is application:
        del partition.applications[application.application_id]
        _retain(turn, partition, application, partition.ended, deadlines.COMPLETED_LIMIT)
    application.queue = None


def let_go(turn: Turn, partition: Partition, alike: Ended) -> None:
    """Forget the first of those that ended in one way. Rules: APP-15, APP-18."""
    application = alike.first()
    alike.drop_first()
    del partition.kept[application.number]
    partition.kept_states[application.state] -= 1
    fire(turn, partition, application, states.EXPIRE)


def _retain(
    turn: Turn,
    partition: Partition,
    application: Application,
    alike: Ended,
    most: int,
) -> None:
    """Keep an ended application for three days, or until too many of its kind ended after it.

    One timer serves all that are kept: it is for the first. Rules: APP-16, APP-18.
    """
    if not partition.kept:
        turn.set_timer(partition, deadlines.RETENTION, deadlines.RETENTION_NS)
    alike.put(application)
    partition.kept[application.number] = application
    counts = partition.kept_states
    counts[application.state] = counts.get(application.state, 0) + 1
    if len(alike.keys) > most:
        let_go(turn, partition, alike)
