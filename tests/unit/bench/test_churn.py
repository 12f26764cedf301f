"""Asks that come and end leave nothing behind, with all that observes a served scheduler."""

from __future__ import annotations

import gc
import threading

import pytest

from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.churn import ChurnShape, measure_churn
from remuda.bench.throughput.run import RM_ID, applications_of, configuration, nodes_of, request_of
from remuda.edges.inproc import InProcessScheduler
from remuda.edges.observation import Observation, ObservationSettings
from remuda.runtime.loop import SchedulerLoop
from remuda.si.pb import si_pb2 as si
from tests.waiting import wait

CLUSTER = Shape("churn", 10, 2, 2, 1_000)
BATCH = 200


class Manager:
    """A resource manager that releases what was placed as soon as a whole batch was."""

    def __init__(self) -> None:
        self.placed: list[tuple[str, str]] = []
        self.whole = threading.Event()

    def update_allocation(self, response: si.AllocationResponse) -> None:
        self.placed += [(new.applicationID, new.allocationID) for new in response.new]
        if len(self.placed) == BATCH:
            self.whole.set()

    def turn(self, scheduler: InProcessScheduler, first: int) -> None:
        """Ask for a batch, and end it."""
        self.placed.clear()
        self.whole.clear()
        scheduler.update_allocation(request_of(CLUSTER, "k", range(first, first + BATCH), 10))
        assert self.whole.wait(60)
        request = si.AllocationRequest(rmID=RM_ID)
        for application, identity in self.placed:
            request.releases.allocationsToRelease.add(
                applicationID=application, allocationID=identity
            )
        scheduler.update_allocation(request)
        scheduler.wait_idle(60)


def live_objects() -> tuple[int, int]:
    """How many objects there are, and how many of them are instances of the project's classes."""
    gc.collect()
    found = gc.get_objects()
    return len(found), sum(str(type(each).__module__).startswith("remuda.") for each in found)


@pytest.mark.remuda_rule("SI-34")
def test_no_object_is_left_of_asks_that_ended_in_a_scheduler_that_is_observed() -> None:
    # With a delay asks would be kept, ended or not, until they are old enough to reserve.
    core = SchedulerLoop(reservation_delay_ns=None)
    observed = Observation(core, ObservationSettings())
    core.start()
    manager = Manager()
    try:
        with InProcessScheduler(core=core) as scheduler:
            settings = {"event.ringBufferCapacity": "200"}
            scheduler.register_resource_manager(
                si.RegisterResourceManagerRequest(
                    rmID=RM_ID, config=configuration(CLUSTER), extraConfig=settings
                ),
                manager,
            )
            scheduler.update_node(nodes_of(CLUSTER, range(CLUSTER.nodes)))
            scheduler.update_application(applications_of(CLUSTER))
            # These stay, so that the applications do.
            scheduler.update_allocation(request_of(CLUSTER, "stay", range(4), 10))
            scheduler.wait_idle(60)
            for number in range(1, 9):
                manager.turn(scheduler, number * BATCH)
            everything, ours = live_objects()
            for number in range(9, 25):
                manager.turn(scheduler, number * BATCH)

            def nothing_is_left() -> bool:
                """Whether 3,200 more asks left next to nothing; other threads have objects, too."""
                now = live_objects()
                return now[1] - ours < 2 * 8 * BATCH / 10 and now[0] - everything < 8 * BATCH

            # The records of the last events may still be on their way to observers.
            wait(nothing_is_left)
            assert nothing_is_left()
    finally:
        core.stop()
        observed.stop()


def test_a_small_churn_is_measured() -> None:
    shape = ChurnShape("small", CLUSTER, 500, 50, seconds=1.0, warm_seconds=0.2)
    result = measure_churn(shape)
    assert result.ended > 0
    assert 0 < result.warm_bytes <= result.most_bytes
