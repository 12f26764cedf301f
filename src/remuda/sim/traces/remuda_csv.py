"""The project's own format: two CSV files anyone can write by hand or with a spreadsheet.

Nodes: ``node,<resource>...``. Workload: ``task,submit,duration``, then any of ``application``,
``queue``, ``user``, ``class``, ``priority`` and ``members``, then one column per resource. Amounts
are in base units, times in seconds. The amounts of a row are those of the whole task, also if it
has several equal members. Rows of one application belong to the same application while any of
them is unfinished.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.sim.traces.rows import Row, csv_header, csv_rows, gather, unique
from remuda.sim.workload import CLASS, USER, VC, NodeSpec, Task, Workload

NAME: Final = "remuda"
NODE: Final = "node"
TASK_COLUMNS: Final = ("task", "submit", "duration")

# Which label an optional column gives; a queue is what other traces call a virtual cluster.
_LABEL_COLUMNS: Final = {USER: "user", CLASS: "class", VC: "queue"}
_OTHER_COLUMNS: Final = ("application", "priority", "members")
_PRIORITY_LIMIT: Final = 1 << 31


def read_nodes(path: Path) -> tuple[NodeSpec, ...]:
    """Return the nodes of a node file.

    Raises: UsageError.
    """
    resources = _resources(path, (NODE,))
    seen: dict[str, int] = {}
    return tuple(
        NodeSpec(unique(row, NODE, row.name(NODE), seen), _amounts(row, resources))
        for row in csv_rows(path, (NODE,))
    )


def read_workload(path: Path) -> Workload:
    """Return the tasks of a workload file.

    Raises: UsageError.
    """
    header = csv_header(path)
    labels = tuple(label for label, column in _LABEL_COLUMNS.items() if column in header)
    resources = _resources(path, (*TASK_COLUMNS, *_LABEL_COLUMNS.values(), *_OTHER_COLUMNS))
    seen: dict[str, int] = {}
    rows = csv_rows(path, TASK_COLUMNS)
    tasks, skipped = gather(_task(row, seen, labels, resources) for row in rows)
    return Workload(str(path), NAME, tasks, skipped, labels)


def _resources(path: Path, others: Sequence[str]) -> list[str]:
    resources = [column for column in csv_header(path) if column not in others]
    if not resources:
        raise UsageError(f"{path}:1: no column names a resource")
    if "" in resources:
        raise UsageError(f"{path}:1: a column has no name")
    return resources


def _task(row: Row, seen: dict[str, int], labels: Sequence[str], resources: Sequence[str]) -> Task:
    task_id = unique(row, "task", row.name("task"), seen)
    return Task(
        task_id=task_id,
        line=row.line,
        resource=_amounts(row, resources),
        submit_ns=row.seconds("submit"),
        duration_ns=row.seconds("duration"),
        application_id=row.name("application") if row.text("application") else task_id,
        labels={label: row.text(_LABEL_COLUMNS[label]) for label in labels},
        priority=_priority(row),
        members=_members(row),
    )


def _priority(row: Row) -> int:
    if not row.text("priority"):
        return 0
    priority = row.whole("priority")
    if not -_PRIORITY_LIMIT <= priority < _PRIORITY_LIMIT:
        raise row.bad("priority", f"'{priority}' is not a signed 32-bit number")
    return priority


def _members(row: Row) -> int:
    if not row.text("members"):
        return 1
    members = row.whole("members")
    if members < 1:
        raise row.bad("members", f"'{members}' is not 1 or more")
    return members


def _amounts(row: Row, resources: Sequence[str]) -> dict[str, int]:
    amounts = {name: row.amount(name) for name in resources}
    return {name: amount for name, amount in amounts.items() if amount}
