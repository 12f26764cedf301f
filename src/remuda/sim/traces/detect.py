"""Which reader a file needs: by the format's name, or by what its first line looks like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.sim.shape import looks_like_shape, parse_shape
from remuda.sim.traces import alibaba_gpu, philly, remuda_csv, swf
from remuda.sim.traces.rows import csv_header, lines
from remuda.sim.workload import NodeSpec, Workload

AUTO: Final = "auto"

READERS: Final[dict[str, Callable[[Path], Workload]]] = {
    alibaba_gpu.NAME: alibaba_gpu.read_workload,
    philly.NAME: philly.read_workload,
    swf.NAME: swf.read_workload,
    remuda_csv.NAME: remuda_csv.read_workload,
}
_WORKLOAD_COLUMNS: Final = {
    alibaba_gpu.NAME: alibaba_gpu.POD_COLUMNS,
    philly.NAME: philly.COLUMNS,
    remuda_csv.NAME: remuda_csv.TASK_COLUMNS,
}


def read_workload(path: Path, name: str) -> Workload:
    """Return a workload in the named format, or in the one the file looks like (``auto``).

    Raises: UsageError, also when the file holds no task.
    """
    workload = READERS[detect(path) if name == AUTO else name](path)
    if not workload.tasks:
        raise UsageError(f"{path}: no row asks for anything ({workload.skipped} rows skipped)")
    return workload


def detect(path: Path) -> str:
    """Return the name of the format a workload file is in.

    Raises: UsageError, when it is none of those known.
    """
    first = next((line for line in lines(path) if line.strip()), "")
    if first.lstrip().startswith(";") or len(first.split()) == swf.FIELDS:
        return swf.NAME
    header = csv_header(path)
    for name, columns in _WORKLOAD_COLUMNS.items():
        if all(column in header for column in columns):
            return name
    raise UsageError(f"{path}:1: not a known workload format; say --format ({', '.join(READERS)})")


def read_nodes(text: str | None, workload: Workload) -> tuple[NodeSpec, ...]:
    """Return the nodes of a ``--nodes`` value: a shape, a file, or None for the trace's own.

    Raises: UsageError, also when there is no node.
    """
    if text is None:
        if workload.format != swf.NAME:
            raise UsageError(f"--nodes: a {workload.format} trace names no machine; say --nodes")
        return swf.machine(workload)
    if looks_like_shape(text):
        return parse_shape(text)
    nodes = _node_file(Path(text))
    if not nodes:
        raise UsageError(f"{text}: the file has no node")
    return nodes


def _node_file(path: Path) -> tuple[NodeSpec, ...]:
    header = csv_header(path)
    if remuda_csv.NODE in header:
        return remuda_csv.read_nodes(path)
    if all(column in header for column in alibaba_gpu.NODE_COLUMNS):
        return alibaba_gpu.read_nodes(path)
    raise UsageError(f"{path}:1: not a node list: no column '{remuda_csv.NODE}', no 'sn'")
