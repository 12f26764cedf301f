"""Moves applications between states, and does what entering and leaving a state requires.

The callers report asks and allocations that came or left. The table in ``model.states`` has the
states and the moves between them.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.gangs import lose, renew_gang
from remuda.core.accounting.tags import (
    characters,
    count_tags,
    keep_own_tags,
    uncount_application,
)
from remuda.core.accounting.usage import count_early, count_running, set_pending
from remuda.core.apply.allocations.cancelled_swaps import cancel_swaps, cancel_swaps_of
from remuda.core.apply.allocations.identities import note_identity
from remuda.core.apply.applications.retention import keep_completed
from remuda.core.apply.asks.reservations import unreserve_all
from remuda.core.apply.tracking import end_if_idle
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.effects import ApplicationUpdated
from remuda.core.messages.tags import STATEAWARE_DISABLE, application_tag
from remuda.core.model import deadlines, states
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.pending.asks import note_turn, pass_turn, regroup
from remuda.core.pending.marks import leaf_changed
from remuda.core.pending.ordering import update_application

# Entries kept of an application's state log; an application may go back and forth for years.
STATE_LOG_LIMIT: Final = 1_000


def fire(
    turn: Turn, partition: Partition, application: Application, event: str, cause: str = ""
) -> bool:
    """Send an event to an application's state machine; False: refused, nothing changed.

    Implements: APP-1, APP-2, APP-3, SI-79, EVT-35. Emits: EventRecord, ApplicationUpdated.
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
    """Open or close the gates of an application's asks, as its new state requires.

    Implements: APP-12. Rules: GANG-6, QUE-24, QUE-25, QUE-41.
    """
    leaf, entered = application.queue, application.state
    if entered in (states.COMPLETED, states.FAILED):
        return
    if states.ACCEPTED in (left, entered):
        count_early(partition, application)
    if states.STARTING in (left, entered):
        leaf.turns.starting += 1 if entered == states.STARTING else -1
        pass_turn(partition, leaf)
    note_turn(partition, application)
    if left in (states.ACCEPTED, states.RESUMING) or entered in (states.FAILING, states.RESUMING):
        regroup(partition, application)
    renew_gang(partition, application)


def first_ask_came(turn: Turn, partition: Partition, application: Application) -> None:
    """Accept a new application, as its first ask or allocation arrived.

    Implements: APP-4, APP-5. Rules: APP-6.
    """
    if application.state == states.NEW:
        fire(turn, partition, application, states.RUN)


def allocation_added(turn: Turn, partition: Partition, application: Application) -> None:
    """Change an application's state after a real allocation was added.

    An allocation that comes before any ask takes a new application through Accepted. An application
    that waits for the end of its placeholders keeps its state.

    Implements: APP-6, REC-7. Rules: APP-4, APP-12 (Ours).
    """
    first_ask_came(turn, partition, application)
    if application.state not in (states.RUNNING, states.RESUMING):
        fire(turn, partition, application, states.RUN)


def member_arrived(
    turn: Turn, partition: Partition, application: Application, *, first: bool
) -> None:
    """Change an application's state after a real allocation replaced a placeholder.

    The first replacement changes nothing, because the last placeholder started the application. If
    the application was not started then, or is Completing, the first one does change the state.
    Implements: APP-7 (Ours).
    """
    state = application.state
    if state in (states.ACCEPTED, states.COMPLETING) or (state == states.STARTING and not first):
        fire(turn, partition, application, states.RUN)


def asks_left(turn: Turn, partition: Partition, application: Application) -> None:
    """Change an application's state after asks were removed, if nothing is left of it.

    Implements: APP-8 (a). Rules: APP-11 (Ours), SI-51.
    """
    if application.idle():
        if application.state == states.FAILING:
            fire(turn, partition, application, states.FAIL)
        elif application.state != states.COMPLETING:
            fire(turn, partition, application, states.COMPLETE)


def allocation_left(
    turn: Turn, partition: Partition, application: Application, *, placeholder: bool
) -> None:
    """Change an application's state after an allocation ended.

    Only the end of the last placeholder changes the state.

    Implements: APP-10 (Ours), APP-11 (Ours), GANG-25, GANG-27, GANG-31, GANG-33, APP-22. Rules:
    APP-4 (g), APP-8 (b, c, d, f).
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
    """Add a new ask to its application, whose age is that of its oldest ask.

    Allocations that still run under its key keep their IDs.
    Implements: QUE-42 [>=1.7] (decision 54 of docs/spec), APP-21. Rules: SI-14, SI-35.
    """
    application = request.application
    application.admit(request)
    if request.ask.tags:
        count_tags(partition, application, characters(request.ask.tags))
    if request.only_identity or request.identities:
        for identity in request.allocation_ids():
            note_identity(request, identity)
    if request.created_ns < application.submitted_ns:
        application.submitted_ns = request.created_ns
        update_application(application)
        note_turn(partition, application)


def drop_requests(turn: Turn, partition: Partition, application: Application) -> None:
    """Forget all asks of an application, with an event for each.

    The replacements of placeholders in flight are undone. Implements: EVT-30. Rules: EVT-18, SI-29,
    SI-53.
    """
    cancel_swaps(turn, partition, application, again=False)
    for key in list(application.requests):
        drop_request(turn, partition, application, key)
    application.past_from = partition.waiting.past.total + 1


def drop_request(
    turn: Turn,
    partition: Partition,
    application: Application,
    key: str,
    detail: int = events.REQUEST_CANCEL,
) -> None:
    """Forget one ask: its pending is subtracted along the path, and its key is free again.

    A placeholder that was never allocated counts as a member that timed out.
    Implements: EVT-18, EVT-19. Rules: SI-14, SI-51, SI-53 (Ours), GANG-35.
    """
    request = application.requests[key]
    cancel_swaps_of(turn, partition, request)
    del application.requests[key]
    drop_ages(partition, request)
    if request.ask.tags:
        keep_own_tags(partition, request)
        count_tags(partition, application, -characters(request.ask.tags))
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


def drop_ages(partition: Partition, request: Request) -> None:
    """Remove a dropped ask from the lists of asks that wait for an age. Rules: RSV-3, PRE-5."""
    if request.ages and not request.aged:
        partition.reserving.ages.note_ended()
    if request.preempt_timed:
        partition.preempting.ages.note_ended()


def leave_queue(turn: Turn, partition: Partition, application: Application) -> None:
    """Take an application out of its leaf. Implements: QUE-12, EVT-22, EVT-66, EVT-31."""
    leaf = application.queue
    if application.application_id not in leaf.applications:
        return
    del leaf.applications[application.application_id]
    leaf.swaps.drop(application)
    partition.waiting.failed_swaps.pop(application.number, None)
    partition.waiting.questions.swaps.pop(application.number, None)
    leaf_changed(partition, leaf)
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
    """Have the cleanup timer check a queue that may have to be removed. Rules: QLC-3, OBJ-5."""
    if (queue.state == states.DRAINING or not queue.managed) and not partition.settings.cleanup_set:
        partition.settings.cleanup_set = True
        turn.set_timer(partition, deadlines.QUEUES, deadlines.QUEUE_CLEANUP_NS)


def _count(partition: Partition, application: Application, left: str) -> None:
    """Count an application that was accepted or ended.

    Implements: MET-17, MET-19. Rules: MET-27, MET-36.
    """
    totals, counts, entered = partition.totals, application.queue.counts, application.state
    if left == states.NEW:
        totals.accepted += 1
    if entered == states.COMPLETED:
        totals.completed += 1
        counts.completed += 1
    elif entered == states.FAILED:
        totals.failed += 1
        counts.failed += 1


def _leave(partition: Partition, application: Application, left: str) -> None:
    entered = application.state
    if left == states.RUNNING or (left == states.STARTING and entered != states.RUNNING):
        count_running(partition, application, -1)


def _announce(
    turn: Turn, partition: Partition, application: Application, event: str, cause: str
) -> None:
    allocated = partition.types.resource(application.allocated)
    application_id, state = application.application_id, application.state
    turn.application_event(
        partition,
        application,
        events.SET,
        states.STATE_DETAIL[state],
        resource=allocated,
        message=cause,
    )
    turn.emit(
        ApplicationUpdated(partition.rm_id, application_id, state, turn.wall_ns, cause or event)
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
        if (
            partition.settings.enforce_timeouts
            and plain
            and 0 < limit_ms <= deadlines.TIMEOUT_MS_LIMIT
        ):
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


def _finish(turn: Turn, partition: Partition, application: Application) -> None:
    """Remove an ended application from the active list and from its queue.

    Implements: APP-14. Rules: APP-3.
    """
    application.requests.clear()
    if application.gang is not None:
        application.gang.timer = None
    leave_queue(turn, partition, application)
    live = partition.applications.get(application.application_id)
    if live is application:
        del partition.applications[application.application_id]
        uncount_application(partition, application)
        keep_completed(turn, partition, application)
