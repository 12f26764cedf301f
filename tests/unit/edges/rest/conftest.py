"""A REST application over views built by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TypeVar

import pytest
from starlette.testclient import TestClient

from remuda.config.schema import PlacementRuleConfig
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.health_queries import PartitionCountsQuery
from remuda.core.messages.preemption_queries import (
    EvictionsQuery,
    EvictionView,
    PreemptionsQuery,
    PreemptionView,
)
from remuda.core.messages.queries import (
    AskPortionQuery,
    ConfigurationsQuery,
    ConfigurationView,
    MeasuresQuery,
    NodeView,
    PartitionsQuery,
    PartitionView,
    PlacementRulesQuery,
    Query,
    QueuesQuery,
    QueueUsageView,
    QueueView,
    UnknownQueue,
    UsageQuery,
    UsageView,
    View,
)
from remuda.core.messages.rows import ApplicationRowsQuery, NodeRowsQuery, Rows
from remuda.core.messages.trace_queries import ConfigurationInForceQuery
from remuda.edges.rest.transport.app import build_app

T = TypeVar("T")


class FakeViews:
    """Answers like the scheduler: partitions by (RM, name), each with its own contents."""

    turns = 0

    def __init__(self) -> None:
        self.partitions: list[PartitionView] = []
        self.roots: dict[tuple[str, str], QueueView] = {}
        self.nodes: dict[tuple[str, str], tuple[NodeView, ...]] = {}
        self.applications: dict[tuple[str, str], dict[str, tuple[ApplicationView, ...]]] = {}
        self.rules: dict[tuple[str, str], tuple[PlacementRuleConfig, ...]] = {}
        self.users: dict[tuple[str, str], tuple[UsageView, ...]] = {}
        self.groups: dict[tuple[str, str], tuple[UsageView, ...]] = {}
        self.preemptions: dict[tuple[str, str], tuple[PreemptionView, ...]] = {}
        self.evictions: dict[tuple[str, str], tuple[EvictionView, ...]] = {}
        self.configurations: list[ConfigurationView] = []
        self.asked: list[Query] = []
        self.failure: Exception | None = None

    def query(self, query: Query) -> Future[View]:
        future: Future[View] = Future()
        if self.failure is not None:
            future.set_exception(self.failure)
        else:
            future.set_result(self._view(query))
        return future

    def _view(self, query: Query) -> View:
        self.asked.append(query)
        if isinstance(query, PartitionsQuery):
            return tuple(sorted(self.partitions, key=lambda view: (view.name, view.rm_id)))
        if isinstance(query, ConfigurationsQuery):
            return tuple(sorted(self.configurations, key=lambda view: view.rm_id))
        assert not isinstance(query, ConfigurationInForceQuery)
        assert not isinstance(query, PartitionCountsQuery | MeasuresQuery | AskPortionQuery)
        owners = sorted(v.rm_id for v in self.partitions if v.name == query.partition)
        chosen = [rm_id for rm_id in owners if query.rm_id in ("", rm_id)]
        if not chosen:
            return None
        key = (chosen[0], query.partition)
        if isinstance(query, QueuesQuery):
            return self.roots[key]
        if isinstance(query, NodeRowsQuery):
            return rows_of(self.nodes.get(key, ()))
        if isinstance(query, PlacementRulesQuery):
            return self.rules.get(key, ())
        if isinstance(query, UsageQuery):
            return (self.groups if query.groups else self.users).get(key, ())
        if isinstance(query, PreemptionsQuery):
            return self.preemptions.get(key, ())
        if isinstance(query, EvictionsQuery):
            return self.evictions.get(key, ())
        assert isinstance(query, ApplicationRowsQuery)
        applications = self.applications.get(key, {}).get(query.queue)
        return UnknownQueue() if applications is None else rows_of(applications)


def rows_of(views: tuple[T, ...]) -> Rows[T]:
    """Views as the scheduler hands out many."""
    return Rows(len(views), views.__getitem__)


def partition_view(rm_id: str = "rm-a", name: str = "default") -> PartitionView:
    return PartitionView(
        rm_id=rm_id,
        name=name,
        state="Active",
        state_time_ns=1767225600100000000,
        capacity={"memory": 250, "vcore": 25000},
        allocated={"memory": 10, "vcore": 1000},
        node_sort_policy="fair",
        node_sort_weights={"memory": 1.0, "vcore": 1.0},
        total_nodes=2,
        total_containers=1,
        reservations=0,
        applications={"Accepted": 1, "Starting": 1},
        preemption=True,
        quota_preemption=False,
        user_group_resolver="",
    )


def queue_view(path: str, *children: QueueView) -> QueueView:
    return QueueView(
        path=path,
        partition="default",
        status="Active",
        leaf=not children,
        managed=True,
        parent=path.rpartition(".")[0],
        pending={},
        allocated={},
        preempting={},
        maximum=None,
        guaranteed=None,
        headroom=None,
        properties={},
        running_applications=0,
        max_applications=0,
        template=None,
        current_priority=0,
        sort_policy="fifo",
        priority_sorting=True,
        priority_fence=False,
        priority_offset=0,
        preemption_policy="default",
        preemption_delay_ns=30_000_000_000,
        quota_preemption_delay_ns=0,
        children=children,
    )


def usage_view(name: str, applications: dict[str, str], path: str = "root") -> UsageView:
    return UsageView(
        name=name,
        applications=applications,
        queues=QueueUsageView(
            path=path,
            used={"memory": 10, "vcore": 1000} if applications else None,
            applications=tuple(applications),
            maximum=None,
            max_applications=0,
            children=(),
        ),
    )


@pytest.fixture
def views() -> FakeViews:
    """Two partitions named default, of rm-a and rm-b; rm-a's has queues root.etl and root.a.b."""
    fake = FakeViews()
    fake.partitions = [partition_view("rm-b"), partition_view("rm-a")]
    fake.roots["rm-a", "default"] = queue_view(
        "root",
        queue_view("root.@recovery@"),
        queue_view("root.a", queue_view("root.a.b"), queue_view("root.a.b2")),
        queue_view("root.etl"),
        queue_view("root.x/y"),
    )
    fake.roots["rm-b", "default"] = queue_view("root", queue_view("root.other"))
    fake.applications["rm-a", "default"] = {"root": (), "root.a": (), "root.etl": ()}
    return fake


@pytest.fixture
def client(views: FakeViews) -> Iterator[TestClient]:
    with TestClient(build_app(views), "http://remuda", follow_redirects=False) as client:
        yield client


@pytest.fixture
def make_client() -> Callable[[FakeViews, bool], TestClient]:
    def make(views: FakeViews, cors: bool) -> TestClient:
        return TestClient(build_app(views, cors=cors), "http://remuda", follow_redirects=False)

    return make
