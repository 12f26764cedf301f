"""The decisions of the cycle.

A decision is data. ``apply`` carries it out on the same state, so a decision never becomes stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, final

from remuda.base.native import mypyc_attr
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.class_queue import ClassQueue, LimitGroup
from remuda.core.model.asks.predicate_class import PredicateClass
from remuda.core.model.asks.request import Request
from remuda.core.model.nodes.node import Node
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import QueueTracker
from remuda.core.model.ranking import SortKey
from remuda.core.model.reservation import Reservation
from remuda.core.ports import NodesAnswer, PreemptionItem


@final
class Refusals:
    """Nodes with room that predicates refuse, in the order of the questions.

    ``now``: (node, reason) refused during this decision; ``known``: (node, reason) refused earlier,
    on a node that has not changed since. ``best``: the node that would be reserved if it were not
    refused; ``to_reserve``: the reason of that refusal. ``to_note``: refusals must be noted
    although a node was found.
    """

    __slots__ = ("best", "known", "now", "to_note", "to_reserve")

    def __init__(self) -> None:
        self.now: list[tuple[Node, str]] = []
        self.known: list[tuple[Node, str]] = []
        self.best: Node | None = None
        self.to_reserve: str = ""
        self.to_note: bool = False


# For decisions without questions to the RM; never changed.
NO_REFUSALS: Final = Refusals()


@final
@mypyc_attr(acyclic=True)
class Allocate:
    """Place one allocation of an ask on a node.

    ``reservation``: the reservation that ends with it, whether it was used or is not needed any
    more. ``cancelled``: reservations of other asks that are cancelled for an ask that requires the
    node (CYC-14).
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
    """Reserve a node for an ask that fits none. ``cancelled``: as for Allocate."""

    __slots__ = ("cancelled", "node", "refusals", "request")

    def __init__(self, request: Request, node: Node, refusals: Refusals) -> None:
        self.request = request
        self.node = node
        self.refusals = refusals
        self.cancelled: Sequence[Reservation] = ()


@final
class Attempt:
    """An attempt to preempt that chose no victims, for a ``reason`` (PRE-58).

    ``cost``: how many nodes and allocations it looked at. ``ticket``: the number of the open
    question about ``asked`` that the RM answers later; 0: none is open (EXT-18). ``passed``: the
    next attempt continues after so many nodes; 0: the attempt is complete. ``opens_ns``: when a
    reservation that closed a node is old enough to be cancelled, 0: never. ``blocked``:
    reservations of other asks closed nodes (PRE-5).
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
    """Preempt some allocations so that an ask can be placed on a node (PRE-34, PRE-44).

    ``kind``: the purpose, see model.preemption. ``victims``: in the order in which they were
    chosen; ``for_queue``: those that make room below a maximum, not on the node. ``reasons``: the
    reasons of the choice. ``cancelled``: reservations of other asks on the node that are cancelled.
    ``nodes_tried``: the ask was tried on nodes without success; False: a maximum stopped it first.
    """

    __slots__ = (
        "cancelled",
        "class_queue",
        "for_queue",
        "kind",
        "node",
        "nodes_tried",
        "reasons",
        "request",
        "victims",
    )

    def __init__(self, request: Request, class_queue: ClassQueue, node: Node, kind: str) -> None:
        self.request = request
        self.class_queue = class_queue
        self.node = node
        self.kind = kind
        self.victims: Sequence[Allocation] = ()
        self.nodes_tried: bool = True
        self.for_queue: frozenset[Allocation] = frozenset()
        self.reasons: Sequence[str] = ()
        self.cancelled: Sequence[Reservation] = ()


@final
class NoRoom:
    """No ask of a class queue can be placed: a queue's maximum or all nodes lack room.

    ``limiting``: the first queue, leaf upwards, whose maximum lacks room; None: no node was found.
    ``others``: the limits that stop limit groups with new asks of the class queue. ``counts``: the
    first ask counts as one more of its application that found no node; ``pauses``: the application
    backs off then (CYC-33). ``gang``: the maximum has no room for the whole gang. ``attempt``: the
    fruitless attempt to preempt for the first ask, None if none was made.
    """

    __slots__ = (
        "attempt",
        "class_queue",
        "counts",
        "gang",
        "limiting",
        "others",
        "pauses",
        "refusals",
    )

    def __init__(self, class_queue: ClassQueue, limiting: Queue | None, refusals: Refusals) -> None:
        self.class_queue = class_queue
        self.limiting = limiting
        self.refusals = refusals
        self.others: Sequence[ApplicationLimitReached | UserQuotaReached] = ()
        self.counts: bool = False
        self.pauses: bool = False
        self.gang: bool = False
        self.attempt: Attempt | None = None


@final
class UserQuotaReached:
    """No ask of a limit group can be placed: the limit of its user or group has no room."""

    __slots__ = ("limit_group", "tracker")

    def __init__(self, limit_group: LimitGroup, tracker: QueueTracker) -> None:
        self.limit_group = limit_group
        self.tracker = tracker


@final
class ApplicationLimitReached:
    """Applications of a limit group may not start: ``queue`` or ``quota`` is at its limit."""

    __slots__ = ("limit_group", "queue", "quota")

    def __init__(
        self, limit_group: LimitGroup, queue: Queue | None, quota: QueueTracker | None
    ) -> None:
        self.limit_group = limit_group
        self.queue = queue
        self.quota = quota


@final
class BackedOff:
    """The ask that is served next belongs to an application that backs off (CYC-33)."""

    __slots__ = ("application",)

    def __init__(self, application: Application) -> None:
        self.application = application


@final
class UnblockInTurn:
    """Unblock class queues that are served next, since a queue or node gained room (CYC-25).

    ``class_queues``: those to unblock. If it is empty, no class queue waits for the gained room.
    """

    __slots__ = ("class_queues",)

    def __init__(self, class_queues: Sequence[ClassQueue]) -> None:
        self.class_queues = class_queues


@final
class AwaitPredicates:
    """Wait for the RM, which has not answered yet which nodes are acceptable (EXT-14).

    ``ticket``: the number of the question just asked about ``class_queue`` and ``nodes``, to run
    there (``allocate``) or to reserve; 0: an earlier question is open. ``wanted``: how many of the
    nodes the class queue can use. ``application``: the application whose swaps wait for the answer;
    None: the class queue waits.
    """

    __slots__ = ("allocate", "application", "class_queue", "nodes", "ticket", "wanted")

    def __init__(
        self,
        class_queue: ClassQueue | None,
        application: Application | None = None,
        wanted: int = 1,
    ) -> None:
        self.class_queue = class_queue
        self.application = application
        self.wanted = wanted
        self.ticket: int = 0
        self.nodes: Sequence[Node] = ()
        self.allocate: bool = True


@final
class PostponePredicates:
    """Try later: the RM gave no answer about some nodes, and no other node was accepted (EXT-17).

    Either a class queue or the swaps of an application are postponed.
    """

    __slots__ = ("application", "class_queue")

    def __init__(
        self, class_queue: ClassQueue | None, application: Application | None = None
    ) -> None:
        self.class_queue = class_queue
        self.application = application


@final
class Probe:
    """Ask the RM again about nodes it refused to a ``predicate_class`` (EXT-15).

    ``answer``: the answer of the RM, None without a question. ``skipped``: how many ask classes of
    this round are done; ``reserving``: the question is about the node that the next ask class would
    reserve. ``last``: the last node that was looked at, if there may be others behind it.
    """

    __slots__ = ("answer", "last", "nodes", "predicate_class", "reserving", "skipped")

    def __init__(self, predicate_class: PredicateClass) -> None:
        self.predicate_class = predicate_class
        self.nodes: list[Node] = []
        self.answer: NodesAnswer | None = None
        self.skipped: int = 0
        self.reserving: bool = False
        self.last: Node | None = None


@final
class Replacement:
    """An ask replaces a placeholder; ``node``: that of the placeholder, or another one."""

    __slots__ = ("node", "placeholder", "request")

    def __init__(self, request: Request, placeholder: Allocation, node: Node) -> None:
        self.request = request
        self.placeholder = placeholder
        self.node = node


@final
class Swap:
    """Replace and discard placeholders of an application (GANG-10).

    ``replacement`` None: no placeholder can be replaced. ``discarded``: placeholders to discard,
    each with the ask of its task group that it is too small for (GANG-15). ``reasons``: why
    predicates refused nodes of placeholders, by ask. ``tried``: the ask for which another node was
    looked for, None: none; ``refusals``: the refusals of that search. ``looked_until``: the sort
    key of the last ask that was looked at if there are more, else empty. ``judged``: class queues
    whose verdicts were used and are forgotten now.
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
        self.judged: list[ClassQueue] = []
        self.tried: Request | None = None
        self.refusals: Refusals = NO_REFUSALS
        self.looked_until: SortKey = ()


Decision: TypeAlias = (
    Allocate
    | Reserve
    | Preempt
    | NoRoom
    | UserQuotaReached
    | ApplicationLimitReached
    | BackedOff
    | Swap
    | UnblockInTurn
    | AwaitPredicates
    | PostponePredicates
    | Probe
)
