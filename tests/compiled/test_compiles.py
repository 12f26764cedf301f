"""The compiled core is the one that runs, and decides as the interpreted one does.

The core is compiled before the tests, once; these are for the run on it, `make test-compiled`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from pathlib import Path

import pytest

from remuda.runtime.build import core_build
from tests.package import PACKAGES, ROOT
from tools.wheels.backend import PACKAGES as SOURCE_PACKAGES
from tools.wheels.backend import modules

pytestmark = pytest.mark.skipif(
    core_build() == "interpreted", reason="about the compiled core: make test-compiled"
)

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


def test_the_compiled_core_decides_as_the_interpreted_one() -> None:
    kind, placed, digest = decisions(PACKAGES)
    assert kind == "so"
    assert placed > 100
    assert decisions(ROOT / "src") == ("py", placed, digest)


def test_what_is_to_be_compiled_is_loaded_compiled() -> None:
    for name in modules():
        module = import_module(name.removesuffix(".py").replace("/", "."))
        assert module.__spec__ is not None
        assert isinstance(module.__spec__.loader, ExtensionFileLoader), name
        assert Path(str(module.__file__)).is_relative_to(PACKAGES)


def test_the_packages_were_made_of_the_sources_of_now() -> None:
    for package in SOURCE_PACKAGES:
        for path in (ROOT / "src" / package).rglob("*.py"):
            copy = PACKAGES / path.relative_to(ROOT / "src")
            assert copy.read_bytes() == path.read_bytes(), f"{path}: make compile"


def test_nothing_else_of_the_packages_is_compiled() -> None:
    found = [path for package in SOURCE_PACKAGES for path in (PACKAGES / package).rglob("*.so")]
    compiled = {path.with_name(path.name.partition(".")[0]) for path in found}
    assert compiled == {PACKAGES / name.removesuffix(".py") for name in modules()}
