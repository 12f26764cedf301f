"""Asks as the scheduler keeps them: grouped, so that equal ones are decided once.

A *shape* is what makes asks interchangeable for a node: amounts, required node, predicate
class. In one leaf all asks of one shape form a *lane*; those of them whose applications the same
limits of users and groups concern form a *strand*, in which each application has a *group*. When
the first ask of a lane fits no node or no limit of a queue, none of the lane does: the whole lane
is parked. What only concerns a user or group, or applications that may not start, sets its strand
aside. Neither costs anything until what stopped it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

from remuda.core.messages.commands import Ask
from remuda.core.model.ranking import Ranking, SortKey
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.application import Application
    from remuda.core.model.bound import Bound, WaitKey
    from remuda.core.model.node import Node
    from remuda.core.model.queue import Queue
    from remuda.core.model.trackers import Account

# Number of the amounts, required node, predicate class.
ShapeKey: TypeAlias = tuple[int, str, str]

# Number of the account, gated.
StrandKey: TypeAlias = tuple[int, bool]


@final
class Shape:
    """Equal requirements on a node, of one partition.

    ``constraint`` is the predicate class: asks with the same one get the same answers; an ask that
    names none has one of its own. With ``volatile`` the answers may change on their own, so every
    request of the RM wakes the shape. ``waiting``: lanes parked because no node took them.
    """

    __slots__ = (
        "amounts",
        "constraint",
        "groups",
        "key",
        "number",
        "required_node",
        "volatile",
        "waiting",
    )

    def __init__(self, number: int, key: ShapeKey, amounts: Amounts, volatile: bool) -> None:
        self.number = number
        self.key = key
        self.amounts = amounts
        self.required_node: str = key[1]
        self.constraint: str = key[2]
        self.volatile = volatile
        self.groups: int = 0
        self.waiting: dict[int, Lane] = {}

    def reaches(self, node: Node) -> bool:
        """Whether such an ask may use a node at all, room and predicates apart.

        Rules: NOD-8 (a required node may be draining).
        """
        if self.required_node:
            return self.required_node == node.node_id
        return node.schedulable


@final
class Request:
    """One ask: ``pending`` allocations still to come, ``made`` so far (SI-34).

    ``adopted``: how many an earlier ask of the key had left running when this one came.
    ``next_identity``: the least number for the identity of the next allocation (SI-35).
    ``allocation_ids`` are the live allocations of the key, in order of creation. ``sort_key``:
    the place among the asks of the application (QUE-44).
    """

    __slots__ = (
        "adopted",
        "allocation_ids",
        "amounts",
        "application",
        "ask",
        "attempted",
        "created_ns",
        "group",
        "made",
        "next_identity",
        "number",
        "pending",
        "sort_key",
    )

    def __init__(
        self, number: int, ask: Ask, amounts: Amounts, application: Application, created_ns: int
    ) -> None:
        self.number = number
        self.ask = ask
        self.amounts = amounts
        self.application = application
        self.created_ns = created_ns
        self.pending: int = 0
        self.made: int = 0
        self.adopted: int = 0
        self.next_identity: int = 0
        self.attempted: bool = False
        self.group: Group | None = None
        self.allocation_ids: dict[str, None] = {}
        self.sort_key: SortKey = (-ask.priority, created_ns, number)

    def replace(self, ask: Ask, amounts: Amounts) -> None:
        """Take over a new version of the ask; age and number stay. Rules: SI-33."""
        self.ask = ask
        self.amounts = amounts
        self.sort_key = (-ask.priority, self.created_ns, self.number)


@final
class Group:
    """The pending asks of one application in one strand, in order."""

    __slots__ = ("application", "order", "requests", "strand")

    def __init__(self, application: Application, strand: Strand) -> None:
        self.application = application
        self.strand = strand
        self.order = Ranking()
        self.requests: dict[int, Request] = {}

    def first(self) -> Request:
        """Return the ask that is served next; a group is never empty."""
        return self.requests[self.order.first()]


@final
class Strand:
    """The part of a lane whose applications have the same account, in the order they are served.

    ``gated``: they are Accepted and must be allowed to start first (QUE-25). ``aside``: what it
    waits at, for room or, if ``held``, for a place for one more application. ``fresh``:
    applications nobody looked at yet (LIM-20), by number.
    """

    __slots__ = ("account", "aside", "fresh", "gated", "groups", "held", "lane", "number", "order")

    def __init__(self, number: int, lane: Lane, account: Account, *, gated: bool) -> None:
        self.number = number
        self.lane = lane
        self.account = account
        self.gated = gated
        self.order = Ranking()
        self.groups: dict[int, Group] = {}
        self.fresh: dict[int, Application] = {}
        self.aside: Bound | None = None
        self.held: bool = False

    def key(self) -> StrandKey:
        """Return what makes it one strand of its lane."""
        return (self.account.number, self.gated)

    def place(self) -> WaitKey:
        """Return under what it is listed where it waits: of each such, the first goes first."""
        return (self.lane.leaf.path, self.lane.shape.number)

    def first(self) -> Request:
        """Return the ask that is served next; a strand is never empty."""
        return self.groups[self.order.first()].first()


@final
class Lane:
    """The pending asks of one shape in one leaf: its strands that are not aside, in order.

    ``parked``: it waits, at the queue ``parked_at`` or, without one, at its shape for a node.
    ``fresh``: strands with applications nobody looked at yet, by number.
    """

    __slots__ = (
        "fresh",
        "leaf",
        "number",
        "order",
        "parked",
        "parked_at",
        "shape",
        "strand_keys",
        "strands",
    )

    def __init__(self, number: int, leaf: Queue, shape: Shape) -> None:
        self.number = number
        self.leaf = leaf
        self.shape = shape
        self.order = Ranking()
        self.strands: dict[int, Strand] = {}
        self.strand_keys: dict[StrandKey, Strand] = {}
        self.fresh: dict[int, Strand] = {}
        self.parked: bool = False
        self.parked_at: Queue | None = None

    def first(self) -> Strand:
        """Return the strand that is served next; not all may be aside. Rules: QUE-40, QUE-44."""
        return self.strands[self.order.first()]
