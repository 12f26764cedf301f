"""A queue: its place in the tree, its limits, its usage and its waiting asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, final

from remuda.config.queue_properties import (
    BACKOFF_DELAY,
    DEFAULT,
    FIFO,
    PREEMPTION_DELAY,
    QUOTA,
)
from remuda.config.schema import AccessList, QueueConfig, TemplateConfig
from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import Swaps
from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.nodes.waiting_classes import WaitingClasses
from remuda.core.model.preemption.live import Preemption
from remuda.core.model.queues.bound import Bound
from remuda.core.model.queues.child_order import ChildOrder
from remuda.core.model.queues.priorities import MIN_PRIORITY, PriorityCount
from remuda.core.model.queues.trackers import Limit
from remuda.core.model.queues.turns import Turns
from remuda.core.model.ranking import Ranking
from remuda.core.model.totals import LeafCounts
from remuda.core.model.vectors import Vector


@final
class QueueSettings:
    """The effective properties of a queue, read once per configuration.

    ``quota_preemption_delay_ns`` and ``backoff`` 0: off. In a parent, the settings for leaves have
    their defaults.
    Rules: QUE-18.
    """

    __slots__ = (
        "application_sort",
        "backoff",
        "backoff_delay_ns",
        "gang_admission",
        "preemption_delay_ns",
        "preemption_policy",
        "priority_fence",
        "priority_offset",
        "quota_preemption_delay_ns",
        "sort_by_priority",
    )

    def __init__(self) -> None:
        self.application_sort: str = FIFO
        self.sort_by_priority: bool = True
        self.priority_fence: bool = False
        self.priority_offset: int = 0
        self.preemption_policy: str = DEFAULT
        self.preemption_delay_ns: int = PREEMPTION_DELAY.read({})
        self.quota_preemption_delay_ns: int = 0
        self.backoff: int = 0
        self.backoff_delay_ns: int = BACKOFF_DELAY.read({})
        self.gang_admission: str = QUOTA

    def of_applications(self) -> tuple[object, ...]:
        """Return the settings that affect sort keys and class queues of its applications."""
        return (
            self.application_sort,
            self.sort_by_priority,
            self.preemption_delay_ns,
            self.backoff,
            self.backoff_delay_ns,
            self.gang_admission,
        )

    def of_queues(self) -> tuple[object, ...]:
        """Return the settings that affect its own sort key and those of its children."""
        return (self.sort_by_priority, self.priority_fence, self.priority_offset)


@final
class Access:
    """The users and groups that one access list grants access to (ACL-7)."""

    __slots__ = ("everybody", "groups", "users")

    def __init__(self, acl: AccessList) -> None:
        self.everybody: bool = acl.everybody
        self.users = frozenset(acl.users)
        self.groups = frozenset(acl.groups)


NO_ACCESS: Final = Access(AccessList())


@final
class Queue(Bound):
    """One queue of a partition.

    A leaf may have children that are draining, from the time it was a parent (RLD-27).
    Implements: QUE-1, QUE-2.
    """

    __slots__ = (
        "admin_access",
        "applications",
        "child_order",
        "children",
        "class_queues",
        "config",
        "counts",
        "divisors",
        "fair_maximum",
        "group_limits",
        "guaranteed",
        "leaf",
        "managed",
        "name",
        "parent",
        "path",
        "path_up",
        "pending",
        "priorities",
        "priority",
        "properties",
        "quota_due_ns",
        "quota_run",
        "ready",
        "settings",
        "shown_priority",
        "state",
        "submit_access",
        "swaps",
        "template",
        "turns",
        "urgent",
        "user_limits",
        "waiting",
        "waiting_classes",
    )

    def __init__(self, name: str, parent: Queue | None, leaf: bool, managed: bool) -> None:
        super().__init__()
        self.name = name
        self.parent = parent
        self.leaf = leaf
        self.managed = managed
        self.closed = parent is None
        self.path: str = name if parent is None else f"{parent.path}.{name}"
        # The queue itself and its ancestors, leaf first.
        self.path_up: tuple[Queue, ...] = (self,) if parent is None else (self, *parent.path_up)
        self.state: str = states.ACTIVE
        # Its configuration, None for a dynamic or draining queue.
        self.config: QueueConfig | None = None
        # None: not set.
        self.guaranteed: Vector | None = None
        self.properties: Mapping[str, str] = {}
        self.settings = QueueSettings()
        self.submit_access: Access = NO_ACCESS
        self.admin_access: Access = NO_ACCESS
        # Its own template, None if it has none.
        self.template: TemplateConfig | None = None
        # By name, in the order of the configuration, ``*`` the wildcard.
        self.user_limits: dict[str, Limit] = {}
        self.group_limits: dict[str, Limit] = {}
        self.pending = Vector()
        # By type index, the divisors of usage for the share, NO_PART for a type that is ignored
        # (RES-52); None: they must be computed before they are used.
        self.divisors: list[int] | None = None
        # The fair maximum behind the divisors (QUE-38), valid while these are known; None if there
        # is none.
        self.fair_maximum: Vector | None = None
        # The priorities of its applications (leaf) and those that its children show; the highest
        # one.
        self.priorities = PriorityCount()
        self.priority: int = MIN_PRIORITY
        self.shown_priority: int = MIN_PRIORITY
        self.children: dict[str, Queue] = {}
        self.child_order = ChildOrder()
        self.applications: dict[str, Application] = {}
        # By ask class number.
        self.class_queues: dict[int, ClassQueue] = {}
        # Class queues with something to try in the regular pass, and in the reserved pass.
        self.ready = Ranking()
        self.urgent = Ranking()
        # Applications with something to try in the swap pass.
        self.swaps = Swaps()
        # The applications that wait for their turn in a StateAware leaf (QUE-41).
        self.turns = Turns()
        # Class queues below that its maximum stopped, by ask class number, then class queue number.
        self.waiting: dict[int, dict[int, ClassQueue]] = {}
        # Their ask classes.
        self.waiting_classes = WaitingClasses()
        # When quota preemption starts for it, 0: never (PRE-64).
        self.quota_due_ns: int = 0
        # The quota preemption under way, None if it waits for no victim.
        self.quota_run: Preemption | None = None
        # Counts of what happened in it so far.
        self.counts = LeafCounts()

    def has_room_for(self, ask_class: AskClass) -> bool:
        """Whether its maximum has room for one such ask, and for its whole gang if it starts one.

        Implements: QUE-8. Rules: GANG-4 (root's maximum is the size of the cluster, not a quota).
        """
        total = None if self.parent is None else ask_class.total
        return ask_class.fits(self) and (total is None or self.fits_gang(total))

    def stopped(self) -> Iterator[AskClass]:
        """Return the ask classes that its maximum stopped and that may fit it now.

        Rules: CYC-25.
        """
        maximum = self.maximum
        if maximum is None:
            return iter(list(self.waiting_classes.ask_classes.values()))
        return self.waiting_classes.within_limit(maximum, self.allocated)

    def has_ready(self) -> bool:
        """Whether the regular pass has something to try in or below this queue."""
        return bool(self.ready.keys or self.child_order.ready)
