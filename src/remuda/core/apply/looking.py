"""Notes and tells that asks were looked at: their logs, flags, findings and events.

An ask is looked at when it is the first of a lane that is decided, and when it is new in one; what
holds for all that wait together is the finding of their lane or strand. So a backlog costs nothing
while nothing changes (decision 51 of docs/spec).
"""

from __future__ import annotations

from typing import Final

from remuda.base.resource_text import printable
from remuda.core.accounting.lanes import mark_looked
from remuda.core.apply.tracking import look
from remuda.core.apply.turn import Turn
from remuda.core.messages import events, gates
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.deadlines import SECOND_NS
from remuda.core.model.decision import Hold, Park, Refusals, Wait
from remuda.core.model.finding import Finding, noted
from remuda.core.model.partition import Partition
from remuda.core.model.request import Lane, Request, Strand
from remuda.core.model.trackers import QueueTracker
from remuda.core.model.vectors import Vector
from remuda.core.policy.headroom import headroom, room_at, user_headroom
from remuda.core.policy.tally import count_reasons, tally
from remuda.core.preempt.reasons import NOT_YET

NO_USER_QUOTA: Final = "Not enough user quota"
NO_QUEUE_QUOTA: Final = "Not enough queue quota"
NO_GANG_QUOTA: Final = "Not enough queue quota for the whole gang"

# Predicate classes remembered per node; beyond it the memory starts anew, and they are asked again.
CLASSES_LIMIT: Final = 256

# EVT-44: at most one event about predicates per ask in this time.
PREDICATE_PAUSE_NS: Final = 15 * SECOND_NS


def look_at_served(turn: Turn, partition: Partition, request: Request) -> None:
    """Note that an ask passed its application's gate and the limits.

    Events about limits belong to the regular pass. Rules: QUE-26, EVT-37, EVT-39, EVT-42.
    Emits: EventRecord.
    """
    _look_at(turn, partition, request, None)
    _note_attempt(partition, request)
    if request.reservations:
        return
    _tell_user_fits(turn, partition, request)
    if not request.fits_queue:
        request.fits_queue = True
        key, path = request.ask.allocation_key, request.application.queue_path
        text = f"Request '{key}' has become schedulable in queue '{path}'"
        _request_event(turn, partition, request, text)


def look_at_parked(turn: Turn, partition: Partition, decision: Park) -> None:
    """Note why nothing of a lane can be placed.

    Rules: CYC-12, CYC-13, CYC-16, CYC-24, EVT-36, EVT-42, GANG-4 (decision 61 of docs/spec).
    Emits: EventRecord.
    """
    lane = decision.lane
    first = lane.first().first()
    _note_preemption(turn, partition, first, decision)
    requests = [first] + [each for each in _fresh(lane) if each is not first]
    limiting = decision.limiting
    if limiting is None:
        for request in requests:
            look_at_served(turn, partition, request)
            _waits(turn, request)
        _note_no_node(turn, partition, first, decision)
        return
    gate = gates.QUEUE_QUOTA
    total = lane.shape.total
    if total is not None and limiting.parent is not None and not limiting.fits(total):
        gate = gates.GANG
    left = "" if lane.shape.urgent else _left(partition, headroom(lane.leaf))
    for request in requests:
        _look_at(turn, partition, request, None)
        _waits(turn, request)
        if gate == gates.GANG:
            request.log = noted(request.log, NO_GANG_QUOTA, 1, turn.now_ns)
            continue
        _note_attempt(partition, request)
        if not lane.shape.urgent:
            _over_queue_quota(turn, partition, request, left)
    room = partition.types.resource(room_at(limiting))
    finding = Finding(gate, limiting.path, room, None, turn.now_ns)
    _keep_finding(lane, decision, finding)


def look_at_preempting(turn: Turn, partition: Partition, request: Request) -> None:
    """Note that others have to go for an ask. Rules: CYC-12, PRE-34. Emits: EventRecord."""
    _look_at(turn, partition, request, None)
    _note_attempt(partition, request)
    _waits(turn, request)
    _tell_user_fits(turn, partition, request)


def look_at_waiting(turn: Turn, partition: Partition, decision: Wait) -> None:
    """Note that a user or group has no room for the asks of a strand; that is no attempt.

    Rules: CYC-12, CYC-13, CYC-24, EVT-38, EVT-42, LIM-54, REST-134. Emits: EventRecord.
    """
    strand = decision.strand
    urgent = strand.lane.shape.urgent
    left = "" if urgent else _left(partition, user_headroom(strand.account))
    for request in _first_and_fresh(strand):
        _look_at(turn, partition, request, None)
        _waits(turn, request)
        if not urgent:
            _over_user_quota(turn, partition, request, left)
    room = partition.types.resource(room_at(decision.tracker))
    subject = _tracker_name(decision.tracker)
    finding = Finding(gates.USER_QUOTA, subject, room, None, turn.now_ns)
    strand.finding = finding.after(strand.finding)


def look_at_held(turn: Turn, partition: Partition, decision: Hold) -> None:
    """Note that the applications of a strand may not start.

    Rules: QUE-25, QUE-26, LIM-60, EVT-23, EVT-24, EVT-32, EVT-33. Emits: EventRecord.
    """
    strand = decision.strand
    for request in _first_and_fresh(strand):
        _look_at(turn, partition, request, decision)
        _waits(turn, request)
    queue, quota = decision.queue, decision.quota
    subject = queue.path if queue is not None else ""
    if quota is not None and queue is None:
        subject = _tracker_name(quota)
    finding = Finding(gates.MAX_APPLICATIONS, subject, None, None, turn.now_ns)
    strand.finding = finding.after(strand.finding)


def _over_queue_quota(turn: Turn, partition: Partition, request: Request, left: str) -> None:
    """Log, and tell once, that an ask does not fit its queue. Rules: CYC-24, EVT-36, EVT-39."""
    _tell_user_fits(turn, partition, request)
    request.log = noted(request.log, NO_QUEUE_QUOTA, 1, turn.now_ns)
    if request.fits_queue:
        request.fits_queue = False
        key, path = request.ask.allocation_key, request.application.queue_path
        wanted = printable(request.amounts.resource)
        text = f"Request '{key}' does not fit in queue '{path}' (requested {wanted}, {left})"
        _request_event(turn, partition, request, text)


def _over_user_quota(turn: Turn, partition: Partition, request: Request, left: str) -> None:
    """Log, and tell once, that an ask exceeds what its user may use. Rules: CYC-24, EVT-38."""
    request.log = noted(request.log, NO_USER_QUOTA, 1, turn.now_ns)
    if request.fits_user:
        request.fits_user = False
        key = request.ask.allocation_key
        wanted = printable(request.amounts.resource)
        text = f"Request '{key}' exceeds the available user quota (requested {wanted}, {left})"
        _request_event(turn, partition, request, text)


def note_refusals(turn: Turn, partition: Partition, request: Request, refusals: Refusals) -> None:
    """Keep what predicates refused: in the ask's log, and on nodes for the whole predicate class.

    Rules: CYC-24, NOD-13, SI-80, decision 3 of docs/spec.
    """
    for _, reason in refusals.now:
        request.log = noted(request.log, reason, 1, turn.now_ns)
    group = request.group
    if group is not None and not group.strand.lane.shape.volatile:
        for node, reason in refusals.now:
            if len(node.verdicts) >= CLASSES_LIMIT:
                node.verdicts.clear()
            node.verdicts[group.strand.lane.shape.constraint] = reason
            if node.reservations:
                partition.shaken[node.node_id] = node


def note_reason(turn: Turn, request: Request, reason: str) -> None:
    """Log why an ask may not take the place of a placeholder. Rules: SI-80, CYC-24."""
    request.log = noted(request.log, reason, 1, turn.now_ns)


def tell_mismatch(
    turn: Turn, partition: Partition, request: Request, placeholder: Allocation
) -> None:
    """Tell that a placeholder is too small for a real ask. Rules: EVT-41, EVT-45, GANG-15."""
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


def tell_refusals(turn: Turn, partition: Partition, request: Request, refusals: Refusals) -> None:
    """Tell that predicates refused what had room, at most once in a while.

    Rules: CYC-16, EVT-40, EVT-44, NOD-13. Emits: EventRecord.
    """
    key = request.ask.allocation_key
    text = ""
    if refusals.to_reserve:
        text = f"Predicate failed for request '{key}' with message: '{refusals.to_reserve}'"
    if refusals.now:
        reasons = count_reasons(refusals)
        listed = "".join([f"{reason} ({count}x); " for reason, count in reasons])
        text = f"Unschedulable request '{key}': {listed}"
    told_ns = request.told_ns
    if text and (told_ns is None or turn.now_ns >= told_ns + PREDICATE_PAUSE_NS):
        request.told_ns = turn.now_ns
        _request_event(turn, partition, request, text)


def _note_no_node(turn: Turn, partition: Partition, request: Request, decision: Park) -> None:
    """Keep why no node takes the asks of a lane. Rules: CYC-14 (Ours), CYC-15, CYC-16, CYC-24."""
    lane, refusals = decision.lane, decision.refusals
    note_refusals(turn, partition, request, refusals)
    tell_refusals(turn, partition, request, refusals)
    shape = lane.shape
    gate, subject = gates.NODES, ""
    nodes = tally(partition, request, shape, refusals)
    if shape.required_node:
        gate, subject = gates.REQUIRED_NODE, shape.required_node
        node = partition.nodes.get(subject)
        if node is None:
            text = f"required node '{subject}' is not known"
            request.log = noted(request.log, text, 1, turn.now_ns)
        elif not node.holds(shape.amounts):
            text = f"required node '{subject}' is too small"
            request.log = noted(request.log, text, 1, turn.now_ns)
    _keep_finding(lane, decision, Finding(gate, subject, None, nodes, turn.now_ns))


def _keep_finding(lane: Lane, decision: Park, finding: Finding) -> None:
    """Keep why a lane waits, and what became of an attempt to preempt. Rules: PRE-58, REST-120."""
    if decision.attempt is not None:
        finding.preemption = decision.attempt.reason
    lane.finding = finding.after(lane.finding)


def _note_preemption(turn: Turn, partition: Partition, request: Request, decision: Park) -> None:
    """Log why nobody has to go for an ask; a fruitless try on its required node is told, too.

    Rules: PRE-45, PRE-58, EVT-46. Emits: EventRecord.
    """
    attempt = decision.attempt
    if attempt is None:
        if request.may_preempt() and not request.ripe and partition.config.preemption:
            request.log = noted(request.log, NOT_YET, 1, turn.now_ns)
        return
    if attempt.ticket:
        return
    request.log = noted(request.log, attempt.reason, 1, turn.now_ns)
    node_id = request.required_node()
    tried_ns = request.tried_ns
    if node_id and (tried_ns is None or turn.now_ns >= tried_ns + PREDICATE_PAUSE_NS):
        key = request.ask.allocation_key
        text = f"Unschedulable request '{key}' with required node '{node_id}', "
        _request_event(turn, partition, request, text + "no preemption victim found")


def _fresh(lane: Lane) -> list[Request]:
    """Return the asks of a lane nobody looked at yet, in the order they came."""
    strands = [strand for strand in lane.fresh.values() if not strand.waits()]
    return sorted([each for strand in strands for each in strand.fresh()], key=_number)


def _first_and_fresh(strand: Strand) -> list[Request]:
    """Return the first ask of a strand, then those nobody looked at yet, in the order they came."""
    first = strand.first()
    return [first] + [request for request in strand.fresh() if request is not first]


def _number(request: Request) -> int:
    return request.number


def _look_at(turn: Turn, partition: Partition, request: Request, hold: Hold | None) -> None:
    """Note that an ask and its application were looked at; tell whether that may run.

    Rules: LIM-20, QUE-26, EVT-32.
    """
    application = request.application
    look(turn, partition, application)
    _tell_runnable(turn, partition, application, hold)
    mark_looked(request)


def _note_attempt(partition: Partition, request: Request) -> None:
    """Note that the limits of its user let an ask pass. Rules: CYC-12 (step 3), CYC-30."""
    if not request.attempted:
        request.attempted = True
        partition.outstanding.add(request)


def _waits(turn: Turn, request: Request) -> None:
    if not request.waits_since_ns:
        request.waits_since_ns = turn.now_ns


def _tell_user_fits(turn: Turn, partition: Partition, request: Request) -> None:
    """Tell that the user quota is not in the way any more. Rules: EVT-39, EVT-42."""
    if not request.fits_user:
        request.fits_user = True
        text = f"Request '{request.ask.allocation_key}' fits in the available user quota"
        _request_event(turn, partition, request, text)


def _tell_runnable(
    turn: Turn, partition: Partition, application: Application, hold: Hold | None
) -> None:
    """Send an event where the answer to "may it start" changed. Rules: QUE-26, EVT-23, EVT-24."""
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
    """Tell the user who asked. Rules: chapter 90 section 2.2."""
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
