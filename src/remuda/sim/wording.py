"""Figures as people read them; the terminal and the report use the same words."""

from __future__ import annotations

from typing import Final

from remuda.sim.metrics import Figures
from remuda.sim.results import Speed

_UNITS: Final = (
    (2 * 86_400, 86_400, "d"),
    (2 * 3_600, 3_600, "h"),
    (2 * 60, 60, "min"),
)


def duration(seconds: float) -> str:
    """Return a duration in the largest unit of which there are at least two."""
    for at_least, size, unit in _UNITS:
        if seconds >= at_least:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"


def percent(share: float) -> str:
    """Return a share of 1 as a percentage with one decimal."""
    return f"{share * 100:.1f} %"


def count(number: int) -> str:
    """Return a number with its thousands apart."""
    return f"{number:,}"


def task_rows(figures: Figures) -> list[tuple[str, str]]:
    """Return what became of the tasks and how long they waited, label and value."""
    wait = figures.wait_seconds
    return [
        ("tasks", count(figures.tasks_total)),
        ("placed", count(figures.tasks_placed)),
        ("finished", count(figures.tasks_finished)),
        ("pending", count(figures.tasks_pending)),
        ("rows skipped", count(figures.tasks_skipped)),
        ("tasks that waited", count(figures.tasks_waited)),
        ("mean wait", duration(wait.mean)),
        ("wait p50 / p95 / p99", " / ".join(map(duration, (wait.p50, wait.p95, wait.p99)))),
        ("longest wait", duration(wait.max)),
        ("nodes used", f"{count(figures.nodes_used)} of {count(figures.nodes_total)}"),
        ("simulated time", duration(figures.makespan_seconds)),
    ]


def use_rows(figures: Figures) -> list[tuple[str, ...]]:
    """Return one row per resource: name, mean, peak and final use."""
    return [
        (name, percent(use.mean), percent(use.peak), percent(use.final))
        for name, use in figures.utilisation.items()
    ]


def queue_rows(figures: Figures) -> list[tuple[str, ...]]:
    """Return one row per queue: path, tasks, placed, mean wait, then its share per resource."""
    return [
        (
            path,
            count(queue.tasks),
            count(queue.placed),
            duration(queue.wait_mean),
            *(percent(share) for share in queue.share.values()),
        )
        for path, queue in figures.queues.items()
    ]


def speed_line(figures: Figures, speed: Speed) -> str:
    """Return how fast the run was."""
    rate = f"{speed.allocations_per_second:,.0f} allocations/s"
    return f"{count(figures.tasks_placed)} tasks placed in {speed.wall_seconds:.1f} s, {rate}"
