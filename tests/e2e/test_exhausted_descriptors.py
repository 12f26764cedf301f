"""A process without free file descriptors: what is open lives, and it recovers by itself."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from remuda.client import Client
from remuda.connection.admin import Admin
from remuda.edges.grpc.settings import ADDRESS_CONNECTIONS
from tests.e2e.hostile import PREFACE, SETTINGS, frame
from tests.e2e.serving import FREE_PORTS, Served, environment
from tests.waiting import wait

LIMIT = 64
SETTLED = PREFACE + frame(SETTINGS, 0, 0)
SHORTAGE = "yunikorn_scheduler_descriptor_shortage_seconds_total"
LACK = f"no file descriptor is free (the limit is {LIMIT})"


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def connections(
    address: str, origins: Sequence[str], greeting: bytes
) -> Iterator[list[socket.socket]]:
    """Twice as many connections as the process can have, from several addresses in turn."""
    host, _, port = address.rpartition(":")
    made: list[socket.socket] = []
    with ExitStack() as opened:
        for number in range(2 * LIMIT):
            origin = (origins[number % len(origins)], 0)
            one = socket.create_connection((host, int(port)), 10, source_address=origin)
            made.append(opened.enter_context(one))
            one.sendall(greeting)
        yield made


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side closed it; drops what it said before."""
    connection.setblocking(False)
    try:
        return connection.recv(4_096) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def shortage(served: Served) -> float:
    text = served.client.get("/ws/v1/metrics").text
    (line,) = [each for each in text.splitlines() if each.startswith(f"{SHORTAGE} ")]
    return float(line.split()[1])


@pytest.mark.remuda_rule("MET-55", "SI-105", "REST-3")
@pytest.mark.parametrize("listener", ["gRPC", "REST"])
def test_without_file_descriptors_open_connections_go_on(listener: str) -> None:
    origins = [f"127.0.1.{number}" for number in range(1, 9)]
    with Served(*FREE_PORTS) as served, Client(served.grpc, "rm") as client:
        process = served.process.pid
        resource.prlimit(process, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
        client.register()
        client.add_nodes({"n0": {"vcore": 1_000}})
        address = served.grpc if listener == "gRPC" else served.rest
        greeting = SETTLED if listener == "gRPC" else b"GET /ws/v1/clusters HTTP/1.1\r\n"
        with connections(address, origins, greeting):
            wait(lambda: LACK in served.log)
            used, began = processor_seconds(process), time.monotonic()
            client.add_nodes({"n1": {"vcore": 1_000}})
            wait(lambda: time.monotonic() > began + 3)
            client.add_nodes({"n2": {"vcore": 1_000}})
            spent, passed = processor_seconds(process) - used, time.monotonic() - began
            # An accept loop that tries again at once takes all of a processor.
            assert spent < 0.3 * passed
            assert served.process.poll() is None
        wait(lambda: "there are free file descriptors again" in served.log)
        with Admin(served.grpc) as admin:
            assert [each.rm_id for each in admin.resource_managers()] == ["rm"]
        served.client.close()
        served.client = httpx2.Client(base_url=f"http://{served.rest}", timeout=60)
        assert shortage(served) >= 1
        # Not for each connection.
        assert served.log.count("file descriptor") <= 3
        assert "Traceback" not in served.log


@pytest.mark.remuda_rule("SI-105")
def test_the_connections_of_an_address_are_still_counted_afterwards() -> None:
    with Served(*FREE_PORTS) as served:
        process = served.process.pid
        resource.prlimit(process, resource.RLIMIT_NOFILE, (LIMIT, 8 * LIMIT))
        greeting = b"GET /ws/v1/clusters HTTP/1.1\r\n"
        with connections(served.rest, ["127.0.0.2"], greeting):
            wait(lambda: LACK in served.log)
        wait(lambda: "there are free file descriptors again" in served.log)
        resource.prlimit(process, resource.RLIMIT_NOFILE, (8 * LIMIT, 8 * LIMIT))
        with connections(served.grpc, ["127.0.0.2"], SETTLED) as opened:
            surplus = 2 * LIMIT - ADDRESS_CONNECTIONS
            wait(lambda: sum(map(is_closed, opened)) >= surplus)
            assert sum(map(is_closed, opened)) == surplus


@pytest.mark.remuda_rule("MET-55")
@pytest.mark.parametrize("most", [512, 2_048, 20_000])
def test_the_limit_is_raised_as_far_as_it_may_be(most: int) -> None:
    _, own = resource.getrlimit(resource.RLIMIT_NOFILE)
    hard = most if own == resource.RLIM_INFINITY else min(most, own)
    code = (
        "import resource as r; from remuda.telemetry.descriptors import raise_limit;"
        f" r.setrlimit(r.RLIMIT_NOFILE, (256, {hard})); raise_limit();"
        " print(*r.getrlimit(r.RLIMIT_NOFILE))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == [str(min(hard, 16_384)), str(hard)]
