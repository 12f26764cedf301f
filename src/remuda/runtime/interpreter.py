"""Settings of the interpreter for a process whose main work is scheduling.

They concern the whole process, so the loop, which may run inside somebody's program, does not
touch them; ``remuda serve`` and the benchmarks do, once, when everything is imported and built.

Garbage collection: see collection.py.

Switch interval: a thread that answers a REST request waits at most this long for its turn while
the core thread computes; the default of 5 ms would show as latency.
"""

from __future__ import annotations

import sys
from typing import Final

from remuda.runtime.collection import COLLECTOR

_SWITCH_INTERVAL_SECONDS: Final = 0.0005


def tune_interpreter() -> None:
    """Set the thread switch interval, and when garbage is looked for."""
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    COLLECTOR.install()
