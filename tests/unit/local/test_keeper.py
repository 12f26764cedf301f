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


def ordered(directory: Path, *arguments: str) -> None:
    order = {
        "arguments": arguments,
        "environment": dict(os.environ),
        "directory": "/",
        "umask": 0o22,
        "cores": [],
        "nice": 0,
        "group": "",
        "outputLimit": 1 << 20,
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
