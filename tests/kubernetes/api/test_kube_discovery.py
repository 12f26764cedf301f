"""Discovery on what a real server of 1.20 answered, and on what newer ones are documented to."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from remuda_kubernetes.api.discovery import Served, discover, discover_patiently
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.objects.kinds import (
    BUDGET,
    CSI_CAPACITY,
    CSI_NODE,
    LEASE,
    NODE,
    POD,
    REPLICA_SET,
    RESOURCE_CLAIM,
    WATCHED,
)
from tests.kubernetes.api.scripted import Reply, Server, TurnedClock, refusal, run

RECORDINGS = (
    Path(__file__).resolve().parents[4] / "shared/data/k8s-apiserver-recordings/requests.jsonl"
)


def recorded() -> dict[str, Any]:
    """Return the answers to GET by path, as recorded of a real server."""
    if not RECORDINGS.is_file():
        pytest.skip(f"{RECORDINGS} is not there: the recordings are not part of the repository")
    lines = [json.loads(line) for line in RECORDINGS.read_text().splitlines()]
    return {
        each["request"]["path"]: each["response"]
        for each in lines
        if each["request"]["method"] == "GET" and each["response"]["status"] in {200, 404}
    }


def resources(*names: str, eviction: str = "") -> Reply:
    found: list[dict[str, str]] = [{"name": name} for name in names]
    if eviction:
        found.append({"name": "pods/eviction", "group": "policy", "version": eviction})
    return Reply(200, {"kind": "APIResourceList", "resources": found})


def groups(*versions: str) -> Reply:
    by_name: dict[str, list[dict[str, str]]] = {}
    for each in versions:
        group, version = each.split("/")
        by_name.setdefault(group, []).append({"groupVersion": each, "version": version})
    return Reply(200, {"groups": [{"name": n, "versions": v} for n, v in by_name.items()]})


async def found(server: Server) -> Served:
    async with server.connection() as connection:
        return await discover(connection)


def test_a_recorded_server_of_1_20() -> None:
    answers = recorded()
    # Only some groups were recorded in full; this is what 1.20 has in the others.
    storage = ("storageclasses", "csinodes", "csidrivers", "volumeattachments")

    async def test() -> None:
        async with Server() as server:
            for path in ("/version", "/apis", "/api/v1"):
                server.on("GET", path, Reply(200, answers[path]["body"]))
            for version in ("v1beta1", "v1"):
                path = f"/apis/policy/{version}"
                server.on("GET", path, Reply(answers[path]["status"], answers[path]["body"]))
            server.on("GET", "/apis/storage.k8s.io/v1", resources(*storage))
            server.on("GET", "/apis/storage.k8s.io/v1beta1", resources("csinodes"))
            server.on("GET", "/apis/apps/v1", resources("replicasets", "statefulsets"))
            server.on("GET", "/apis/scheduling.k8s.io/v1", resources("priorityclasses"))
            server.on("GET", "/apis/coordination.k8s.io/v1", resources("leases"))
            served = await found(server)
            assert served.version == "v0.0.0-master+faecb196815e2"
            assert served.versions[BUDGET] == "v1beta1"
            assert {CSI_CAPACITY, RESOURCE_CLAIM} <= set(served.absent)
            assert not {POD, NODE, CSI_NODE, REPLICA_SET} & set(served.absent)
            assert served.eviction == "v1beta1"
            assert served.events == "v1"
            assert not served.checks_uid
            assert served.has(LEASE)
            assert served.path(POD, "a", "b") == "/api/v1/namespaces/a/pods/b"
            assert served.path(NODE, name="n") == "/api/v1/nodes/n"
            assert served.path(CSI_NODE) == "/apis/storage.k8s.io/v1/csinodes"

    run(test())


def test_a_new_server() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/version", Reply(200, {"gitVersion": "v1.33.1"}))
            server.on("GET", "/apis", groups("policy/v1", "apps/v1", "events.k8s.io/v1"))
            core = ("pods", "nodes")
            server.on("GET", "/api/v1", resources(*core, eviction="v1"))
            server.on("GET", "/apis/policy/v1", resources("poddisruptionbudgets"))
            server.on("GET", "/apis/apps/v1", resources("replicasets"))
            served = await found(server)
            assert set(served.versions) == {POD, NODE, BUDGET, REPLICA_SET}
            assert set(served.absent) == {*WATCHED, LEASE} - {POD, NODE, BUDGET, REPLICA_SET}
            assert served.versions[BUDGET] == "v1"
            assert (served.eviction, served.events) == ("v1", "v1")
            assert served.checks_uid

    run(test())


@pytest.mark.parametrize(
    "version, others, checks",
    [
        ("v1.26.3+k3s1", (), False),
        ("v1.27.0", (), True),
        ("v2.0.0", (), True),
        ("v0.0.0-master", (), False),
        ("v0.0.0-master", ("flowcontrol.apiserver.k8s.io/v1",), True),
        ("", (), False),
    ],
)
def test_whether_a_server_checks_the_uid_of_a_binding(
    version: str, others: tuple[str, ...], checks: bool
) -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/version", Reply(200, {"gitVersion": version}))
            server.on("GET", "/apis", groups(*others))
            server.on("GET", "/api/v1", resources("pods"))
            served = await found(server)
            assert served.checks_uid is checks
            assert (served.eviction, served.events) == ("", "")

    run(test())


def test_something_else_than_an_api_server_is_told() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/version", Reply(200, b"<html>hello"))
            server.on("GET", "/apis", Reply(200, b"<html>hello"))
            with pytest.raises(ApiError, match="not what an API server answers"):
                await found(server)

    run(test())


def prepared(server: Server) -> None:
    server.on("GET", "/version", Reply(200, {"gitVersion": "v1.30.0"}))
    server.on("GET", "/apis", groups("policy/v1"))
    server.on("GET", "/api/v1", resources("pods"))
    server.on("GET", "/apis/policy/v1", resources("poddisruptionbudgets"))


def test_a_server_that_is_away_at_the_start_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        clock = TurnedClock()
        async with Server() as server, server.connection() as connection:
            prepared(server)
            server.on("GET", "/apis", Reply(503, b""), Reply(503, b""), groups("policy/v1"))
            waiting = asyncio.create_task(discover_patiently(connection, clock=clock))
            while not waiting.done():
                await clock.advance(10.0)
            assert (await waiting).version == "v1.30.0"
            assert len(server.seen("GET", "/apis")) == 3

    run(test())
    (told,) = [each.getMessage() for each in caplog.records if "waiting" in each.getMessage()]
    assert "503" in told


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_refuses_us_is_not_waited_for(status: int) -> None:
    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            prepared(server)
            server.on("GET", "/apis", refusal(status, "Forbidden", "not you"))
            with pytest.raises(ApiError, match="not you"):
                await discover_patiently(connection)

    run(test())
