"""The core compiles with mypyc as it is, and the compiled one decides the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.compile_core import ROOT, compile_core

PROGRAM = """
import hashlib, random
from remuda.config.schema import AccessList, Configuration, PartitionConfig, QueueConfig
from remuda.core import scheduler
from remuda.core.messages.commands import (
    CREATE, AllocationRelease, Ask, NewApplication, NodeUpdate, RegisterResourceManager,
    UpdateAllocations, UpdateApplications, UpdateNodes,
)

draw = random.Random(7)
queues = tuple(
    QueueConfig(f"q{i}", guaranteed={"vcore": 10 * i + 10}, maximum={"memory": 400 + 90 * i})
    for i in range(5)
)
root = QueueConfig("root", queues=queues, submit_acl=AccessList(everybody=True))
config = Configuration((PartitionConfig("default", root),))
core = scheduler.Scheduler()
digest = hashlib.sha256()
placed = 0

def run(command, now):
    global placed
    effects = core.handle(command, now)
    while core.has_work():
        effects += core.step(now, 16)
    for effect in effects:
        digest.update(repr(effect).encode())
        placed += type(effect).__name__ == "AllocationNew"
    core.check()

run(RegisterResourceManager("rm", config), 1)
run(UpdateNodes("rm", tuple(
    NodeUpdate(f"n{i}", CREATE, {"memory": 100, "vcore": 20 + i}) for i in range(9))), 2)
run(UpdateApplications("rm", tuple(
    NewApplication(f"a{i}", f"root.q{i % 5}", user="u") for i in range(20))), 3)
for turn in range(300):
    app = f"a{draw.randrange(20)}"
    if draw.random() < 0.6:
        ask = Ask(app, f"k{turn}", {"memory": draw.randrange(1, 20), "vcore": draw.randrange(5)},
                  max_allocations=draw.randrange(1, 4), priority=draw.randrange(3))
        run(UpdateAllocations("rm", asks=(ask,)), 10 + turn)
    else:
        release = AllocationRelease(app, allocation_key=f"k{draw.randrange(turn + 1)}")
        run(UpdateAllocations("rm", releases=(release,)), 10 + turn)
print(scheduler.__file__.rpartition(".")[2], placed, digest.hexdigest())
"""


def decisions(path: Path) -> tuple[str, int, str]:
    """Run the program on the package in a folder: kind of module, placements, digest."""
    environment = {**os.environ, "PYTHONPATH": str(path), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=path,
        check=True,
        capture_output=True,
        text=True,
    )
    kind, placed, digest = done.stdout.split()
    return kind, int(placed), digest


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler on this machine")
def test_the_compiled_core_decides_as_the_interpreted_one(tmp_path: Path) -> None:
    compile_core(tmp_path, level="0")
    kind, placed, digest = decisions(tmp_path)
    assert kind == "so"
    assert placed > 100
    assert decisions(ROOT / "src") == ("py", placed, digest)
