"""Checks the start times and runs of quota enforcement (part of check).

Rules: PRE-64, PRE-65. What victims hold is counted in ``preemption``.
"""

from __future__ import annotations

from remuda.core.invariants.require import require
from remuda.core.model import deadlines
from remuda.core.model.allocation import Allocation
from remuda.core.model.cluster import Cluster
from remuda.core.model.deadlines import SECOND_NS
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import QUOTA, WAITING
from remuda.core.model.queues.queue import Queue
from remuda.core.preempt.quota_change import delay_of


def check_quotas(partition: Partition) -> None:
    """Only queues that may have a start time have one.

    Runs are in progress where victims are awaited.
    """
    queues = partition.queues(partition.root)
    quotas = partition.preempting.quotas
    armed = {queue.path: queue for queue in queues if queue.quota_due_ns}
    require(armed == quotas.armed, partition, "a start time is not listed, or none is")
    for path, queue in armed.items():
        lawful = queue.maximum is not None and delay_of(partition, queue) > 0
        require(lawful, partition, "queue {} has a start time and no quota to enforce", path)
    waiting = [each.quota_due_ns for each in armed.values() if not _has_run(each)]
    if waiting:
        on_time = quotas.tick_ns >= min(waiting) and quotas.tick_ns % SECOND_NS == 0
        require(on_time, partition, "queues are looked at {}, not when one is due", quotas.tick_ns)
    else:
        require(quotas.tick_ns == 0, partition, "queues are looked at and none can be due")
    _runs(partition, queues)


def check_quota_timers(cluster: Cluster) -> None:
    """A timer is set wherever queues are due for enforcement. Rules: PRE-65, RM-15."""
    for partition in cluster.partitions():
        tick_ns = partition.preempting.quotas.tick_ns
        if tick_ns == 0:
            continue
        frozen = cluster.deadlines.frozen.get(partition.rm_id)
        if frozen is None:
            timers = [each for each in cluster.deadlines.running() if each.at_ns == tick_ns]
        else:
            timers = [each for _, _, each in frozen]
        own = [each for each in timers if each.partition is partition]
        is_set = any(each.what == deadlines.QUOTA for each in own)
        require(is_set, partition, "no timer is set for queues that are due")


def _runs(partition: Partition, queues: list[Queue]) -> None:
    """A run is noted at its queue, and awaits exactly its victims that have not ended."""
    quotas = partition.preempting.quotas
    require(not quotas.ended, partition, "a run is over and did not end")
    on = {queue.quota_run.number: queue for queue in queues if queue.quota_run is not None}
    require(on == quotas.running, partition, "a run is not listed, or is not on")
    if not on:
        return
    victims = [each for each in _allocations(partition.root) if each.preemption is not None]
    for number, queue in on.items():
        run = queue.quota_run
        assert run is not None
        right = (run.kind, run.outcome, run.queue_path) == (QUOTA, WAITING, queue.path)
        require(right, partition, "queue {} is in the run of something else", queue.path)
        known = partition.preempting.made.get(number) is run
        require(known, partition, "the run in {} is forgotten", queue.path)
        awaited = [each for each in victims if each.preemption is run]
        right = 0 < run.left == len(awaited)
        require(right, partition, "the run in {} awaits {} victims", queue.path, run.left)


def _has_run(queue: Queue) -> bool:
    return any(each.quota_run is not None for each in queue.path_up)


def _allocations(queue: Queue) -> list[Allocation]:
    below = [each for child in queue.children.values() for each in _allocations(child)]
    own = queue.applications.values()
    return [*below, *[each for one in own for each in one.allocations.values()]]
