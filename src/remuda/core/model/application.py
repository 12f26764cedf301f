"""An application: its asks, its allocations and where it stands.

It holds what is known of one and changes that only as far as one statement says; the totals of
queues, users and nodes, which have to agree with it, are changed by ``core/accounting``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, final

from remuda.core.messages.commands import NewApplication
from remuda.core.messages.tags import NODE_SORT_POLICY, application_tag
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.gang import Gang
from remuda.core.model.history import History
from remuda.core.model.priorities import MIN_PRIORITY, PriorityCount
from remuda.core.model.ranking import SortKey
from remuda.core.model.request import Group, Request
from remuda.core.model.reservation import Reservation
from remuda.core.model.vectors import Amounts, Vector, add_vector, amount_at, copy, define

if TYPE_CHECKING:
    from remuda.core.model.queue import Queue
    from remuda.core.model.trackers import Account


@final
class Application:
    """One application of a partition (chapter 80 section 1).

    ``max_allocated``: the most it held before it gave something back, see ``peak``.
    ``queue`` is the leaf it is in, None once it left. ``generation`` counts state changes, so
    that a timer of an earlier state does nothing (APP-17). ``detached``: live allocations by key
    where the ask is gone. ``request_groups``: its groups of pending asks, by shape number.
    ``standing``: the current place among the applications of the leaf (QUE-40). ``priority``: the
    highest of the asks with something pending (QUE-27).

    ``user`` and ``user_groups``: whom it belongs to (UGR-1). ``account``: the trackers that concern
    it, None while it has neither asks nor allocations. ``group``: the one it is tracked under, ""
    for none; it stays once somebody looked (``seen``: LIM-20, LIM-24). ``linked``: observers know
    the group; ``unlinked``: a reload took it and no other was found yet (LIM-64). ``counted``: it
    counts as one application of its user and group (LIM-36). ``queue_lets`` and ``quota_lets``:
    the last known answer to "may it start" (QUE-26).

    ``node_policy``: its own order of nodes, "" the partition's (NOD-23). ``reservations``: by
    number, oldest first; ``starter``: it counts at its queues for these or placeholders (QUE-24).
    ``backoff_until_ns``: until when none of its asks is tried, 0: they are (CYC-33); ``unplaced``:
    how many of them found no node and are pending, where that counts.

    ``allocations``: all, placeholders included; ``lent``: an answer under way reads them, so they
    are copied before they change (DMP-15). ``allocated``: what the real ones hold; ``gang``:
    its placeholders and task groups, None until it names one. ``promised``: what is kept for its
    asks whose preemption stands, None for nothing (PRE-89). ``history``: what its allocations that
    ended have used, None before the first (RES-57).
    """

    __slots__ = (
        "account",
        "allocated",
        "allocations",
        "backoff_until_ns",
        "counted",
        "detached",
        "finished_ns",
        "gang",
        "generation",
        "group",
        "history",
        "lent",
        "linked",
        "max_allocated",
        "node_policy",
        "number",
        "pending",
        "priorities",
        "priority",
        "promised",
        "queue",
        "queue_lets",
        "queue_path",
        "quota_lets",
        "record",
        "reject_reason",
        "request_groups",
        "requests",
        "reservations",
        "seen",
        "standing",
        "started_ns",
        "starter",
        "state",
        "state_log",
        "submitted_ns",
        "unlinked",
        "unplaced",
        "user",
        "user_groups",
    )

    def __init__(self, number: int, record: NewApplication, submitted_ns: int) -> None:
        self.number = number
        self.record = record
        self.submitted_ns = submitted_ns
        self.started_ns: int = 0
        self.finished_ns: int = 0
        self.state: str = states.NEW
        self.generation: int = 0
        self.state_log: tuple[tuple[int, str], ...] = ()
        self.reject_reason: str = ""
        self.queue: Queue | None = None
        self.queue_path: str = ""
        self.pending = Vector()
        self.allocated = Vector()
        self.max_allocated = Vector()
        self.priorities = PriorityCount()
        self.priority: int = MIN_PRIORITY
        self.requests: dict[str, Request] = {}
        self.allocations: dict[str, Allocation] = {}
        self.detached: dict[str, dict[str, None]] = {}
        self.request_groups: dict[int, Group] = {}
        self.standing: SortKey = ()
        self.user: str = record.user
        self.user_groups: tuple[str, ...] = record.groups
        self.account: Account | None = None
        self.group: str = ""
        self.lent: bool = False
        self.seen: bool = False
        self.linked: bool = False
        self.unlinked: bool = False
        self.counted: bool = False
        self.queue_lets: bool = True
        self.quota_lets: bool = True
        self.node_policy: str = application_tag(record.tags, NODE_SORT_POLICY)
        self.reservations: dict[int, Reservation] = {}
        self.starter: bool = False
        self.backoff_until_ns: int = 0
        self.unplaced: int = 0
        self.gang: Gang | None = None
        self.promised: Vector | None = None
        self.history: History | None = None

    def idle(self) -> bool:
        """Whether it has nothing allocated and nothing pending. Rules: APP-8, LIM-36."""
        return not self.allocations and not self.request_groups

    def at_rest(self) -> bool:
        """Whether nothing is pending and nothing real allocated or in flight.

        Placeholders may be left: they are not active allocations. Rules: APP-8, APP-9, GANG-32.
        """
        return not self.request_groups and self.real_count() == 0

    def real_count(self) -> int:
        """Return how many real allocations it has, those in flight included. Rules: APP-9."""
        gang = self.gang
        if gang is None:
            return len(self.allocations)
        return len(self.allocations) - len(gang.placeholders) + len(gang.replacing)

    def note_peak(self, amounts: Amounts) -> None:
        """Remember what is held of some types, before it gets less: it may be the most ever.

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
        """Return the most it ever held, placeholders included. Rules: REST-77, REST-135."""
        return higher(self.max_allocated, self.usage())

    @property
    def application_id(self) -> str:
        """The ID the RM gave it."""
        return self.record.application_id

    def usage(self) -> Vector:
        """Return what all it has holds, placeholders included, as a copy. Rules: GANG-7."""
        used = copy(self.allocated)
        if self.gang is not None:
            add_vector(used, self.gang.usage)
        return used

    def identities(self, allocation_key: str) -> list[str]:
        """Return the IDs of the live allocations of a key, oldest first.

        The allocations of a key may outlive its ask, and the key come back with another one.
        """
        request = self.requests.get(allocation_key)
        if request is not None:
            return request.allocation_ids()
        return list(self.detached.get(allocation_key, ()))

    def hold(self, allocation: Allocation) -> None:
        """Note an allocation as one of its own."""
        if self.lent:
            self._keep()
        self.allocations[allocation.allocation_id] = allocation

    def drop(self, allocation: Allocation) -> None:
        """Note that an allocation is none of its own any more."""
        if self.lent:
            self._keep()
        del self.allocations[allocation.allocation_id]

    def lend(self) -> Mapping[str, Allocation]:
        """Return the allocations by ID, as they are now and stay. Rules: DMP-15.

        Whoever reads them later finds this moment: what changes is a copy from then on.
        """
        self.lent = True
        return self.allocations

    def _keep(self) -> None:
        """Leave the allocations to those who read them, and go on with a copy. Rules: DMP-15."""
        self.allocations = dict(self.allocations)
        self.lent = False

    def forget(self, allocation: Allocation) -> None:
        """Take an allocation that ended off the list of its key. Rules: CYC-18."""
        key, identity = allocation.ask.allocation_key, allocation.allocation_id
        request = self.requests.get(key)
        if request is not None:
            request.forget_allocation(identity)
        elif key in self.detached:
            self.detached[key].pop(identity, None)
            if not self.detached[key]:
                del self.detached[key]

    def admit(self, request: Request) -> None:
        """Take a new ask in, with what is still allocated under its key."""
        key = request.ask.allocation_key
        if key in self.detached:
            left = self.detached.pop(key)
            for identity in left:
                request.note_allocation(identity)
            request.adopted = len(left)
        self.requests[key] = request


def higher(peak: Vector, usage: Vector) -> Vector:
    """Return the most of each type that is in one of two vectors. Rules: REST-77."""
    found = copy(peak)
    define(found, usage.types)
    for index, held in enumerate(usage.amounts):
        if held > found.amounts[index]:
            found.amounts[index] = held
    return found
