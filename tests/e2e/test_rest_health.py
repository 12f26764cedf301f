"""A served process tells how it is: health, history, clusters and probes over its socket."""

from __future__ import annotations

import contextlib
import socket
import time
from typing import Any

import pytest

from remuda.client import Client
from remuda.si.pb import si_pb2 as si
from tests.e2e.serving import FREE_PORTS, Served
from tests.unit.edges.rest.schema import assert_valid
from tests.waiting import wait

HEALTH = "/ws/v1/scheduler/healthcheck"
QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues: [{name: a}]
"""


def health(served: Served, query: str = "") -> tuple[int, Any]:
    """The status and the result of the last run, as soon as there was one."""
    wait(lambda: served.client.get(HEALTH).status_code != 404)
    answer = served.client.get(f"{HEALTH}{query}")
    assert_valid("Health", answer.json())
    return answer.status_code, answer.json()


@pytest.mark.remuda_rule("HLT-2", "HLT-19", "REST-43", "REST-53", "REST-93", "REST-123")
def test_a_process_is_healthy_from_the_start_until_a_node_is_overcommitted() -> None:
    with Served(*FREE_PORTS) as served, Client(served.grpc, "mine") as client:
        status, found = health(served, "?strict=true")
        assert (status, found["Healthy"], len(found["HealthChecks"])) == (200, True, 11)
        for path in ("/ws/v1/loglevel", "/ws/v1/loglevel/debug", "/ws/v1/config"):
            assert served.client.put(path).status_code == 404
        for path in ("/livez", "/readyz", "/healthz"):
            answer = served.client.get(path)
            assert (answer.status_code, answer.text) == (200, "ok\n")

        client.register(QUEUES, extra_config={"health.checkInterval": "20ms"})
        client.add_nodes({"n1": {"vcore": 2000}})
        client.add_application("app", queue="root.a")
        client.ask("app", "k", {"vcore": 1500})
        client.allocations(1)
        assert health(served, "?strict=true")[0] == 200
        smaller = si.NodeInfo(
            nodeID="n1",
            action=si.NodeInfo.UPDATE,
            schedulableResource=si.Resource(resources={"vcore": si.Quantity(value=1000)}),
        )
        client.send(si.NodeRequest(nodes=[smaller]))
        wait(lambda: not health(served)[1]["Healthy"])
        status, found = health(served, "?strict=true")
        assert status == 503
        failed = [(n, x) for n, x in enumerate(found["HealthChecks"], 1) if not x["Succeeded"]]
        assert [number for number, _ in failed] == [4, 8]
        assert failed[0][1]["DiagnosisMessage"] == 'Nodes with negative resources: ["n1"]'
        assert served.client.get("/readyz").status_code == 200
        wait(lambda: 'Nodes with inconsistent data: ["n1"]' in served.log)
        assert "WARNING remuda.runtime.health: health check failed" in served.log


@pytest.mark.remuda_rule("REST-23", "REST-56", "REST-26", "REST-27", "REST-62", "MET-43")
def test_clusters_and_history_of_a_process_with_a_name() -> None:
    before = time.time_ns()
    with (
        Served(*FREE_PORTS, REMUDA_CLUSTER_NAME="blue") as served,
        Client(served.grpc, "mine") as client,
    ):
        assert served.client.get("/ws/v1/clusters").json() == []
        client.register(QUEUES)
        (shown,) = served.client.get("/ws/v1/clusters").json()
        assert_valid("Cluster", shown)
        assert (shown["partition"], shown["clusterName"]) == ("default", "blue")
        assert [each["rmId"] for each in shown["rmBuildInformation"]] == ["mine"]
        assert before < shown["startTime"] < time.time_ns()
        for kind in ("apps", "containers"):
            path = f"/ws/v1/history/{kind}"
            assert served.client.get(path).text == "[]\n"  # the first sample comes in a minute
            assert served.client.get(f"{path}?partition=nope").status_code == 404


@pytest.mark.remuda_rule("REST-3", "REST-123")
def test_probes_are_answered_while_600_silent_connections_are_open() -> None:
    with Served(*FREE_PORTS) as served, contextlib.ExitStack() as opened:
        host, _, port = served.rest.rpartition(":")
        for _ in range(600):
            opened.enter_context(socket.create_connection((host, int(port)), 10))
        for path in ("/livez", "/readyz", "/healthz"):
            answer = served.client.get(path, headers={"Connection": "close"})
            assert (answer.status_code, answer.text) == (200, "ok\n")
