"""Works out anew which partitions rest and which timers stand still (part of ``check``)."""

from __future__ import annotations

from remuda.base.errors import InvariantViolation
from remuda.config.settings import read_settings
from remuda.core.invariants.require import require
from remuda.core.model.cluster import Cluster, ResourceManager


def check_pauses(cluster: Cluster) -> None:
    """Partitions rest with their RM, and timers stand still while it is away.

    Raises: InvariantViolation.

    Rules: RM-15, RM-18.
    """
    away = [rm_id for rm_id, each in cluster.managers.items() if each.away_since_ns is not None]
    frozen = cluster.deadlines.frozen
    if sorted(frozen) != sorted(away):
        raise InvariantViolation(f"away are {sorted(away)}, timers stand still of {sorted(frozen)}")
    for manager in cluster.managers.values():
        if manager.stop_ns != _stop_ns(manager):
            raise InvariantViolation(f"{manager.record.rm_id} is given up at another time")
        for partition in manager.own():
            rests = manager.resting() or (
                partition.resting and len(partition.waiting.questions.asked) > 0
            )
            require(partition.resting == rests, partition, "it rests, or it does not")
    for deadline in cluster.deadlines.running():
        partition = deadline.partition
        runs = partition.rm_id not in frozen or not deadline.freezes()
        require(runs, partition, f"a timer for {deadline.what} does not stand still")
        require(cluster.has(partition), partition, "a timer of a partition that is gone")


def _stop_ns(manager: ResourceManager) -> int | None:
    settings, _ = read_settings(manager.extra_config)
    if manager.away_since_ns is None or settings.rm_pause_timeout_ns < 0:
        return None
    return manager.away_since_ns + settings.rm_pause_timeout_ns
