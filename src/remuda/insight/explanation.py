"""Why one ask waits, in a form for programs and as sentences for people.

It contains the finding of the core's last try of the ask (CYC-12): the first gate that stops it,
the object in the way, and the amounts that are left there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from remuda.base.amount_text import amounts_text
from remuda.base.message import message
from remuda.base.texts import shown
from remuda.config.schema import ROOT
from remuda.core.messages import gates
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.ask_views import FindingView, RequestView
from remuda.core.messages.queries import AskPortionQuery, Query, View
from remuda.core.messages.rows import Rows
from remuda.insight.html import lines_html

Look: TypeAlias = Callable[[Query], View]


@message
class AskName:
    """Which ask is meant; ``rm_id`` "": in the partition of the first RM by ID."""

    partition: str
    application_id: str
    allocation_key: str
    rm_id: str = ""


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """Why the nodes did not take an ask; each is counted once, under the first that applies.

    ``reserved``: kept free for an ask. ``too_small``: even when empty. ``refused``: by predicates,
    with ``reasons`` as pairs of text and number.
    """

    total: int
    draining: int = 0
    reserved: int = 0
    too_small: int = 0
    no_room: int = 0
    refused: int = 0
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one ask waits; ``str()`` says it in sentences.

    ``pending``: how many of its allocations are not placed; with 0 it does not wait. ``gate``: the
    gate that stops it, "" if it was not tried yet. ``subject``: the object in the way: a queue, a
    user or group at a queue, a node, an application. ``requested`` and ``available``: the amounts
    that it needs there, and those left of the limited types. ``waiting_seconds``: time since the
    core found that it must wait. ``preemption``: why no allocation was preempted for it, "" if that
    was not tried. ``log``: failures so far. ``placed``: its running allocations and their nodes.
    """

    application_id: str
    allocation_key: str
    pending: int
    gate: str = ""
    subject: str = ""
    requested: Mapping[str, int] | None = None
    available: Mapping[str, int] | None = None
    nodes: NodeCounts | None = None
    waiting_seconds: float = 0.0
    preemption: str = ""
    log: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the explanation for a person, in one to four lines. Rules: EXT-76."""
        return "\n".join(map(shown, self._lines()))

    def _lines(self) -> list[str]:
        name = f"{self.application_id}/{self.allocation_key}"
        if not self.pending:
            if self.placed:
                return [f"{name} does not wait: {', '.join(self.placed)}"]
            return [f"{name} does not wait: the scheduler has no such ask (any more)"]
        size = f", each {amounts_text(self.requested)}" if self.requested else ""
        lines = [f"{name} waits: {self.pending} pending{size}"]
        if not self.gate:
            return [*lines, "  the scheduler has not tried it yet"]
        whole = self.gate == gates.QUEUE_QUOTA and self.subject == ROOT
        sentence, advice = _CLUSTER if whole else _SENTENCES.get(self.gate, _OTHER)
        lines.append(f"  {self.gate}: {sentence(self)}")
        if self.preemption:
            lines.append(f"  nothing was preempted for it: {self.preemption}")
        if advice:
            lines.append(f"  what helps: {advice}")
        return lines

    def _repr_html_(self) -> str:
        """Return the explanation as a notebook shows it."""
        return lines_html(str(self))


def explain(look: Look, name: AskName, now_ns: int) -> Explanation:
    """Return why an ask waits, or that it does not; ``now_ns``: the time on the wall clock."""
    query = ApplicationQuery(name.partition, name.application_id, rm_id=name.rm_id)
    for application in _rows(look(query)):
        if not isinstance(application, ApplicationView):
            continue
        placed = tuple(
            [
                f"{view.allocation_id} runs on {view.node_id}"
                for view in application.allocations
                if view.allocation_key == name.allocation_key
            ]
        )
        for request in waiting_asks(look, application, name.allocation_key):
            return _explained(name.application_id, request, placed, now_ns)
        return Explanation(name.application_id, name.allocation_key, 0, placed=placed)
    return Explanation(name.application_id, name.allocation_key, 0)


def waiting_asks(look: Look, application: ApplicationView, key: str = "") -> Iterator[RequestView]:
    """The asks of an application that wait, by key; with a ``key`` only that one."""
    waiting = application.waiting
    if waiting is None:
        found = list(application.requests)
    else:
        chosen = tuple([each for each in waiting.asks if key in ("", waiting.key(each))])
        views = _rows(look(AskPortionQuery(waiting, chosen)))
        found = [view for view in views if isinstance(view, RequestView)]
    for request in sorted(found, key=lambda each: each.allocation_key):
        if key in ("", request.allocation_key):
            yield request


def _rows(found: View) -> Iterable[object]:
    """Return a list of views; an unknown partition has none."""
    if found is None:
        return ()
    assert isinstance(found, tuple | Rows)
    return found


def _explained(
    application_id: str, request: RequestView, placed: tuple[str, ...], now_ns: int
) -> Explanation:
    """Return why an ask waits that has something pending."""
    log = tuple([each.message for each in sorted(request.log, key=lambda each: each.last_ns)])
    found = request.finding
    if found is None:
        return Explanation(
            application_id,
            request.allocation_key,
            request.pending_count,
            requested=dict(request.resource),
            log=log,
            placed=placed,
        )
    return Explanation(
        application_id,
        request.allocation_key,
        request.pending_count,
        gate=found.gate,
        subject=found.subject,
        requested=dict(found.requested),
        available=None if found.available is None else dict(found.available),
        nodes=_counts(found),
        waiting_seconds=max(0, now_ns - found.since_ns) / 1e9,
        preemption=found.preemption,
        log=log,
        placed=placed,
    )


def _counts(found: FindingView) -> NodeCounts | None:
    nodes = found.nodes
    if nodes is None:
        return None
    return NodeCounts(
        nodes.total,
        nodes.draining,
        nodes.reserved,
        nodes.too_small,
        nodes.no_room,
        nodes.refused,
        nodes.reasons,
    )


# ------------------------------------------------------------------------------------ sentences


def _left(why: Explanation) -> str:
    """Say what is left at the subject."""
    return f"{why.subject} has {amounts_text(why.available or {})} left"


def _named(application_id: str) -> str:
    return f"application {application_id}" if application_id else ""


def _of_nodes(why: Explanation) -> str:
    nodes = why.nodes
    if nodes is None or not nodes.total:
        return "there are no nodes"
    counts = (
        (nodes.draining, "draining"),
        (nodes.reserved, "reserved"),
        (nodes.too_small, "too small"),
        (nodes.no_room, "without enough room now"),
        (nodes.refused, "refused by predicates"),
    )
    parts = [f"{number} {what}" for number, what in counts if number]
    word = "node" if nodes.total == 1 else "nodes"
    reasons = "".join(f"; {number} of them: {text}" for text, number in nodes.reasons)
    return f"of {nodes.total} {word} {', '.join(parts) or 'none was free'}{reasons}"


def _of_gang(why: Explanation) -> str:
    if why.available is None:
        return f"the placeholders of {why.subject} are not all placed, or all taken"
    return (
        f"{why.subject} has {amounts_text(why.available)} left for the whole gang, "
        f"which needs {amounts_text(why.requested or {})}"
    )


def _of_required_node(why: Explanation) -> str:
    return why.log[-1] if why.log else f"node {why.subject} does not take it"


_Sentence = Callable[[Explanation], str]

_OTHER: Final[tuple[_Sentence, str]] = (lambda why: why.subject or "it is closed", "")

# The root queue may use what the nodes have.
_CLUSTER: Final[tuple[_Sentence, str]] = (
    lambda why: f"the whole cluster has {amounts_text(why.available or {})} left",
    "an allocation that ends, or another node",
)

_SENTENCES: Final[Mapping[str, tuple[_Sentence, str]]] = MappingProxyType(
    {
        gates.HALTED: (
            lambda why: f"an operator stopped {why.subject}",
            "to start it again",
        ),
        gates.ENDING: (lambda why: f"application {why.subject} is failing", "to submit it anew"),
        gates.TURN: (
            lambda why: f"{_named(why.subject) or 'an earlier application'} starts first",
            "to wait until that one runs",
        ),
        gates.BACKOFF: (
            lambda why: "too many asks of the application found no node",
            "to wait, or to add nodes on which they fit",
        ),
        gates.MAX_APPLICATIONS: (
            lambda why: f"{why.subject} runs as many applications as it may",
            "an application that ends, or a higher maximum of applications",
        ),
        gates.USER_QUOTA: (_left, "an allocation that ends there, or a higher limit"),
        gates.QUEUE_QUOTA: (_left, "an allocation that ends there, or a higher maximum"),
        gates.GANG: (_of_gang, "room for the whole gang"),
        gates.REQUIRED_NODE: (_of_required_node, "room on that node"),
        gates.NODES: (_of_nodes, "an allocation that ends, or another node"),
    }
)
