"""The question about everything that decides when one ask is placed (rules: EXT-44, EXT-45)."""

from __future__ import annotations

from typing import Final

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.core.messages.ask import Ask
from remuda.core.messages.ask_views import NodeSummaryView

# Why a node takes an ask or does not (NodeVerdictView).
TAKES: Final = "takes it"
DRAINING: Final = "draining"
RESERVED: Final = "reserved"
TOO_SMALL: Final = "too small"
NO_ROOM: Final = "no room"
REFUSED: Final = "refused by predicates"

# What is compared on a level (LevelView).
QUEUES: Final = "queues"
APPLICATIONS: Final = "applications"
ASKS: Final = "asks"


@message
class AskTraceQuery:
    """One waiting ask of a live application -> AskTraceView.

    None: there is no such partition, application or ask, or nothing of the ask is pending.
    """

    partition: str
    application_id: str
    allocation_key: str
    rm_id: str = ""


@message
class ConfigurationInForceQuery:
    """The configuration in force of an RM -> Configuration; None: the RM is not registered."""

    rm_id: str


@message
class GateView:
    """One check of an ask, with its numbers (EXT-44).

    ``gate``: one of the names in messages.gates. ``subject``: the object that is checked, as in a
    FindingView. ``requested``, ``used``, ``maximum`` and ``available`` are set if the gate compares
    amounts, the last three in the limited types. ``applications`` of ``max_applications`` count, 0
    if the gate does not compare these.
    """

    gate: str
    subject: str
    passed: bool
    requested: Resource | None = None
    used: Resource | None = None
    maximum: Resource | None = None
    available: Resource | None = None
    applications: int = 0
    max_applications: int = 0


@message
class ShareTermView:
    """One type in the share of a queue: its usage, what that is divided by, and the ratio."""

    resource: str
    used: int
    divisor: int
    ratio: float


@message
class RivalView:
    """A queue, application or ask that is served before another one, and what is compared (EXT-45).

    ``share`` 0: of asks, and of applications that are sorted by age. ``asks``: how many wait in it.
    """

    name: str
    priority: int
    share: float
    since_ns: int
    asks: int


@message
class LevelView:
    """The place of an ask on one level of the tree, from root to the asks of its application.

    ``path``: the parent queue, the leaf (whose applications are compared), or the application ID
    (whose asks are). ``kind``: ``queues``, ``applications`` or ``asks``. ``name``: what leads to
    the ask. ``order``: what is compared, most important first. ``place`` of ``count``: counted from
    1, among those with waiting asks. ``terms``: of the share, for queues. ``asks_ahead``: how many
    asks wait in what is served before it. ``ahead``: the nearest of these, nearest first.
    """

    path: str
    kind: str
    name: str
    order: tuple[str, ...]
    place: int
    count: int
    priority: int
    share: float
    since_ns: int
    terms: tuple[ShareTermView, ...]
    asks_ahead: int
    ahead: tuple[RivalView, ...]


@message
class NodeVerdictView:
    """Why one node takes an ask or does not; ``lacking``: what it misses now, by type."""

    node_id: str
    verdict: str
    lacking: Resource
    reason: str = ""


@message
class AskTraceView:
    """Everything that decides when an ask is placed.

    ``ask``: as it was requested. ``gates``: in the order in which they are checked; all are
    checked, also behind one that stops the ask. ``levels``: from root down. ``nodes``: the nodes by
    reason; ``takes``: how many take it; ``nearest``: some of them, the one that lacks least first.
    ``preemption``: as in a FindingView.
    """

    ask: Ask
    queue: str
    user: str
    groups: tuple[str, ...]
    pending: int
    gates: tuple[GateView, ...]
    levels: tuple[LevelView, ...]
    nodes: NodeSummaryView
    takes: int
    nearest: tuple[NodeVerdictView, ...]
    preemption: str
