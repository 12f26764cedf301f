"""A queue: its place in the tree, its limits, its usage and what waits in it."""

from __future__ import annotations

from collections.abc import Mapping
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
from remuda.core.model.application import Application
from remuda.core.model.bound import Bound
from remuda.core.model.child_order import ChildOrder
from remuda.core.model.gang import Swaps
from remuda.core.model.preemption import Preemption
from remuda.core.model.priorities import MIN_PRIORITY, PriorityCount
from remuda.core.model.ranking import Ranking
from remuda.core.model.request import Lane
from remuda.core.model.shape import Shape
from remuda.core.model.tally import Tally
from remuda.core.model.trackers import Limit
from remuda.core.model.turns import Turns
from remuda.core.model.vectors import Vector


@final
class QueueSettings:
    """The effective properties of a queue, read once per configuration (QUE-18).

    ``quota_preemption_delay_ns`` and ``backoff`` 0: off. Those of leaves have their defaults in a
    parent.
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
        """Return those that places and lanes of its applications depend on, to be compared."""
        return (
            self.application_sort,
            self.sort_by_priority,
            self.preemption_delay_ns,
            self.backoff,
            self.backoff_delay_ns,
            self.gang_admission,
        )

    def of_queues(self) -> tuple[object, ...]:
        """Return those that its place and those of its children depend on, to be compared."""
        return (self.sort_by_priority, self.priority_fence, self.priority_offset)


@final
class Access:
    """Who is let in by one list; made once, asked for every application (ACL-7)."""

    __slots__ = ("everybody", "groups", "users")

    def __init__(self, acl: AccessList) -> None:
        self.everybody: bool = acl.everybody
        self.users = frozenset(acl.users)
        self.groups = frozenset(acl.groups)


NO_ACCESS: Final = Access(AccessList())


@final
class Queue(Bound):
    """One queue of a partition (QUE-1, QUE-2).

    ``path_up``: the queue itself and its ancestors, leaf first. A leaf may have children that are
    draining, from the time it was a parent (RLD-27). ``config``: what it was configured by, None
    for one that is dynamic or draining. ``maximum`` and ``guaranteed`` None: not set.
    ``template``: its own, None if it has none. ``user_limits`` and ``group_limits``: by name, in
    the order of the configuration, ``*`` the wildcard. ``divisors``: per type index what usage is
    divided by to get the share, NO_PART where the type has no part in it (RES-52); None: to be
    worked out before they are used. ``fair_maximum``: what they were made from (QUE-38), which
    holds while they are known; None if there is none. ``priorities``: of the applications (leaf)
    and the visible ones of the children, ``priority`` the highest of them.
    ``lanes``: by shape number; ``ready``: those of them with something to try in the regular pass,
    ``urgent``: in the reserved pass; ``swaps``: applications with something to try in the pass
    between. ``turns``: see QUE-41. ``waiting``: lanes
    below that its maximum stopped, by shape number, then lane number. ``quota_due_ns``: when it is
    cut down to its maximum, 0: not at all (PRE-64); ``quota_run``: the preemption that does, None
    if no victim is awaited. ``tally``: what happened in it so far.
    """

    __slots__ = (
        "admin_access",
        "applications",
        "child_order",
        "children",
        "config",
        "divisors",
        "fair_maximum",
        "group_limits",
        "guaranteed",
        "lanes",
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
        "tally",
        "template",
        "turns",
        "urgent",
        "user_limits",
        "waiting",
    )

    def __init__(self, name: str, parent: Queue | None, leaf: bool, managed: bool) -> None:
        super().__init__()
        self.name = name
        self.parent = parent
        self.leaf = leaf
        self.managed = managed
        self.closed = parent is None
        self.path: str = name if parent is None else f"{parent.path}.{name}"
        self.path_up: tuple[Queue, ...] = (self,) if parent is None else (self, *parent.path_up)
        self.state: str = states.ACTIVE
        self.config: QueueConfig | None = None
        self.guaranteed: Vector | None = None
        self.properties: Mapping[str, str] = {}
        self.settings = QueueSettings()
        self.submit_access: Access = NO_ACCESS
        self.admin_access: Access = NO_ACCESS
        self.template: TemplateConfig | None = None
        self.user_limits: dict[str, Limit] = {}
        self.group_limits: dict[str, Limit] = {}
        self.pending = Vector()
        self.divisors: list[int] | None = None
        self.fair_maximum: Vector | None = None
        self.priorities = PriorityCount()
        self.priority: int = MIN_PRIORITY
        self.shown_priority: int = MIN_PRIORITY
        self.children: dict[str, Queue] = {}
        self.child_order = ChildOrder()
        self.applications: dict[str, Application] = {}
        self.lanes: dict[int, Lane] = {}
        self.ready = Ranking()
        self.urgent = Ranking()
        self.swaps = Swaps()
        self.turns = Turns()
        self.waiting: dict[int, dict[int, Lane]] = {}
        self.quota_due_ns: int = 0
        self.quota_run: Preemption | None = None
        self.tally = Tally()

    def lets_in(self, shape: Shape) -> bool:
        """Whether its maximum has room for one ask of a shape, and the quota for its whole gang.

        Rules: QUE-8, GANG-4 (root's maximum is the size of the cluster, no quota).
        """
        total = None if self.parent is None else shape.total
        return shape.fits(self) and (total is None or self.fits(total))

    def has_ready(self) -> bool:
        """Whether the regular pass has something to try in or below this queue."""
        return bool(self.ready.keys or self.child_order.ready)
