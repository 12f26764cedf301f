"""The servers that every test of this folder runs against."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

import pytest

from remuda_kubernetes.testing import binaries
from remuda_kubernetes.testing.real import RealServer
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.clearing import clear, objects
from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.servers import FakeServer, Server
from tests.kubernetes.end_to_end.spaces import Space

_NUMBERS: Final = itertools.count(1)
_NAME_LENGTH: Final = 30

NO_SERVER = "no real API server"
REAL = pytest.param("real", marks=pytest.mark.kubernetes)


@pytest.fixture(scope="session", params=["fake", REAL])
def running_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One server of each kind for all tests; its logs stay in pytest's temporary folder."""
    folder = tmp_path_factory.mktemp("server")
    if request.param == "fake":
        with FakeServer(folder) as fake:
            yield fake
        return
    reason = binaries.missing()
    if reason:
        pytest.skip(f"{NO_SERVER}: {reason}")
    with RealServer(folder) as real:
        yield real


@pytest.fixture
def server(running_server: Server) -> Iterator[Server]:
    """A server without anything that other tests made."""
    with Api(running_server.kubeconfig) as api:
        kept = objects(api)
        yield running_server
        clear(api, kept)


@pytest.fixture
def api(server: Server) -> Iterator[Api]:
    """A client of the server, as an administrator."""
    with Api(server.kubeconfig) as client:
        yield client


@pytest.fixture(scope="module")
def empty_server(running_server: Server) -> Iterator[Server]:
    """A server without anything that other modules made, for all tests of this one."""
    with Api(running_server.kubeconfig) as api:
        kept = objects(api)
        yield running_server
        clear(api, kept)


@pytest.fixture(scope="module")
def cluster(empty_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster in which every queue is made that a pod names, for all tests of a module."""
    with Cluster(empty_server, tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def space(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Space]:
    """The namespace, queue and nodes of one test."""
    word = re.sub(r"[^a-z0-9]+", "-", request.node.originalname.removeprefix("test_").lower())
    name = f"{word[:_NAME_LENGTH].strip('-')}-{next(_NUMBERS)}"
    with cluster.space(name) as given:
        yield given


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end, loudly, if tests that should have run on a real server did not."""
    skipped = terminalreporter.stats.get("skipped", [])
    if any(NO_SERVER in str(each.longrepr) for each in skipped):
        terminalreporter.section("NO REAL API SERVER", red=True, bold=True)
        terminalreporter.write_line("The tests ran on the fake server only.")
        terminalreporter.write_line(binaries.missing())
