"""Writes a report about each fault of the core: what was handled, the traceback, and the state.

A report is one JSON file that its owner only can read, since it has what resource managers sent.
The command in it has the form of a recording (journal.py), so that it can be handled again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from remuda import __version__
from remuda.core.messages.commands import (
    Command,
    RegisterResourceManager,
    UpdateConfiguration,
)
from remuda.core.messages.queries import PartitionsQuery, PartitionView, QueuesQuery
from remuda.core.messages.rows import rows
from remuda.runtime.build import core_build
from remuda.runtime.faults import Fault
from remuda.runtime.ports import Door
from remuda.runtime.private_files import private

# Reports that are kept; of more the oldest is deleted.
KEPT: Final = 20

# Allocations and applications beyond which a report has no queues and nothing is recomputed, which
# takes some 10 ms for so many.
LARGE: Final = 2_000

# Bytes of a command that a report has; a longer one, of some 10,000 elements, is left out.
COMMAND_BYTES: Final = 4 * 2**20

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
        part = f"{fault.at_ns % _NANOSECONDS:09}-{os.getpid()}-{self._number:04}"
        name = f"{_PREFIX}{moment:%Y%m%dT%H%M%SZ}-{part}{_SUFFIX}"
        path = self._directory / name
        content = msgspec.json.encode(_content(fault, scheduler, moment))
        with open(path, "xb", opener=private) as file:
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
        "command": _shown(command),
        **_state(fault.rm_id, scheduler),
    }


def _shown(command: Command | None) -> Any:
    """Return a command without the values of an extra map, which may be secret, if it is short."""
    if isinstance(command, RegisterResourceManager | UpdateConfiguration):
        hidden = dict.fromkeys(command.extra_config or (), "...")
        command = replace(command, extra_config=hidden)
    content = msgspec.json.encode(command)
    if len(content) > COMMAND_BYTES:
        return f"left out: {len(content):,} bytes are too many"
    return msgspec.Raw(content)


def _state(rm_id: str, scheduler: Door) -> dict[str, Any]:
    """Return the partitions of an RM with their queues, and whether all counters add up.

    The others wait meanwhile, so the latter and the queues are left out where there is much.
    """
    try:
        views = rows(PartitionView, scheduler.view(PartitionsQuery()))
        own = [view for view in views if view.rm_id == rm_id]
        size = sum([view.total_containers + sum(view.applications.values()) for view in views])
    except Exception as error:  # noqa: BLE001 - the state may be wrong in any way
        return {"partitions": _told(error), "invariants": _attempt(lambda: _checked(scheduler))}
    if size > LARGE:
        return {"partitions": own, "invariants": f"not checked: {size:,} objects are too many"}
    return {
        "partitions": own,
        "queues": [
            _attempt(partial(scheduler.view, QueuesQuery(view.name, rm_id=rm_id))) for view in own
        ],
        "invariants": _attempt(lambda: _checked(scheduler)),
    }


def _checked(scheduler: Door) -> str:
    scheduler.check()
    return "all hold"


def _attempt(work: Callable[[], Any]) -> Any:
    """Return what some work returns; the state may be wrong in any way, so also why it failed."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - any fault of the state may show here
        return _told(error)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
