"""What has ended in the core is freed by reference counting; nothing waits for a collector.

A served process hardly looks for garbage in cycles (``remuda.runtime.collection``).
"""

from __future__ import annotations

import pytest

from remuda.bench.clusters.full_cluster import DELAY_NS, MEMORY, VCORE, FullCluster, Obedient
from remuda.core.scheduler import Scheduler
from tests.garbage import collector_off, garbage
from tests.long_runs import usual
from tests.reference.driver import apply
from tests.reference.tastes import refuse_some
from tests.reference.workloads import record

BLOCK = 5


@pytest.mark.parametrize("first", usual(range(7000, 7030, BLOCK)))
def test_nothing_that_ends_is_left_for_the_collector(first: int) -> None:
    looked = 0
    for seed in range(first, first + BLOCK):
        run = record(seed, 60)
        with collector_off():
            scheduler = Scheduler(refuse_some)
            for given in run.inputs:
                apply(scheduler, given)
                assert not garbage(), (seed, given)
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
