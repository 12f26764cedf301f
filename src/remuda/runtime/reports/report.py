"""A report about snapshots and journals: what they are, what they hold, what is wrong in them."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from remuda import __version__
from remuda.core.scheduler import Scheduler
from remuda.runtime.build import core_build
from remuda.runtime.reports.names import Names
from remuda.runtime.reports.sources import (
    Found,
    Replay,
    ReplayBounds,
    hidden_damage,
    hidden_difference,
    read_source,
)
from remuda.runtime.reports.state import (
    attempted,
    configurations,
    oddities,
    partition_figures,
    waiting_applications,
)
from remuda.runtime.reports.violations import violations

# Changes when a member of a report gets another meaning.
_FORMAT: Final = 1

_SECOND: Final = 10**9
_LAST_NS: Final = 253_402_300_799 * _SECOND


def build_report(paths: Sequence[Path], names: Names, bounds: ReplayBounds) -> dict[str, Any]:
    """Return a report about files, as JSON has it; ``sound``: whether nothing is wrong in them.

    Raises: UsageError, one line, for the first file that cannot be used. Implements: EXT-145.
    """
    files = [
        {"file": f"file {number}" if names.hidden else str(path), **_about(path, names, bounds)}
        for number, path in enumerate(paths, start=1)
    ]
    return {
        "report": _FORMAT,
        "made by": f"remuda {__version__} ({core_build()})",
        "python": platform.python_version(),
        "machine": f"{sys.platform} {platform.machine()}",
        "pseudonyms": names.hidden,
        "sound": all(each["sound"] for each in files),
        "whole": all(each.get("replay", {}).get("whole", True) for each in files),
        "files": files,
    }


def _about(path: Path, names: Names, bounds: ReplayBounds) -> dict[str, Any]:
    found = read_source(path, bounds)
    told: dict[str, Any] = {
        "kind": found.kind,
        "sound": True,
        **_facts(found),
        "state at": _time(found.now_ns),
    }
    replay = found.replay
    if replay is not None:
        told["replay"] = _replay(replay, names)
    if found.scheduler is None:
        return told
    told |= _state(found.scheduler, names, found.now_ns)
    told["sound"] = not told["violations"] and (replay is None or replay.sound())
    return told


def _facts(found: Found) -> dict[str, Any]:
    facts = dict(found.facts)
    began_ns = facts.pop("began ns", None)
    if began_ns is not None:
        facts["began at"] = _time(began_ns)
    return {key: value for key, value in facts.items() if value != ""}


def _replay(replay: Replay, names: Names) -> dict[str, Any]:
    """Return what repeating inputs gave; texts that may hold names are made anew."""
    difference, damaged = replay.difference, replay.damaged
    if names.hidden:
        difference = hidden_difference(difference) if replay.differs_at else ""
        damaged = hidden_damage(damaged) if damaged else ""
    return {
        "first input": replay.first,
        "first input at": _time(replay.first_ns),
        "last input": replay.last,
        "last input at": _time(replay.last_ns),
        "compared": replay.inputs,
        "same": not replay.differs_at,
        "differs at": replay.differs_at,
        "differing input": replay.kind,
        "difference": difference,
        "torn": replay.torn,
        "damaged": damaged,
        "whole": replay.whole,
    }


def _state(scheduler: Scheduler, names: Names, now_ns: int) -> dict[str, Any]:
    """Return the parts of a report about a state, each of which may fail on a wrong one."""
    return {
        "violations": violations(scheduler, names),
        "partitions": attempted(lambda: partition_figures(scheduler, names)),
        "odd": attempted(lambda: oddities(scheduler, names)),
        "waiting": attempted(lambda: waiting_applications(scheduler, names, now_ns)),
        "configurations": attempted(lambda: configurations(scheduler, names)),
    }


def _time(at_ns: int) -> str:
    """Return Unix time in UTC, "" for none; a time that no calendar has is told as it is."""
    if not at_ns:
        return ""
    if not 0 < at_ns <= _LAST_NS:
        return f"{at_ns} ns"
    moment = datetime.fromtimestamp(at_ns // _SECOND, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ns % _SECOND:09d}Z"
