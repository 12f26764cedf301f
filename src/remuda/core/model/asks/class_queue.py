"""Class queues and limit groups: waiting asks, grouped so that equal asks are decided once.

Asks of one *ask class* are interchangeable for a node (``ask_class``). All asks of one ask class in
one leaf form a *class queue*. Its asks whose applications have the same limits of users and groups
form a *limit group*, in which each application has a *group*. If the first ask of a class queue
fits no node, or not the maximum of a queue, no ask of the class queue does, and the whole class
queue is blocked. A limit of a user or group, or a limit on the number of applications, blocks only
the limit group. A blocked class queue or limit group costs nothing until an event unblocks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, final

from remuda.core.messages import gates
from remuda.core.model.asks.ask_class import NODE_READY, AskClass
from remuda.core.model.asks.ask_order import AskOrder
from remuda.core.model.asks.blocked import CLOSED_GROUP, Blocked
from remuda.core.model.finding import Finding
from remuda.core.model.preemption.attempts import Tried, VictimAnswers
from remuda.core.model.ranking import Ranking, SortKey

if TYPE_CHECKING:
    from remuda.core.model.applications.application import Application
    from remuda.core.model.asks.request import Request
    from remuda.core.model.queues.bound import WaitKey
    from remuda.core.model.queues.queue import Queue
    from remuda.core.model.queues.trackers import LimitSet, QueueTracker

# Admissions (CYC-11): without a check; the application must be allowed to start; the same, but its
# queues are not checked, since it counts there already (QUE-24); not served.
FREE: Final = 0
START_LIMITED: Final = 1
QUOTA_LIMITED: Final = 2
CLOSED: Final = 3

# How many asks ``_fresh`` may keep that decisions have looked at, beyond twice the unseen ones.
_SMALL: Final = 64

# Number of the limit set, admission.
LimitGroupKey: TypeAlias = tuple[int, int]


@final
class Group:
    """The pending asks of one application in one limit group, in order."""

    __slots__ = ("application", "limit_group", "order")

    def __init__(self, application: Application, limit_group: LimitGroup) -> None:
        self.application = application
        self.limit_group = limit_group
        self.order = AskOrder()

    def first(self) -> Request:
        """Return the ask that is served next; a group is never empty."""
        return self.order.first()


@final
class LimitGroup:
    """The applications of a class queue that have one limit set, in the order of service.

    Rules: LIM-20, LIM-53, QUE-25, QUE-40.
    """

    __slots__ = (
        "_fresh",
        "admission",
        "blocked",
        "class_queue",
        "finding",
        "groups",
        "limit_set",
        "number",
        "order",
        "start_queues",
        "start_trackers",
        "unseen",
    )

    def __init__(
        self, number: int, class_queue: ClassQueue, limit_set: LimitSet, admission: int
    ) -> None:
        self.number = number
        self.class_queue = class_queue
        self.limit_set = limit_set
        # Whether its applications must be allowed to start first (QUE-25), and the limits for that.
        self.admission = admission
        self.start_queues: tuple[Queue, ...] = (
            class_queue.leaf.path_up if admission == START_LIMITED else ()
        )
        asked = admission in (START_LIMITED, QUOTA_LIMITED)
        self.start_trackers: tuple[QueueTracker, ...] = (
            limit_set.application_limits if asked else ()
        )
        self.order = Ranking()
        # By application number.
        self.groups: dict[int, Group] = {}
        # How many of its asks no decision has looked at (LIM-20); ``_fresh`` has these and some
        # others.
        self.unseen: int = 0
        self._fresh: list[Request] = []
        # Why it is not tried, None if it may be.
        self.blocked: Blocked | None = CLOSED_GROUP if admission == CLOSED else None
        # The reason as observers are told it.
        self.finding: Finding | None = None

    def key(self) -> LimitGroupKey:
        """Return its key in its class queue."""
        return (self.limit_set.number, self.admission)

    def waits(self) -> bool:
        """Whether it is blocked. Rules: CYC-11, LIM-53."""
        return self.blocked is not None

    def wait_key(self) -> WaitKey:
        """Return its key in a waitlist, which identifies its class queue."""
        return (self.class_queue.leaf.path, self.class_queue.ask_class.number)

    def note_fresh(self, request: Request) -> None:
        """Note one of its asks that no decision has looked at."""
        self.unseen += 1
        self._fresh.append(request)

    def drop_fresh(self, count: int) -> None:
        """Note that decisions looked at some asks, or that they left.

        Cost: O(1) each, amortised.
        """
        self.unseen -= count
        if not self.unseen:
            self._fresh = []
        elif len(self._fresh) > 2 * self.unseen + _SMALL:
            self._fresh = self.fresh()

    def fresh(self) -> list[Request]:
        """Return the asks that no decision has looked at, by arrival. Rules: LIM-20."""
        found: dict[int, Request] = {}
        for request in self._fresh:
            group = request.group
            if not request.looked and group is not None and group.limit_group is self:
                found[request.number] = request
        return [found[number] for number in sorted(found)]

    def sort_key(self) -> SortKey:
        """Return its sort key, which is that of its first application. Rules: QUE-40."""
        return (*self.order.first_key(), self.number)

    def first_group(self) -> Group:
        """Return the group of the application that is served next; a limit group is never empty."""
        return self.groups[self.order.first()]

    def first(self) -> Request:
        """Return the ask that is served next; a limit group is never empty."""
        return self.first_group().first()


@final
class ClassQueue:
    """The pending asks of one ask class in one leaf: its limit groups, in the order of service.

    Rules: CYC-25, QUE-40, QUE-44.
    """

    __slots__ = (
        "ask_class",
        "blocked",
        "finding",
        "fresh",
        "leaf",
        "limit_group_keys",
        "limit_groups",
        "number",
        "order",
        "passed",
        "ranking",
        "tried",
        "victim_answers",
    )

    def __init__(self, number: int, leaf: Queue, ask_class: AskClass) -> None:
        self.number = number
        self.leaf = leaf
        self.ask_class = ask_class
        # The order of its leaf for its pass (CYC-5, CYC-19).
        self.ranking: Ranking = leaf.urgent if ask_class.urgent else leaf.ready
        self.order = Ranking()
        # All its limit groups, blocked ones included, by number and by key.
        self.limit_groups: dict[int, LimitGroup] = {}
        self.limit_group_keys: dict[LimitGroupKey, LimitGroup] = {}
        # Limit groups with asks that no decision looked at yet, by number.
        self.fresh: dict[int, LimitGroup] = {}
        # The reason as observers are told it.
        self.finding: Finding | None = None
        # Why it is not tried, None if it may be.
        self.blocked: Blocked | None = None
        # Its last fruitless attempt to preempt, until something changes (PRE-90).
        self.tried: Tried | None = None
        # How many nodes that attempt looked at, if the next attempt goes on after them.
        self.passed: int = 0
        # The answers of its RM about victims, None if it was not asked (EXT-18).
        self.victim_answers: VictimAnswers | None = None

    def first(self) -> LimitGroup:
        """Return the limit group that is served next; at least one must not be blocked.

        Rules: QUE-40, QUE-44.
        """
        return self.limit_groups[self.order.first()]

    def sort(self, limit_group: LimitGroup) -> None:
        """Sort a limit group; a single limit group gets no new key."""
        order = self.order
        if len(order.keys) == 1:
            if order.first() == limit_group.number:
                return
            order.put(self.first().sort_key())
        order.put(limit_group.sort_key())

    def first_key(self) -> SortKey:
        """Return its sort key among class queues; at least one limit group must not be blocked.

        Rules: QUE-40, QUE-44.
        """
        return self.key_of(self.first().first_group())

    def key_of(self, group: Group) -> SortKey:
        """Return the sort key of the class queue if ``group`` is its first one.

        No two applications of a leaf have equal sort keys. So the key of the first ask matters only
        among groups of one application, and is left out if the application has one group. In the
        reserved pass, asks whose reserved node is ready come first among those of one application.
        Rules: QUE-40, QUE-44, CYC-20, CYC-21.
        """
        ask_class = self.ask_class
        application = group.application
        if len(application.request_groups) == 1:
            return application.sort_key + ask_class.ending
        first = group.first().sort_key
        if ask_class.urgent:
            return (*application.sort_key, ask_class.stage != NODE_READY, *first, ask_class.number)
        return application.sort_key + first + ask_class.ending

    def waits_for_node(self) -> bool:
        """Whether it is blocked because no node took its asks. Rules: CYC-25, CYC-33."""
        blocked = self.blocked
        return blocked is not None and blocked.reason in (gates.NODES, gates.REQUIRED_NODE)

    def waits_for_manager(self) -> bool:
        """Whether it waits for its RM to answer, or to answer at last. Rules: EXT-14, EXT-17."""
        blocked = self.blocked
        return blocked is not None and blocked.reason in (
            gates.AWAITING_PREDICATES,
            gates.POSTPONED,
        )
