"""A scheduler that is killed and started again while commands of its local node run and wait."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from remuda.client import Client
from tests.e2e.local_node import SMALL, Node, allocations, asked, wait_for_file, wait_until
from tests.e2e.serving import FREE_PORTS
from tests.waiting import wait

SHARED = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: team
            resources: {max: {vcore: 300m}}
"""


@pytest.fixture
def node(tmp_path: Path) -> Node:
    (tmp_path / "queues.yaml").write_text(SHARED)
    return Node(tmp_path)


def lasting(folder: Path, name: str) -> tuple[str, ...]:
    """A command that runs until a file of its name exists, and says how it began and ended."""
    script = f"echo begin; echo $$ > {folder}/{name}.began"
    script += f"; until [ -e {folder}/{name}.go ]; do sleep 0.05; done; echo end; exit 4"
    return ("--queue", "root.team", "--name", name, "--", "sh", "-c", script)


@pytest.mark.remuda_rule("EXT-107", "EXT-108", "EXT-110")
def test_commands_outlast_a_scheduler_that_is_killed(node: Node, tmp_path: Path) -> None:
    options = ("--config", str(tmp_path / "queues.yaml"))
    with node.served(*options) as served:
        ids = [node.submit(*SMALL, *lasting(tmp_path, name)) for name in ("a", "b", "c")]
        for name in "abc":
            wait_for_file(tmp_path / f"{name}.began")
        waits = node.submit(*SMALL, *lasting(tmp_path, "d"))
        before = {each: allocations(served, each) for each in ids}
        assert [len(before[each]) for each in ids] == [1, 1, 1]
        followed = node.begun("logs", ids[0], "--follow")
        served.end(signal.SIGKILL)
    # One ends while no scheduler is there; its keeper writes that down.
    (tmp_path / "c.go").touch()
    wait_for_file(node.directory / "commands" / ids[2] / "0" / "ended.json")
    with node.served(*options) as served:
        after = {each: allocations(served, each) for each in ids}
        assert after == {**before, ids[2]: {}}
        assert asked(served, node, ids[2])["code"] == 4
        # What ended made room, so the one that waited runs now.
        wait_for_file(tmp_path / "d.began")
        for name in "abd":
            (tmp_path / f"{name}.go").touch()
        for each in (*ids, waits):
            assert node.waited(each) == (4, f"{each} ended with 4")
            assert node.remuda("logs", each).stdout == "begin\nend\n"
        out, err = followed.communicate(timeout=60)
        assert (followed.returncode, out) == (0, "begin\nend\n")
        assert err == "" or "; trying again for " in err
        assert all(allocations(served, each) == {} for each in ids)


@pytest.mark.remuda_rule("EXT-105", "EXT-107")
def test_a_command_of_an_earlier_scheduler_can_be_cancelled(node: Node, tmp_path: Path) -> None:
    with node.served() as served:
        identity = node.submit(*SMALL, "--", *("sleep", "1000"))
        wait(lambda: asked(served, node, identity)["stage"] == "running")
        assert served.end(signal.SIGTERM)[0] == 0
    with node.served() as served:
        assert asked(served, node, identity)["stage"] == "running"
        assert node.remuda("cancel", identity).stdout == f"{identity}: ends\n"
        assert node.waited(identity)[0] == 143


@pytest.mark.remuda_rule("EXT-110")
def test_a_task_whose_keeper_is_killed_ends_and_is_told(node: Node, tmp_path: Path) -> None:
    with node.served():
        identity = node.submit(*SMALL, *lasting(tmp_path, "a")[2:])
        wait_for_file(tmp_path / "a.began")
        process = int((tmp_path / "a.began").read_text())
        begun = node.directory / "commands" / identity / "0" / "begun.json"
        os.kill(int(begun.read_text().split('"keeper": ')[1].rstrip("}")), signal.SIGKILL)
        code, said = node.waited(identity)
        assert code == 125
        assert "its keeper is gone" in said
        wait_until(lambda: not Path(f"/proc/{process}").exists())


@pytest.mark.remuda_rule("EXT-107")
def test_the_local_node_comes_back_when_another_took_its_place(node: Node, tmp_path: Path) -> None:
    with node.served() as served:
        runs = node.submit(*SMALL, *lasting(tmp_path, "a")[2:])
        wait_for_file(tmp_path / "a.began")
        before = allocations(served, runs)
        with Client(served.grpc, "local") as other:
            other.register()
        wait(lambda: allocations(served, runs) == before)
        assert node.remuda("run", *SMALL, "--", "echo", "next").stdout == "next\n"
        (tmp_path / "a.go").touch()
        assert node.waited(runs)[0] == 4
        assert "the local node registers again" in served.log


@pytest.mark.remuda_rule("EXT-108")
def test_two_services_do_not_share_a_directory(node: Node) -> None:
    with node.served() as served:
        second = node.remuda("serve", "--local-node", *FREE_PORTS)
        assert second.returncode == 2
        assert "another service uses it" in second.stderr
        assert served.end(signal.SIGTERM)[0] == 0
    # A secret that opens nothing any more is not left behind.
    assert not (node.directory / "token").exists()
