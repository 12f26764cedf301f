"""Which rows of a trace take part in a run."""

from __future__ import annotations

from dataclasses import replace

from remuda.base.errors import UsageError
from remuda.sim.workload import Workload


def select(workload: Workload, from_ns: int | None, to_ns: int | None) -> Workload:
    """Return the tasks submitted at or after ``from_ns`` and before ``to_ns``.

    Raises: UsageError, when the trace has no times or no task is left.
    """
    if from_ns is None and to_ns is None:
        return workload
    if not workload.timed:
        raise UsageError(f"--from, --to: {workload.source} has no submit times")
    tasks = tuple(
        task
        for task in workload.tasks
        if (from_ns is None or task.submit_ns >= from_ns)
        and (to_ns is None or task.submit_ns < to_ns)
    )
    if not tasks:
        raise UsageError(f"--from, --to: no task of {workload.source} is submitted then")
    return replace(workload, tasks=tasks)


def replayable(workload: Workload) -> Workload:
    """Return the tasks whose run time is known; the others count as skipped.

    Raises: UsageError, when the trace has no times at all.
    """
    if not workload.timed:
        raise UsageError(f"--mode replay: {workload.source} has no times; use --mode fill")
    tasks = tuple(task for task in workload.tasks if task.duration_ns is not None)
    if not tasks:
        raise UsageError(f"--mode replay: no run time in {workload.source}; use --mode fill")
    skipped = workload.skipped + len(workload.tasks) - len(tasks)
    return replace(workload, tasks=tasks, skipped=skipped)
