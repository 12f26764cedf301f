"""A queue: its place in the tree, its limits, its usage and what waits in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.child_order import ChildOrder
from remuda.core.model.priorities import MIN_PRIORITY, PriorityCount
from remuda.core.model.ranking import Ranking
from remuda.core.model.request import Lane
from remuda.core.model.vectors import Vector

FIFO: Final = "fifo"
FAIR: Final = "fair"


@final
class QueueSettings:
    """The effective properties of a queue, read once per configuration (QUE-18)."""

    __slots__ = ("application_sort", "priority_fence", "priority_offset", "sort_by_priority")

    def __init__(self) -> None:
        self.application_sort: str = FIFO
        self.sort_by_priority: bool = True
        self.priority_fence: bool = False
        self.priority_offset: int = 0


@final
class Queue:
    """One queue of a partition (QUE-1, QUE-2).

    ``path_up``: the queue itself and its ancestors, leaf first. ``maximum`` and ``guaranteed``
    None: not set. ``divisors``: per type index what usage is divided by to get the share, -1
    where the type has no part in it (RES-52). ``priorities``: of the applications (leaf) or the
    visible ones of the children (parent), ``priority`` the highest of them. ``ready``: lanes of
    a leaf that are not parked. ``waiting``: lanes below that this queue's limit stopped, by shape
    number, then lane number.
    """

    __slots__ = (
        "allocated",
        "applications",
        "child_order",
        "children",
        "divisors",
        "guaranteed",
        "lanes",
        "leaf",
        "managed",
        "maximum",
        "name",
        "parent",
        "path",
        "path_up",
        "pending",
        "preempting",
        "priorities",
        "priority",
        "properties",
        "ready",
        "running",
        "settings",
        "shown_priority",
        "state",
        "waiting",
    )

    def __init__(self, name: str, parent: Queue | None, leaf: bool, managed: bool) -> None:
        self.name = name
        self.parent = parent
        self.leaf = leaf
        self.managed = managed
        self.path: str = name if parent is None else f"{parent.path}.{name}"
        self.path_up: tuple[Queue, ...] = (self,) if parent is None else (self, *parent.path_up)
        self.state: str = states.ACTIVE
        self.maximum: Vector | None = None
        self.guaranteed: Vector | None = None
        self.properties: Mapping[str, str] = {}
        self.settings = QueueSettings()
        self.allocated = Vector()
        self.pending = Vector()
        self.preempting = Vector()
        self.divisors: list[int] = []
        self.running: int = 0
        self.priorities = PriorityCount()
        self.priority: int = MIN_PRIORITY
        self.shown_priority: int = MIN_PRIORITY
        self.children: dict[str, Queue] = {}
        self.child_order = ChildOrder()
        self.applications: dict[str, Application] = {}
        self.lanes: dict[int, Lane] = {}
        self.ready = Ranking()
        self.waiting: dict[int, dict[int, Lane]] = {}

    def has_ready(self) -> bool:
        """Whether something in or below this queue may be placed."""
        return bool(self.ready.keys) if self.leaf else self.child_order.has_ready()
