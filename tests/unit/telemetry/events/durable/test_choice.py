"""Which files are used: what an RM asks for, within what the operator allows (EVT-132, EXT-23)."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from remuda.config.schema import built_in
from remuda.telemetry.events.durable.backend import Bounds
from remuda.telemetry.events.durable.choice import Store, StoreChoice, Wanted, open_store
from remuda.telemetry.events.durable.store import DurableEvents, MemoryEvents
from tests.unit.telemetry.events.durable.keeping import KINDS, ROOMY, record


@pytest.fixture
def opened() -> Iterator[list[Store]]:
    stores: list[Store] = []
    yield stores
    for store in stores:
        store.close()


def wanted(text: str, bounds: Bounds = ROOMY) -> Wanted:
    return Wanted(text, bounds)


def refused(text: str, directory: Path | None) -> str:
    store = open_store(wanted(text), directory)
    assert isinstance(store, MemoryEvents)
    assert store.fault.startswith("event.store: ")
    assert store.fault.endswith("records are kept in memory only")
    assert text.partition(":")[2] not in store.fault
    return store.fault


@pytest.mark.remuda_rule("EVT-132")
def test_memory_is_no_fault(tmp_path: Path) -> None:
    store = open_store(wanted("memory"), tmp_path)
    assert isinstance(store, MemoryEvents)
    assert store.fault == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.remuda_rule("EVT-132")
@pytest.mark.parametrize("kind", KINDS)
def test_a_name_below_the_directory_is_opened(
    kind: str, tmp_path: Path, opened: list[Store]
) -> None:
    (tmp_path / "below").mkdir()
    store = open_store(wanted(f"{kind}:below/events"), tmp_path)
    opened.append(store)
    assert isinstance(store, DurableEvents)
    store.add(0, [record(0)])
    assert store.flush()
    assert (tmp_path / "below/events").stat().st_size > 0


@pytest.mark.remuda_rule("EVT-132", "EXT-23")
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_directory_of_the_operator_nothing_is_written_anywhere(
    kind: str, tmp_path: Path
) -> None:
    fault = refused(f"{kind}:{tmp_path}/events", None)
    assert "--event-dir DIRECTORY" in fault
    assert list(tmp_path.iterdir()) == []


@pytest.mark.remuda_rule("EXT-23")
@pytest.mark.parametrize(
    "name", ["/etc/events-x", "../outside", "below/../../outside", "below/../x", "a\0b", "//x", "."]
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    (allowed / "below").mkdir(parents=True)
    store = open_store(wanted(f"ndjson:{name}"), allowed)
    assert isinstance(store, MemoryEvents)
    assert "the directory of --event-dir" in store.fault
    assert [each.name for each in tmp_path.iterdir()] == ["allowed"]


@pytest.mark.remuda_rule("EXT-23")
def test_a_link_does_not_lead_out_of_the_directory(tmp_path: Path) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    allowed.mkdir()
    outside.mkdir()
    (allowed / "way-out").symlink_to(outside)
    (allowed / "other").symlink_to(outside / "other")
    assert "leads out" in refused("ndjson:way-out/e-v-e-n-t-s", allowed)
    assert "leads out" in refused("sqlite:other", allowed)
    assert list(outside.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_a_finding(tmp_path: Path) -> None:
    assert "No such file or directory" in refused("sqlite:nowhere/x-y", tmp_path)
    (tmp_path / "a-file").write_text("")
    assert "Not a directory" in refused("ndjson:a-file/x-y", tmp_path)
    (tmp_path / "a-directory").mkdir()
    assert "no ordinary file" in refused("ndjson:a-directory", tmp_path)
    assert "No such file or directory" in refused("ndjson:x-y", tmp_path / "gone")


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "no ordinary file" in refused("ndjson:pipe", tmp_path)
    assert "no ordinary file" in refused("sqlite:pipe", tmp_path)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


HOLDER = """
import sys
from pathlib import Path
from remuda.telemetry.events.durable.backend import Bounds
from remuda.telemetry.events.durable.choice import Wanted, open_store
store = open_store(Wanted(sys.argv[1], Bounds(0, 1 << 30)), Path(sys.argv[2]))
print(store.fault, flush=True)
sys.stdin.read()
"""


@pytest.mark.remuda_rule("EVT-132")
@pytest.mark.parametrize("kind", KINDS)
def test_of_two_processes_on_the_same_files_the_second_one_has_none_until_the_first_is_gone(
    kind: str, tmp_path: Path, opened: list[Store]
) -> None:
    text = f"{kind}:e-v"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, text, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"\n"
    assert "another process uses the same files" in refused(text, tmp_path)
    holder.kill()
    holder.communicate()
    store = open_store(wanted(text), tmp_path)
    opened.append(store)
    assert isinstance(store, DurableEvents)
    assert "another process" in refused(text, tmp_path)


# ------------------------------------------------------------------------------------ maps


def say(choice: StoreChoice, rm_id: str, extra: Mapping[str, str] | None) -> None:
    choice.configure(rm_id, built_in(), extra)


@pytest.mark.remuda_rule("EVT-132", "RM-7")
def test_the_first_map_says_which_store_and_another_one_waits_for_a_restart(
    tmp_path: Path, opened: list[Store], caplog: pytest.LogCaptureFixture
) -> None:
    choice = StoreChoice(tmp_path)
    assert not choice.made()
    assert isinstance(choice.open(), MemoryEvents)
    say(choice, "one", None)
    assert not choice.made()
    say(choice, "one", {"event.store": "ndjson:first", "event.storeMaxAge": "1h"})
    say(choice, "one", None)
    say(choice, "one", {"event.store": "ndjson:first", "event.storeMaxAge": "1h"})
    assert choice.made()
    assert caplog.text == ""
    say(choice, "two", {"event.store": "ndjson:second"})
    assert "'two': another event.store takes effect after a restart" in caplog.text
    assert "second" not in caplog.text
    store = choice.open()
    opened.append(store)
    assert isinstance(store, DurableEvents)
    assert {each.name for each in tmp_path.iterdir()} == {"first", "first.lock"}
