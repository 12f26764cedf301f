"""A process that is killed, and one whose files may not grow (EVT-132)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remuda.telemetry.events.durable.choice import Wanted, open_store
from remuda.telemetry.events.durable.store import INTERVAL_SECONDS, DurableEvents
from tests.package import PACKAGES, ROOT
from tests.unit.telemetry.events.durable.keeping import KINDS, ROOMY, record

# Adds a record a millisecond; says the next number and up to which number the files have them all.
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
    print(number, number - store.lag, flush=True)
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
store.add(0, records)  # returns at once, or never: the files have no room for all of them
assert store.lag > 0
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
def test_a_process_that_is_killed_keeps_what_its_files_had(kind: str, tmp_path: Path) -> None:
    text, instance, next_id = f"{kind}:e", "", 0
    for _ in range(2):
        writer = started(WRITER, text, str(tmp_path))
        assert writer.stdout is not None
        began = writer.stdout.readline().split()
        assert began[1:] == [str(next_id)]
        assert instance in ("", began[0])
        kept = _kept_at_least(writer, next_id)
        store = open_store(Wanted(text, ROOMY), tmp_path)
        assert isinstance(store, DurableEvents)
        assert store.next_id >= kept
        assert instance in ("", store.instance)
        instance, next_id = store.instance, store.next_id
        assert store.read(0, next_id) == [record(number) for number in range(next_id)]
        store.close()


@pytest.mark.remuda_rule("EVT-132")
def test_the_files_are_written_more_than_once_a_second() -> None:
    assert INTERVAL_SECONDS < 1


def _kept_at_least(writer: subprocess.Popen[str], next_id: int) -> int:
    """Up to which number a process said that its files have all records, when it is killed.

    Nobody tells it to write, so it must have done so on its own, and more than once.
    """
    assert writer.stdout is not None
    told: list[int] = []
    while len(told) < 3:
        kept = int(writer.stdout.readline().split()[1])
        if kept > max(told, default=next_id):
            told.append(kept)
    writer.kill()
    writer.communicate()
    return told[-1]


@pytest.mark.remuda_rule("EVT-132")
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_may_not_grow_are_a_finding_and_nothing_is_lost_when_they_may_again(
    kind: str, tmp_path: Path
) -> None:
    cramped = started(CRAMPED, f"{kind}:e", str(tmp_path))
    said, _ = cramped.communicate(timeout=120)
    assert cramped.returncode == 0
    assert said.startswith("event.store: records cannot be written: ")
    assert "make room" in said
