"""The figures of one run of a study, as plain values that JSON can hold.

Definitions: those of ``remuda.sim.metrics``, and these. The slowdown of a task is the time from its
submission to its end, divided by its run time, or by 10 s if that is longer. Utilisation is that of
the contended type (see ``fairness``), failed nodes included in the cluster. A start is cut short
when an allocation of it is preempted or its node fails; the lost work is the share of such starts
in all resource x time that was allocated, of the contended type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from remuda.sim.metrics import measure, percentile
from remuda.sim.simulator import Outcome, Scenario
from remuda.sim.workload import SECOND_NS
from remuda.study.fairness import Course, course, shortfall

# What JSON holds: str, int, float, None, lists and mappings of them.
Content: TypeAlias = dict[str, object]

# The least run time that a slowdown divides by.
SHORTEST_NS: Final = 10 * SECOND_NS
_DIGITS: Final = 6
_QUANTILES: Final = 100


def figures_of(scenario: Scenario, outcome: Outcome, resource: str) -> Content:
    """Return the figures of a run; ``resource``: the contended type."""
    path = course(scenario, outcome, resource)
    found = measure(scenario, outcome)
    waits = sorted(each.start_ns - each.submit_ns for each in outcome.lasting())
    slowdowns = _slowdowns(outcome)
    gangs = found.gangs
    measures: Mapping[str, float | None] = {
        "wait_mean": found.wait_seconds.mean,
        "wait_p50": found.wait_seconds.p50,
        "wait_p95": found.wait_seconds.p95,
        "wait_p99": found.wait_seconds.p99,
        "slowdown_mean": sum(slowdowns) / len(slowdowns) if slowdowns else None,
        "slowdown_p95": slowdowns[-(-95 * len(slowdowns) // 100) - 1] if slowdowns else None,
        "utilisation": found.utilisation[resource].mean,
        "makespan": found.makespan_seconds,
        "shortfall": sum(shortfall(queue) for queue in path.queues.values()),
        "pending": found.tasks_pending,
        "victims": None if found.preemption is None else found.preemption.victims,
        "cut_short": sum(each.preempted for each in outcome.placements),
        "lost_work": _lost(scenario, outcome, resource),
        "gangs_timed_out": None if gangs is None else gangs.timed_out,
        "gangs_failed": None if gangs is None else gangs.failed + gangs.too_large,
    }
    queues = {
        name: {
            "tasks": each.tasks,
            "placed": each.placed,
            "wait_mean": each.wait_mean,
            "share": each.share.get(resource, 0.0),
            "shortfall": shortfall(path.queues[name]),
        }
        for name, each in found.queues.items()
    }
    return {
        "resource": resource,
        "tasks": found.tasks_total,
        "placed": found.tasks_placed,
        "measures": dict(measures),
        "queues": queues,
        "wait_quantiles": [percentile(waits, part) / SECOND_NS for part in range(_QUANTILES + 1)]
        if waits
        else [],
        "course": _course(path),
        "decisions": found.decisions_digest,
    }


def _slowdowns(outcome: Outcome) -> list[float]:
    found = []
    for each in outcome.lasting():
        if each.end_ns is not None:
            run_ns = max(each.end_ns - each.start_ns, SHORTEST_NS)
            found.append(max(1.0, (each.end_ns - each.submit_ns) / run_ns))
    return sorted(found)


def _lost(scenario: Scenario, outcome: Outcome, resource: str) -> float:
    given = lost = 0
    for each in outcome.placements:
        if each.end_ns is not None:
            amount = scenario.workload.tasks[each.task].resource.get(resource, 0)
            work = amount * (each.end_ns - each.start_ns)
            given += work
            lost += work if each.preempted else 0
    return lost / given if given else 0.0


def _course(found: Course) -> Content:
    first = found.edges_ns[0]
    return {
        "hours": [round((edge - first) / (3_600 * SECOND_NS), _DIGITS) for edge in found.edges_ns],
        "pending": _rounded(found.pending),
        "used": _rounded(found.used),
        "queues": {
            path: {"used": _rounded(shares.used), "owed": _rounded(shares.owed)}
            for path, shares in found.queues.items()
        },
    }


def _rounded(values: list[float]) -> list[float]:
    return [round(value, _DIGITS) for value in values]
