"""A fixed loop of plain Python, timed beside each run to show whether the machine was equally fast.

Its time depends on the machine, its clock and other programs, but not on the scheduler.
"""

from __future__ import annotations

import time
from typing import Final

from remuda.base.message import message

# Steps of the loop: some 50 ms.
_STEPS: Final = 400_000
_REPEATS: Final = 3

# A run in which the loop changed by more is not to be relied on.
DRIFT: Final = 0.10


@message
class Calibration:
    """Milliseconds that the loop took before and after a run, the quickest of three each."""

    before: float
    after: float

    def drift(self) -> float:
        """Return by which part the slower one was slower."""
        slow, quick = max(self.before, self.after), min(self.before, self.after)
        return slow / quick - 1


def calibrate() -> float:
    """Return the milliseconds that the loop takes now."""
    return round(min(_once() for _ in range(_REPEATS)), 3)


def _once() -> float:
    began = time.perf_counter()
    found: dict[int, int] = {}
    value = 1
    for step in range(_STEPS):
        value = (value * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        found[value & 1023] = step
    return (time.perf_counter() - began) * 1e3
