"""An application: its asks, its allocations and its state.

Its methods change only the application itself. ``core/accounting`` changes the usage of queues,
users and nodes, which must agree with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.gang import Gang
from remuda.core.model.applications.submission import Submission
from remuda.core.model.asks.class_queue import Group
from remuda.core.model.asks.request import Request
from remuda.core.model.lending import Lender
from remuda.core.model.queues.priorities import MIN_PRIORITY, PriorityCount
from remuda.core.model.ranking import SortKey
from remuda.core.model.reservation import Reservation
from remuda.core.model.vectors import Amounts, Vector, add_vector, amount_at, copy, define

if TYPE_CHECKING:
    from remuda.core.model.queues.queue import Queue
    from remuda.core.model.queues.trackers import LimitSet


@final
class History:
    """Sums over the ended allocations, by instance type of their nodes (RES-57).

    ``preempted``: sums of victims of preemption; ``placeholder``: of other placeholders; ``used``:
    of all others. Sums are exact; views cut them to 64 bits.
    """

    __slots__ = ("placeholder", "preempted", "used")

    def __init__(self) -> None:
        self.used: dict[str, Vector] = {}
        self.preempted: dict[str, Vector] = {}
        self.placeholder: dict[str, Vector] = {}


@final
class Application(Lender[str, Allocation]):
    """One application that was placed in a queue (chapter 80 section 1).

    ``allocations``: all its allocations by ID, placeholders included. An application without a
    queue is a ``Submission``, and one that ended is an ``EndedApplication``. Rules: SI-20, APP-1,
    CYC-18.
    """

    __slots__ = (
        "allocated",
        "backoff_until_ns",
        "counted",
        "counted_early",
        "detached",
        "gang",
        "generation",
        "group",
        "history",
        "limit_set",
        "linked",
        "max_allocated",
        "node_policy",
        "number",
        "past_from",
        "past_last",
        "pending",
        "priorities",
        "priority",
        "promised",
        "queue",
        "queue_lets",
        "queue_path",
        "quota_lets",
        "record",
        "request_groups",
        "requests",
        "reservations",
        "seen",
        "sort_key",
        "started_ns",
        "state",
        "state_log",
        "submitted_ns",
        "tag_characters",
        "unlinked",
        "unplaced",
        "user",
        "user_groups",
        "waiting_asks",
        "wanted",
    )

    def __init__(self, submitted: Submission, leaf: Queue) -> None:
        super().__init__()
        self.number = submitted.number  # Its arrival number, unique in the partition.
        # What its RM said when it submitted it, and when that was.
        self.record = submitted.record
        self.submitted_ns = submitted.submitted_ns
        self.started_ns: int = 0  # When it entered Starting, 0: not yet.
        self.state: str = states.NEW
        # Counts changes of state, so that a timer of an earlier state has no effect (APP-17).
        self.generation: int = 0
        self.state_log: tuple[tuple[int, str], ...] = ()  # When it entered which state.
        self.queue = leaf
        self.queue_path: str = submitted.queue_path
        self.pending = Vector()  # What its asks still want, and how many allocations that is.
        self.wanted: int = 0
        self.waiting_asks: int = 0  # How many of its asks have something pending (SI-14).
        self.tag_characters: int = 0  # Of its own tags and those of what it has (SI-14).
        self.allocated = Vector()  # What its real allocations hold.
        # The most it held before it gave something back, see ``peak``.
        self.max_allocated = Vector()
        # The priorities of its pending asks, and the highest of them (QUE-27).
        self.priorities = PriorityCount()
        self.priority: int = MIN_PRIORITY
        self.requests: dict[str, Request] = {}  # Its asks by key, without those that ended.
        # Its first ended ask that its RM did not drop, and its latest ended ask, by their places in
        # PastAsks (SI-34).
        self.past_from: int = 0
        self.past_last: int = 0
        # The live allocations of keys whose ask ended.
        self.detached: dict[str, dict[str, None]] = {}
        # Its groups of pending asks, by the number of their ask class.
        self.request_groups: dict[int, Group] = {}
        self.sort_key: SortKey = ()  # Its place among the applications of its leaf (QUE-40).
        self.user: str = submitted.user  # Whom it belongs to (UGR-1).
        self.user_groups: tuple[str, ...] = submitted.user_groups
        # The trackers that concern it; None while it has neither asks nor allocations.
        self.limit_set: LimitSet | None = None
        # The group it is tracked under, "" for none; it stays once a decision examined it (LIM-24).
        self.group: str = ""
        self.seen: bool = False  # Whether a decision examined it (LIM-20).
        # Whether observers know its group; whether a reload removed the group and no other was
        # chosen yet (LIM-64).
        self.linked: bool = False
        self.unlinked: bool = False
        # Whether it counts as one application of its user and group (LIM-36).
        self.counted: bool = False
        # Whether its queues, and the limits of its user and group, last allowed it to start
        # (QUE-26).
        self.queue_lets: bool = True
        self.quota_lets: bool = True
        # Its own order of nodes, "" the partition's (NOD-23).
        self.node_policy: str = submitted.node_policy
        self.reservations: dict[int, Reservation] = {}  # Its reservations by number, oldest first.
        # Whether it is in Accepted and counts at its queues early, for reservations or
        # placeholders (QUE-24).
        self.counted_early: bool = False
        # Until when it backs off and none of its asks is tried, 0: it does not back off (CYC-33).
        self.backoff_until_ns: int = 0
        # How many of its pending asks found no node, if its leaf counts that (CYC-33).
        self.unplaced: int = 0
        self.gang: Gang | None = None  # Its placeholders and task groups, None until it names one.
        # Room kept for its asks whose preemption is in effect, None for none (PRE-89).
        self.promised: Vector | None = None
        # The usage of its allocations that ended, None before the first (RES-57).
        self.history: History | None = None

    def idle(self) -> bool:
        """Whether it has no allocations and no pending asks. Rules: APP-8, LIM-36."""
        return not self.allocations and not self.request_groups

    def at_rest(self) -> bool:
        """Whether it has no pending asks and no real allocations, in flight or not.

        It may have placeholders, which are not active allocations. Implements: GANG-32. Rules:
        APP-8, APP-9.
        """
        return not self.request_groups and self.real_count() == 0

    def real_count(self) -> int:
        """Return how many real allocations it has, those in flight included. Implements: APP-9."""
        gang = self.gang
        if gang is None:
            return len(self.allocations)
        return len(self.allocations) - len(gang.placeholders) + len(gang.replacing)

    def note_peak(self, amounts: Amounts) -> None:
        """Update the peak usage of some types, before the usage shrinks.

        Placeholders count. Rules: REST-135.
        """
        most = self.max_allocated
        define(most, amounts.types)
        for index, _ in amounts.pairs:
            held = amount_at(self.allocated, index)
            if self.gang is not None:
                held += amount_at(self.gang.usage, index)
            if held > most.amounts[index]:
                most.amounts[index] = held

    def peak(self) -> Vector:
        """Return its peak usage per type, placeholders included. Rules: REST-77, REST-135."""
        return higher(self.max_allocated, self.usage())

    @property
    def application_id(self) -> str:
        """The ID the RM gave it."""
        return self.record.application_id

    def usage(self) -> Vector:
        """Return the usage of all its allocations, placeholders included, as a copy.

        Rules: GANG-7.
        """
        used = copy(self.allocated)
        if self.gang is not None:
            add_vector(used, self.gang.usage)
        return used

    def identities(self, allocation_key: str) -> list[str]:
        """Return the IDs of the live allocations of a key, oldest first.

        The allocations of a key may outlive its ask, and another ask may use the key again.
        """
        request = self.requests.get(allocation_key)
        if request is not None:
            return request.allocation_ids()
        return list(self.detached.get(allocation_key, ()))

    def hold(self, allocation: Allocation) -> None:
        """Add an allocation."""
        if self.lent:
            self.keep()
        self.allocations[allocation.allocation_id] = allocation

    def drop(self, allocation: Allocation) -> None:
        """Remove an allocation."""
        if self.lent:
            self.keep()
        del self.allocations[allocation.allocation_id]

    def forget(self, allocation: Allocation) -> None:
        """Remove an allocation that ended from the list of its key. Rules: CYC-18."""
        key, identity = allocation.ask.allocation_key, allocation.allocation_id
        request = self.requests.get(key)
        if request is not None:
            request.forget_allocation(identity)
        elif key in self.detached:
            self.detached[key].pop(identity, None)
            if not self.detached[key]:
                del self.detached[key]

    def admit(self, request: Request) -> None:
        """Add a new ask, and give it the allocations left under its key."""
        key = request.ask.allocation_key
        if key in self.detached:
            left = self.detached.pop(key)
            for identity in left:
                request.note_allocation(identity)
            request.adopted = len(left)
        self.requests[key] = request


def higher(peak: Vector, usage: Vector) -> Vector:
    """Return per type the larger amount of two vectors. Rules: REST-77."""
    found = copy(peak)
    define(found, usage.types)
    for index, held in enumerate(usage.amounts):
        if held > found.amounts[index]:
            found.amounts[index] = held
    return found
