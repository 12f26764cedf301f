"""Writes a report about each fault of the core: what was handled, the traceback, and the state.

A report is one JSON file that its owner only can read, since it has what resource managers sent.
The command in it has the form of a recording (journal.py), so that it can be handled again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, Final

import msgspec

from remuda import __version__
from remuda.core.messages.queries import PartitionsQuery, PartitionView, QueuesQuery
from remuda.runtime.build import core_build
from remuda.runtime.faults import Fault
from remuda.runtime.ports import Door
from remuda.runtime.rows import rows

# Reports that are kept; of more the oldest is deleted.
KEPT: Final = 20

_PREFIX: Final = "fault-"
_SUFFIX: Final = ".json"
_NANOSECONDS: Final = 1_000_000_000


class FaultReports:
    """Writes reports into a directory.

    Raises: OSError if a report cannot be written. Rules: SI-15.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._number = 0

    def __call__(self, fault: Fault, scheduler: Door) -> str:
        """Write a report and return its path. Core thread."""
        self._number += 1
        moment = datetime.fromtimestamp(fault.at_ns // _NANOSECONDS, UTC)
        name = f"{_PREFIX}{moment:%Y%m%dT%H%M%SZ}-{os.getpid()}-{self._number:04}{_SUFFIX}"
        path = self._directory / name
        content = msgspec.json.encode(_content(fault, scheduler, moment))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with FileIO(descriptor, "w") as file:
            file.write(msgspec.json.format(content, indent=2))
        for old in sorted(self._directory.glob(f"{_PREFIX}*{_SUFFIX}"))[:-KEPT]:
            old.unlink(missing_ok=True)
        return str(path)


def _content(fault: Fault, scheduler: Door, moment: datetime) -> dict[str, Any]:
    command = fault.command
    return {
        "version": __version__,
        "build": core_build(),
        "time": moment.isoformat(),
        "rmID": fault.rm_id,
        "fault": f"{fault.kind}: {fault.text}",
        "traceback": fault.trace.splitlines(),
        "commandKind": None if command is None else type(command).__name__,
        "command": command,
        "invariants": _attempt(lambda: _checked(scheduler)),
        "partitions": _attempt(lambda: _partitions(fault.rm_id, scheduler)),
    }


def _checked(scheduler: Door) -> str:
    scheduler.check()
    return "all hold"


def _partitions(rm_id: str, scheduler: Door) -> list[Any]:
    """Return the partitions of an RM with their queues."""
    views = rows(PartitionView, scheduler.view(PartitionsQuery()))
    return [
        {"partition": view, "queues": scheduler.view(QueuesQuery(view.name, rm_id=rm_id))}
        for view in views
        if view.rm_id == rm_id
    ]


def _attempt(work: Callable[[], Any]) -> Any:
    """Return what some work returns; the state may be wrong in any way, so also why it failed."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - any fault of the state may show here
        return f"{type(error).__name__}: {error}"
