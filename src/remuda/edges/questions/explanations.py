"""The JSON shape of why an ask waits: its gates, its places, its nodes (EXT-62, EXT-65)."""

from __future__ import annotations

import msgspec

from remuda.base.resources import Resource
from remuda.core.messages.trace_queries import (
    QUEUES,
    AskTraceView,
    GateView,
    LevelView,
    NodeVerdictView,
)
from remuda.edges.questions.answers import Answer, Sees
from remuda.edges.questions.fair_shares import ShareTerm
from remuda.edges.questions.shapes import NodeSummary, Shape, amounts, node_summary, plain
from remuda.insight.explanation import Explanation


class Gate(Shape, kw_only=True):
    """One check of an ask, with the numbers that are compared."""

    gate: str
    subject: str = ""
    passed: bool
    requested: dict[str, int] = amounts()
    used: dict[str, int] = amounts()
    maximum: dict[str, int] = amounts()
    available: dict[str, int] | None = None
    applications: int = 0
    max_applications: int = 0


class Rival(Shape, kw_only=True):
    """What is served before the ask on a level, and what is compared."""

    name: str
    priority: int
    share: float
    since: int = 0
    asks: int


class Level(Shape, kw_only=True):
    """The place of the ask on one level. ``hidden``: rivals that the caller may not see."""

    path: str
    kind: str
    name: str
    order: list[str]
    place: int
    count: int
    priority: int
    share: float
    since: int = 0
    terms: list[ShareTerm] = msgspec.field(default_factory=list)
    asks_ahead: int
    ahead: list[Rival] = msgspec.field(default_factory=list)
    hidden: int = 0


class NodeVerdict(Shape, kw_only=True):
    """Why one node takes the ask or does not."""

    node_id: str
    verdict: str
    lacking: dict[str, int] = amounts()
    reason: str = ""


class AskExplanation(Answer, kw_only=True):
    """Why an ask waits: the finding of its last try, and its trace at this moment."""

    application_id: str
    allocation_key: str
    queue_name: str = ""
    user: str = ""
    waits: bool
    pending: int = 0
    gate: str = ""
    subject: str = ""
    requested: dict[str, int] = amounts()
    available: dict[str, int] | None = None
    nodes: NodeSummary | None = None
    waiting_seconds: float = 0.0
    preemption: str = ""
    log: list[str] = msgspec.field(default_factory=list)
    placed: list[str] = msgspec.field(default_factory=list)
    gates: list[Gate] = msgspec.field(default_factory=list)
    levels: list[Level] = msgspec.field(default_factory=list)
    takes: int = 0
    nodes_now: NodeSummary | None = None
    nearest: list[NodeVerdict] = msgspec.field(default_factory=list)


def explanation(
    why: Explanation, trace: AskTraceView | None, sees: Sees, version: int, wall_ns: int
) -> AskExplanation:
    """Return why an ask waits; ``trace`` None: it does not. Rules: EXT-62, EXT-65."""
    shape = AskExplanation(
        state_version=version,
        timestamp=wall_ns,
        text=str(why).split("\n"),
        application_id=why.application_id,
        allocation_key=why.allocation_key,
        waits=trace is not None,
        pending=why.pending,
        gate=why.gate,
        subject=why.subject,
        requested=plain(why.requested),
        available=_maybe(why.available),
        nodes=None if why.nodes is None else node_summary(why.nodes),
        waiting_seconds=why.waiting_seconds,
        preemption=why.preemption,
        log=list(why.log),
        placed=list(why.placed),
    )
    if trace is not None:
        shape.queue_name = trace.queue
        shape.user = trace.user
        shape.gates = [_gate(each) for each in trace.gates]
        shape.levels = [_level(each, sees) for each in trace.levels]
        shape.takes = trace.takes
        shape.nodes_now = node_summary(trace.nodes)
        shape.nearest = [_verdict(each) for each in trace.nearest if sees("")]
    return shape


def _gate(gate: GateView) -> Gate:
    return Gate(
        gate=gate.gate,
        subject=gate.subject,
        passed=gate.passed,
        requested=plain(gate.requested),
        used=plain(gate.used),
        maximum=plain(gate.maximum),
        available=_maybe(gate.available),
        applications=gate.applications,
        max_applications=gate.max_applications,
    )


def _level(level: LevelView, sees: Sees) -> Level:
    ahead = [
        Rival(
            name=each.name,
            priority=each.priority,
            share=each.share,
            since=each.since_ns,
            asks=each.asks,
        )
        for each in level.ahead
        if level.kind != QUEUES or sees(f"{level.path}.{each.name}")
    ]
    return Level(
        path=level.path,
        kind=level.kind,
        name=level.name,
        order=list(level.order),
        place=level.place,
        count=level.count,
        priority=level.priority,
        share=level.share,
        since=level.since_ns,
        terms=[
            ShareTerm(
                resource=each.resource, used=each.used, divisor=each.divisor, ratio=each.ratio
            )
            for each in level.terms
        ],
        asks_ahead=level.asks_ahead,
        ahead=ahead,
        hidden=len(level.ahead) - len(ahead),
    )


def _verdict(node: NodeVerdictView) -> NodeVerdict:
    return NodeVerdict(
        node_id=node.node_id,
        verdict=node.verdict,
        lacking=plain(node.lacking),
        reason=node.reason,
    )


def _maybe(resource: Resource | None) -> dict[str, int] | None:
    return None if resource is None else plain(resource)
