"""Jobs of Microsoft's Philly cluster by virtual cluster (VC).

All GPUs of a job start together; until the scheduler knows gangs, a job is one ask for all of
them, which a node must hold as a whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from remuda.sim.traces.rows import Row, csv_rows, unique
from remuda.sim.workload import VC, Task, Workload

NAME: Final = "philly"
COLUMNS: Final = ("job", "vc", "submit_s", "gpus", "duration_s")

_WHOLE_GPU: Final = 1_000


def read_workload(path: Path) -> Workload:
    """Return the jobs of a trace, one task each.

    Raises: UsageError.
    """
    seen: dict[str, int] = {}
    tasks: list[Task] = []
    skipped = 0
    for row in csv_rows(path, COLUMNS):
        task = _task(row, seen)
        if task.resource:
            tasks.append(task)
        else:
            skipped += 1
    return Workload(str(path), NAME, tuple(tasks), skipped, (VC,))


def _task(row: Row, seen: dict[str, int]) -> Task:
    name = unique(row, "job", row.name("job"), seen)
    gpu = row.amount("gpus", _WHOLE_GPU)
    return Task(
        task_id=name,
        line=row.line,
        resource={"gpu": gpu} if gpu else {},
        submit_ns=row.seconds("submit_s"),
        duration_ns=row.seconds("duration_s"),
        application_id=name,
        labels={VC: row.text("vc")},
    )
