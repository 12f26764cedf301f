"""The content of a trace of any format: nodes, and tasks to place on them.

Readers of trace formats produce these records and nothing after them knows a format. Times are
integer nanoseconds of the trace's own clock, so that sums and comparisons are exact; amounts
are base units of the scheduler (RES-2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final

from remuda.base.errors import UsageError
from remuda.base.message import message

SECOND_NS: Final = 1_000_000_000

# What a trace may know of a task beyond its size, and --queue-by may ask for.
USER: Final = "user"
CLASS: Final = "class"
VC: Final = "vc"

# GPUs are counted in thousandths, so that tasks can share one.
WHOLE_GPU: Final = 1_000


@message
class NodeSpec:
    """One node. ``model`` is what it is made of, "" if the trace does not say."""

    node_id: str
    capacity: Mapping[str, int]
    model: str = ""


@message
class Task:
    """One row of a trace: one ask of an application, or with --gangs an application of its own.

    ``line`` is the row's place in its file. ``duration_ns`` None: the trace does not know the
    run time. ``labels``: what is known of the task, by USER, CLASS and VC. ``models``: the node
    models it accepts, joined by ``|``, "" for any. ``application_id`` is the task's own ID
    unless the trace gathers tasks into applications. ``members``: of how many equal parts it is,
    that may run on different nodes.
    """

    task_id: str
    line: int
    resource: Mapping[str, int]
    submit_ns: int = 0
    duration_ns: int | None = None
    application_id: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0
    models: str = ""
    members: int = 1


@message
class Workload:
    """All tasks of a trace that ask for something, in file order.

    ``skipped`` counts the rows that ask for nothing, ``labels`` the labels the format has,
    ``timed`` whether it has submit and run times, ``processors`` the size of the machine it was
    recorded on (0 if it does not say).
    """

    source: str
    format: str
    tasks: tuple[Task, ...]
    skipped: int = 0
    labels: tuple[str, ...] = ()
    timed: bool = True
    processors: int = 0


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
