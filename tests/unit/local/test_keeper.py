"""The keeper of a task: what holds when it is killed, or the disk becomes full, at a bad moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remuda.local.keeper import BEGUN, ENDED, ORDER

# Begins the process of a task in a process whose parent is not the keeper any more.
ORPHAN = """
import os, sys
from pathlib import Path
from remuda.local.keeper import Keeper

keeper = Keeper(Path(sys.argv[1]))
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
if os.fork():
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
try:
    keeper._bind()
except OSError as error:
    os._exit(7 if "keeper has died" in str(error) else 8)
os._exit(0)
"""


def ordered(directory: Path, *arguments: str, **more: object) -> None:
    order = {
        "arguments": arguments,
        "environment": dict(os.environ),
        "directory": "/",
        "umask": 0o22,
        "cores": [],
        "nice": 0,
        "group": "",
        "dataLimit": 0,
        "memory": 0,
        "outputLimit": 1 << 20,
        **more,
    }
    (directory / ORDER).write_text(json.dumps(order))


@pytest.mark.remuda_rule("EXT-110")
def test_a_task_whose_keeper_is_killed_as_it_begins_does_not_run(tmp_path: Path) -> None:
    ordered(tmp_path, "true")
    done = subprocess.run([sys.executable, "-c", ORPHAN, str(tmp_path)], check=False)
    assert done.returncode == 7


@pytest.mark.remuda_rule("EXT-110")
def test_the_room_for_the_end_is_taken_before_the_task_begins(tmp_path: Path) -> None:
    """So the code of a task is not lost if the disk is full when it ends."""
    ordered(tmp_path, "sh", "-c", f"stat -c %s {tmp_path}/{ENDED}.new {tmp_path}/{BEGUN}; exit 3")
    keeper = [sys.executable, "-m", "remuda.local.keeper", str(tmp_path)]
    assert subprocess.run(keeper, check=False).returncode == 0
    assert json.loads((tmp_path / ENDED).read_text())["code"] == 3
    (output,) = tmp_path.glob("output.*")
    before, begun = output.read_bytes()[5:].split()
    assert (int(before), int(begun) > 0) == (4_096, True)
    assert (tmp_path / ENDED).stat().st_size == 4_096


def kept(directory: Path, *arguments: str, **more: object) -> dict[str, object]:
    """How a task ends that a keeper of its own runs."""
    ordered(directory, *arguments, **more)
    keeper = [sys.executable, "-m", "remuda.local.keeper", str(directory)]
    assert subprocess.run(keeper, check=False).returncode == 0
    found: dict[str, object] = json.loads((directory / ENDED).read_text())
    return found


# Reserves a large space of addresses, as runtimes do, then takes memory.
RESERVE = "import mmap; m = mmap.mmap(-1, 1 << 38, flags=mmap.MAP_PRIVATE | 0x4000, prot=0); "
TAKE = "b = bytearray(1 << 28)"


@pytest.mark.remuda_rule("EXT-135")
def test_a_process_is_limited_in_what_it_takes_not_in_what_it_reserves(tmp_path: Path) -> None:
    codes = []
    for number, program in enumerate((RESERVE, RESERVE + TAKE)):
        own = tmp_path / str(number)
        own.mkdir()
        arguments = (sys.executable, "-S", "-c", program)
        codes.append(kept(own, *arguments, dataLimit=1 << 27)["code"])
    assert codes == [0, 1]


@pytest.mark.remuda_rule("EXT-135", "EXT-137")
@pytest.mark.parametrize(
    "events, code, reason",
    [
        ("oom 2\noom_kill 1\n", 9, "it was killed: it took more than its 64 MiB of memory"),
        (
            "oom 0\noom_kill 1\n",
            9,
            "it was killed, because the memory of the machine or of the service was used up",
        ),
        ("oom 0\noom_kill 0\n", 9, ""),
        ("oom 2\noom_kill 1\n", 0, ""),
    ],
)
def test_a_task_that_its_bound_killed_is_told_as_such(
    tmp_path: Path, events: str, code: int, reason: str
) -> None:
    group = tmp_path / "group"
    group.mkdir()
    (group / "memory.events").write_text(events)
    arguments = ("sh", "-c", f"exit {code}")
    ended = kept(tmp_path, *arguments, group=str(group), memory=64 << 20)
    assert (ended["code"], ended["reason"]) == (code, reason)
    assert (group / "cgroup.procs").read_text() == "0"
    assert (group / "cgroup.kill").read_text() == "1"


@pytest.mark.remuda_rule("EXT-135", "EXT-137")
def test_a_real_group_has_the_processes_of_its_task_and_is_removed(
    tmp_path: Path, real_group: Path
) -> None:
    seen = tmp_path / "seen"
    script = f"grep ^0:: /proc/self/cgroup > {seen}; setsid sleep 1000 & exit 3"
    ended = kept(tmp_path, "sh", "-c", script, group=str(real_group))
    assert (ended["code"], ended["reason"]) == (3, "")
    assert seen.read_text().strip().endswith(f"/{real_group.name}")
    assert not real_group.exists()
