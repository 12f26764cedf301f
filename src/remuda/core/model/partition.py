"""A partition: a set of nodes with its own queue tree and applications.

It holds the whole scheduling state and its indexes. Partitions do not know each other.
"""

from __future__ import annotations

from typing import final

from remuda.config.schema import PartitionConfig
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.ended import KeptApplications
from remuda.core.model.asks.waiting import WaitingAsks
from remuda.core.model.calendar import Calendar
from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.node_order import NodeOrder
from remuda.core.model.nodes.pool import NodePool
from remuda.core.model.preemption.state import PreemptionState
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import LimitSet, QueueTracker, TrackerKey
from remuda.core.model.reservation import Reservations
from remuda.core.model.settings import PartitionSettings
from remuda.core.model.totals import Totals
from remuda.core.model.vectors import ResourceTypes


@final
class Partition:
    """One partition of one RM. Rules: RM-21."""

    __slots__ = (
        "allocation_count",
        "applications",
        "ask_count",
        "calendar",
        "kept",
        "leaving",
        "limit_sets",
        "name",
        "nodes",
        "numbers",
        "placeholder_count",
        "pool",
        "preempting",
        "queue_count",
        "reserving",
        "resting",
        "rm_id",
        "root",
        "settings",
        "state",
        "state_ns",
        "tag_characters",
        "totals",
        "trackers",
        "types",
        "waiting",
    )

    def __init__(
        self,
        rm_id: str,
        config: PartitionConfig,
        types: ResourceTypes,
        root: Queue,
        node_order: NodeOrder,
    ) -> None:
        self.rm_id = rm_id
        # Plain, without the RM's ID.
        self.name = config.name
        self.settings = PartitionSettings(config)
        # The resource types seen here; each partition has its own.
        self.types = types
        # Active, Draining or Stopped (OBJ-8), and since when.
        self.state: str = states.ACTIVE
        self.state_ns: int = 0
        # Whether no decisions are made: the RM is paused (RM-15, EXT-6, SI-2) or has enough open
        # questions (EXT-14).
        self.resting: bool = False
        # Converts between the scheduler's time and wall-clock time (CYC-34).
        self.calendar = Calendar()
        # The last arrival number that was given.
        self.numbers: int = 0
        self.root = root
        # By ID; ``pool`` has their orders.
        self.nodes: dict[str, Node] = {}
        self.pool = NodePool(node_order)
        # Live applications by ID; ``kept`` has those that ended.
        self.applications: dict[str, Application] = {}
        self.kept = KeptApplications()
        # How many allocations there are, and how many of them are placeholders (GANG-37).
        self.allocation_count: int = 0
        self.placeholder_count: int = 0
        # What limits bound (SI-14): how many asks have something pending, how many queues there
        # are, root included, and how many characters the kept tags have.
        self.ask_count: int = 0
        self.queue_count: int = 0
        self.tag_characters: int = 0
        # Allocations with a release request, until they end (SI-69).
        self.leaving: dict[Allocation, None] = {}
        # The trackers of users and groups with limits and usage or asks (LIM-30).
        self.trackers: dict[TrackerKey, QueueTracker] = {}
        # Limit sets, by the numbers of their trackers.
        self.limit_sets: dict[tuple[int, ...], LimitSet] = {}
        self.waiting = WaitingAsks(root)
        self.reserving = Reservations()
        self.preempting = PreemptionState()
        # Counts of the whole scheduler.
        self.totals = Totals()

    def next_number(self) -> int:
        """Return the next arrival number: unique and rising within the partition."""
        self.numbers += 1
        return self.numbers

    def queue(self, path: str) -> Queue | None:
        """Find a queue by path, in any case. Implements: PLC-40."""
        parts = path.lower().split(".")
        if parts[0] != self.root.name:
            return None
        found = self.root
        for part in parts[1:]:
            child = found.children.get(part)
            if child is None:
                return None
            found = child
        return found

    def renew_shares(self, top: Queue) -> None:
        """Mark the shares of a queue and all queues below it as stale."""
        self.waiting.shares_stale[top.path] = top

    def queues(self, top: Queue) -> list[Queue]:
        """Return a queue and all queues below it, depth first, parents before children."""
        found = [top]
        _list_below(top, found)
        return found


def _list_below(top: Queue, found: list[Queue]) -> None:
    """Add all queues below one to a list; most have none. Names have at most 48 levels."""
    for queue in top.children.values():
        found.append(queue)
        if queue.children:
            _list_below(queue, found)
