"""The benchmark of gangs, with small numbers."""

from __future__ import annotations

import pytest

from remuda.base.errors import RemudaError
from remuda.bench.throughput.gang import GANG, Answers, GangManager, GangShape, measure_gangs
from remuda.bench.throughput.run import RM_ID, configuration
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si

SMALL = GangShape("small", gangs=12, under_way=3, nodes=20, queues=2, size_limit=8)


@pytest.mark.remuda_rule("GANG-6", "GANG-10")
def test_gangs_are_placed_whole_and_timed() -> None:
    result = measure_gangs(SMALL)
    assert (result.gangs, result.members) == (12, sum(SMALL.sizes()))
    assert result.gangs_per_second > 1
    assert result.members_per_second > result.gangs_per_second
    assert 0 < result.first_milliseconds.p50 <= result.whole_milliseconds.max < 10_000


def test_the_cluster_has_room_for_a_ninth_more_than_all_gangs() -> None:
    assert SMALL.sizes() == [2, 4, 8, 8, 8, 8, 8, 8, 8, 2, 4, 8]
    assert SMALL.cluster().asks == int(sum(SMALL.sizes()) / 0.9)


def test_a_member_before_the_last_placeholder_is_an_error() -> None:
    with InProcessScheduler() as scheduler:
        answers = Answers()
        scheduler.register_resource_manager(
            si.RegisterResourceManagerRequest(rmID=RM_ID, config=configuration(SMALL.cluster())),
            answers,
        )
        manager = GangManager(scheduler, answers, SMALL)
        manager.begin()
        early = si.AllocationResponse()
        early.new.add(applicationID="gang-0", allocationKey="gang-0-m-0")
        with pytest.raises(RemudaError, match="a partial gang"):
            manager.hear(0.0, early)
        with pytest.raises(RemudaError, match="0 of 2 run"):
            manager.judge()


def test_the_shape_is_that_of_the_targets() -> None:
    assert (GANG.gangs, GANG.nodes, GANG.filled) == (1_000, 5_000, 0.9)
    assert (min(GANG.sizes()), max(GANG.sizes())) == (2, 512)
