"""The figures of a run.

Definitions: a task waits from its submission to its start; a preempted task waits to its last
start. Figures of waiting are over all placed tasks, including those that did not wait. The
percentile p is the smallest waiting time that at least p % of them do not exceed (nearest rank), so
it is always a time that occurred. Use is a share of the cluster's capacity. Its mean is the
integral over time from the first to the last instant of the run; if no time passes (fill), it is
the share in use at the end. A queue's share is its part of all resource x time that was allocated,
in a fill its part of the amounts in use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from remuda.base.message import message
from remuda.sim.gangs import GangCounts
from remuda.sim.losses import PreemptionFigures, measure_losses
from remuda.sim.obstacles import Obstacle
from remuda.sim.running import Placement
from remuda.sim.simulator import Outcome, Scenario
from remuda.sim.workload import SECOND_NS, Task


@message
class Waiting:
    """Waiting times in seconds; all 0 when nothing was placed."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@message
class Use:
    """The share of a resource in use: over time, at most, at the end."""

    mean: float
    peak: float
    final: float


@message
class QueueFigures:
    """One queue: its tasks, their mean wait in seconds, its share of each resource."""

    tasks: int
    placed: int
    wait_mean: float
    share: Mapping[str, float]


@message
class Figures:
    """All figures of a run; ``utilisation`` by resource type, ``queues`` by path.

    ``waiting``: the obstacles of the tasks that are left pending. ``gangs``: their results, None
    without gangs; gangs that failed or are too large are neither placed nor pending.
    ``preemption``: its effects, None if nothing may be preempted.
    """

    tasks_total: int
    tasks_placed: int
    tasks_finished: int
    tasks_pending: int
    tasks_skipped: int
    tasks_waited: int
    wait_seconds: Waiting
    nodes_total: int
    nodes_used: int
    makespan_seconds: float
    utilisation: Mapping[str, Use]
    queues: Mapping[str, QueueFigures]
    waiting: tuple[Obstacle, ...]
    gangs: GangCounts | None
    preemption: PreemptionFigures | None
    decisions_digest: str


def measure(scenario: Scenario, outcome: Outcome) -> Figures:
    """Return the figures of a finished run."""
    placements = outcome.placements
    lasting = outcome.lasting()
    tasks = scenario.workload.tasks
    samples = outcome.timeline.samples
    replayed = scenario.mode == "replay"
    span_ns = samples[-1].at - samples[0].at if replayed else 0
    gangs = outcome.gangs
    lost = 0 if gangs is None else gangs.failed + gangs.too_large
    waits = [placement.start_ns - placement.submit_ns for placement in lasting]
    return Figures(
        tasks_total=len(tasks),
        tasks_placed=len(lasting),
        tasks_finished=sum(placement.end_ns is not None for placement in lasting),
        tasks_pending=len(tasks) - len(lasting) - lost,
        tasks_skipped=scenario.workload.skipped,
        tasks_waited=sum(wait > 0 for wait in waits),
        wait_seconds=waiting(waits),
        nodes_total=len(scenario.nodes),
        nodes_used=len({node for placement in placements for node in placement.node_ids}),
        makespan_seconds=span_ns / SECOND_NS,
        utilisation=_utilisation(outcome, replayed),
        queues=_queues(scenario, placements, outcome.timeline.types),
        waiting=outcome.obstacles,
        gangs=gangs,
        preemption=measure_losses(scenario, outcome),
        decisions_digest=digest(placements, tasks),
    )


def waiting(waits: Sequence[int]) -> Waiting:
    """Return the figures of waiting times given in nanoseconds."""
    if not waits:
        return Waiting(0.0, 0.0, 0.0, 0.0, 0.0)
    ordered = sorted(waits)
    return Waiting(
        mean=sum(ordered) / (len(ordered) * SECOND_NS),
        p50=percentile(ordered, 50) / SECOND_NS,
        p95=percentile(ordered, 95) / SECOND_NS,
        p99=percentile(ordered, 99) / SECOND_NS,
        max=ordered[-1] / SECOND_NS,
    )


def percentile(ordered: Sequence[int], percent: int) -> int:
    """Return the smallest member that at least ``percent`` % of all do not exceed."""
    rank = -(-percent * len(ordered) // 100)
    return ordered[max(rank, 1) - 1]


def digest(placements: Sequence[Placement], tasks: Sequence[Task]) -> str:
    """Return the SHA-256 over all starts in order: task, node, start in nanoseconds.

    Each member of a gang counts.
    """
    found = hashlib.sha256()
    for placement in placements:
        task_id = tasks[placement.task].task_id
        for node_id in placement.node_ids:
            found.update(f"{task_id}\t{node_id}\t{placement.start_ns}\n".encode())
    return found.hexdigest()


def _utilisation(outcome: Outcome, replayed: bool) -> dict[str, Use]:
    timeline = outcome.timeline
    finals = timeline.finals()
    means = timeline.means() if replayed else finals
    parts = zip(timeline.types, means, timeline.peaks(), finals, strict=True)
    return {name: Use(mean, peak, final) for name, mean, peak, final in parts}


def _queues(
    scenario: Scenario, placements: Sequence[Placement], types: Sequence[str]
) -> dict[str, QueueFigures]:
    paths = scenario.queues.paths
    tasks = dict.fromkeys(sorted(set(paths)), 0)
    for path in paths:
        tasks[path] += 1
    placed = dict.fromkeys(tasks, 0)
    waits = dict.fromkeys(tasks, 0)
    given = {path: dict.fromkeys(types, 0) for path in tasks}
    for placement in placements:
        path = paths[placement.task]
        if not placement.preempted:
            placed[path] += 1
            waits[path] += placement.start_ns - placement.submit_ns
        time = 1 if placement.end_ns is None else placement.end_ns - placement.start_ns
        amounts = scenario.workload.tasks[placement.task].resource
        for name in types:
            given[path][name] += amounts.get(name, 0) * time
    total = {name: sum(amounts[name] for amounts in given.values()) for name in types}
    return {
        path: QueueFigures(
            tasks[path],
            placed[path],
            waits[path] / (placed[path] * SECOND_NS) if placed[path] else 0.0,
            {name: given[path][name] / total[name] if total[name] else 0.0 for name in types},
        )
        for path in tasks
    }
