"""Answers why asks are not placed (rules: CYC-12, CYC-24, REST-79, REST-120)."""

from __future__ import annotations

from remuda.config.queue_properties import STATEAWARE
from remuda.core.messages import gates
from remuda.core.messages.queries import FindingView, LogEntryView, NodeTallyView
from remuda.core.model import states
from remuda.core.model.finding import Finding, NodeTally
from remuda.core.model.partition import Partition
from remuda.core.model.request import CLOSED, Request, Strand


def log_view(request: Request) -> tuple[LogEntryView, ...]:
    """Return the allocation log of an ask by message. Rules: CYC-24, REST-81."""
    entries = [LogEntryView(message, last, count) for message, count, last in request.log]
    return tuple(sorted(entries, key=lambda each: each.message))


def finding_view(partition: Partition, request: Request) -> FindingView | None:
    """Return why an ask waits, None if nobody looked at it since something changed.

    Rules: CYC-11, CYC-12, CYC-33, QUE-41, REST-120, PRE-58, RM-15, OBJ-4, OBJ-8.
    """
    group = request.group
    if group is None:
        return None
    gate, subject = _halted_by(partition, request)
    if gate:
        return _closed_view(request, gate, subject)
    strand = group.strand
    if strand.gate == CLOSED:
        return _closed_view(request, *_closed_by(request))
    if _is_stopped(strand):
        return _view(request, strand.finding)
    return _view(request, strand.lane.finding) if strand.lane.parked else None


def _is_stopped(strand: Strand) -> bool:
    """Whether what a strand waits for is still in its way; if not, its lane waits for more."""
    bound = strand.aside
    if bound is None or not strand.lane.parked:
        return bound is not None
    return bound.full() if strand.held else not strand.lane.shape.fits(bound)


def _view(request: Request, finding: Finding | None) -> FindingView | None:
    if finding is None:
        return None
    available = finding.available
    requested, group = request.amounts, request.group
    if finding.gate == gates.GANG and group is not None:
        requested = group.strand.lane.shape.total or requested
    return FindingView(
        gate=finding.gate,
        subject=finding.subject,
        requested=dict(requested.resource),
        available=None if available is None else dict(available),
        nodes=None if finding.nodes is None else _tally_view(finding.nodes),
        since_ns=request.waits_since_ns or finding.last_ns,
        last_ns=finding.last_ns,
        looks=finding.looks,
        preemption=finding.preemption,
    )


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


def _closed_view(request: Request, gate: str, subject: str) -> FindingView:
    """Return why an ask is not tried, however much room there is."""
    application = request.application
    return FindingView(
        gate=gate,
        subject=subject,
        requested=dict(request.amounts.resource),
        available=None,
        nodes=None,
        since_ns=request.waits_since_ns or request.created_ns,
        last_ns=request.waits_since_ns or request.created_ns,
        looks=0,
        until_ns=application.backoff_until_ns if gate == gates.BACKOFF else 0,
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
