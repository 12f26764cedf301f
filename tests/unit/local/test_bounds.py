"""How tasks are bound: by control groups in a folder that looks like one, else by limits."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.local.bounds import Bound, Bounds, bounds_of
from remuda.local.records import new_command
from tests.unit.local.test_commands import wanted
from tests.waiting import wait

MEMORY = 64 << 20


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """A folder with the files of a delegated control group, and one below it for the service."""
    found = tmp_path / "groups" / "remuda.service"
    (found / "service").mkdir(parents=True)
    for each in (found.parent, found):
        (each / "cgroup.controllers").write_text("cpu memory pids\n")
        (each / "cgroup.subtree_control").write_text("memory\n")
    (tmp_path / "own").write_text("1:name=systemd:/x\n0::/remuda.service/service\n")
    return found


def found(folder: Path, *, delegated: bool) -> Bounds:
    own, root = folder / "own", folder / "groups"
    return bounds_of("auto", folder, own=own, root=root, delegated=lambda _: delegated)


@pytest.mark.remuda_rule("EXT-136")
def test_groups_are_used_if_the_group_of_the_service_is_delegated(
    tmp_path: Path, parent: Path
) -> None:
    assert found(tmp_path, delegated=True).told == f"each task by a control group in {parent}"
    # What was enabled stays so.
    assert (parent / "cgroup.subtree_control").read_text() == "+cpu"
    told = found(tmp_path, delegated=False).told
    assert told.startswith("each process by RLIMIT_DATA, tasks with GPUs by nothing (no control")
    (parent / "cgroup.controllers").write_text("cpu pids\n")
    assert f"({parent} has no controller of memory)" in found(tmp_path, delegated=True).told


@pytest.mark.remuda_rule("EXT-136")
def test_a_service_that_is_in_no_subgroup_makes_no_groups(tmp_path: Path, parent: Path) -> None:
    (tmp_path / "own").write_text("0::/\n")
    assert "no control group is delegated" in found(tmp_path, delegated=True).told


@pytest.mark.remuda_rule("EXT-136")
def test_a_directory_that_cannot_be_used_is_refused(tmp_path: Path, parent: Path) -> None:
    assert bounds_of(str(parent), tmp_path).told.endswith(f"in {parent}")
    with pytest.raises(UsageError, match="is no control group that can be used"):
        bounds_of(str(tmp_path), tmp_path)
    with pytest.raises(UsageError, match="'on' is neither auto nor off nor an absolute path"):
        bounds_of("on", tmp_path)


@pytest.mark.remuda_rule("EXT-135")
def test_a_group_has_the_memory_and_the_share_that_were_asked_for(
    tmp_path: Path, parent: Path
) -> None:
    bounds = bounds_of(str(parent), tmp_path)
    command = new_command(wanted(1, cpus=1_500, memory=MEMORY))
    bound = bounds.bind(command, command.tasks[0])
    group = Path(bound.group)
    said = {each.name: each.read_text() for each in group.iterdir()}
    assert said == {
        "memory.max": str(MEMORY),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cpu.weight": "150",
    }
    assert (group.parent, bound.data_limit) == (parent, 0)
    other = Bounds(tmp_path / "other", parent).bind(command, command.tasks[0])
    assert other.group != bound.group
    # Memory that nobody asked for has no bound.
    command = new_command(wanted(2, cpus=1))
    group = Path(bounds.bind(command, command.tasks[0]).group)
    assert [each.name for each in group.iterdir()] == ["cpu.weight"]
    assert (group / "cpu.weight").read_text() == "1"


@pytest.mark.remuda_rule("EXT-135")
def test_without_groups_processes_have_limits_but_not_those_with_gpus(tmp_path: Path) -> None:
    plain = new_command(wanted(1, memory=MEMORY))
    gpu = new_command(wanted(2, memory=MEMORY, gpus=1))
    limits = Bounds(tmp_path, limits=True)
    off = bounds_of("off", tmp_path)
    assert limits.bind(plain, plain.tasks[0]) == Bound(data_limit=MEMORY)
    assert limits.bind(gpu, gpu.tasks[0]) == off.bind(plain, plain.tasks[0]) == Bound()
    assert off.told == "off"


@pytest.mark.remuda_rule("EXT-110", "EXT-135")
def test_groups_of_tasks_that_do_not_run_are_removed_at_the_start(
    tmp_path: Path, parent: Path
) -> None:
    bounds = Bounds(tmp_path, parent)
    names = [Path(bounds._group("a-1", index)) for index in range(2)]
    others = Bounds(tmp_path / "other", parent)._group("a-1", 0)
    for each in (*names, others):
        each.mkdir()
    # The kernel removes its files with a group; in a folder they keep it from being removed.
    bounds.drop_others([("a-1", 0)])
    assert (names[1] / "cgroup.kill").read_text() == "1"
    (names[1] / "cgroup.kill").unlink()
    names[1].rmdir()
    assert (list(names[0].iterdir()), list(others.iterdir())) == ([], [])


@pytest.mark.remuda_rule("EXT-110", "EXT-137")
def test_what_is_left_of_a_task_whose_keeper_was_killed_ends_with_its_group(
    tmp_path: Path, real_group: Path
) -> None:
    bounds = Bounds(tmp_path, real_group)
    group = bounds._group("a-1", 0)
    group.mkdir()
    with subprocess.Popen(["sleep", "1000"]) as left:
        (group / "cgroup.procs").write_text(str(left.pid))
        bounds.drop("a-1", 0)
        assert left.wait() == -signal.SIGKILL

    def gone() -> bool:
        bounds.drop("a-1", 0)
        return not group.exists()

    wait(gone)
