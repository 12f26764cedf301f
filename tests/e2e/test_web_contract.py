"""The stock web front-end finds in the REST answers what its pages read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.client import Client
from remuda.config.load import load_configuration
from remuda.edges.rest.routes.cluster import Clusters
from remuda.edges.rest.routes.health import health_routes
from remuda.edges.rest.transport.app import build_app
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from remuda.telemetry.health.checker import HealthChecker
from remuda.telemetry.history import History
from remuda.telemetry.pulse import Pulse
from tests.e2e.grpc_service import Service
from tests.e2e.web_reader import FIELDS, Reader

QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: etl
            resources: {guaranteed: {memory: 10, vcore: 1}, max: {memory: 100, vcore: 10}}
            properties: {application.sort.policy: fifo}
          - name: tenants
            parent: true
            childtemplate: {maxapplications: 3, properties: {application.sort.policy: fair}}
"""
BUILD = {"buildDate": "2026-01-01T00:00:00+0000", "buildVersion": "0.3.0"}
POD = {"kubernetes.io/meta/namespace": "etl", "kubernetes.io/meta/podName": "driver-1"}
START_NS = 1_767_225_600_000_000_000


@pytest.fixture
def fetch() -> Iterator[Any]:
    """Answers of a cluster in which every field has something to say."""
    with Service(load=load_configuration) as service, Client(service.address, "rm-a") as client:
        checker = HealthChecker(service.core)
        history = History(service.core, now_ns=lambda: START_NS)
        more = {
            **health_routes(checker, history, Pulse(service.core)),
            **Clusters(service.core.roster, START_NS).routes(),
        }
        with TestClient(build_app(service.core, more=more), "http://remuda") as rest:

            def get(path: str) -> Any:
                answer = rest.get(f"/ws/v1/{path}")
                assert answer.status_code == 200, (path, answer.text)
                return answer.json()

            fill(client)
            until(lambda: get("partitions")[0]["totalContainers"] > 0)
            history.sample()
            checker.run()
            yield get


def fill(client: Client) -> None:
    """Two nodes, a running application that has a pending ask, work of others on a node."""
    client.register(QUEUES, build_info=BUILD)
    names = {"si/hostname": "h1", "si/rackname": "/r1", "zone": "a"}
    size = {"memory": 50, "vcore": 4000}
    client.add_nodes({"n1": size, "n2": size}, attributes={"n1": names})
    foreign = si.Allocation(
        allocationKey="daemon",
        nodeID="n2",
        resourcePerAlloc=resource({"memory": 5}),
        allocationTags={"foreign": "default", **POD},
    )
    client.send(si.AllocationRequest(allocations=[foreign]))
    client.allocations(1)
    client.add_application("job-1", queue="root.etl", user="ann", groups=["bi"])
    client.ask("job-1", "t-1", {"memory": 10, "vcore": 1000}, tags=POD, priority=3)
    client.allocations(1)
    client.ask("job-1", "t-2", {"memory": 60})


@pytest.mark.remuda_rule("WEB-40", "WEB-6", "WEB-7", "WEB-8", "WEB-9")
def test_the_dashboard_shows_cluster_partition_and_history(fetch: Any) -> None:
    reader = Reader(fetch)
    page = reader.dashboard()
    assert page["name"] == "kubernetes"
    assert page["build"] == {**BUILD, "rmId": "rm-a"}
    assert page["policy"] == "fair"
    assert (page["nodes"], page["containers"]) == (2, 1)
    assert page["states"]["total"] == 1
    assert sum(page["states"].values()) == 2
    assert page["applications"] == [(START_NS / 10**6, 1)]
    assert page["container history"] == [(START_NS / 10**6, 1)]
    assert reader.partitions() == ["default"]


@pytest.mark.remuda_rule("WEB-40", "WEB-10")
def test_the_queues_page_shows_the_tree(fetch: Any) -> None:
    queues = {each["queuename"]: each for each in Reader(fetch).queues("default")}
    assert list(queues) == ["root", "root.etl", "root.tenants"]
    etl = queues["root.etl"]
    assert (etl["status"], etl["isLeaf"], etl["isManaged"]) == ("Active", True, True)
    assert etl["partition"] == "default"
    assert etl["maxResource"] == {"memory": 100, "vcore": 10_000}
    assert etl["guaranteedResource"] == {"memory": 10, "vcore": 1_000}
    assert etl["allocatedResource"]["memory"] == 10
    assert etl["pendingResource"]["memory"] == 60
    assert etl["absUsedCapacity"] == {"memory": 10, "vcore": 10}
    assert etl["properties"] == {"application.sort.policy": "fifo"}
    template = queues["root.tenants"]["template"]
    assert template["maxApplications"] == 3
    assert not queues["root"]["isLeaf"]


@pytest.mark.remuda_rule("WEB-40", "WEB-11", "WEB-12")
def test_the_applications_page_shows_what_runs(fetch: Any) -> None:
    (application,) = Reader(fetch).applications("default", "root.etl")
    assert application["applicationID"] == "job-1"
    assert application["applicationState"] in ("Starting", "Running")
    assert application["usedResource"]["memory"] == 10
    assert application["maxUsedResource"]["memory"] == 10
    assert application["pendingResource"]["memory"] == 60
    assert application["changed"] >= application["submissionTime"]
    (allocation,) = application["allocations"]
    assert allocation["display"] == "etl/driver-1"
    assert (allocation["allocationKey"], allocation["priority"]) == ("t-1", "3")
    assert allocation["applicationId"] == "job-1"
    assert allocation["resource"]["memory"] == 10
    assert allocation["queue"] == "n/a"


@pytest.mark.remuda_rule("WEB-40", "WEB-13", "WEB-14")
def test_the_nodes_page_shows_nodes_and_how_full_they_are(fetch: Any) -> None:
    reader = Reader(fetch)
    first, second = reader.nodes("default")
    assert (first["nodeID"], first["hostName"], first["rackName"]) == ("n1", "h1", "/r1")
    assert first["attributes"]["zone"] == "a"
    assert first["capacity"]["memory"] == second["capacity"]["memory"] == 50
    (allocation,) = first["allocations"] or second["allocations"]
    holder = first if first["allocations"] else second
    assert (allocation["nodeId"], holder["utilized"]["memory"]) == (holder["nodeID"], 20)
    assert second["occupied"]["memory"] == 5
    (foreign,) = second["foreign"]
    assert (foreign["allocationKey"], foreign["nodeId"]) == ("daemon", "n2")
    chart = reader.utilisation()
    for kind in ("memory", "vcore"):
        bars = chart["default", kind]
        assert [name for name, _, _ in bars] == [f"{n}-{n + 10}%" for n in range(0, 100, 10)]
        assert sum(count for _, count, _ in bars) == 2
        assert sorted(node for _, _, nodes in bars for node in nodes) == ["n1", "n2"]


@pytest.mark.remuda_rule("WEB-40", "WEB-15")
def test_the_status_page_shows_the_checks(fetch: Any) -> None:
    healthy, checks = Reader(fetch).status()
    assert healthy is all(each["Succeeded"] for each in checks)
    assert len(checks) >= 5
    assert all(each["Name"] and each["Description"] for each in checks)


@pytest.mark.remuda_rule("WEB-40")
def test_every_field_that_a_page_reads_is_there_when_it_has_something_to_say(fetch: Any) -> None:
    reader = Reader(fetch)
    reader.dashboard()
    leaves = [each["queuename"] for each in reader.queues("default") if each["isLeaf"]]
    for leaf in leaves:
        reader.applications("default", leaf)
    reader.nodes("default")
    reader.utilisation()
    reader.status()
    wanted = {(entry, name.removesuffix("!")) for entry in FIELDS for name in FIELDS[entry]}
    # Applications that have ended are no active ones, and the page asks for those only (WEB-30).
    assert wanted - reader.seen == {("WEB-11", "finishedTime")}


@pytest.mark.remuda_rule("WEB-40", "WEB-28", "REST-143")
def test_pages_of_an_empty_cluster_find_every_key_they_use() -> None:
    with bare() as (get, client):
        assert Reader(get).partitions() == []
        assert Reader(get).utilisation() == {}
        client.register(QUEUES)
        reader = Reader(get)
        assert reader.partitions() == ["default"]
        page = reader.dashboard()
        assert (page["nodes"], page["containers"], page["states"]) == (0, 0, {"total": 0})
        assert next(reader.queues("default"))["queuename"] == "root"
        assert reader.nodes("default") == []
        assert reader.applications("default", "root.etl") == []
        assert get("scheduler/node-utilizations")[0]["utilizations"] == []


@pytest.mark.remuda_rule("WEB-40", "WEB-28", "REST-143", "REST-77")
def test_an_application_that_did_nothing_yet_does_not_hide_the_others() -> None:
    with bare() as (get, client):
        client.register(QUEUES)
        for name in ("a", "b"):
            client.add_application(name, queue="root.etl", user="ann")
        client.ask("b", "b-1", {"memory": 10})
        until(lambda: "Accepted" in get("partitions")[0]["applications"])
        first, second = Reader(get).applications("default", "root.etl")
        assert (first["applicationState"], first["stateLog"], first["changed"]) == ("New", [], None)
        assert [each["applicationState"] for each in second["stateLog"]] == ["Accepted"]


@contextmanager
def bare() -> Iterator[tuple[Any, Client]]:
    """What fetches answers of a service that has nothing, and an RM that is not registered yet."""
    with Service(load=load_configuration) as service:
        history = History(service.core, now_ns=lambda: START_NS)
        checker = HealthChecker(service.core)
        more = {
            **health_routes(checker, history, Pulse(service.core)),
            **Clusters(service.core.roster, START_NS).routes(),
        }
        app = build_app(service.core, more=more)
        with TestClient(app, "http://remuda") as rest, Client(service.address, "rm") as client:

            def get(path: str) -> Any:
                answer = rest.get(f"/ws/v1/{path}")
                assert answer.status_code == 200, (path, answer.text)
                return answer.json()

            yield get, client


def until(reached: Callable[[], bool]) -> None:
    """Wait for a condition, 10 s at most."""
    deadline = time.monotonic() + 10
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.01)
