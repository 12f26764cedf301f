"""The demo's jobs: reproducible, within bounds, about as many as the cluster can carry."""

from __future__ import annotations

from remuda.demo.workload import FIRST_JOBS, GPU, KINDS, NODES, Workload


def test_one_hundred_nodes() -> None:
    assert sum(shape.count for shape in NODES) == 100
    assert sum(shape.count * shape.capacity["vcore"] for shape in NODES) == 4_000_000
    assert sum(shape.count * shape.capacity.get(GPU, 0) for shape in NODES) == 80


def test_equal_seeds_give_equal_jobs_however_time_passes() -> None:
    at_once = Workload(7).arrivals(30.0)
    stepwise = Workload(7)
    assert [job for tick in range(301) for job in stepwise.arrivals(tick / 10)] == at_once
    assert Workload(8).arrivals(30.0) != at_once
    assert len({job.application_id for job in at_once}) == len(at_once)


def test_first_jobs_wait_at_the_start() -> None:
    workload = Workload(1)
    assert len(workload.arrivals(0.0)) == FIRST_JOBS
    assert workload.arrivals(0.0) == []


def test_jobs_are_of_their_kind() -> None:
    workload = Workload(3)
    jobs = workload.arrivals(60.0)
    assert {job.kind.queue for job in jobs} == {kind.queue for kind in KINDS}
    assert len({job.user for job in jobs}) == 8
    for job in jobs:
        kind = job.kind
        assert job.user in kind.users
        assert kind.tasks[0] <= job.tasks <= kind.tasks[1]
        assert kind.seconds[0] <= job.seconds <= kind.seconds[1]
        assert job.resource in kind.sizes
        assert any(
            all(shape.capacity.get(name, 0) >= amount for name, amount in job.resource.items())
            for shape in NODES
        ), "fits on no node"
        assert 0.8 * job.seconds <= workload.task_seconds(job) <= 1.2 * job.seconds


def test_demand_is_about_nine_tenths_of_the_cluster() -> None:
    seconds = 600.0
    jobs = Workload(5).arrivals(seconds)[FIRST_JOBS:]
    work = sum(job.tasks * job.resource["vcore"] * job.seconds for job in jobs)
    assert 0.8 < work / (4_000_000 * seconds) < 1.0
