"""What has ended in the core is freed by reference counting; nothing waits for a collector.

A served process hardly looks for garbage in cycles (``remuda.runtime.collection``).
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from remuda.bench.full_cluster import DELAY_NS, MEMORY, VCORE, FullCluster, Obedient
from remuda.core.messages import commands as c
from remuda.core.messages import queries as q
from remuda.core.scheduler import Scheduler
from tests.reference.driver import apply
from tests.reference.tastes import refuse_some
from tests.reference.workloads import record

BLOCK = 5

# With these whole partitions may go, which consist of queues that know each other.
TEARDOWNS = (c.RegisterResourceManager, c.UnregisterResourceManager, c.UpdateConfiguration)


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


def partitions(scheduler: Scheduler) -> int:
    """How many partitions there are, those that are leaving included."""
    views = scheduler.view(q.PartitionsQuery())
    assert isinstance(views, tuple)
    return len(views)


@pytest.mark.parametrize("first", range(7000, 7030, BLOCK))
def test_nothing_that_ends_is_left_for_the_collector(first: int) -> None:
    looked = 0
    for seed in range(first, first + BLOCK):
        run = record(seed, 60)
        with collector_off():
            scheduler = Scheduler(refuse_some)
            for given in run.inputs:
                before = partitions(scheduler)
                apply(scheduler, given)
                found = garbage()
                if not isinstance(given[1], TEARDOWNS) and partitions(scheduler) == before:
                    assert not found, (seed, given)
                    looked += 1
            del scheduler
    assert looked > 50 * BLOCK


def test_a_preemption_leaves_nothing_for_the_collector() -> None:
    room = {"memory": MEMORY, "vcore": VCORE}
    with collector_off():
        crowd = Obedient(FullCluster(nodes=20, per_node=5))
        garbage()
        for number in range(3):
            crowd.ask("taker-000", f"ask-{number}", room)
        crowd.wait(crowd.now_ns + 2 * DELAY_NS)
        assert crowd.confirm() == 3
        crowd.decide()
        assert len(crowd.placed) == 3
        for number in range(3):
            crowd.take_back(f"ask-{number}")
        crowd.decide()
        assert not garbage()
