"""How much of the machine other processes took while something was timed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

# The kernel's table of processor time, and its columns in which nobody works: idle and iowait.
MACHINE: Final = Path("/proc/stat")
_IDLE: Final = (3, 4)
# The columns after these are parts of others.
_COLUMNS: Final = 8


class Company:
    """Watches from its creation on."""

    def __init__(self) -> None:
        self._busy, self._own, self._began = _busy(), time.process_time(), time.monotonic()

    def share(self) -> float:
        """Return which part of all processors others took; 0 where the kernel does not tell it.

        Time that other guests of the host took counts as theirs. The kernel counts in ticks, so the
        sum over a few of them may be more than the time that passed: the whole machine is the most.
        """
        passed = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        others = (_busy() - self._busy) - (time.process_time() - self._own)
        return min(max(0.0, others / passed), 1.0) if passed > 0 else 0.0


def _busy() -> float:
    """Return the seconds in which any processor worked."""
    try:
        columns = [int(each) for each in MACHINE.read_text().split("\n", 1)[0].split()[1:]]
    except (OSError, ValueError):
        return 0.0
    worked = [ticks for at, ticks in enumerate(columns[:_COLUMNS]) if at not in _IDLE]
    return sum(worked) / os.sysconf("SC_CLK_TCK")
