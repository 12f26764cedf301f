"""Processes that only want to run each millisecond: if one cannot, its core stood still.

The host of a virtual machine stops it at times, for longer than anything that is measured there,
and the machine gets no notice. A benchmark of the longest of many waits needs to know such times.
Cores are stopped one by one, too, so there is one process on each. Other processes on the core can
delay it by some 5 ms.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, final

# The clock is that of all processes. Gaps of less than 3 ms are not worth telling.
_PROGRAM: Final = """
import os, sys, time
if sys.argv[1:]:
    os.sched_setaffinity(0, {int(sys.argv[1])})
print("ready", flush=True)
last = time.monotonic()
while True:
    time.sleep(0.001)
    now = time.monotonic()
    if now - last > 0.003:
        print(last, now, flush=True)
    last = now
"""


@final
class Witness:
    """The notes of the processes so far, in a file each. ``pids``: their IDs."""

    def __init__(self, noted: Sequence[Path], pids: Sequence[int]) -> None:
        self._noted = noted
        self.pids: Final = pids

    def longest_milliseconds(self, began: float, ended: float) -> float:
        """Return the longest gap that touches a span of ``time.monotonic``; 0.0: there is none."""
        within: list[float] = []
        for noted in self._noted:
            _, *lines = noted.read_text(encoding="ascii").splitlines()
            gaps = [(float(since), float(until)) for since, until in map(str.split, lines)]
            within += [until - since for since, until in gaps if since < ended and until > began]
        return round(max(within, default=0.0) * 1e3, 3)


@contextmanager
def witness() -> Iterator[Witness]:
    """Start one for each core, where they can be told apart; they end with the context."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        arguments = [[str(core)] for core in cores] or [[]]
        noted = [Path(folder, str(place)) for place in range(len(arguments))]
        pids = [
            running.enter_context(_started(*each)) for each in zip(noted, arguments, strict=True)
        ]
        yield Witness(noted, pids)


@contextmanager
def _started(noted: Path, arguments: Sequence[str]) -> Iterator[int]:
    """Start one process, wait until it notes, and yield its ID. Raises: RuntimeError."""
    with noted.open("wb") as out:
        command = [sys.executable, "-S", "-E", "-c", _PROGRAM, *arguments]
        process = subprocess.Popen(command, stdout=out)  # noqa: S603 - ours
    try:
        while not noted.stat().st_size:
            if process.poll() is not None:
                raise RuntimeError(f"the witness ended with code {process.returncode}")
            time.sleep(0.001)
        yield process.pid
    finally:
        process.kill()
        process.wait()
