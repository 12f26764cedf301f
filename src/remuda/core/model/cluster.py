"""The whole state of the scheduler: resource managers and their partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from remuda.config.process_limits import Limits
from remuda.core.messages.commands import RegisterResourceManager
from remuda.core.model.calendar import Calendar
from remuda.core.model.deadlines import Deadlines
from remuda.core.model.partition import Partition
from remuda.core.model.totals import KeptCounts
from remuda.core.ports import FaultPoint


@final
class ResourceManager:
    """One registered RM and its partitions by plain name (RM-10).

    ``config`` and ``extra_config`` are those in force. ``leaving``: partitions that are not
    configured any more but not empty yet; requests cannot name them (OBJ-9). ``away_since_ns``:
    when its connection was lost, None while it is connected (RM-15); ``stop_ns``: when it is
    stopped, None: never (RM-18). ``held``: it accepts no effects at the moment (EXT-6).
    ``continued``: a request of which only a part was handled (SI-2).
    ``asked``: an ask of it was handled, so it reports no more what ran before (EXT-39).
    ``predicates``: it is asked which nodes are acceptable. ``asked_until_ns``: until when it may
    not be asked again about refused nodes (EXT-15).
    Rules: RM-10, OBJ-9, RM-15, RM-18, EXT-6, EXT-15, EXT-39.
    """

    __slots__ = (
        "asked",
        "asked_until_ns",
        "away_since_ns",
        "config",
        "continued",
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
        self.continued: bool = False
        self.asked: bool = False
        self.asked_until_ns: int = 0

    def own(self) -> list[Partition]:
        """Return all its partitions, the leaving ones last."""
        return [*self.partitions.values(), *self.leaving]

    def resting(self) -> bool:
        """Whether no decisions are made for it. Rules: RM-15, EXT-6, SI-2."""
        return self.held or self.continued or self.away_since_ns is not None

    def has(self, partition: Partition) -> bool:
        """Whether the RM has this partition object, leaving or not. Rules: OBJ-9."""
        return self.partitions.get(partition.name) is partition or partition in self.leaving


@final
class Cluster:
    """The whole state. ``reservation_delay_ns`` None: asks do not reserve nodes (RSV-3).

    ``tracking``: whether event records are made (EVT-12); the latest extra map decides. ``counts``:
    counts of what happened so far; they survive the objects. ``limits``: of each partition (SI-14).
    ``shortage``: why nothing new is taken at the moment, "" if it is (EXT-39).
    ``fault_point``: called wherever something is reported; None outside of tests.
    Rules: RSV-3, EVT-12, SI-14, EXT-39.
    """

    __slots__ = (
        "calendar",
        "counts",
        "deadlines",
        "fault_point",
        "limits",
        "managers",
        "reservation_delay_ns",
        "shortage",
        "tracking",
    )

    def __init__(self, reservation_delay_ns: int | None, limits: Limits) -> None:
        self.limits = limits
        self.reservation_delay_ns = reservation_delay_ns
        self.calendar = Calendar()
        self.deadlines = Deadlines()
        self.managers: dict[str, ResourceManager] = {}
        self.tracking: bool = True
        self.shortage = ""
        self.counts = KeptCounts()
        self.fault_point: FaultPoint | None = None

    def partition(self, rm_id: str, name: str) -> Partition | None:
        """Find a partition by the name an RM uses. Implements: RM-21, RM-24. Rules: RM-22."""
        manager = self.managers.get(rm_id)
        return None if manager is None else manager.partitions.get(plain_name(rm_id, name))

    def partitions(self) -> list[Partition]:
        """Return all partitions by (RM ID, name), the leaving ones of an RM last."""
        found: list[Partition] = []
        for _, manager in sorted(self.managers.items()):
            found += [manager.partitions[name] for name in sorted(manager.partitions)]
            found += manager.leaving
        return found

    def next_stop(self) -> tuple[int, str] | None:
        """Return when an RM is stopped next, and its ID; None for never. Rules: RM-18.

        Cost: O(RMs that are away); these are the RMs with frozen timers.
        """
        found: tuple[int, str] | None = None
        for rm_id in self.deadlines.frozen:
            stop_ns = self.managers[rm_id].stop_ns
            if stop_ns is not None and (found is None or (stop_ns, rm_id) < found):
                found = (stop_ns, rm_id)
        return found

    def next_deadline(self) -> int | None:
        """Return when the next timer runs out or an RM is stopped; None: never.

        Rules: APP-16, RM-18.
        """
        earliest = self.deadlines.earliest()
        if not self.deadlines.frozen:
            return earliest  # called for every decision; usually no RM is away
        stop = self.next_stop()
        if stop is None or (earliest is not None and earliest < stop[0]):
            return earliest
        return stop[0]

    def has(self, partition: Partition) -> bool:
        """Whether a partition still exists; its RM may have come back. Rules: RM-9, OBJ-9."""
        manager = self.managers.get(partition.rm_id)
        return manager is not None and manager.has(partition)


def unknown_partition(name: str) -> str:
    """Return the reason of refusals for a missing partition.

    Rules: SI-20, SI-31, SI-40, NODE-10.
    """
    return f"partition '{name or 'default'}' doesn't exist"


def plain_name(rm_id: str, name: str) -> str:
    """Return the plain partition name; a foreign ``[rm]`` prefix names no partition.

    Implements: RM-22 (only the sender's own prefix). Rules: RM-21 (empty means default).
    """
    prefix = f"[{rm_id}]"
    name = name.removeprefix(prefix)
    return name or "default"
