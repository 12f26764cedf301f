"""A process that is killed, and one whose files may not grow (EVT-132)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remuda.telemetry.events.durable.choice import Wanted, open_store
from remuda.telemetry.events.durable.store import DurableEvents
from tests.package import PACKAGES, ROOT
from tests.unit.telemetry.events.durable.keeping import KINDS, ROOMY, record

# Adds a record a millisecond and says when.
WRITER = """
import sys, time
from pathlib import Path
from remuda.telemetry.events.durable.choice import Wanted, open_store
from tests.unit.telemetry.events.durable.keeping import ROOMY, record
store = open_store(Wanted(sys.argv[1], ROOMY), Path(sys.argv[2]))
assert not store.fault, store.fault
print(store.instance, store.next_id, flush=True)
number = store.next_id
while True:
    store.add(number, [record(number)])
    number += 1
    print(number, time.monotonic_ns(), flush=True)
    time.sleep(0.001)
"""

# Adds records that do not fit into what a file may have, then gets more room.
CRAMPED = """
import resource, sys, time
from pathlib import Path
from remuda.telemetry.events.durable.choice import Wanted, open_store
from tests.unit.telemetry.events.durable.keeping import ROOMY, record
store = open_store(Wanted(sys.argv[1], ROOMY), Path(sys.argv[2]))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
records = [record(number, text="x" * 100) for number in range(2_000)]
began = time.monotonic()
store.add(0, records)
assert time.monotonic() - began < 0.2
while not store.fault:
    time.sleep(0.01)
print(store.fault, flush=True)
assert store.read(0, 5_000) == records
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
while store.lag or store.fault:
    time.sleep(0.01)
assert store.read(0, 5_000) == records
assert store.lost == 0
store.close()
"""


def started(program: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{ROOT}"}
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


@pytest.mark.remuda_rule("EVT-132")
@pytest.mark.parametrize("kind", KINDS)
def test_a_process_that_is_killed_loses_at_most_the_last_second(kind: str, tmp_path: Path) -> None:
    text, instance, next_id = f"{kind}:e", "", 0
    for _ in range(2):
        writer = started(WRITER, text, str(tmp_path))
        assert writer.stdout is not None
        began = writer.stdout.readline().split()
        assert began[1:] == [str(next_id)]
        assert instance in ("", began[0])
        said = [line.split() for line in _lines(writer, 1.3)]
        died_ns = time.monotonic_ns()
        said += [line.split() for line in writer.communicate()[0].splitlines() if " " in line]
        old = [int(number) for number, at in said if int(at) < died_ns - 1_000_000_000]
        store = open_store(Wanted(text, ROOMY), tmp_path)
        assert isinstance(store, DurableEvents)
        assert old
        assert store.next_id >= max(old)
        assert instance in ("", store.instance)
        instance, next_id = store.instance, store.next_id
        assert store.read(0, next_id) == [record(number) for number in range(next_id)]
        store.close()


def _lines(writer: subprocess.Popen[str], seconds: float) -> list[str]:
    """What a process says in so many seconds; then it is killed."""
    assert writer.stdout is not None
    end = time.monotonic() + seconds
    found: list[str] = []
    while time.monotonic() < end:
        found.append(writer.stdout.readline())
    writer.kill()
    return found


@pytest.mark.remuda_rule("EVT-132")
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_may_not_grow_are_a_finding_and_nothing_is_lost_when_they_may_again(
    kind: str, tmp_path: Path
) -> None:
    cramped = started(CRAMPED, f"{kind}:e", str(tmp_path))
    said, _ = cramped.communicate(timeout=30)
    assert cramped.returncode == 0
    assert said.startswith("event.store: records cannot be written: ")
    assert "make room" in said
