"""What of the core would wait for a collector, which hardly runs in a served process."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """Nothing is collected on its own, and nothing that was there before is looked at."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def garbage() -> Counter[str]:
    """Collect, and return what of the core there was to collect, by type."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    kinds = [type(each) for each in gc.garbage]
    gc.garbage.clear()
    gc.collect()
    return Counter(kind.__name__ for kind in kinds if kind.__module__.startswith("remuda.core."))
