"""Runs a program whose clock of the day goes astray: every second it is another hour.

`python stepping_clock.py ARGUMENTS` is `python -m remuda ARGUMENTS`. A clock that the
administrator sets, or that a time server corrects, does the same to a program.
"""

from __future__ import annotations

import runpy
import sys
import time

_HOUR = 3600
_true_time = time.time


def _steps() -> int:
    """Return the seconds by which the clock is wrong now: an hour ahead, right, or behind."""
    return _HOUR * (int(_true_time()) % 3 - 1)


def _time() -> float:
    return _true_time() + _steps()


def _time_ns() -> int:
    return int(_true_time() * 1e9) + _steps() * 10**9


time.time = _time
time.time_ns = _time_ns
sys.argv = ["remuda", *sys.argv[1:]]
runpy.run_module("remuda", run_name="__main__", alter_sys=True)
