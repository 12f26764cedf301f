"""The standard metrics of a Python program: its process and its interpreter.

Names and meanings are those of Prometheus' library for Python, which dashboards for any service
know. Values that the system does not provide are left out.
"""

from __future__ import annotations

import gc
import os
import platform
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from remuda.telemetry.metrics.text import COUNTER, Metric

_PROC: Final = Path("/proc")

# Places in /proc/self/stat, counted from what follows the name of the program.
_USER, _SYSTEM, _STARTED, _VIRTUAL, _RESIDENT = 11, 12, 19, 20, 21


def standard_families() -> list[Metric]:
    """Return the families with what they are now. Any thread."""
    found: list[Metric] = []
    sources: tuple[Callable[[], list[Metric]], ...] = (_usage, _files, _interpreter, _garbage)
    for source in sources:
        try:
            found += source()
        except (OSError, ValueError, IndexError):
            continue
    return found


def _usage() -> list[Metric]:
    """Memory, start and processor time. Raises: OSError, ValueError, IndexError."""
    # The name of the program is in parentheses, and may hold anything.
    text = (_PROC / "self/stat").read_text(encoding="utf-8", errors="replace")
    fields = text.rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    started = _boot_seconds() + float(fields[_STARTED]) / ticks
    spent = (float(fields[_USER]) + float(fields[_SYSTEM])) / ticks
    resident = float(fields[_RESIDENT]) * os.sysconf("SC_PAGE_SIZE")
    name = "process_start_time_seconds"
    return [
        _gauge(
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes.",
            float(fields[_VIRTUAL]),
        ),
        _gauge("process_resident_memory_bytes", "Resident memory size in bytes.", resident),
        _gauge(name, "Start time of the process since unix epoch in seconds.", started),
        _single(
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            COUNTER,
            spent,
        ),
    ]


@cache
def _boot_seconds() -> float:
    lines = (_PROC / "stat").read_text(encoding="ascii").splitlines()
    (line,) = (each for each in lines if each.startswith("btime "))
    return float(line.split()[1])


def _files() -> list[Metric]:
    """Open files and how many there may be. Raises: OSError, ValueError, IndexError."""
    lines = (_PROC / "self/limits").read_text(encoding="ascii").splitlines()
    (line,) = (each for each in lines if each.startswith("Max open files"))
    limit = line.split()[3]
    count = len(list((_PROC / "self/fd").iterdir()))
    most = float("inf") if limit == "unlimited" else float(limit)
    return [
        _gauge("process_open_fds", "Number of open file descriptors.", count),
        _gauge("process_max_fds", "Maximum number of open file descriptors.", most),
    ]


def _interpreter() -> list[Metric]:
    major, minor, patch = platform.python_version_tuple()
    labels = {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "major": major,
        "minor": minor,
        "patchlevel": patch,
    }
    metric = Metric("python_info", "Python platform information", "gauge")
    metric.add(metric.name, labels, 1)
    return [metric]


def _garbage() -> list[Metric]:
    """The collector's counts by generation."""
    meanings = {
        "collected": ("objects_collected", "Objects collected during gc"),
        "uncollectable": ("objects_uncollectable", "Uncollectable objects found during GC"),
        "collections": ("collections", "Number of times this generation was collected"),
    }
    generations = gc.get_stats()
    found: list[Metric] = []
    for key, (name, meaning) in meanings.items():
        metric = Metric(f"python_gc_{name}_total", meaning, COUNTER)
        for number, counts in enumerate(generations):
            metric.add(metric.name, {"generation": str(number)}, counts[key])
        found.append(metric)
    return found


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return _single(name, meaning, "gauge", value)


def _single(name: str, meaning: str, kind: str, value: float) -> Metric:
    metric = Metric(name, meaning, kind)
    metric.add(name, {}, value)
    return metric
