"""The Standard Workload Format of the Parallel Workloads Archive.

A job is a line of 18 numbers, where -1 means "not known"; comments start with a semicolon, and
those at the top describe the machine. Fields count from 1, as in the format's definition. A log
does not say on which nodes the processors of a job were, so each processor is a member of a gang.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.sim.traces.rows import Row, gather, lines, unique
from remuda.sim.workload import CLASS, USER, NodeSpec, Task, Workload

NAME: Final = "swf"
FIELDS: Final = 18

_COLUMNS: Final = {
    "job (field 1)": 0,
    "submit time (field 2)": 1,
    "run time (field 4)": 3,
    "allocated processors (field 5)": 4,
    "requested processors (field 8)": 7,
    "user (field 12)": 11,
    "queue (field 15)": 14,
}
_JOB, _SUBMIT, _RUN, _ALLOCATED, _REQUESTED, _USER, _QUEUE = _COLUMNS
_UNKNOWN: Final = "-1"
_MAX_PROCS: Final = re.compile(r";\s*MaxProcs:\s*([0-9]{1,18})\s*")


def read_workload(path: Path) -> Workload:
    """Return the jobs of a log, one task each; a job without processors asks for nothing.

    Raises: UsageError.
    """
    seen: dict[str, int] = {}
    processors = 0

    def rows() -> Iterator[Row]:
        nonlocal processors
        for number, line in enumerate(lines(path), start=1):
            if line.lstrip().startswith(";"):
                match = _MAX_PROCS.fullmatch(line.strip())
                processors = int(match[1]) if match else processors
            elif line.strip():
                yield _row(path, number, line)

    tasks, skipped = gather(_task(row, seen) for row in rows())
    return Workload(str(path), NAME, tasks, skipped, (USER, CLASS), processors=processors)


def machine(workload: Workload) -> tuple[NodeSpec, ...]:
    """Return the machine of a log: one node with the processors its header names.

    Raises: UsageError.
    """
    if not workload.processors:
        raise UsageError(f"{workload.source}: no MaxProcs in its header; say --nodes")
    return (NodeSpec("machine", {"processor": workload.processors}),)


def _row(path: Path, number: int, line: str) -> Row:
    values = line.split()
    if len(values) != FIELDS:
        raise UsageError(f"{path}:{number}: the line has {len(values)} fields, not {FIELDS}")
    return Row(str(path), number, _COLUMNS, values)


def _task(row: Row, seen: dict[str, int]) -> Task:
    job = unique(row, _JOB, row.name(_JOB), seen)
    processors = row.whole(_REQUESTED)
    if processors <= 0:
        processors = row.whole(_ALLOCATED)
    run_time_known = row.text(_RUN) != _UNKNOWN
    return Task(
        task_id=job,
        line=row.line,
        resource={"processor": processors} if processors > 0 else {},
        submit_ns=row.seconds(_SUBMIT),
        duration_ns=row.seconds(_RUN) if run_time_known else None,
        application_id=job,
        labels={USER: _known(row.text(_USER)), CLASS: _known(row.text(_QUEUE))},
        members=max(1, processors),
    )


def _known(text: str) -> str:
    return "" if text == _UNKNOWN else text
