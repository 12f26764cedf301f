"""``remuda get`` against a served scheduler: the demo, no server, one that goes away."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from remuda.cli.viewing.kinds import KINDS
from tests.e2e.serving import FREE_PORTS, PARTITION, Served, environment, run_remuda
from tests.waiting import wait


@pytest.fixture(scope="module")
def demo() -> Iterator[Served]:
    with Served("--demo", *FREE_PORTS) as served:
        wait(lambda: served.client.get(f"{PARTITION}/applications/active").json() != [])
        yield served


def got(demo: Served, *arguments: str) -> str:
    done = run_remuda("get", *arguments, "--server", demo.rest)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_kind_can_be_read_in_every_form(demo: Served) -> None:
    for kind in KINDS:
        assert isinstance(json.loads(got(demo, kind.name, "-o", "json")), list)
        got(demo, kind.name)


def test_it_has_what_the_server_has(demo: Served) -> None:
    queues = json.loads(got(demo, "queues", "-o", "json"))
    assert [queue["queuename"] for queue in queues][:2] == ["root", "root.batch"]
    names = [node["nodeID"] for node in demo.client.get(f"{PARTITION}/nodes").json()]
    assert got(demo, "nodes", "-o", "name").split() == names
    assert got(demo, "nodes", names[7], "-o", "name").split() == [names[7]]


def test_a_pipe_that_ends_early_is_no_error(demo: Served) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "remuda", "get", "nodes", "--server", demo.rest, "-o", "json"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "[\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(30) == 0


def test_what_changes_is_written_while_it_is_watched(demo: Served) -> None:
    options = ("--watch", "--every", "0.1", "-o", "name", "--server", demo.rest)
    with subprocess.Popen(
        [sys.executable, "-m", "remuda", "get", "queues", "root.batch", *options],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        process.kill()
    assert lines == ["root.batch\n"] * 3


def test_without_a_server_it_is_one_line_and_code_1() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        done = run_remuda("get", "nodes", REMUDA_SERVER=address)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"remuda: nobody answers at http://{address}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[", b"220 hi"]
)
def test_a_server_that_goes_away_in_the_middle_is_code_1(sent: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(sent)

        thread = threading.Thread(target=answer)
        thread.start()
        done = run_remuda("get", "nodes", "--server", f"127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("remuda: ")
