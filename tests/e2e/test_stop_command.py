"""``remuda stop`` and ``start``: who may, what changes, what is said when it does not."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.e2e.serving import FREE_PORTS, PARTITION, Served, environment, run_remuda
from tests.waiting import wait

pytestmark = pytest.mark.remuda_rule("EXT-82")

QUEUE = f"{PARTITION}/queue/root.batch"


@pytest.fixture(scope="module")
def demo() -> Iterator[Served]:
    with Served("--demo", *FREE_PORTS) as served:
        wait(lambda: served.client.get(QUEUE).status_code == 200)
        yield served


def status(demo: Served, path: str = QUEUE) -> str:
    return str(demo.client.get(path).json()["status"])


def test_a_queue_is_stopped_and_started(demo: Served) -> None:
    done = run_remuda("stop", "queue", "root.batch", "--yes", "--grpc", demo.grpc)
    said = "queue root.batch of the partition default: stopped, it was Active before\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    assert status(demo) == "Stopped"
    done = run_remuda("start", "queue", "root.batch", "-y", REMUDA_GRPC=demo.grpc)
    assert (done.returncode, done.stderr) == (0, "")
    assert status(demo) == "Active"


def test_a_partition_is_stopped_and_started(demo: Served) -> None:
    for action, state in (("stop", "Stopped"), ("start", "Active")):
        done = run_remuda(action, "partition", "default", "--yes", "--grpc", demo.grpc)
        assert done.returncode == 0, done.stderr
        assert demo.client.get("/ws/v1/partitions").json()[0]["state"] == state


@pytest.mark.remuda_rule("EXT-176")
def test_nodes_are_drained_and_used_again(demo: Served) -> None:
    names = [each["nodeID"] for each in demo.client.get(f"{PARTITION}/nodes").json()[:2]]
    said = "".join(
        f"node {name} of the partition default: drained, it was Schedulable before\n"
        for name in names
    )
    done = run_remuda("drain", "node", *names, "--yes", "--grpc", demo.grpc)
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    node = demo.client.get(f"{PARTITION}/node/{names[0]}").json()
    assert (node["schedulable"], node["drainedByOperator"]) == (False, True)
    done = run_remuda("undrain", "node", *names, "-y", REMUDA_GRPC=demo.grpc)
    assert (done.returncode, done.stderr) == (0, "")
    node = demo.client.get(f"{PARTITION}/node/{names[0]}").json()
    assert (node["schedulable"], "drainedByOperator" in node) == (True, False)
    done = run_remuda("undrain", "node", names[0], "-y", REMUDA_GRPC=demo.grpc)
    assert (done.returncode, done.stdout) == (4, "")
    assert "no operator drains the node" in done.stderr


@pytest.mark.remuda_rule("EXT-176")
@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (("node", "n1"), 2, "nobody can be asked here; --yes says that you mean it"),
        (("queue", "root.batch", "-y"), 2, "no drain for a queue; there is for a node"),
        (("node", "none", "-y"), 3, "node 'none' doesn't exist in partition default"),
        (("node", "none", "-y", "--partition", "x"), 3, "no partition 'x'"),
    ],
)
def test_what_is_wrong_with_a_drain_is_one_line(
    demo: Served, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run_remuda("drain", *arguments, "--grpc", demo.grpc)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (("queue", "root.batch"), 2, "nobody can be asked here; --yes says that you mean it"),
        (("node", "n1", "-y"), 2, "no stop for a node; there is for a queue and a partition"),
        (("queue", "root.x", "-y"), 3, "root.x"),
        (("queue", "root.batch", "-y", "--rm", "x"), 3, "no partition 'default' of the resource"),
        (("partition", "x", "-y"), 3, "no partition 'x'"),
        (("queue", "root.batch", "-y", "--token-file", "/none"), 2, "--token-file /none: No such"),
        (("queue", "root.batch", "-y", "--grpc-ca", "/none"), 1, "cannot read /none"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_changes(
    demo: Served, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run_remuda("stop", *arguments, "--grpc", demo.grpc)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert status(demo) == "Active"


@pytest.mark.parametrize("answer, code, state", [("y", 0, "Stopped"), ("n", 1, "Active")])
def test_a_person_is_asked(demo: Served, answer: str, code: int, state: str) -> None:
    ours, its = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "remuda", "stop", "queue", "root.batch", "--grpc", demo.grpc],
        env=environment(TERM="xterm"),
        stdin=its,
        stdout=its,
        stderr=its,
    ) as process:
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 10_000)
        os.write(ours, f"{answer}\n".encode())
        assert process.wait(60) == code
    os.close(its)
    os.close(ours)
    assert b"stop the queue root.batch of the partition default (demo)" in shown
    assert status(demo) == state
    run_remuda("start", "queue", "root.batch", "-y", "--grpc", demo.grpc)


def test_only_an_administrator_may(tmp_path: Path) -> None:
    identities = "".join(
        f'[[identity]]\nname = "{name}"\ntoken-sha256 = ["{sha256(name.encode()).hexdigest()}"]\n'
        f"{right} = true\n"
        for name, right in (("operations", "admin"), ("dashboards", "read"))
    )
    access = tmp_path / "access.toml"
    access.write_text(identities)
    for name in ("operations", "dashboards"):
        (tmp_path / name).write_text(name)
    with Served("--demo", *FREE_PORTS, "--grpc-access", str(access)) as served:
        wait(lambda: served.client.get(QUEUE).status_code == 200)
        call = ("stop", "queue", "root.batch", "-y", "--grpc", served.grpc)
        done = run_remuda(*call, "--token-file", str(tmp_path / "dashboards"))
        assert (done.returncode, done.stdout) == (4, "")
        assert "'dashboards' is no administrator" in done.stderr
        assert run_remuda(*call).returncode == 4
        assert status(served) == "Active"
        done = run_remuda(*call, "--token-file", str(tmp_path / "operations"))
        assert done.returncode == 0, done.stderr
        assert status(served) == "Stopped"
