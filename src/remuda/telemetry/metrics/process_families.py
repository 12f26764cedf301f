"""The metrics of the process: its interpreter, and the HTTP requests it answers.

Rules: MET-41, MET-42.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from bisect import bisect_left
from pathlib import Path
from typing import Final

from remuda.base.duration import SECOND
from remuda.runtime.timings import BOUNDS_NS, HistogramView
from remuda.telemetry.metrics.families import Families

_STATM: Final = Path("/proc/self/statm")


class RequestTimes:
    """How many HTTP requests each route answered, and how long that took.

    One thread counts, any may read. Bounded: by routes, their methods and the status codes.
    """

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str, int], int] = {}
        self._times: dict[str, list[int]] = {}

    def observe(self, route: str, method: str, status: int, took_ns: int) -> None:
        """Count one answer. Rules: MET-42."""
        key = (route, method, status)
        self._codes[key] = self._codes.get(key, 0) + 1
        # One more than there are buckets: the last is the sum.
        counts = self._times.get(route)
        if counts is None:
            counts = self._times[route] = [0] * (len(BOUNDS_NS) + 2)
        counts[bisect_left(BOUNDS_NS, took_ns)] += 1
        counts[-1] += took_ns

    def add(self, families: Families) -> None:
        """Add what was counted. Rules: MET-42."""
        requests = families.counter("rest_requests_total", "HTTP requests by route and answer.")
        for (route, method, status), count in sorted(self._codes.copy().items()):
            requests.add(count, route=route, method=method, code=str(status))
        times = sorted(self._times.copy().items())
        views = {route: HistogramView(tuple(each[:-1]), each[-1]) for route, each in times}
        text = "HTTP requests by route: until the answer was ready, in seconds."
        families.histogram("rest_request_seconds", text, views, "route")


def add_runtime(families: Families, lag_ns: int) -> None:
    """Add the present usage of the process; ``lag_ns``: how long a question to the core waited.

    Implements: MET-41.
    """
    text = "Memory that is resident, in bytes."
    if (resident := _resident_bytes()) is not None:
        families.gauge("runtime_py_resident_memory_bytes", text).add(resident)
    text = "Processor time of all threads, in seconds."
    families.counter("runtime_py_cpu_seconds_total", text).add(time.process_time())
    text = "Threads that the interpreter knows."
    families.gauge("runtime_py_threads", text).add(threading.active_count())
    text = "Collections of garbage by generation."
    collections = families.counter("runtime_py_gc_collections_total", text)
    text = "Objects collected by generation."
    collected = families.counter("runtime_py_gc_collected_total", text)
    for number, generation in enumerate(gc.get_stats()):
        collections.add(generation["collections"], generation=str(number))
        collected.add(generation["collected"], generation=str(number))
    text = "How long a question waited for the scheduler's answer, in seconds."
    families.gauge("runtime_py_scheduler_lag_seconds", text).add(lag_ns / SECOND)


def _resident_bytes() -> int | None:
    """Return the resident memory; None where the system does not tell."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
