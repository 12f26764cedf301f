"""Everything the scheduler knows: resource managers and their partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from remuda.core.messages.commands import RegisterResourceManager
from remuda.core.model.deadlines import Deadlines
from remuda.core.model.partition import Partition
from remuda.core.model.tally import Tallies


@final
class ResourceManager:
    """One registered RM and its partitions by plain name (RM-10).

    ``config`` and ``extra_config`` are those in force. ``leaving``: partitions that are configured
    no more and not empty yet; nobody can name them (OBJ-9). ``away_since_ns``: when its connection
    was lost, None while it is there (RM-15); ``stop_ns``: when it is given up, None: never (RM-18).
    ``held``: it takes nothing at the moment (EXT-6). ``predicates``: it is asked which nodes are
    acceptable.
    """

    __slots__ = (
        "away_since_ns",
        "config",
        "extra_config",
        "held",
        "leaving",
        "partitions",
        "predicates",
        "preemption_predicates",
        "record",
        "stop_ns",
    )

    def __init__(self, record: RegisterResourceManager) -> None:
        self.record = record
        self.config = record.config
        self.extra_config: Mapping[str, str] = record.extra_config
        self.predicates: bool = record.predicates
        self.preemption_predicates: bool = record.preemption_predicates
        self.partitions: dict[str, Partition] = {}
        self.leaving: list[Partition] = []
        self.away_since_ns: int | None = None
        self.stop_ns: int | None = None
        self.held: bool = False

    def own(self) -> list[Partition]:
        """Return all its partitions, those that are leaving after the others."""
        return [*self.partitions.values(), *self.leaving]

    def resting(self) -> bool:
        """Whether nothing is decided for it. Rules: RM-15, EXT-6."""
        return self.held or self.away_since_ns is not None

    def has(self, partition: Partition) -> bool:
        """Whether this very partition is one of the RM, be it leaving. Rules: OBJ-9."""
        return self.partitions.get(partition.name) is partition or partition in self.leaving


@final
class Cluster:
    """The whole state. ``reservation_delay_ns`` None: asks do not reserve nodes (RSV-3).

    ``tracking``: whether event records are made at all (EVT-12); the latest extra map counts.
    ``tallies``: what happened so far, whatever became of those it happened to.
    """

    __slots__ = ("deadlines", "managers", "reservation_delay_ns", "tallies", "tracking")

    def __init__(self, reservation_delay_ns: int | None) -> None:
        self.reservation_delay_ns = reservation_delay_ns
        self.deadlines = Deadlines()
        self.managers: dict[str, ResourceManager] = {}
        self.tracking: bool = True
        self.tallies = Tallies()

    def partition(self, rm_id: str, name: str) -> Partition | None:
        """Find a partition by the name an RM uses. Rules: RM-21, RM-22, RM-24."""
        manager = self.managers.get(rm_id)
        return None if manager is None else manager.partitions.get(plain_name(rm_id, name))

    def partitions(self) -> list[Partition]:
        """Return all partitions by (RM ID, name), those that are leaving after the others."""
        found: list[Partition] = []
        for _, manager in sorted(self.managers.items()):
            found += [manager.partitions[name] for name in sorted(manager.partitions)]
            found += manager.leaving
        return found

    def next_stop(self) -> tuple[int, str] | None:
        """Return when which RM is given up next, None for never. Rules: RM-18.

        Cost: O(RMs that are away), which are told by their frozen timers.
        """
        found: tuple[int, str] | None = None
        for rm_id in self.deadlines.frozen:
            stop_ns = self.managers[rm_id].stop_ns
            if stop_ns is not None and (found is None or (stop_ns, rm_id) < found):
                found = (stop_ns, rm_id)
        return found

    def next_deadline(self) -> int | None:
        """Return when a timer runs out, or an RM is given up; None: never. Rules: APP-16, RM-18."""
        earliest = self.deadlines.earliest()
        if not self.deadlines.frozen:
            return earliest  # every decision asks, and mostly nobody is away
        stop = self.next_stop()
        if stop is None or (earliest is not None and earliest < stop[0]):
            return earliest
        return stop[0]

    def has(self, partition: Partition) -> bool:
        """Whether a partition still exists; its RM may have come back. Rules: RM-9, OBJ-9."""
        manager = self.managers.get(partition.rm_id)
        return manager is not None and manager.has(partition)


def unknown_partition(name: str) -> str:
    """Return why what names a missing partition is refused. Rules: SI-20, SI-31, SI-40, NODE-10."""
    return f"partition '{name or 'default'}' doesn't exist"


def plain_name(rm_id: str, name: str) -> str:
    """Return the plain partition name; a foreign ``[rm]`` prefix names no partition.

    Rules: RM-21 (empty means default), RM-22 (only the sender's own prefix).
    """
    prefix = f"[{rm_id}]"
    name = name.removeprefix(prefix)
    return name or "default"
