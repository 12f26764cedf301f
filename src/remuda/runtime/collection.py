"""When the interpreter looks for cyclic garbage in a process whose main work is scheduling.

Reference counting frees the core's asks, allocations, applications and nodes. Garbage that needs a
collector comes from error handling and from the network libraries. But a collection takes some 0.2
us for every live object it examines, and all threads stop meanwhile: with 100,000 allocations a
tenth of all time, and half a second for all objects.

So no object is examined twice, and only a batch at once. After a number of new objects the
interpreter examines these, which takes some milliseconds; the survivors are frozen (``gc.freeze``),
which costs nothing. When a batch follows very soon after the last one, its objects are state made
by a burst of requests, and are frozen without examination. So are objects made during large work
that scheduling waits for (``held``). Reference counting still frees frozen objects.

Garbage in cycles is not found if it was made in such a moment or became a cycle later, for example
the objects of a resource manager that left. It stays until a full collection is requested
(``/debug/pprof/heap?gc``).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Final, final

# The number of new objects, and the time since the last collection, from which they are examined.
BATCH: Final = 5_000
PAUSE_NS: Final = 1_000_000_000

# The older generations are always empty, so these numbers hardly matter.
_RARELY: Final = 1_000_000

_FULL: Final = 2


@final
class Collector:
    """Decides at the beginning of each collection whether it takes place.

    The interpreter calls it on the thread that made the object which exceeds the threshold.
    ``looked`` and ``passed``: how many batches of objects were examined, and frozen without
    examination. ``held``: no object is to be examined now.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.installed = False
        self.held = False
        self.looked = 0
        self.passed = 0
        self._clock = clock
        self._due_ns = 0

    def install(self) -> None:
        """Replace the interpreter's own thresholds, after a full collection."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(BATCH, _RARELY, _RARELY)
        if not self.installed:
            gc.callbacks.append(self)
        self.installed = True

    def __call__(self, phase: str, about: Mapping[str, int]) -> None:
        """Handle the begin or end of a collection; a requested one always takes place."""
        if about["generation"] == _FULL:
            return
        if phase == "start":
            now_ns = self._clock()
            if self.held or now_ns < self._due_ns:
                self.passed += 1
                gc.freeze()  # the collection finds no object to examine
            else:
                self.looked += 1
                self._due_ns = now_ns + PAUSE_NS
        else:
            gc.freeze()

    def collect_all(self) -> int:
        """Examine all objects; return how many were garbage. All threads stop meanwhile."""
        gc.unfreeze()
        found = gc.collect()
        self.set_apart()
        return found

    def objects(self) -> list[object]:
        """Return all objects that may be part of a cycle, with the frozen ones."""
        gc.unfreeze()
        found = gc.get_objects()
        self.set_apart()
        return found

    def set_apart(self) -> None:
        """Examine no object that exists now in an ordinary collection.

        For lists of very many objects: one with a million keeps the interpreter for a tenth of a
        second. Does nothing unless installed.
        """
        if self.installed:
            gc.freeze()


# The collector of this process; it does nothing until it is installed.
COLLECTOR: Final = Collector()
