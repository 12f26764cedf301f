"""The shape startup: how long the program takes to begin, and what it holds then.

`remuda --help` is run to its end. `remuda serve` is run until the line on standard output that says
that it listens; what the process holds is read then, with nobody connected. Both run some times,
each in a new process, and the median counts.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.services.served import Served
from remuda.bench.throughput.run import TIMEOUT_S, build


@message
class StartupShape:
    """How often each is run."""

    name: str
    times: int


STARTUP: Final = StartupShape("startup", 5)


@message
class StartupResult:
    """A measured shape. ``resident_bytes``: of the process that serves."""

    shape: str
    help_seconds: float
    serving_seconds: float
    resident_bytes: int
    build: str


def measure_startup(shape: StartupShape) -> StartupResult:
    """Run a shape once. Raises: RemudaError if the program does not start."""
    helps = [_help_seconds() for _ in range(shape.times)]
    starts = [_served() for _ in range(shape.times)]
    return StartupResult(
        shape=shape.name,
        help_seconds=round(statistics.median(helps), 3),
        serving_seconds=round(statistics.median(seconds for seconds, _ in starts), 3),
        resident_bytes=int(statistics.median_low(held for _, held in starts)),
        build=build(),
    )


def _help_seconds() -> float:
    began = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-m", "remuda", "--help"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    took = time.perf_counter() - began
    if ended.returncode:
        raise RemudaError(f"remuda --help failed: {ended.stderr.strip()}")
    return took


def _served() -> tuple[float, int]:
    """Return the seconds until it serves, and the bytes it holds then."""
    began = time.perf_counter()
    with Served() as served:
        return time.perf_counter() - began, served.resident_bytes()
