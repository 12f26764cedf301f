"""Asks as the scheduler keeps them: grouped, so that equal ones are decided once.

A *shape* is what makes asks interchangeable for a node: amounts, required node, predicate class,
node order, and how far they got with reserving one (their *stage*); in a gang also the task group,
and what quotas must have room for first. In one leaf all asks of one shape form a *lane*; those of
them whose applications the same limits of users and groups concern form a *strand*, in which each
application has a *group*. When the first ask of a lane fits no node or no limit of a queue, none of
the lane does: the whole lane is parked. What only concerns a user or group, or applications that
may not start, sets its strand aside. Neither costs anything until what stopped it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, final

from remuda.core.messages.commands import Ask
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model.ask_order import AskOrder
from remuda.core.model.attempts import PAUSE_NS, Hearing, Tried
from remuda.core.model.finding import Finding, LogEntry
from remuda.core.model.ranking import Ranking, SortKey
from remuda.core.model.shape import HOME, Shape
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.application import Application
    from remuda.core.model.bound import Bound, WaitKey
    from remuda.core.model.node import Node
    from remuda.core.model.preemption import Preemption
    from remuda.core.model.queue import Queue
    from remuda.core.model.reservation import Reservation
    from remuda.core.model.trackers import Account, QueueTracker

# How applications in Accepted and others are let through (CYC-11): freely; asked whether they may
# start; asked but for their queues, where they count already (QUE-24); not at all.
FREE: Final = 0
GATED: Final = 1
QUOTA_GATED: Final = 2
CLOSED: Final = 3

# What asks without a reservation share, to spare memory; nobody adds to it.
NO_RESERVATIONS: Final[dict[str, Reservation]] = {}

# Likewise those that never had two allocations.
NO_IDENTITIES: Final[dict[str, None]] = {}

# Asks a strand may remember that were looked at meanwhile, beyond as many as were not.
_SMALL: Final = 64

# Number of the account, gate.
StrandKey: TypeAlias = tuple[int, int]


@final
class Request:
    """One ask: ``pending`` allocations still to come, ``made`` so far (SI-34).

    ``adopted``: how many an earlier ask of the key had left running when this one came.
    ``next_identity``: the least number for the identity of the next allocation (SI-35).
    ``only_identity``: the live allocation of the key while there was never but one, else "", for
    most asks are for one; ``identities``: all of them, oldest first, once there were two.
    ``sort_key``: the place among the asks of the application (QUE-44).

    ``aged``: old enough to reserve (RSV-3); ``ages``: its partition knows when.
    ``reservations``: by node ID, oldest first. ``looked``: a decision looked at it (decision 51);
    ``attempted``: with enough user quota. ``fits_queue``, ``fits_user``: what observers were told
    (EVT-42). ``log``: see CYC-24. ``waits_since_ns``: when it was first found that it must wait, 0:
    never. ``told_ns``: when a refusal by predicates was told last (EVT-44). ``reported``: its RM
    knows that it waits for resources (CYC-30); ``outstanding``: it may have to be told.
    ``preemption``: the one that stands for it, None if there is none (PRE-6, PRE-89). ``ripe``: it
    may preempt others now; ``ripens``: its partition knows when; ``tried_ns``: when that was last
    tried for it, None: never (PRE-5).
    """

    __slots__ = (
        "adopted",
        "aged",
        "ages",
        "amounts",
        "application",
        "ask",
        "attempted",
        "created_ns",
        "fits_queue",
        "fits_user",
        "group",
        "identities",
        "log",
        "looked",
        "made",
        "next_identity",
        "number",
        "only_identity",
        "outstanding",
        "pending",
        "preemption",
        "reported",
        "reservations",
        "ripe",
        "ripens",
        "sort_key",
        "told_ns",
        "tried_ns",
        "unplaced",
        "waits_since_ns",
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
        self.aged: bool = False
        self.ages: bool = False
        self.attempted: bool = False
        self.reported: bool = False
        self.unplaced: bool = False
        self.outstanding: bool = False
        self.preemption: Preemption | None = None
        self.ripe: bool = False
        self.ripens: bool = False
        self.tried_ns: int | None = None
        self.told_ns: int | None = None
        self.group: Group | None = None
        self.reservations: dict[str, Reservation] = NO_RESERVATIONS
        self.only_identity: str = ""
        self.identities: dict[str, None] = NO_IDENTITIES
        self.sort_key: SortKey = (-ask.priority, created_ns, number)
        self.looked: bool = False
        self.fits_queue: bool = True
        self.fits_user: bool = True
        self.waits_since_ns: int = 0
        self.log: tuple[LogEntry, ...] = ()

    def replace(self, ask: Ask, amounts: Amounts) -> None:
        """Take over a new version of the ask, as nobody looked at it; age and number stay.

        Rules: SI-33.
        """
        self.ask = ask
        self.amounts = amounts
        self.sort_key = (-ask.priority, self.created_ns, self.number)
        self.ripe = False
        self.looked = False
        self.fits_queue = True
        self.fits_user = True
        self.waits_since_ns = 0
        self.log = ()

    def note_allocation(self, identity: str) -> None:
        """List one more live allocation of the key. Rules: CYC-18."""
        if self.identities:
            self.identities[identity] = None
        elif self.only_identity:
            self.identities = {self.only_identity: None, identity: None}
            self.only_identity = ""
        else:
            self.only_identity = identity

    def forget_allocation(self, identity: str) -> None:
        """Take an allocation that ended off the list, if it is on it. Rules: CYC-18."""
        if identity == self.only_identity:
            self.only_identity = ""
        else:
            self.identities.pop(identity, None)

    def allocation_ids(self) -> list[str]:
        """Return the live allocations of the key, in order of creation. Rules: CYC-18."""
        return [self.only_identity] if self.only_identity else list(self.identities)

    def is_member(self) -> bool:
        """Whether it is a real ask of a task group. Rules: GANG-10."""
        return self.ask.task_group != "" and not self.ask.placeholder

    def may_preempt(self) -> bool:
        """Whether others may have to go for it once it waits for long. Rules: PRE-1, PRE-5."""
        return self.ask.allow_preempt_other and not self.required_node()

    def ripe_ns(self) -> int:
        """Return when it has waited for long enough, and after the last attempt. Rules: PRE-5."""
        leaf = self.application.queue
        assert leaf is not None
        due_ns = self.created_ns + leaf.settings.preemption_delay_ns
        return due_ns if self.tried_ns is None else max(due_ns, self.tried_ns + PAUSE_NS)

    def required_node(self) -> str:
        """Return the one node it may go to, "" if it may go to any. Rules: SI-39."""
        return self.ask.tags.get(REQUIRED_NODE, "")

    def wants_reservation(self) -> bool:
        """Whether it may have one reservation more. Rules: RSV-3, RSV-5, RSV-6."""
        return len(self.reservations) < self.reservation_limit()

    def oldest_reservation(self) -> Reservation | None:
        """Return its first reservation that is still there, None if it has none. Rules: RSV-6."""
        for reservation in self.reservations.values():
            return reservation
        return None

    def reservation_limit(self) -> int:
        """Return how many reservations it may have; one on a required node. Rules: RSV-6."""
        return min(self.pending, 1) if self.required_node() else self.pending


@final
class Group:
    """The pending asks of one application in one strand, in order."""

    __slots__ = ("application", "order", "strand")

    def __init__(self, application: Application, strand: Strand) -> None:
        self.application = application
        self.strand = strand
        self.order = AskOrder()

    def first(self) -> Request:
        """Return the ask that is served next; a group is never empty."""
        return self.order.first()


@final
class Strand:
    """The part of a lane whose applications have the same account, in the order they are served.

    ``gate``: whether they must be allowed to start first (QUE-25), by ``queue_gates`` and
    ``quota_gates``. Those of a CLOSED strand are not served at all. ``aside``: what it waits at,
    for room or, if ``held``, for a place for one more application. ``unseen``: how many asks nobody
    looked at yet (LIM-20); ``_fresh`` has them, and some that were. ``finding``: why it was set
    aside.
    """

    __slots__ = (
        "_fresh",
        "account",
        "aside",
        "finding",
        "gate",
        "groups",
        "held",
        "lane",
        "number",
        "order",
        "queue_gates",
        "quota_gates",
        "unseen",
    )

    def __init__(self, number: int, lane: Lane, account: Account, gate: int) -> None:
        self.number = number
        self.lane = lane
        self.account = account
        self.gate = gate
        self.queue_gates: tuple[Queue, ...] = lane.leaf.path_up if gate == GATED else ()
        asked = gate in (GATED, QUOTA_GATED)
        self.quota_gates: tuple[QueueTracker, ...] = account.gates if asked else ()
        self.order = Ranking()
        self.groups: dict[int, Group] = {}
        self.unseen: int = 0
        self._fresh: list[Request] = []
        self.aside: Bound | None = None
        self.held: bool = False
        self.finding: Finding | None = None

    def key(self) -> StrandKey:
        """Return what makes it one strand of its lane."""
        return (self.account.number, self.gate)

    def waits(self) -> bool:
        """Whether it is not to be served now. Rules: CYC-11, LIM-53."""
        return self.aside is not None or self.gate == CLOSED

    def place(self) -> WaitKey:
        """Return under what it is listed where it waits: of each such, the first goes first."""
        return (self.lane.leaf.path, self.lane.shape.number)

    def note_fresh(self, request: Request) -> None:
        """Note an ask of its own that nobody looked at."""
        self.unseen += 1
        self._fresh.append(request)

    def drop_fresh(self, count: int) -> None:
        """Note that some asks were looked at, or left. Cost: O(1) for each, in the long run."""
        self.unseen -= count
        if not self.unseen:
            self._fresh = []
        elif len(self._fresh) > 2 * self.unseen + _SMALL:
            self._fresh = self.fresh()

    def fresh(self) -> list[Request]:
        """Return the asks nobody looked at yet, in the order they came. Rules: LIM-20."""
        found: dict[int, Request] = {}
        for request in self._fresh:
            group = request.group
            if not request.looked and group is not None and group.strand is self:
                found[request.number] = request
        return [found[number] for number in sorted(found)]

    def standing(self) -> SortKey:
        """Return its place among others: that of its first application. Rules: QUE-40."""
        return (*self.order.first_key(), self.number)

    def first_group(self) -> Group:
        """Return the group of the application that is served next; a strand is never empty."""
        return self.groups[self.order.first()]

    def first(self) -> Request:
        """Return the ask that is served next; a strand is never empty."""
        return self.first_group().first()


@final
class Lane:
    """The pending asks of one shape in one leaf: its strands that are not aside, in order.

    ``parked``: it waits, at the queue ``parked_at`` or, without one, at its shape for a node.
    ``fresh``: strands with asks nobody looked at yet, by number. ``finding``: why it was parked.
    ``ranking``: the order of its leaf that it belongs to (CYC-5, CYC-19).

    While an RM has not answered yet (EXT-14): ``ticket``: the number of the question, 0: none;
    ``judged``: nodes that were asked about; ``listed``: those lanes of the partition among which it
    is parked, because it awaits an answer or is postponed until ``until_ns``.

    ``tried``: no room could be taken from others, which is not tried again until something changes
    (PRE-90); ``passed``: how many nodes it went past so far, if it goes on; ``hearing``: what the
    RM said of victims meanwhile, None if it was not asked.
    """

    __slots__ = (
        "finding",
        "fresh",
        "hearing",
        "judged",
        "leaf",
        "listed",
        "number",
        "order",
        "parked",
        "parked_at",
        "passed",
        "ranking",
        "shape",
        "strand_keys",
        "strands",
        "ticket",
        "tried",
        "until_ns",
    )

    def __init__(self, number: int, leaf: Queue, shape: Shape) -> None:
        self.number = number
        self.leaf = leaf
        self.shape = shape
        self.ranking: Ranking = leaf.urgent if shape.urgent else leaf.ready
        self.order = Ranking()
        self.strands: dict[int, Strand] = {}
        self.strand_keys: dict[StrandKey, Strand] = {}
        self.fresh: dict[int, Strand] = {}
        self.finding: Finding | None = None
        self.parked: bool = False
        self.parked_at: Queue | None = None
        self.ticket: int = 0
        self.judged: Sequence[Node] = ()
        self.listed: dict[int, Lane] | None = None
        self.until_ns: int = 0
        self.tried: Tried | None = None
        self.passed: int = 0
        self.hearing: Hearing | None = None

    def first(self) -> Strand:
        """Return the strand that is served next; not all may be aside. Rules: QUE-40, QUE-44."""
        return self.strands[self.order.first()]

    def place(self, strand: Strand) -> None:
        """Put a strand where it belongs. Where it is alone its place is no question."""
        order = self.order
        if len(order.keys) == 1:
            if order.first() == strand.number:
                return
            order.put(self.first().standing())
        order.put(strand.standing())

    def first_key(self) -> SortKey:
        """Return its place among lanes; not all strands may be aside. Rules: QUE-40, QUE-44."""
        return self.key_of(self.first().first_group())

    def key_of(self, group: Group) -> SortKey:
        """Return its place among lanes if a group is served first: that of the group's first ask.

        An application has a place of its own in its leaf, so its asks only matter among each other:
        the key needs none where it has one group. In the reserved pass asks that their own node
        takes now go first, of one application. Rules: QUE-40, QUE-44, CYC-20, CYC-21.
        """
        shape = self.shape
        application = group.application
        if len(application.request_groups) == 1:
            return application.standing + shape.ending
        first = group.first().sort_key
        if shape.urgent:
            return (*application.standing, shape.stage != HOME, *first, shape.number)
        return application.standing + first + shape.ending

    def waits_for_node(self) -> bool:
        """Whether it is parked because no node took its asks. Rules: CYC-25, CYC-33."""
        return self.parked and self.parked_at is None and self.listed is None
