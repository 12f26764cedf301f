"""Runs `remuda` with a wall clock that another process sets.

    python -m tools.chaos.stepped FILE serve ...

FILE holds eight bytes: by how many seconds the wall clock is ahead. What Python code reads of the
wall clock is changed, before the scheduler is imported. Setting the clock of the machine would
touch others, and the kernel has no namespace for it.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path


def step_clock(file: Path) -> None:
    """Make the wall clock follow a file from now on."""
    with file.open("rb") as opened:
        shared = mmap.mmap(opened.fileno(), 8, access=mmap.ACCESS_READ)
    true_ns = time.time_ns

    def time_ns() -> int:
        return int(true_ns() + struct.unpack("<q", shared[:8])[0] * 1_000_000_000)

    def seconds() -> float:
        return time_ns() / 1e9

    time.time_ns = time_ns
    time.time = seconds


def main() -> None:
    """Run the program with the arguments after the file."""
    step_clock(Path(sys.argv.pop(1)))
    from remuda.cli.main import main as remuda  # noqa: PLC0415 - it keeps the clock it finds

    sys.argv[0] = "remuda"
    remuda()


if __name__ == "__main__":
    main()
