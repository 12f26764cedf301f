"""What the cycle decided.

It is data: nothing has changed yet, ``apply`` carries it out, on the very state it was made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, final

from mypy_extensions import mypyc_attr

from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.node import Node
from remuda.core.model.queue import Queue
from remuda.core.model.ranking import SortKey
from remuda.core.model.request import Lane, Request, Strand
from remuda.core.model.reservation import Reservation
from remuda.core.model.trackers import QueueTracker
from remuda.core.ports import PreemptionItem


@final
class Refusals:
    """Nodes with room that predicates do not accept, in the order they were asked about.

    ``now``: refused while this was decided; ``known``: refused before, and not changed since. Each
    with the reason. ``best``: the node that would be reserved if it were not refused, for the
    reason ``to_reserve``. ``told``: something has to be noted although a node was found.
    """

    __slots__ = ("best", "known", "now", "to_reserve", "told")

    def __init__(self) -> None:
        self.now: list[tuple[Node, str]] = []
        self.known: list[tuple[Node, str]] = []
        self.best: Node | None = None
        self.to_reserve: str = ""
        self.told: bool = False


# For decisions that asked nobody; nobody adds to it.
NO_REFUSALS: Final = Refusals()


@final
@mypyc_attr(acyclic=True)
class Allocate:
    """Place one allocation of an ask on a node.

    ``reservation``: the one that ends with it: it is made use of, or not needed any more.
    ``cancelled``: reservations of others that give way to an ask for just this node (CYC-14).
    """

    __slots__ = ("cancelled", "node", "refusals", "request", "reservation")

    def __init__(
        self,
        request: Request,
        node: Node,
        refusals: Refusals = NO_REFUSALS,
        reservation: Reservation | None = None,
    ) -> None:
        self.request = request
        self.node = node
        self.refusals = refusals
        self.reservation = reservation
        self.cancelled: Sequence[Reservation] = ()


@final
class Reserve:
    """Keep a node free for an ask that found none. ``cancelled``: as for Allocate."""

    __slots__ = ("cancelled", "node", "refusals", "request")

    def __init__(self, request: Request, node: Node, refusals: Refusals) -> None:
        self.request = request
        self.node = node
        self.refusals = refusals
        self.cancelled: Sequence[Reservation] = ()


@final
class Attempt:
    """An attempt to preempt that chose nobody, for a ``reason`` (PRE-58).

    ``cost``: how many nodes and allocations it looked at. ``ticket``: the number of the question
    about ``asked`` that the RM answers later; 0: nothing is open (EXT-18). ``passed``: it goes on
    after so many nodes; 0: it is over. ``opens_ns``: when a reservation that was in the way is old
    enough to give way, 0: none will be. ``blocked``: reservations of others are in the way (PRE-5).
    """

    __slots__ = ("asked", "blocked", "cost", "opens_ns", "passed", "reason", "ticket")

    def __init__(
        self,
        reason: str,
        cost: int = 1,
        ticket: int = 0,
        asked: tuple[PreemptionItem, ...] = (),
    ) -> None:
        self.reason = reason
        self.cost = cost
        self.ticket = ticket
        self.asked = asked
        self.passed: int = 0
        self.opens_ns: int = 0
        self.blocked: bool = False


@final
class Preempt:
    """Let some allocations go so that an ask can be placed on a node (PRE-34, PRE-44).

    ``kind``: what it is for, see model.preemption. ``victims``: in the order they were chosen, of
    which ``for_queue`` make room under a maximum, not on the node. ``reasons``: what justifies it.
    ``cancelled``: reservations of others there that give way. ``nodes_tried``: no node took the
    ask; False: a maximum stopped it first.
    """

    __slots__ = (
        "cancelled",
        "for_queue",
        "kind",
        "lane",
        "node",
        "nodes_tried",
        "reasons",
        "request",
        "victims",
    )

    def __init__(self, request: Request, lane: Lane, node: Node, kind: str) -> None:
        self.request = request
        self.lane = lane
        self.node = node
        self.kind = kind
        self.victims: Sequence[Allocation] = ()
        self.nodes_tried: bool = True
        self.for_queue: frozenset[Allocation] = frozenset()
        self.reasons: Sequence[str] = ()
        self.cancelled: Sequence[Reservation] = ()


@final
class Park:
    """Nothing of a lane can be placed: a queue's limit is in the way, or no node takes it.

    ``limiting``: the first queue, leaf upwards, whose maximum is too small; None: no node.
    ``others``: what stops new strands of the lane before that. ``counts``: the first ask is one
    more of its application that found no node; ``pauses``: that backs off (CYC-33). ``gang``: the
    limit has no room for the whole gang. ``attempt``: why no room was taken from others for the
    first ask, None if that was not tried.
    """

    __slots__ = (
        "attempt",
        "counts",
        "gang",
        "lane",
        "limiting",
        "others",
        "pauses",
        "refusals",
    )

    def __init__(self, lane: Lane, limiting: Queue | None, refusals: Refusals) -> None:
        self.lane = lane
        self.limiting = limiting
        self.refusals = refusals
        self.others: Sequence[Hold | Wait] = ()
        self.counts: bool = False
        self.pauses: bool = False
        self.gang: bool = False
        self.attempt: Attempt | None = None


@final
class Wait:
    """Nothing of a strand can be placed: its user or group has no room for it."""

    __slots__ = ("strand", "tracker")

    def __init__(self, strand: Strand, tracker: QueueTracker) -> None:
        self.strand = strand
        self.tracker = tracker


@final
class Hold:
    """The applications of a strand may not start: ``queue`` or ``quota`` has all it may have."""

    __slots__ = ("queue", "quota", "strand")

    def __init__(self, strand: Strand, queue: Queue | None, quota: QueueTracker | None) -> None:
        self.strand = strand
        self.queue = queue
        self.quota = quota


@final
class Pause:
    """An ask that may find a node now belongs to an application that backs off (CYC-33)."""

    __slots__ = ("application",)

    def __init__(self, application: Application) -> None:
        self.application = application


@final
class Await:
    """Nothing is decided: the RM has not said yet which nodes are acceptable (EXT-14).

    ``ticket``: the number of the question just asked about ``lane`` and ``nodes``, to run there
    (``allocate``) or to reserve; 0: an earlier question is open. ``application``: whose
    placeholders have to wait for that; None: the lane does.
    """

    __slots__ = ("allocate", "application", "lane", "nodes", "ticket")

    def __init__(self, lane: Lane | None, application: Application | None = None) -> None:
        self.lane = lane
        self.application = application
        self.ticket: int = 0
        self.nodes: Sequence[Node] = ()
        self.allocate: bool = True


@final
class Postpone:
    """Nothing is decided: of some nodes nothing is known, and none is good (EXT-17).

    About a lane, or the placeholders of an application.
    """

    __slots__ = ("application", "lane")

    def __init__(self, lane: Lane | None, application: Application | None = None) -> None:
        self.lane = lane
        self.application = application


@final
class Replacement:
    """An ask takes the place of a placeholder; ``node``: that of the placeholder, or another."""

    __slots__ = ("node", "placeholder", "request")

    def __init__(self, request: Request, placeholder: Allocation, node: Node) -> None:
        self.request = request
        self.placeholder = placeholder
        self.node = node


@final
class Swap:
    """What becomes of placeholders of an application (GANG-10).

    ``replacement`` None: nothing can be replaced. ``discarded``: placeholders to give up, each with
    the ask of its task group that it is too small for (GANG-15). ``reasons``: why predicates
    refused nodes of placeholders, by ask. ``tried``: the ask another node was looked for, None: for
    none; ``refusals``: what was met on the way there. ``looked_until``: the place of the last ask
    that was looked at if there are more, else empty. ``judged``: lanes with verdicts of the RM,
    which end here.
    """

    __slots__ = (
        "application",
        "discarded",
        "judged",
        "looked_until",
        "reasons",
        "refusals",
        "replacement",
        "tried",
    )

    def __init__(self, application: Application) -> None:
        self.application = application
        self.replacement: Replacement | None = None
        self.discarded: list[tuple[Request, Allocation]] = []
        self.reasons: list[tuple[Request, str]] = []
        self.judged: list[Lane] = []
        self.tried: Request | None = None
        self.refusals: Refusals = NO_REFUSALS
        self.looked_until: SortKey = ()


Decision: TypeAlias = (
    Allocate | Reserve | Preempt | Park | Wait | Hold | Pause | Swap | Await | Postpone
)
