"""Settings of the interpreter for a process whose main work is scheduling.

They concern the whole process, so the loop, which may run inside somebody's program, does not
touch them; ``remuda serve`` and the benchmarks do, once, when everything is imported and built.

Garbage collection: records of allocations form no cycles, reference counting frees them. A full
collection over 100,000 allocations takes 30 to 45 ms during which nothing is scheduled, so what
exists after start is taken out of its sight and young collections are made rare. They stay on,
because error handling in the network libraries does build cycles.

Switch interval: a thread that answers a REST request waits at most this long for its turn while
the core thread computes; the default of 5 ms would show as latency.
"""

from __future__ import annotations

import gc
import sys
from typing import Final

_SWITCH_INTERVAL_SECONDS: Final = 0.0005

# Objects created before a young collection, young before a middle one, middle before a full one.
_COLLECTION_THRESHOLDS: Final = (50_000, 20, 100)


def tune_interpreter() -> None:
    """Set the thread switch interval and take the present objects out of collection."""
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTION_THRESHOLDS)
