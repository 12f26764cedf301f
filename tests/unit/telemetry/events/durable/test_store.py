"""Records on their way into files: never waited for, never renumbered (EVT-132)."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.core.messages.effects import EventRecord
from remuda.telemetry.events.durable.backend import Bounds, Numbered
from remuda.telemetry.events.durable.records import LOST
from remuda.telemetry.events.durable.sqlite import SqliteBackend
from remuda.telemetry.events.durable.store import (
    INTERVAL_SECONDS,
    DurableEvents,
    MemoryEvents,
)
from tests.unit.telemetry.events.durable.keeping import KINDS, MIB, ROOMY, backend, record
from tests.waiting import wait

NEVER = 3_600.0


def records(*numbers: int) -> list[EventRecord]:
    return [record(number) for number in numbers]


class Stuck:
    """A backend that takes nothing until it is told to."""

    instance = "u"
    lowest = 0
    next_id = 0

    def __init__(self) -> None:
        self.entered, self.let_go = threading.Event(), threading.Event()

    def append(self, entries: Sequence[Numbered]) -> None:
        self.entered.set()
        self.let_go.wait(10)
        self.next_id = entries[-1][0] + 1

    def read(self, first_id: int, end_id: int, count: int) -> list[Numbered]:
        return []

    def prune(self, now_ns: int) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.remuda_rule("EVT-132")
@pytest.mark.parametrize("kind_", KINDS)
@given(
    steps=st.lists(
        st.one_of(
            st.sampled_from(["flush", "restart"]),
            st.integers(1, 5),
            st.tuples(st.integers(0, 20), st.integers(0, 8)),
        ),
        max_size=12,
    )
)
@settings(max_examples=15, deadline=None)
def test_records_read_as_from_a_plain_list_written_or_not(kind_: str, steps: list[object]) -> None:
    with tempfile.TemporaryDirectory() as place:
        events = DurableEvents(backend(kind_, Path(place)), interval_seconds=NEVER)
        instance, model = events.instance, list[EventRecord]()
        for step in steps:
            if step == "restart":
                events.close()
                events = DurableEvents(backend(kind_, Path(place)), interval_seconds=NEVER)
            elif step == "flush":
                assert events.flush()
                assert events.lag == 0
            elif isinstance(step, int):
                new = records(*range(len(model), len(model) + step))
                events.add(len(model), new)
                model += new
            elif isinstance(step, tuple):
                first_id, count = step
                assert events.read(first_id, count) == model[first_id : first_id + count]
            assert (events.instance, events.next_id) == (instance, len(model))
            assert events.lowest() == (0 if model else None)
        events.close()


@pytest.mark.remuda_rule("EVT-132")
def test_records_are_in_the_files_within_a_second(kind: str, tmp_path: Path) -> None:
    assert INTERVAL_SECONDS <= 0.5
    events = DurableEvents(backend(kind, tmp_path), interval_seconds=0.01)
    events.add(0, records(0, 1, 2))
    wait(lambda: events.lag == 0)
    events.close()
    again = backend(kind, tmp_path)
    assert [number for number, _ in again.read(0, 9, 9)] == [0, 1, 2]
    again.close()


@pytest.mark.remuda_rule("EVT-132")
def test_files_that_take_nothing_hold_nobody_up_and_what_does_not_fit_is_counted() -> None:
    stuck = Stuck()
    events = DurableEvents(stuck, interval_seconds=0, waiting_limit=5)
    events.add(0, records(0, 1, 2))
    assert stuck.entered.wait(10)
    events.add(3, records(3, 4, 5, 6))
    assert (events.lag, events.lost, events.next_id) == (5, 2, 7)
    assert events.read(0, 9) == [*records(0, 1, 2, 3, 4), LOST, LOST]
    stuck.let_go.set()
    wait(lambda: events.lag == 0)
    events.close()


@pytest.mark.remuda_rule("EVT-132")
def test_what_was_lost_leaves_a_gap_that_is_told_and_all_others_keep_their_ids(
    kind: str, tmp_path: Path
) -> None:
    events = DurableEvents(backend(kind, tmp_path), interval_seconds=NEVER, waiting_limit=3)
    events.add(0, records(0, 1))
    events.add(2, records(2, 3, 4))
    events.flush()
    events.add(5, records(5, 6, 7, 8))
    expected = [*records(0, 1, 2), LOST, LOST, *records(5, 6, 7), LOST]
    assert events.read(0, 100) == expected
    assert events.read(4, 2) == [LOST, *records(5)]
    assert (events.lost, LOST.kind, LOST.object_id) == (3, 0, "")
    events.close()
    again = DurableEvents(backend(kind, tmp_path), interval_seconds=NEVER)
    assert again.next_id == 9
    found = again.read(0, 100)
    assert found[:8] == expected[:8]
    assert (found[8].kind, found[8].message) == (0, LOST.message)
    again.close()


@pytest.mark.remuda_rule("EVT-132")
def test_a_full_disk_is_a_finding_and_all_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    room = [300]
    write = os.write

    def into_little_room(fd: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/secret/place")
        taken = write(fd, bytes(data)[: room[0]])
        room[0] -= taken
        return taken

    store = backend("ndjson", tmp_path)
    events = DurableEvents(store, interval_seconds=0.01)
    monkeypatch.setattr("remuda.telemetry.events.durable.ndjson.os.write", into_little_room)
    events.add(0, records(*range(20)))
    wait(lambda: events.fault != "")
    assert "No space left on device" in events.fault
    assert "20 wait" in events.fault
    assert "secret" not in events.fault + caplog.text
    events.add(20, records(*range(20, 25)))
    assert events.read(0, 100) == records(*range(25))
    room[0] = 10**9
    wait(lambda: events.fault == "" and events.lag == 0)
    assert events.read(0, 100) == records(*range(25))
    assert events.lost == 0
    events.close()
    lines = (tmp_path / "events.ndjson").read_bytes().splitlines()
    assert len(lines) == 1 + 25


@pytest.mark.remuda_rule("EVT-132")
def test_a_database_without_room_is_a_finding_and_goes_on_when_there_is(tmp_path: Path) -> None:
    store = SqliteBackend(tmp_path / "events.sqlite", Bounds(0, 64 * MIB))
    events = DurableEvents(store, interval_seconds=NEVER)
    events.add(0, records(*range(10)))
    assert events.flush()
    store._database.execute("PRAGMA max_page_count = 4")
    many = [record(number, text="x" * 1_000) for number in range(10, 200)]
    events.add(10, many)
    assert not events.flush()
    assert "full" in events.fault
    assert (events.lag, store.next_id) == (190, 10)
    assert events.read(0, 200) == records(*range(10)) + many
    store._database.execute("PRAGMA max_page_count = 100000")
    assert events.flush()
    assert (events.fault, events.lag) == ("", 0)
    assert events.read(0, 200) == records(*range(10)) + many
    events.close()


def test_files_that_cannot_be_read_give_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = backend("sqlite", tmp_path)
    events = DurableEvents(store, interval_seconds=NEVER)
    events.add(0, records(0))
    events.flush()

    def fail(*_: object) -> list[Numbered]:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(store, "read", fail)
        assert events.read(0, 1) == []
    assert "disk I/O error" in caplog.text
    events.close()


def test_a_fault_of_a_backend_does_not_end_the_writing() -> None:
    class Broken(Stuck):
        def append(self, entries: Sequence[Numbered]) -> None:
            raise KeyError(entries[0][0])

    events = DurableEvents(Broken(), interval_seconds=0.01)
    events.add(0, records(0, 1))
    wait(lambda: events.lost == 2)
    assert "records cannot be written" in events.fault
    events.add(2, records(2))
    wait(lambda: events.lost == 3)
    events.close()


def test_closing_twice_and_without_records_is_fine(kind: str, tmp_path: Path) -> None:
    released: list[bool] = []
    events = DurableEvents(backend(kind, tmp_path, ROOMY), release=lambda: released.append(True))
    events.add(0, [])
    assert (events.lowest(), events.read(0, 5)) == (None, [])
    events.close()
    events.close()
    assert released == [True]


@pytest.mark.remuda_rule("EVT-132")
def test_without_files_nothing_is_kept_and_each_count_has_a_uuid_of_its_own() -> None:
    events = MemoryEvents()
    events.add(0, records(0, 1))
    assert (events.next_id, events.lowest(), events.read(0, 2)) == (2, None, [])
    assert (events.fault, events.lag, events.lost) == ("", 0, 0)
    assert MemoryEvents().instance != events.instance
    events.close()
