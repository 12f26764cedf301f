"""Answers of a scheduler to "why" and "what if", as commands read and print them.

Only what is printed is read, so an answer of a newer scheduler is no error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, TypeVar

import msgspec

from remuda.base.amount_text import amounts_text
from remuda.cli.server import odd_answer
from remuda.cli.viewing.shapes import Int

T = TypeVar("T")


class _Read(msgspec.Struct, rename="camel", kw_only=True):
    """Base of what is read; unknown keys are passed over."""


class Gate(_Read):
    """One check of an ask."""

    gate: str
    passed: bool
    subject: str = ""
    requested: dict[str, Int] = msgspec.field(default_factory=dict)
    used: dict[str, Int] = msgspec.field(default_factory=dict)
    maximum: dict[str, Int] = msgspec.field(default_factory=dict)
    applications: Int = 0
    max_applications: Int = 0


class Rival(_Read):
    """What is served before the ask on a level."""

    name: str
    priority: Int
    share: float
    asks: Int


class Level(_Read):
    """The place of the ask on one level."""

    path: str
    kind: str
    name: str
    place: Int
    count: Int
    asks_ahead: Int
    order: list[str]
    ahead: list[Rival] = msgspec.field(default_factory=list)
    hidden: Int = 0


class Nodes(_Read):
    """How many nodes do not take the ask, by reason."""

    total: Int
    draining: Int = 0
    reserved: Int = 0
    too_small: Int = 0
    no_room: Int = 0
    refused: Int = 0


class NodeVerdict(_Read):
    """Why one node takes the ask or does not."""

    node_id: str
    verdict: str
    lacking: dict[str, Int] = msgspec.field(default_factory=dict)
    reason: str = ""


class Explanation(_Read):
    """Why an ask waits."""

    text: list[str]
    waits: bool
    gates: list[Gate] = msgspec.field(default_factory=list)
    levels: list[Level] = msgspec.field(default_factory=list)
    takes: Int = 0
    nodes_now: Nodes | None = None
    nearest: list[NodeVerdict] = msgspec.field(default_factory=list)


class Told(_Read):
    """Any answer, as far as it says itself what a person wants to know."""

    text: list[str]


class Outcome(Told):
    """What a dry run led to."""

    outcome: str


class Impact(Told):
    """What a configuration would change; ``impact`` is printed as it came."""

    impact: msgspec.Raw


class PendingAsk(_Read):
    """An ask of an application that waits."""

    allocation_key: Annotated[str, msgspec.Meta(min_length=1)]


class PendingAsks(_Read):
    """The asks of an application that wait, in the order in which they are served."""

    requests: list[PendingAsk] = msgspec.field(default_factory=list)


def decoded(content: bytes, kind: type[T], address: str) -> T:
    """Return an answer. Raises: NotReachableError if it is not that of a scheduler."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        name = kind.__name__.lower()
        raise odd_answer(
            f"{address}: the server answered with what is no {name}: {error}"
        ) from None


def indented(content: object) -> str:
    """Return JSON as a person can read it; what cannot be printed is escaped.

    Rules: EXT-76. Raises: NotReachableError if it has too large numbers or too many levels.
    """
    try:
        return json.dumps(msgspec.json.decode(msgspec.json.encode(content)), indent=2)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise odd_answer(f"the answer of the server cannot be printed: {error}") from None


def explanation_lines(found: Explanation) -> Iterator[str]:
    """Yield an explanation for a person: the conclusion, then a section for each part."""
    yield from found.text
    if not found.waits:
        return
    yield from _section("gates, in the order in which they are checked", map(_gate, found.gates))
    places = [line for level in found.levels for line in _level(level)]
    yield from _section("place in the order of service", places)
    if found.nodes_now is not None:
        yield from _section(_nodes(found.takes, found.nodes_now), map(_node, found.nearest))


def _section(title: str, lines: Iterator[str] | list[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"  {line}" for line in lines)


def _gate(gate: Gate) -> str:
    mark = "passed" if gate.passed else "STOPS "
    subject = f" ({gate.subject})" if gate.subject else ""
    return f"{mark} {gate.gate}{subject}{_numbers(gate)}"


def _numbers(gate: Gate) -> str:
    if gate.max_applications:
        return f": {gate.applications} of {gate.max_applications} applications"
    if not gate.maximum:
        return ""
    wanted = {name: amount for name, amount in gate.requested.items() if name in gate.maximum}
    used, most = amounts_text(gate.used), amounts_text(gate.maximum)
    return f": {amounts_text(wanted)} wanted; {used} of {most} used"


def _level(level: Level) -> Iterator[str]:
    where = {"queues": "the queues of", "applications": "the applications of"}
    among = f"{where.get(level.kind, 'the asks of')} {level.path}"
    before = "nothing waits before it"
    if level.asks_ahead:
        asks = "1 ask waits" if level.asks_ahead == 1 else f"{level.asks_ahead} asks wait"
        before = f"{asks} before it"
    by = ", then ".join(level.order)
    yield f"{level.name} is {level.place} of {level.count} among {among}, by {by}: {before}"
    for rival in level.ahead:
        waiting = f", {rival.asks} waiting" if level.kind != "asks" else ""
        yield f"  before it: {rival.name} (priority {rival.priority}{_share(rival)}{waiting})"
    if level.hidden:
        yield f"  before it: {level.hidden} more that you may not see"


def _share(rival: Rival) -> str:
    return f", share {rival.share:.3g}" if rival.share else ""


def _nodes(takes: int, nodes: Nodes) -> str:
    reasons: Mapping[str, int] = {
        "draining": nodes.draining,
        "reserved": nodes.reserved,
        "too small": nodes.too_small,
        "without enough room": nodes.no_room,
        "refused by predicates": nodes.refused,
    }
    parts = [f"{number} {what}" for what, number in reasons.items() if number]
    word = "node" if nodes.total == 1 else "nodes"
    return f"{takes} of {nodes.total} {word} would take it now: {', '.join(parts) or 'none would'}"


def _node(node: NodeVerdict) -> str:
    lacking = f", lacks {amounts_text(node.lacking)}" if node.lacking else ""
    reason = f": {node.reason}" if node.reason else ""
    return f"{node.node_id}: {node.verdict}{lacking}{reason}"
