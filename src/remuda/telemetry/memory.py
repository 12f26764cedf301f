"""Reports the memory of the process and the objects in it (REST-55)."""

from __future__ import annotations

import gc
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Final

from remuda.runtime.collection import COLLECTOR
from remuda.telemetry.stacks import Window

_STATUS: Final = Path("/proc/self/status")
_LINES_OF_STATUS: Final = ("VmPeak", "VmSize", "VmHWM", "VmRSS", "VmSwap", "Threads")

# Types that are named in a count.
_TYPES: Final = 200


def memory_summary() -> str:
    """Return figures of the system, the allocator and the collector, which cost no time."""
    lines = [f"allocated blocks: {sys.getallocatedblocks()}"]
    if COLLECTOR.installed:
        lines.append(f"batches looked at {COLLECTOR.looked}, set apart unseen {COLLECTOR.passed}")
    for number, (pending, done) in enumerate(zip(gc.get_count(), gc.get_stats(), strict=True)):
        figures = ", ".join(f"{name} {value}" for name, value in done.items())
        lines.append(f"generation {number}: {pending} pending, {figures}")
    return "\n".join([*_system(), *lines]) + "\n"


def type_counts() -> str:
    """Return how many objects of which type the collector follows, most first.

    All threads stop while it lists them: some 35 ms per million. Rules: REST-55.
    """
    kinds = [type(each) for each in COLLECTOR.objects()]
    seen = Counter(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
    ranked = sorted(seen.items(), key=lambda item: (-item[1], item[0]))[:_TYPES]
    return "".join(f"{count}\t{name}\n" for name, count in ranked)


def collected() -> str:
    """Examine all objects and return how many were garbage.

    All threads stop meanwhile: some 0.4 s per million objects. Rules: REST-55.
    """
    return f"garbage collected: {COLLECTOR.collect_all()}\n"


def memory_over_time(window: Window, stop: threading.Event) -> str:
    """Return the changes of the number of allocated blocks, and the collector's runs meanwhile.

    Rules: REST-55.
    """
    before = gc.get_stats()
    lines = [
        f"{passed:.3f}\t{sys.getallocatedblocks()}\t{' '.join(map(str, gc.get_count()))}\n"
        for passed in window.ticks(stop)
    ]
    for number, (was, now) in enumerate(zip(before, gc.get_stats(), strict=True)):
        more = ", ".join(f"{name} {now[name] - was[name]}" for name in now)
        lines.append(f"generation {number}: {more}\n")
    return "seconds\tblocks\tpending\n" + "".join(lines)


def _system() -> list[str]:
    """Return the system's figures about the process, empty where it has none."""
    try:
        text = _STATUS.read_text()
    except OSError:
        return []
    pairs = [line.partition(":") for line in text.splitlines()]
    return [f"{name}: {value.strip()}" for name, _, value in pairs if name in _LINES_OF_STATUS]
