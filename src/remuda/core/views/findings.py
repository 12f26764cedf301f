"""Answers why asks are not placed (rules: CYC-12, CYC-24, REST-79, REST-120)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from remuda.config.queue_properties import STATEAWARE
from remuda.core.messages import gates
from remuda.core.messages.ask_views import FindingView, LogEntryView, NodeSummaryView
from remuda.core.model import states
from remuda.core.model.asks.class_queue import CLOSED, LimitGroup
from remuda.core.model.asks.request import Request
from remuda.core.model.calendar import ToWall
from remuda.core.model.finding import Finding, LogEntry, NodeSummary
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts


def log_view(log: tuple[LogEntry, ...], to_wall: ToWall) -> tuple[LogEntryView, ...]:
    """Return the allocation log of an ask by message. Any thread. Rules: CYC-24, REST-81."""
    entries = [LogEntryView(message, to_wall(last), count) for message, count, last in log]
    return tuple(sorted(entries, key=lambda each: each.message))


@final
class Why:
    """Why some asks wait, copied at one moment; equal asks of an application share it.

    ``requested`` None: each ask requests its own resource. ``last_ns`` None: not examined yet.
    """

    __slots__ = (
        "available", "gate", "last_ns", "looks", "nodes", "preemption", "requested", "subject",
        "until_ns",
    )  # fmt: skip

    def __init__(self, gate: str, subject: str, until_ns: int) -> None:
        self.gate = gate
        self.subject = subject
        self.until_ns = until_ns
        self.requested: Amounts | None = None
        self.available: Mapping[str, int] | None = None
        self.nodes: NodeSummary | None = None
        self.last_ns: int | None = None
        self.looks: int = 0
        self.preemption: str = ""


def note_finding(partition: Partition, request: Request) -> Why | None:
    """Return why an ask waits, None if it was not examined since something changed.

    Asks of one group have the same answer. In a gang, asks of one task group have.

    Rules: CYC-11, CYC-12, CYC-33, QUE-41, REST-120, PRE-58, RM-15, OBJ-4, OBJ-8.
    """
    group = request.group
    if group is None:
        return None
    gate, subject = _halted_by(partition, request)
    if gate:
        return Why(gate, subject, 0)
    limit_group = group.limit_group
    if limit_group.admission == CLOSED:
        gate, subject = _closed_by(request)
        return Why(gate, subject, request.application.backoff_until_ns * (gate == gates.BACKOFF))
    if _is_stopped(limit_group):
        return _noted(request, limit_group.finding)
    class_queue = limit_group.class_queue
    if class_queue.blocked is not None and not partition.waiting.gained_room.is_eligible(
        class_queue
    ):
        return _noted(request, class_queue.finding)
    return None


def finding_view(
    why: Why, amounts: Amounts, to_wall: ToWall, created_ns: int, waits_since_ns: int
) -> FindingView:
    """Return the view of why one of several asks waited. Any thread. Rules: REST-120."""
    last_ns = why.last_ns
    if last_ns is None:
        last_ns = waits_since_ns or created_ns
    return FindingView(
        gate=why.gate,
        subject=why.subject,
        requested=dict((why.requested or amounts).resource),
        available=None if why.available is None else dict(why.available),
        nodes=None if why.nodes is None else _summary_view(why.nodes),
        since_ns=to_wall(waits_since_ns or last_ns),
        last_ns=to_wall(last_ns),
        looks=why.looks,
        until_ns=to_wall(why.until_ns),
        preemption=why.preemption,
    )


def since_ns(why: Why, request: Request) -> int:
    """Return since when a waiting ask waits. Rules: REST-120, REST-121."""
    return request.waits_since_ns or why.last_ns or request.created_ns


def _is_stopped(limit_group: LimitGroup) -> bool:
    """Whether its limit still stops a blocked limit group.

    Otherwise only its class queue is blocked.
    """
    blocked, class_queue = limit_group.blocked, limit_group.class_queue
    bound = None if blocked is None else blocked.at
    if blocked is None or bound is None:
        return False
    if class_queue.blocked is None:
        return True
    starting = blocked.reason == gates.MAX_APPLICATIONS
    return bound.full() if starting else not class_queue.ask_class.fits(bound)


def _noted(request: Request, finding: Finding | None) -> Why | None:
    if finding is None:
        return None
    why = Why(finding.gate, finding.subject, 0)
    why.available = finding.available
    why.nodes = finding.nodes
    why.last_ns = finding.last_ns
    why.looks = finding.looks
    why.preemption = finding.preemption
    if finding.gate == gates.GANG and request.group is not None:
        why.requested = request.group.limit_group.class_queue.ask_class.total
    return why


def _summary_view(summary: NodeSummary) -> NodeSummaryView:
    return NodeSummaryView(
        total=summary.total,
        draining=summary.draining,
        reserved=summary.reserved,
        too_small=summary.too_small,
        no_room=summary.no_room,
        refused=summary.refused,
        reasons=summary.reasons,
    )


def _halted_by(partition: Partition, request: Request) -> tuple[str, str]:
    """Return the gate that an operator or a lost connection closed, and its subject, or "".

    Rules: RM-15, EXT-6, OBJ-4, OBJ-8.
    """
    if partition.resting:
        return gates.PAUSED, partition.rm_id
    if partition.state == states.STOPPED:
        return gates.HALTED, partition.name
    leaf = request.application.queue
    for queue in leaf.path_up:
        if queue.state == states.STOPPED:
            return gates.HALTED, queue.path
    return "", ""


def _closed_by(request: Request) -> tuple[str, str]:
    """Return the first gate that closes an ask, and its subject.

    Rules: QUE-41, CYC-33, APP-12, GANG-6, GANG-11.
    """
    application = request.application
    leaf, gang = application.queue, application.gang
    if application.state == states.FAILING:
        return gates.ENDING, application.application_id
    group = "" if request.ask.placeholder else request.ask.task_group
    holds = gang is not None and not request.ask.placeholder and gang.keeps_waiting(group)
    if holds or application.state == states.RESUMING:
        return gates.GANG, group or application.application_id
    accepted = application.state == states.ACCEPTED
    holder = leaf.turns.holder
    if accepted and leaf.settings.application_sort == STATEAWARE and holder is not application:
        return gates.TURN, "" if holder is None else holder.application_id
    return gates.BACKOFF, application.queue_path
