"""Notes what was found about asks: their logs, flags, findings and events.

An ask is examined when it is the first of a class queue that is decided, and when it is new in one.
A fact about all asks that wait together is the finding of their class queue or limit group. So a
backlog costs nothing while nothing changes (decision 51 of docs/spec).
"""

from __future__ import annotations

from typing import Final

from remuda.base.resource_text import printable
from remuda.core.apply.tracking import look
from remuda.core.apply.turn import Turn
from remuda.core.messages import events, gates
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.class_queue import ClassQueue, LimitGroup
from remuda.core.model.asks.request import Request
from remuda.core.model.deadlines import SECOND_NS
from remuda.core.model.decision import ApplicationLimitReached, NoRoom, Refusals, UserQuotaReached
from remuda.core.model.finding import Finding
from remuda.core.model.partition import Partition
from remuda.core.model.queues.trackers import QueueTracker
from remuda.core.model.vectors import Vector
from remuda.core.pending.asks import mark_looked
from remuda.core.pending.marks import keep_verdict, node_changed
from remuda.core.policy.headroom import headroom, room_at, room_for_gang, user_headroom
from remuda.core.policy.node_summary import count_reasons, summarise_nodes
from remuda.core.preempt.reasons import NOT_YET

NO_USER_QUOTA: Final = "Not enough user quota"
NO_QUEUE_QUOTA: Final = "Not enough queue quota"
NO_GANG_QUOTA: Final = "Not enough queue quota for the whole gang"

# EVT-44: at most one event about predicates per ask in this time.
PREDICATE_PAUSE_NS: Final = 15 * SECOND_NS


def note_served(turn: Turn, partition: Partition, request: Request) -> None:
    """Note that an ask passed the gate of its application and the limits.

    Events about limits belong to the regular pass. Implements: EVT-37. Rules: QUE-26, EVT-39,
    EVT-42.
    Emits: EventRecord.
    """
    _look_at(turn, partition, request, None)
    _note_attempt(partition, request)
    if request.reservations:
        return
    _report_user_fits(turn, partition, request)
    if not request.fits_queue:
        request.fits_queue = True
        key, path = request.ask.allocation_key, request.application.queue_path
        text = f"Request '{key}' has become schedulable in queue '{path}'"
        _request_event(turn, partition, request, text)


def note_blocked(turn: Turn, partition: Partition, decision: NoRoom) -> None:
    """Note why no ask of a class queue can be placed.

    Implements: CYC-13, EVT-42. Rules: CYC-12, CYC-16, CYC-24, EVT-36, GANG-4 (decision 61 of
    docs/spec).
    Emits: EventRecord.
    """
    class_queue = decision.class_queue
    first = class_queue.first().first()
    _note_preemption(turn, partition, first, decision)
    requests = [first] + [each for each in _fresh(class_queue) if each is not first]
    limiting = decision.limiting
    if limiting is None:
        for request in requests:
            note_served(turn, partition, request)
            _waits(turn, request)
        _note_no_node(turn, partition, first, decision)
        return
    gate = gates.QUEUE_QUOTA
    total = class_queue.ask_class.total
    if total is not None and limiting.parent is not None and not limiting.fits_gang(total):
        gate = gates.GANG
    left = "" if class_queue.ask_class.urgent else _left(partition, headroom(class_queue.leaf))
    for request in requests:
        _look_at(turn, partition, request, None)
        _waits(turn, request)
        if gate == gates.GANG:
            turn.log(request, NO_GANG_QUOTA)
            continue
        _note_attempt(partition, request)
        if not class_queue.ask_class.urgent:
            _over_queue_quota(turn, partition, request, left)
    left_over = room_for_gang(limiting) if gate == gates.GANG else room_at(limiting)
    room = partition.types.resource(left_over)
    finding = Finding(gate, limiting.path, room, None, turn.now_ns)
    _keep_finding(class_queue, decision, finding)


def note_preempting(turn: Turn, partition: Partition, request: Request) -> None:
    """Note that an ask preempts other allocations. Rules: CYC-12, PRE-34. Emits: EventRecord."""
    _look_at(turn, partition, request, None)
    _note_attempt(partition, request)
    _waits(turn, request)
    _report_user_fits(turn, partition, request)


def note_over_user_quota(turn: Turn, partition: Partition, decision: UserQuotaReached) -> None:
    """Note that a user or group has no headroom for a limit group; this counts as no attempt.

    Rules: CYC-12, CYC-13, CYC-24, EVT-38, EVT-42, LIM-54, REST-134. Emits: EventRecord.
    """
    limit_group = decision.limit_group
    urgent = limit_group.class_queue.ask_class.urgent
    left = "" if urgent else _left(partition, user_headroom(limit_group.limit_set))
    for request in _first_and_fresh(limit_group):
        _look_at(turn, partition, request, None)
        _waits(turn, request)
        if not urgent:
            _over_user_quota(turn, partition, request, left)
    room = partition.types.resource(room_at(decision.tracker))
    subject = _tracker_name(decision.tracker)
    finding = Finding(gates.USER_QUOTA, subject, room, None, turn.now_ns)
    limit_group.finding = finding.after(limit_group.finding)


def note_application_limit(
    turn: Turn, partition: Partition, decision: ApplicationLimitReached
) -> None:
    """Note that the application limit keeps the applications of a limit group from starting.

    Implements: EVT-33. Rules: QUE-25, QUE-26, LIM-60, EVT-23, EVT-24, EVT-32. Emits: EventRecord.
    """
    limit_group = decision.limit_group
    for request in _first_and_fresh(limit_group):
        _look_at(turn, partition, request, decision)
        _waits(turn, request)
    queue, quota = decision.queue, decision.quota
    subject = queue.path if queue is not None else ""
    if quota is not None and queue is None:
        subject = _tracker_name(quota)
    finding = Finding(gates.MAX_APPLICATIONS, subject, None, None, turn.now_ns)
    limit_group.finding = finding.after(limit_group.finding)


def _over_queue_quota(turn: Turn, partition: Partition, request: Request, left: str) -> None:
    """Log that an ask does not fit its queue, and emit one event.

    Implements: EVT-36. Rules: CYC-24, EVT-39.
    """
    _report_user_fits(turn, partition, request)
    turn.log(request, NO_QUEUE_QUOTA)
    if request.fits_queue:
        request.fits_queue = False
        key, path = request.ask.allocation_key, request.application.queue_path
        wanted = printable(request.amounts.resource)
        text = f"Request '{key}' does not fit in queue '{path}' (requested {wanted}, {left})"
        _request_event(turn, partition, request, text)


def _over_user_quota(turn: Turn, partition: Partition, request: Request, left: str) -> None:
    """Log that an ask exceeds the quota of its user, and emit one event.

    Implements: EVT-38. Rules: CYC-24.
    """
    turn.log(request, NO_USER_QUOTA)
    if request.fits_user:
        request.fits_user = False
        key = request.ask.allocation_key
        wanted = printable(request.amounts.resource)
        text = f"Request '{key}' exceeds the available user quota (requested {wanted}, {left})"
        _request_event(turn, partition, request, text)


def note_refusals(turn: Turn, partition: Partition, request: Request, refusals: Refusals) -> None:
    """Keep the refusals of predicates in the ask's log, and on the nodes for the predicate class.

    Implements: SI-80. Rules: CYC-24, NOD-13, decision 3 of docs/spec.
    """
    for _, reason in refusals.now:
        turn.log(request, reason)
    group = request.group
    if (
        group is not None
        and refusals.now
        and group.limit_group.class_queue.ask_class.predicate_class.lasting
    ):
        key = group.limit_group.class_queue.ask_class.predicate_class.refused()
        for node, reason in refusals.now:
            keep_verdict(partition, node, key, reason)
            node_changed(partition, node)


def note_reason(turn: Turn, request: Request, reason: str) -> None:
    """Log why an ask cannot replace a placeholder. Rules: SI-80, CYC-24."""
    turn.log(request, reason)


def report_mismatch(
    turn: Turn, partition: Partition, request: Request, placeholder: Allocation
) -> None:
    """Emit an event: a placeholder is too small for a real ask.

    Implements: EVT-41, EVT-45. Rules: GANG-15.
    """
    application_id = request.application.application_id
    wanted, held = printable(request.amounts.resource), printable(placeholder.amounts.resource)
    key = placeholder.ask.allocation_key
    text = (
        f"Task group '{request.ask.task_group}' in application '{application_id}': allocation "
        f"resources '{wanted}' are not matching placeholder '{held}' allocation with ID '{key}'"
    )
    turn.event(
        partition,
        events.REQUEST,
        key,
        events.NONE,
        events.DETAILS_NONE,
        application_id,
        request.amounts.resource,
        text,
        request.application.queue_path,
    )


def report_refusals(turn: Turn, partition: Partition, request: Request, refusals: Refusals) -> None:
    """Emit an event: predicates refused nodes with room. Not more often than EVT-44 allows.

    Implements: CYC-16, EVT-40, EVT-44. Rules: NOD-13. Emits: EventRecord.
    """
    key = request.ask.allocation_key
    text = ""
    if refusals.to_reserve:
        text = f"Predicate failed for request '{key}' with message: '{refusals.to_reserve}'"
    if refusals.now:
        reasons = count_reasons(refusals)
        listed = "".join([f"{reason} ({count}x); " for reason, count in reasons])
        text = f"Unschedulable request '{key}': {listed}"
    reported_ns = request.reported_ns
    if text and (reported_ns is None or turn.now_ns >= reported_ns + PREDICATE_PAUSE_NS):
        request.reported_ns = turn.now_ns
        _request_event(turn, partition, request, text)


def _note_no_node(turn: Turn, partition: Partition, request: Request, decision: NoRoom) -> None:
    """Note why no node takes the asks of a class queue.

    Rules: CYC-14 (Ours), CYC-15, CYC-16, CYC-24.
    """
    class_queue, refusals = decision.class_queue, decision.refusals
    note_refusals(turn, partition, request, refusals)
    report_refusals(turn, partition, request, refusals)
    ask_class = class_queue.ask_class
    gate, subject = gates.NODES, ""
    nodes = summarise_nodes(partition, request, ask_class, refusals)
    if ask_class.required_node:
        gate, subject = gates.REQUIRED_NODE, ask_class.required_node
        node = partition.nodes.get(subject)
        if node is None:
            text = f"required node '{subject}' is not known"
            turn.log(request, text)
        elif not node.holds(ask_class.amounts):
            text = f"required node '{subject}' is too small"
            turn.log(request, text)
    _keep_finding(class_queue, decision, Finding(gate, subject, None, nodes, turn.now_ns))


def _keep_finding(class_queue: ClassQueue, decision: NoRoom, finding: Finding) -> None:
    """Note why a class queue waits, and how an attempt to preempt ended.

    Rules: PRE-58, REST-120.
    """
    if decision.attempt is not None:
        finding.preemption = decision.attempt.reason
    class_queue.finding = finding.after(class_queue.finding)


def _note_preemption(turn: Turn, partition: Partition, request: Request, decision: NoRoom) -> None:
    """Log why an ask cannot preempt; if its required node was tried, emit an event as well.

    Implements: PRE-45, PRE-58, EVT-46. Emits: EventRecord.
    """
    attempt = decision.attempt
    if attempt is None:
        if (
            request.may_preempt()
            and not request.preempt_due
            and partition.settings.config.preemption
        ):
            turn.log(request, NOT_YET)
        return
    if attempt.ticket:
        return
    turn.log(request, attempt.reason)
    node_id = request.required_node()
    tried_ns = request.tried_ns
    if node_id and (tried_ns is None or turn.now_ns >= tried_ns + PREDICATE_PAUSE_NS):
        key = request.ask.allocation_key
        text = f"Unschedulable request '{key}' with required node '{node_id}', "
        _request_event(turn, partition, request, text + "no preemption victim found")


def _fresh(class_queue: ClassQueue) -> list[Request]:
    """Return the asks of a class queue that were not examined yet, in order of arrival."""
    limit_groups = [
        limit_group for limit_group in class_queue.fresh.values() if not limit_group.waits()
    ]
    return sorted(
        [each for limit_group in limit_groups for each in limit_group.fresh()], key=_number
    )


def _first_and_fresh(limit_group: LimitGroup) -> list[Request]:
    """Return the first ask of a limit group, then its new asks in order of arrival."""
    first = limit_group.first()
    return [first] + [request for request in limit_group.fresh() if request is not first]


def _number(request: Request) -> int:
    return request.number


def _look_at(
    turn: Turn, partition: Partition, request: Request, hold: ApplicationLimitReached | None
) -> None:
    """Note that an ask and its application were examined; report whether the application may run.

    Implements: EVT-32. Rules: LIM-20, QUE-26.
    """
    application = request.application
    look(turn, partition, application)
    _report_runnable(turn, partition, application, hold)
    mark_looked(request)


def _note_attempt(partition: Partition, request: Request) -> None:
    """Note that an ask passed the limits of its user. Rules: CYC-12 (step 3), CYC-30."""
    if not request.attempted:
        request.attempted = True
        partition.waiting.outstanding.add(request)


def _waits(turn: Turn, request: Request) -> None:
    if not request.waits_since_ns:
        request.waits_since_ns = turn.now_ns


def _report_user_fits(turn: Turn, partition: Partition, request: Request) -> None:
    """Emit an event: the user quota does not stop the ask any more.

    Implements: EVT-39. Rules: EVT-42.
    """
    if not request.fits_user:
        request.fits_user = True
        text = f"Request '{request.ask.allocation_key}' fits in the available user quota"
        _request_event(turn, partition, request, text)


def _report_runnable(
    turn: Turn, partition: Partition, application: Application, hold: ApplicationLimitReached | None
) -> None:
    """Emit an event if the application may start now and could not before, or the reverse.

    Implements: QUE-26, EVT-23, EVT-24.
    """
    queue_lets = hold is None or hold.queue is None
    quota_lets = hold is None or hold.quota is None
    if application.queue_lets != queue_lets:
        application.queue_lets = queue_lets
        detail = events.APP_RUNNABLE_QUEUE if queue_lets else events.APP_CANNOTRUN_QUEUE
        turn.application_event(partition, application, events.NONE, detail)
    if application.quota_lets != quota_lets:
        application.quota_lets = quota_lets
        detail = events.APP_RUNNABLE_QUOTA if quota_lets else events.APP_CANNOTRUN_QUOTA
        turn.application_event(partition, application, events.NONE, detail)


def _left(partition: Partition, room: Vector | None) -> str:
    return f"available {printable({} if room is None else partition.types.resource(room))}"


def _tracker_name(tracker: QueueTracker) -> str:
    kind, name, path = tracker.key
    return f"{kind} {name} at {path}"


def _request_event(turn: Turn, partition: Partition, request: Request, text: str) -> None:
    """Emit an event about an ask, for the user who submitted it. Rules: chapter 90 section 2.2."""
    turn.event(
        partition,
        events.REQUEST,
        request.ask.allocation_key,
        events.NONE,
        events.DETAILS_NONE,
        request.application.application_id,
        request.amounts.resource,
        text,
        request.application.queue_path,
    )
