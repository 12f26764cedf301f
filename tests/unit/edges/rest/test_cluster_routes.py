"""The route that tells since when the scheduler runs and who uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from remuda.config.schema import Configuration
from remuda.core.messages.commands import RegisterResourceManager
from remuda.edges.rest.routes.cluster import Clusters
from remuda.edges.rest.transport.app import build_app
from remuda.runtime.loop import SchedulerLoop
from tests.unit.core.door import partition
from tests.unit.edges.rest.schema import assert_valid

CLUSTERS = "/ws/v1/clusters"
BEGAN = 1767225600000000000


@pytest.fixture
def core() -> Iterator[SchedulerLoop]:
    running = SchedulerLoop()
    running.start()
    yield running
    running.stop()


@pytest.fixture
def client(core: SchedulerLoop) -> TestClient:
    routes = Clusters(core.roster, BEGAN).routes()
    return TestClient(build_app(core, more=routes), "http://remuda")


@pytest.fixture
def register(core: SchedulerLoop) -> Callable[..., None]:
    def call(rm_id: str, *names: str, **build: str) -> None:
        config = Configuration(tuple(partition(name=name) for name in names))
        command = RegisterResourceManager(rm_id, config, build_info=build)
        assert core.register(command).result(60).reason == ""

    return call


@pytest.mark.remuda_rule("REST-23", "REST-56", "REST-22")
def test_no_element_before_a_registration(client: TestClient) -> None:
    answer = client.get(CLUSTERS)
    assert (answer.status_code, answer.text) == (200, "[]\n")


@pytest.mark.remuda_rule("REST-23", "REST-56", "REST-130")
def test_the_golden_example(client: TestClient, register: Callable[..., None]) -> None:
    register("rm-a", "default", buildVersion="0.3.0")
    answer = client.get(CLUSTERS)
    assert answer.text == (
        '[{"startTime":1767225600000000000,"rmBuildInformation":[{"buildVersion":"0.3.0",'
        '"rmId":"rm-a"}],"partition":"default","clusterName":"kubernetes"}]\n'
    )
    assert_valid("Cluster", answer.json()[0])


@pytest.mark.remuda_rule("REST-56", "REST-20")
def test_one_element_for_each_partition_each_with_its_manager(
    client: TestClient, register: Callable[..., None]
) -> None:
    register("rm-b", "gpu", "default", arch="arm64", rmId="someone else")
    register("rm-a", "default")
    shown = client.get(CLUSTERS).json()
    mine, other = {"rmId": "rm-a"}, {"arch": "arm64", "rmId": "rm-b"}
    assert [(each["partition"], each["rmBuildInformation"]) for each in shown] == [
        ("default", [mine]),
        ("default", [other]),
        ("gpu", [other]),
    ]
    assert [each["startTime"] for each in shown] == [BEGAN] * 3
    page = client.get(f"{CLUSTERS}?limit=1&offset=2")
    assert page.json() == shown[2:]
    assert page.headers["X-Total-Count"] == "3"


@pytest.mark.remuda_rule("REST-56")
def test_a_manager_that_left_is_not_shown(
    client: TestClient, core: SchedulerLoop, register: Callable[..., None]
) -> None:
    register("rm-a", "default")
    register("rm-b", "default")
    core.unregister("rm-a").result(60)
    (shown,) = client.get(CLUSTERS).json()
    assert shown["rmBuildInformation"] == [{"rmId": "rm-b"}]


@pytest.mark.remuda_rule("REST-56")
def test_a_cluster_may_have_a_name(core: SchedulerLoop, register: Callable[..., None]) -> None:
    register("rm-a", "default")
    routes = Clusters(core.roster, BEGAN, "blue").routes()
    client = TestClient(build_app(core, more=routes), "http://remuda")
    assert client.get(CLUSTERS).json()[0]["clusterName"] == "blue"
