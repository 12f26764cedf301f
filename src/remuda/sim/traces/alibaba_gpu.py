"""Alibaba's GPU cluster trace of 2023: nodes with a GPU model, pods that may share a GPU.

A pod with one GPU may ask for thousandths of it; more GPUs are whole ones. ``gpu_spec`` names
the models a pod accepts. The pod lists with more multi-GPU pods come without times and classes,
and none says which pods belong together: as a gang each pod is a gang of one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from remuda.sim.traces.rows import Row, csv_header, csv_rows, gather, unique
from remuda.sim.workload import CLASS, WHOLE_GPU, NodeSpec, Task, Workload

NAME: Final = "alibaba-gpu"
NODE_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu")
POD_COLUMNS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")

_MIB: Final = 1 << 20
_TIMES: Final = ("creation_time", "deletion_time")


def read_nodes(path: Path) -> tuple[NodeSpec, ...]:
    """Return the nodes of a node list.

    Raises: UsageError.
    """
    seen: dict[str, int] = {}
    return tuple(
        NodeSpec(
            unique(row, "sn", row.name("sn"), seen),
            _amounts(row, row.amount("gpu", WHOLE_GPU)),
            row.text("model"),
        )
        for row in csv_rows(path, NODE_COLUMNS)
    )


def read_workload(path: Path) -> Workload:
    """Return the pods of a pod list, one task each.

    Raises: UsageError.
    """
    header = csv_header(path)
    timed = all(column in header for column in _TIMES)
    seen: dict[str, int] = {}
    rows = csv_rows(path, POD_COLUMNS)
    tasks, skipped = gather(_task(row, seen, timed) for row in rows)
    labels = (CLASS,) if "qos" in header else ()
    return Workload(str(path), NAME, tasks, skipped, labels, timed)


def _task(row: Row, seen: dict[str, int], timed: bool) -> Task:
    name = unique(row, "name", row.name("name"), seen)
    submit_ns = row.seconds("creation_time") if timed else 0
    return Task(
        task_id=name,
        line=row.line,
        resource=_amounts(row, _gpu(row)),
        submit_ns=submit_ns,
        duration_ns=_run_time(row, submit_ns) if timed else None,
        application_id=name,
        labels={CLASS: row.text("qos")},
        models=row.text("gpu_spec"),
    )


def _gpu(row: Row) -> int:
    """Return the thousandths of GPUs a pod asks for."""
    count = row.amount("num_gpu")
    if count != 1:
        return row.amount("num_gpu", WHOLE_GPU)
    milli = row.amount("gpu_milli")
    if milli > WHOLE_GPU:
        raise row.bad("gpu_milli", f"'{milli}' is more than the one GPU of num_gpu")
    return milli


def _run_time(row: Row, submit_ns: int) -> int | None:
    """Return how long a pod ran; one that never started counts from its creation."""
    if not row.text("deletion_time"):
        return None
    start_ns = row.seconds("scheduled_time") if row.text("scheduled_time") else submit_ns
    run_ns = row.seconds("deletion_time") - start_ns
    if run_ns < 0:
        raise row.bad("deletion_time", "is before the pod's start")
    return run_ns


def _amounts(row: Row, gpu: int) -> dict[str, int]:
    amounts = {
        "vcore": row.amount("cpu_milli"),
        "memory": row.amount("memory_mib", _MIB),
        "gpu": gpu,
    }
    return {name: amount for name, amount in amounts.items() if amount}
