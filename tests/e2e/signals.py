"""Signals of commands that tests start."""

from __future__ import annotations

import signal
from typing import Final

_SENT: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP)


def heed_signals() -> None:
    """Let signals do what they do, in a child before its program begins.

    Shells let what they start in the background ignore some, and `nohup` others; what a test has
    blocked in this process, such as `remuda serve` does, a child would inherit, too.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in _SENT:
        signal.signal(number, signal.SIG_DFL)
