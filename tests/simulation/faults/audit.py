"""Checks after every input what that input may have changed, and now and then everything.

A world is small, but it is checked some hundred times. Most inputs concern one partition, and many
change nothing. So a partition is checked from scratch when a request or an answer names it, or when
one of its totals differs from the last time. All partitions, the configuration and the views are
checked every ``FULL`` inputs and whenever somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from remuda.core.invariants.configured import check_configured
from remuda.core.invariants.partition import _CHECKS, _pauses
from remuda.core.invariants.quota_changes import check_quota_timers
from remuda.core.messages import commands as c
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import AllocationNew, Effect, EventRecord
from remuda.core.model import states
from remuda.core.model.cluster import Cluster
from remuda.core.model.partition import Partition
from remuda.core.scheduler import Scheduler
from tests.simulation.faults.witness import Witness

# Inputs between two checks of everything.
FULL: Final = 50

# RM and partition.
Place: TypeAlias = tuple[str, str]

_CHANGING: Final = tuple(one for one in _CHECKS if one is not check_configured)


class Audit:
    """What was checked of one core, and when. ``seen``: totals of partitions, by place."""

    def __init__(self, scheduler: Scheduler, witness: Witness) -> None:
        self.scheduler = scheduler
        self.witness = witness
        self.seen: dict[Place, tuple[object, ...]] = {}
        self.configured: dict[Place, tuple[object, ...]] = {}
        self.pauses: list[tuple[object, ...]] = []
        self.inputs = 0

    def check_all(self) -> None:
        """Everything adds up, and is what was told."""
        self.scheduler.check()
        self.witness.compare(self.scheduler)

    def check_changed(self, command: Command | None, effects: Iterable[Effect]) -> int:
        """What a command or a step may have changed adds up; return how many partitions it was."""
        self.inputs += 1
        cluster = self.scheduler._cluster
        everything = self.inputs % FULL == 0
        if everything:
            self.check_all()
        else:
            self._check_pauses(cluster)
            check_quota_timers(cluster)
        named = {place_of(effect) for effect in effects}
        named |= places_of(command)
        looked_at = 0
        for partition in cluster.partitions():
            place = (partition.rm_id, partition.name)
            totals = totals_of(partition)
            touched = place in named or (partition.rm_id, "") in named
            if touched or self.seen.get(place) != totals:
                self.seen[place] = totals
                if not everything:
                    self._check(partition)
                if partition.state != states.DRAINING:
                    self._compare(partition, place)
                looked_at += 1
        return looked_at

    def _check_pauses(self, cluster: Cluster) -> None:
        """Who is away rests, after somebody left or came back."""
        pauses: list[tuple[object, ...]] = [
            (rm_id, x.away_since_ns, x.held) for rm_id, x in cluster.managers.items()
        ]
        if self.pauses != pauses:
            self.pauses = pauses
            _pauses(cluster)

    def _check(self, partition: Partition) -> None:
        for one in _CHANGING:
            one(partition)
        place = (partition.rm_id, partition.name)
        settings = (partition.settings.config, partition.queue_count, tuple(partition.trackers))
        if self.configured.get(place) != settings:
            self.configured[place] = settings
            check_configured(partition)

    def _compare(self, partition: Partition, place: Place) -> None:
        """The partition has exactly what is in the ledger."""
        told = 0
        for (rm_id, home, name, identity), held in self.witness.held.items():
            if (rm_id, home) != place:
                continue
            told += 1
            app = partition.applications.get(name)
            kept = None if app is None else app.allocations.get(identity)
            assert kept is not None, f"{name} {identity}: told, and not in the core"
            mine, its = (held.node, held.resource), (kept.node.node_id, kept.amounts.resource)
            assert mine == its, f"{name} {identity}: told {mine}, the core has {its}"
        has = sum([len(app.allocations) for app in partition.applications.values()])
        assert told == has, f"{place}: told of {told} allocations, the core has {has}"


def places_of(command: Command | None) -> set[Place]:
    """Return what a command is about; "" stands for all partitions of its RM."""
    if command is None:
        return set()
    if isinstance(command, c.UpdateAllocations):
        homes = [each.partition for each in command.asks]
        homes += [existing.ask.partition for existing in command.allocations]
        homes += [each.partition for each in command.ask_releases]
        homes += [each.partition for each in command.releases]
        return {(command.rm_id, home or "default") for home in homes}
    return {(command.rm_id, "")}


def place_of(effect: Effect) -> Place:
    """Return what an answer is about; "" stands for all partitions of its RM."""
    if isinstance(effect, EventRecord | AllocationNew):
        return effect.rm_id, effect.partition
    return effect.rm_id, ""


def totals_of(partition: Partition) -> tuple[object, ...]:
    """Numbers of which at least one differs after nearly every change of a partition."""
    waiting, root = partition.waiting, partition.root
    usage = (*root.allocated.amounts, *root.pending.amounts)
    counts = (partition.allocation_count, partition.ask_count, partition.tag_characters)
    changes = (waiting.changes, partition.numbers, root.running, root.has_ready())
    classes = (len(waiting.ask_classes), len(waiting.waiting_classes.ask_classes))
    sizes = (len(partition.leaving), len(partition.nodes), len(partition.reserving.reservations))
    states_of = [each.state for each in partition.applications.values()]
    return (*usage, *counts, *changes, *classes, *sizes, *states_of, partition.resting)
