"""A served local node holds commands to the memory that they asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.local_node import SMALL, Node
from tests.e2e.serving import Served

ROOT = Path("/sys/fs/cgroup")
TAKE = ("--memory", "128Mi", "--", "python3", "-S", "-c", "b = bytearray(1 << 28); print('has it')")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group in which this process may make others."""
    found = ROOT / f"remuda-test-{os.getpid()}"
    try:
        enabled = (ROOT / "cgroup.subtree_control").read_text().split()
        if "memory" not in enabled:
            pytest.skip("control groups of version 2 do not bound memory here")
        found.mkdir()
    except OSError:
        pytest.skip("no control group of version 2 can be made here")
    yield found
    for each in (*found.iterdir(), found):
        if each.is_dir():
            each.rmdir()


def attribute(served: Served) -> str:
    """What the node says of bounds."""
    (shown,) = served.client.get("/ws/v1/partition/default/nodes").json()
    found = shown["attributes"]["remuda/taskBounds"]
    assert isinstance(found, str)
    return found


@pytest.mark.remuda_rule("EXT-135", "EXT-136")
def test_a_process_does_not_get_more_memory_than_was_asked_for(node: Node) -> None:
    with node.served() as served:
        done = node.remuda("run", *SMALL, *TAKE)
        assert (done.returncode, done.stdout) == (1, "")
        assert "MemoryError" in done.stderr
        assert "by RLIMIT_DATA" in served.log
        assert "by RLIMIT_DATA" in attribute(served)


@pytest.mark.remuda_rule("EXT-136")
def test_the_bounds_can_be_switched_off(node: Node) -> None:
    with node.served("--local-bounds", "off") as served:
        assert attribute(served) == "off"
        assert node.remuda("run", *SMALL, *TAKE).stdout == "has it\n"


@pytest.mark.remuda_rule("EXT-135", "EXT-137")
def test_a_control_group_bounds_all_processes_of_a_task(node: Node, group: Path) -> None:
    with node.served("--local-bounds", str(group)):
        done = node.remuda("run", *SMALL, *TAKE)
        assert done.returncode == 137
        assert "it took more than its 128 MiB of memory" in done.stderr
        assert [each.name for each in group.iterdir() if each.is_dir()] == []


@pytest.mark.remuda_rule("EXT-135")
def test_a_task_begins_in_the_group_that_was_made_for_it(node: Node, tmp_path: Path) -> None:
    folder = tmp_path / "group"
    folder.mkdir()
    (folder / "cgroup.controllers").write_text("cpu memory\n")
    (folder / "cgroup.subtree_control").write_text("cpu memory\n")
    with node.served("--local-bounds", str(folder)) as served:
        assert node.remuda("run", *SMALL, "--memory", "8Mi", "--", "true").returncode == 0
        assert attribute(served).endswith(f"each task by a control group in {folder}")
    (made,) = [each for each in folder.iterdir() if each.is_dir()]
    assert made.name.endswith("-true-1.0")
    assert (made / "memory.max").read_text() == str(8 << 20)
    assert (made / "cgroup.procs").read_text() == "0"
