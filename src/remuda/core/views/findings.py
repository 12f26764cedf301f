"""Answers why asks are not placed (rules: CYC-12, CYC-24, REST-79, REST-120)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from remuda.config.queue_properties import STATEAWARE
from remuda.core.messages import gates
from remuda.core.messages.queries import FindingView, LogEntryView, NodeTallyView
from remuda.core.model import states
from remuda.core.model.finding import Finding, LogEntry, NodeTally
from remuda.core.model.partition import Partition
from remuda.core.model.request import CLOSED, Request, Strand
from remuda.core.model.vectors import Amounts


def log_view(log: tuple[LogEntry, ...]) -> tuple[LogEntryView, ...]:
    """Return the allocation log of an ask by message. Any thread. Rules: CYC-24, REST-81."""
    entries = [LogEntryView(message, last, count) for message, count, last in log]
    return tuple(sorted(entries, key=lambda each: each.message))


@final
class Why:
    """Why some asks wait, noted at one moment; equal asks of an application share it.

    ``requested``: None: each its own resource. ``last_ns`` None: nobody looked at them.
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
        self.nodes: NodeTally | None = None
        self.last_ns: int | None = None
        self.looks: int = 0
        self.preemption: str = ""


def note_finding(partition: Partition, request: Request) -> Why | None:
    """Note why an ask waits, None if nobody looked at it since something changed.

    Asks of one group have the same answer, but for those of a gang: of one task group.

    Rules: CYC-11, CYC-12, CYC-33, QUE-41, REST-120, PRE-58, RM-15, OBJ-4, OBJ-8.
    """
    group = request.group
    if group is None:
        return None
    gate, subject = _halted_by(partition, request)
    if gate:
        return Why(gate, subject, 0)
    strand = group.strand
    if strand.gate == CLOSED:
        gate, subject = _closed_by(request)
        return Why(gate, subject, request.application.backoff_until_ns * (gate == gates.BACKOFF))
    if _is_stopped(strand):
        return _noted(request, strand.finding)
    return _noted(request, strand.lane.finding) if strand.lane.parked else None


def finding_view(why: Why, amounts: Amounts, created_ns: int, waits_since_ns: int) -> FindingView:
    """Return why one of several asks waits, as it was noted. Any thread. Rules: REST-120."""
    last_ns = why.last_ns
    if last_ns is None:
        last_ns = waits_since_ns or created_ns
    return FindingView(
        gate=why.gate,
        subject=why.subject,
        requested=dict((why.requested or amounts).resource),
        available=None if why.available is None else dict(why.available),
        nodes=None if why.nodes is None else _tally_view(why.nodes),
        since_ns=waits_since_ns or last_ns,
        last_ns=last_ns,
        looks=why.looks,
        until_ns=why.until_ns,
        preemption=why.preemption,
    )


def since_ns(why: Why, request: Request) -> int:
    """Return since when an ask waits that is known to wait. Rules: REST-120, REST-121."""
    return request.waits_since_ns or why.last_ns or request.created_ns


def _is_stopped(strand: Strand) -> bool:
    """Whether what a strand waits for is still in its way; if not, its lane waits for more."""
    bound = strand.aside
    if bound is None or not strand.lane.parked:
        return bound is not None
    return bound.full() if strand.held else not strand.lane.shape.fits(bound)


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
        why.requested = request.group.strand.lane.shape.total
    return why


def _tally_view(tally: NodeTally) -> NodeTallyView:
    return NodeTallyView(
        total=tally.total,
        draining=tally.draining,
        reserved=tally.reserved,
        too_small=tally.too_small,
        no_room=tally.no_room,
        refused=tally.refused,
        reasons=tally.reasons,
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
    for queue in () if leaf is None else leaf.path_up:
        if queue.state == states.STOPPED:
            return gates.HALTED, queue.path
    return "", ""


def _closed_by(request: Request) -> tuple[str, str]:
    """Return the first gate that closes an ask, and its subject.

    Rules: QUE-41, CYC-33, APP-12, GANG-6, GANG-11.
    """
    application = request.application
    leaf, gang = application.queue, application.gang
    if leaf is None or application.state == states.FAILING:
        return gates.STOPPED, application.application_id
    group = "" if request.ask.placeholder else request.ask.task_group
    holds = gang is not None and not request.ask.placeholder and gang.holds_back(group)
    if holds or application.state == states.RESUMING:
        return gates.GANG, group or application.application_id
    accepted = application.state == states.ACCEPTED
    holder = leaf.turns.holder
    if accepted and leaf.settings.application_sort == STATEAWARE and holder is not application:
        return gates.TURN, "" if holder is None else holder.application_id
    return gates.BACKOFF, application.queue_path
