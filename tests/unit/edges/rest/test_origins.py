"""Web pages of other origins, and servers that are called by names of others."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.edges.callers import KnownCallers
from remuda.edges.observation import Observation, ObservationSettings
from remuda.edges.rest.routes.description import DESCRIPTION_ROUTES
from remuda.edges.rest.routes.table import ROUTES
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.hosts import own_hosts
from remuda.edges.rights import Identity
from remuda.runtime.loop import SchedulerLoop

Fake = Any  # FakeViews of conftest.py; tests are not a package


# What chapter 98 section 2 lists; nothing else is for pages of other origins.
SHARED = [
    "/ws/v1/clusters",
    "/ws/v1/history/apps",
    "/ws/v1/history/containers",
    "/ws/v1/partitions",
    "/ws/v1/partition/{partition}/nodes",
    "/ws/v1/partition/{partition}/queue/{queue}/applications",
    "/ws/v1/partition/{partition}/queues",
    "/ws/v1/scheduler/healthcheck",
    "/ws/v1/scheduler/node-utilization",
    "/ws/v1/scheduler/node-utilizations",
]


@pytest.mark.remuda_rule("REST-4", "REST-5", "REST-8")
def test_pages_of_other_origins_read_what_front_ends_list_and_nothing_else() -> None:
    core = SchedulerLoop()
    observed = Observation(core, ObservationSettings())
    client = TestClient(build_app(core, more=observed.routes), "http://remuda")
    paths = [*ROUTES, *DESCRIPTION_ROUTES, *observed.routes]
    assert {"/ws/v1/fullstatedump", "/ws/v1/stack", "/debug/pprof/profile"} <= set(paths)
    try:
        asked = {path: client.options(path.format_map(Some())).headers for path in paths}
    finally:
        observed.stop()
    assert sorted(path for path, told in asked.items() if ALLOWED in told) == sorted(SHARED)


class Some(dict[str, str]):
    """Some value for each parameter of a path."""

    def __missing__(self, key: str) -> str:
        return "x"


ALLOWED = "access-control-allow-origin"


@pytest.mark.remuda_rule("REST-145")
@pytest.mark.parametrize(
    "host, status",
    [
        ("127.0.0.1:9080", 200),
        ("10.1.2.3", 200),
        ("[::1]:9080", 200),
        ("[fd00::1]", 200),
        ("localhost:9080", 200),
        ("a.localhost", 200),
        ("Remuda.Example.Org:9080", 200),
        ("remuda.example.org.", 200),
        (socket.gethostname(), 200),
        ("evil.example.org:9080", 421),
        ("127.0.0.1.evil.example.org", 421),
        ("localhost.evil.example.org", 421),
        ("remuda.example.org.evil.example.org", 421),
    ],
)
def test_a_name_that_is_not_the_servers_is_refused(views: Fake, host: str, status: int) -> None:
    hosts = own_hosts("remuda.example.org, other", "0.0.0.0")
    client = TestClient(build_app(views, hosts=hosts), "http://remuda")
    answer = client.get("/ws/v1/partitions", headers={"Host": host})
    assert answer.status_code == status
    if status == 421:
        name = host.partition(":")[0]
        text = f"This server is not known as {name}; see --rest-hosts"
        assert answer.json()["message"] == text
    assert client.get("/ws/v1/openapi.json", headers={"Host": host}).status_code == 200


@pytest.mark.remuda_rule("REST-145")
def test_any_name_will_do_if_told_so_or_if_a_token_is_required(views: Fake) -> None:
    assert own_hosts("*", "127.0.0.1") is None
    reader = Identity("a", token_digests=(bytes(32),), read=True)
    app = build_app(views, hosts=own_hosts("", "127.0.0.1"), callers=KnownCallers([reader]))
    client = TestClient(app, "http://evil.example.org")
    assert client.get("/ws/v1/partitions").status_code == 401
