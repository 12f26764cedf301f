"""When the interpreter looks for cyclic garbage in a process whose main work is scheduling.

What the core keeps of asks, allocations, applications and nodes is freed by reference counting; the
garbage that needs a collector is made by error handling and by the network libraries. But looking
for it takes time for every live object that is looked at, some 0.2 us each, and all threads stand
still meanwhile: with 100,000 allocations a tenth of all time, and half a second for all objects.

So nothing is looked at twice, and not much at once. After so many new objects the interpreter looks
at these, which takes some milliseconds; what survives is set apart for ever (``gc.freeze``), which
costs nothing. When objects come so fast that the last look was just now, they are state that a
burst of requests makes: they are set apart unseen. So are those that are made while something
large runs that scheduling has to wait for (``held``). Set apart does not mean kept: reference
counting goes on freeing such objects.

What is lost is garbage in cycles that was made in such a moment, or that became a cycle later: what
belonged to a resource manager that left, for one. It stays until somebody asks for a full
collection (``/debug/pprof/heap?gc``).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Final, final

# How many new objects there must be, and how long ago the last look, so that they are looked at.
BATCH: Final = 5_000
PAUSE_NS: Final = 1_000_000_000

# What would be looked at after so many young collections is empty, so they hardly matter.
_RARELY: Final = 1_000_000

_FULL: Final = 2


@final
class Collector:
    """What decides at the beginning of each collection whether it takes place.

    The interpreter calls it, on whatever thread makes the object that is one too many.
    ``looked`` and ``passed``: how many batches of objects were looked at, and set apart unseen.
    ``held``: nothing is to be looked at now.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.installed = False
        self.held = False
        self.looked = 0
        self.passed = 0
        self._clock = clock
        self._due_ns = 0

    def install(self) -> None:
        """Take over from the interpreter's own thresholds, after a full collection."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(BATCH, _RARELY, _RARELY)
        if not self.installed:
            gc.callbacks.append(self)
        self.installed = True

    def __call__(self, phase: str, about: Mapping[str, int]) -> None:
        """A collection begins or has ended; one that somebody asked for is left alone."""
        if about["generation"] == _FULL:
            return
        if phase == "start":
            now_ns = self._clock()
            if self.held or now_ns < self._due_ns:
                self.passed += 1
                gc.freeze()  # nothing is left that the collection could look at
            else:
                self.looked += 1
                self._due_ns = now_ns + PAUSE_NS
        else:
            gc.freeze()

    def collect_all(self) -> int:
        """Look at all objects there are; return how many were garbage. All threads stand still."""
        gc.unfreeze()
        found = gc.collect()
        self._set_apart()
        return found

    def objects(self) -> list[object]:
        """Return all objects that may be part of a cycle, those set apart included."""
        gc.unfreeze()
        found = gc.get_objects()
        self._set_apart()
        return found

    def _set_apart(self) -> None:
        if self.installed:
            gc.freeze()


# That of this process; it does nothing until it is installed.
COLLECTOR: Final = Collector()
