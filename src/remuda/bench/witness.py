"""A process that only wants to run each millisecond: where it cannot, the machine stood still.

A virtual machine does at times, for longer than anything that is measured there, and nothing in it
is told. Whoever measures the longest of many waits has to know.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

# The clock is that of all processes. Gaps of less than 3 ms are not worth telling.
_PROGRAM: Final = """
import time
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
    """What such a process has noted so far, in a file. ``pid``: its ID."""

    def __init__(self, noted: Path, pid: int) -> None:
        self._noted = noted
        self.pid: Final = pid

    def longest_milliseconds(self, began: float, ended: float) -> float:
        """Return the longest gap that touches a span of ``time.monotonic``; 0.0: there is none."""
        _, *lines = self._noted.read_text(encoding="ascii").splitlines()
        gaps = [(float(since), float(until)) for since, until in map(str.split, lines)]
        within = [until - since for since, until in gaps if since < ended and until > began]
        return round(max(within, default=0.0) * 1e3, 3)


@contextmanager
def witness() -> Iterator[Witness]:
    """Start one; it ends with the context."""
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder, "gaps")
        with noted.open("wb") as out:
            command = [sys.executable, "-S", "-E", "-c", _PROGRAM]
            process = subprocess.Popen(command, stdout=out)  # noqa: S603 - ours
        try:
            while not noted.stat().st_size:
                if process.poll() is not None:
                    raise RuntimeError(f"the witness ended with code {process.returncode}")
                time.sleep(0.001)
            yield Witness(noted, process.pid)
        finally:
            process.kill()
            process.wait()
