"""The metrics of the scheduler as a whole (rules: chapter 97 sections 1 and 2)."""

from __future__ import annotations

from typing import Final

from remuda.core.messages.measures import TotalsView
from remuda.runtime.timings import TimingsView
from remuda.telemetry.metrics.families import Families, Seen, sanitised
from remuda.telemetry.metrics.reading import Reading

# MET-21, with the blank-less spelling of later releases.
RANGES: Final = ("[0,10%]", *[f"({low}%,{low + 10}%]" for low in range(10, 100, 10)])

# MET-8: application states as the core names them, by label. Starting counts as running (MET-18).
LIVE: Final = {
    "running": ("Starting", "Running"),
    "resuming": ("Resuming",),
    "failing": ("Failing",),
    "completing": ("Completing",),
}


def add_scheduler(
    families: Families, reading: Reading, refused: int, seen: Seen, types: dict[str, None]
) -> None:
    """Add the counts of chapter 97 section 2, MET-14.

    ``types``: resource types that were shown before.

    Implements: MET-6, MET-7, MET-8, MET-9, MET-18, MET-20, MET-51, NODE-15. Rules: MET-4, MET-14,
    MET-16, MET-17, MET-19, MET-21.
    """
    totals = reading.totals
    _add_attempts(families, totals, refused, seen)
    _add_applications(families, reading, seen)
    node = families.gauge("scheduler_node", "Nodes by state.")
    node.add(totals.nodes, state="active")
    node.add(totals.bad_nodes, state="failed")
    for state, count in (
        ("draining", totals.draining_nodes),
        ("decommissioned", totals.decommissioned),
        ("unhealthy", totals.unready_nodes),
    ):
        if seen.exists("", f"node {state}", count):
            node.add(count, state=state)
    limits = families.counter(
        "scheduler_limit_hits_total", "Elements that a limit on what is kept refused, by limit."
    )
    for name, count in totals.limit_hits.items():
        limits.add(count, limit=name)
    _add_usage(families, reading, types)


def add_latencies(families: Families, timings: TimingsView) -> None:
    """Add all measurements around the core; those of YuniKorn under both names.

    Implements: MET-5, MET-10, MET-48, MET-49. Rules: CYC-31, MET-12, MET-13, MET-15.
    """
    for name, text, view in (
        ("scheduling_latency", "Steps of the scheduler that allocated something", timings.placing),
        ("scheduling_cycle", "From the first step with work to rest", timings.cycles),
        (
            "trynode_latency",
            "Questions about nodes to resource managers after which one was acceptable",
            timings.tries,
        ),
        ("trynode_evaluation", "Questions about nodes to resource managers", timings.questions),
        ("trypreemption_latency", "Attempts to preempt for an ask", timings.attempts),
    ):
        families.histogram(f"scheduler_{name}_milliseconds", _in_seconds(text), {"": view})
        families.histogram(f"scheduler_{name}_seconds", _in_seconds(text), {"": view})
    for name, text, view in (
        ("scheduling_step", "Steps of the scheduler, whatever came of them", timings.steps),
        (
            "predicate_victims",
            "Questions about victims of preemption to resource managers",
            timings.victim_questions,
        ),
    ):
        families.histogram(f"scheduler_{name}_seconds", _in_seconds(text), {"": view})
    families.counter(
        "scheduler_step_allocations_total", "Allocations that the steps of the scheduler made."
    ).add(timings.allocations)
    families.counter(
        "scheduler_trynode_nodes_total", "Nodes that resource managers were asked about."
    ).add(timings.nodes_asked)


def _in_seconds(text: str) -> str:
    return f"{text}, in seconds."


def _add_attempts(families: Families, totals: TotalsView, refused: int, seen: Seen) -> None:
    attempts = families.counter(
        "scheduler_container_allocation_attempt_total",
        "Allocations by what became of them: allocated, released, rejected, error.",
    )
    attempts.add(totals.allocated, state="allocated")
    attempts.add(totals.released, state="released")
    if seen.exists("", "rejected", refused):
        attempts.add(refused, state="rejected")
    attempts.add(totals.errors, state="error")
    families.counter(
        "scheduler_recovered_total", "Allocations that resource managers reported as running."
    ).add(totals.recovered)


def _add_applications(families: Families, reading: Reading, seen: Seen) -> None:
    totals = reading.totals
    submissions = families.counter(
        "scheduler_application_submission_total", "Applications that came, by what was decided."
    )
    for result, count in (
        ("new", totals.submitted),
        ("accepted", totals.accepted),
        ("rejected", totals.rejected),
    ):
        if seen.exists("", f"submission {result}", count):
            submissions.add(count, result=result)
    family = families.gauge(
        "scheduler_application_total", "Applications by state; those that ended are all so far."
    )
    live: dict[str, int] = {}
    for queue in reading.queues.values():
        for state, count in queue.applications.items():
            live[state] = live.get(state, 0) + count
    counts = {label: sum(live.get(each, 0) for each in names) for label, names in LIVE.items()}
    counts |= {"completed": totals.completed, "failed": totals.failed}
    for state, count in counts.items():
        if seen.exists("", f"application {state}", count) or state == "running":
            family.add(count, state=state)


def _add_usage(families: Families, reading: Reading, types: dict[str, None]) -> None:
    """Add how full the nodes are; a type that no node has any more is at 0.

    Implements: MET-21, MET-14.
    """
    types.update(dict.fromkeys(reading.nodes.ranges))
    by_name: dict[str, list[int]] = {}
    family = families.gauge(
        "scheduler_node_usage", "Nodes by resource type and how much of it is allocated."
    )
    for type_ in sorted(types):
        counts = reading.nodes.ranges.get(type_, (0,) * len(RANGES))
        named = by_name.setdefault(sanitised(type_), [0] * len(RANGES))
        for number, (label, count) in enumerate(zip(RANGES, counts, strict=True)):
            named[number] += count
            family.add(count, resource=type_, range=label)
    for name, sums in by_name.items():
        each = families.gauge(
            f"scheduler_{name}_node_usage_total", "Nodes by how much of a resource is allocated."
        )
        for label, count in zip(RANGES, sums, strict=True):
            each.add(count, range=label)
