"""Jobs of Microsoft's Philly cluster by virtual cluster (VC).

All GPUs of a job start together. A job is one ask for all of them, which a node must hold as a
whole, or with --gangs a gang of members with one GPU each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from remuda.sim.traces.rows import Row, csv_rows, gather, unique
from remuda.sim.workload import VC, WHOLE_GPU, Task, Workload

NAME: Final = "philly"
COLUMNS: Final = ("job", "vc", "submit_s", "gpus", "duration_s")


def read_workload(path: Path) -> Workload:
    """Return the jobs of a trace, one task each.

    Raises: UsageError.
    """
    seen: dict[str, int] = {}
    rows = csv_rows(path, COLUMNS)
    tasks, skipped = gather(_task(row, seen) for row in rows)
    return Workload(str(path), NAME, tasks, skipped, (VC,))


def _task(row: Row, seen: dict[str, int]) -> Task:
    name = unique(row, "job", row.name("job"), seen)
    gpu = row.amount("gpus", WHOLE_GPU)
    return Task(
        task_id=name,
        line=row.line,
        resource={"gpu": gpu} if gpu else {},
        submit_ns=row.seconds("submit_s"),
        duration_ns=row.seconds("duration_s"),
        application_id=name,
        labels={VC: row.text("vc")},
        members=max(1, gpu // WHOLE_GPU),
    )
