"""The wall clock of a served scheduler.

The core reads no clock; every input carries the time the loop read here. Simulations supply
virtual times of their own and do not use this module.
"""

from __future__ import annotations

import threading
import time


class WallClock:
    """Unix time that never goes back, even if the machine's clock is set back."""

    def __init__(self) -> None:
        self._latest_ns = 0
        self._lock = threading.Lock()

    def now_ns(self) -> int:
        """Unix time in nanoseconds."""
        with self._lock:
            self._latest_ns = max(self._latest_ns, time.time_ns())
            return self._latest_ns
