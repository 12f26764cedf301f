"""The hollow cluster against a real scheduler, with time as an argument."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.config.load import load_configuration
from remuda.config.schema import Configuration, built_in
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import ApplicationsQuery, PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.demo.cluster import HollowCluster
from remuda.demo.run import demo_configuration
from remuda.demo.workload import Workload
from remuda.edges.inproc import InProcessScheduler

OTHER = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
          - name: b
            queues:
              - name: c
"""

TINY = """
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: tiny
            resources:
              max: {memory: 0}
"""


def stored(text: str) -> Configuration:
    return load_configuration(text) if text else built_in()


@pytest.fixture
def scheduler() -> Iterator[InProcessScheduler]:
    with InProcessScheduler(load=stored) as scheduler:
        yield scheduler


def partition(scheduler: InProcessScheduler) -> PartitionView:
    views = scheduler.core.query(PartitionsQuery()).result(60)
    (view,) = rows(PartitionView, views)
    return view


def applications(scheduler: InProcessScheduler, queue: str = "") -> list[ApplicationView]:
    views = scheduler.core.query(ApplicationsQuery("default", queue)).result(60)
    return rows(ApplicationView, views)


def test_counters_agree_with_the_scheduler(scheduler: InProcessScheduler) -> None:
    cluster = HollowCluster(scheduler, Workload(1))
    cluster.start(demo_configuration())
    for tick in range(300):
        cluster.tick(tick / 10)
        scheduler.wait_idle()
    cluster.tick(29.9)  # no time passes: only what was called back is noted
    counters, view = cluster.counters(), partition(scheduler)
    assert counters.nodes == view.total_nodes == 100
    assert counters.ended > 1_000
    assert counters.refused == 0
    assert counters.jobs == len(applications(scheduler))
    assert counters.running == view.total_containers
    waiting = [r for a in applications(scheduler) for r in a.requests]
    assert counters.pending == sum(request.pending_count for request in waiting)


def test_first_tick_places_jobs_of_several_users_in_all_queues(
    scheduler: InProcessScheduler,
) -> None:
    cluster = HollowCluster(scheduler, Workload(1))
    cluster.start(demo_configuration())
    cluster.tick(0.0)
    scheduler.wait_idle()
    placed = [view for view in applications(scheduler) if view.allocations]
    assert {view.queue for view in placed} == {
        "root.batch",
        "root.production.etl",
        "root.production.web",
        "root.research.notebooks",
        "root.research.training",
    }
    assert len({view.user for view in placed}) > 3


def test_other_configurations_have_their_leaves_filled(scheduler: InProcessScheduler) -> None:
    cluster = HollowCluster(scheduler, Workload(1))
    cluster.start(OTHER)
    cluster.tick(0.0)
    scheduler.wait_idle()
    assert {view.queue for view in applications(scheduler)} == {"root.a", "root.b.c"}


def test_built_in_configuration_places_by_namespace(scheduler: InProcessScheduler) -> None:
    cluster = HollowCluster(scheduler, Workload(1))
    cluster.start("")
    cluster.tick(0.0)
    scheduler.wait_idle()
    assert {view.queue for view in applications(scheduler)} == {
        "root.batch",
        "root.etl",
        "root.notebooks",
        "root.training",
        "root.web",
    }


def test_tasks_that_can_never_run_stay_pending(scheduler: InProcessScheduler) -> None:
    cluster = HollowCluster(scheduler, Workload(1))
    cluster.start(TINY)
    cluster.tick(0.0)
    scheduler.wait_idle()
    cluster.tick(0.0)
    counters = cluster.counters()
    assert counters.placed == 0
    assert counters.pending + counters.refused == counters.asked > 0
