"""A server and a client for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda_kubernetes.testing.server import ApiServer
from tests.kubernetes.testing.calls import Calls


@pytest.fixture(name="server")
def _server() -> Iterator[ApiServer]:
    with ApiServer() as server:
        yield server


@pytest.fixture(name="calls")
def _calls(server: ApiServer) -> Iterator[Calls]:
    with Calls(server.address) as calls:
        yield calls
