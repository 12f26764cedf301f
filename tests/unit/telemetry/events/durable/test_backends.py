"""Both kinds of files: what is read is what was written, whatever happened in between."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.core.messages.effects import EventRecord
from remuda.telemetry.events.durable.backend import Bounds, Numbered, StoreRefusedError
from remuda.telemetry.events.durable.records import LOST, decode, encode
from tests.unit.telemetry.events.durable.keeping import (
    KINDS,
    MIB,
    ROOMY,
    all_of,
    backend,
    fill,
    numbered,
    record,
    size_of,
)

DAY_NS = 24 * 3600 * 1_000_000_000

every_kind = pytest.mark.parametrize("kind", KINDS)

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_NUMBERS = st.integers(-(2**63), 2**63 - 1)
_RECORDS = st.builds(
    EventRecord,
    _TEXTS,
    _TEXTS,
    st.integers(0, 5),
    _TEXTS,
    _TEXTS,
    st.integers(0, 3),
    st.integers(0, 604),
    st.integers(0, 2**63 - 1),
    st.none() | st.dictionaries(_TEXTS, _NUMBERS, min_size=1, max_size=3),
    _TEXTS,
    _TEXTS,
)
_STEPS = st.lists(
    st.one_of(
        st.just("open again"),
        st.just("prune"),
        st.tuples(st.integers(0, 2), st.lists(_RECORDS, min_size=1, max_size=4)),
        st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 9)),
    ),
    max_size=12,
)


@pytest.mark.remuda_rule("EVT-132")
@every_kind
@given(steps=_STEPS)
@settings(max_examples=20, deadline=None)
def test_a_store_reads_as_a_plain_list_does(kind: str, steps: list[object]) -> None:
    with tempfile.TemporaryDirectory() as place:
        store = backend(kind, Path(place))
        model: list[Numbered] = []
        instance = store.instance
        for step in steps:
            if step == "open again":
                store.close()
                store = backend(kind, Path(place))
            elif step == "prune":
                store.prune(DAY_NS)
            elif isinstance(step, tuple) and isinstance(step[1], list):
                entries = numbered(store.next_id + step[0], step[1])
                store.append(entries)
                model += entries
            elif isinstance(step, tuple):
                first_id, span, count = step
                found = store.read(first_id, first_id + span, count)
                wanted = [each for each in model if first_id <= each[0] < first_id + span]
                assert found == wanted[:count]
            next_id = model[-1][0] + 1 if model else 0
            assert (store.instance, store.next_id) == (instance, next_id)
            assert store.lowest == (model[0][0] if model else next_id)
        assert all_of(store) == model
        store.close()


@pytest.mark.remuda_rule("EVT-132")
@every_kind
def test_after_a_restart_ids_go_on_and_the_uuid_is_that_of_the_store(
    kind: str, tmp_path: Path
) -> None:
    store = backend(kind, tmp_path)
    assert (store.next_id, store.lowest) == (0, 0)
    assert UUID(store.instance).version == 4
    fill(store, 250)
    store.close()
    again = backend(kind, tmp_path)
    assert again.instance == store.instance
    assert (again.lowest, again.next_id) == (0, 250)
    fill(again, 5)
    assert [number for number, _ in again.read(248, 253, 100)] == [248, 249, 250, 251, 252]
    again.close()


@pytest.mark.remuda_rule("EVT-132")
@every_kind
def test_the_size_is_bounded_and_the_newest_records_stay(kind: str, tmp_path: Path) -> None:
    bounds = Bounds(0, 2 * MIB)
    store = backend(kind, tmp_path, bounds)
    most = 0
    for _ in range(24):
        fill(store, 250, text="x" * 1_000)
        store.prune(1)
        most = max(most, size_of(tmp_path))
    assert most <= 2 * MIB + 64 * 1024
    assert store.next_id == 6_000
    assert 0 < store.lowest < 6_000 - 1_000
    found = all_of(store)
    assert [number for number, _ in found] == list(range(store.lowest, 6_000))
    store.close()
    again = backend(kind, tmp_path, bounds)
    assert (again.lowest, again.next_id) == (found[0][0], 6_000)
    again.close()


@pytest.mark.remuda_rule("EVT-132")
@every_kind
def test_records_that_are_too_old_are_dropped_and_ids_go_on(kind: str, tmp_path: Path) -> None:
    bounds = Bounds(7 * DAY_NS, 64 * MIB)
    store = backend(kind, tmp_path, bounds)
    for day in range(10):
        fill(store, 10, day * DAY_NS)
        store.prune(day * DAY_NS)
    store.prune(10 * DAY_NS)
    assert store.lowest in (20, 30)  # a file may have the records of one eighth more
    store.prune(100 * DAY_NS)
    store.prune(100 * DAY_NS)
    assert all_of(store) == []
    assert (store.lowest, store.next_id) == (100, 100)
    store.close()
    again = backend(kind, tmp_path, bounds)
    assert (again.instance, again.lowest, again.next_id) == (store.instance, 100, 100)
    again.close()


@every_kind
def test_a_file_of_somebody_else_is_refused_and_left_alone(kind: str, tmp_path: Path) -> None:
    foreign = tmp_path / f"events.{kind}"
    foreign.write_bytes(b"somebody's notes\n" * 300)
    with pytest.raises(StoreRefusedError, match="something else"):
        backend(kind, tmp_path)
    assert foreign.read_bytes() == b"somebody's notes\n" * 300


def test_a_database_of_somebody_else_is_refused(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "events.sqlite")
    database.execute("CREATE TABLE accounts (name)")
    database.close()
    with pytest.raises(StoreRefusedError, match="something else"):
        backend("sqlite", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_else_may_read_the_files(kind: str, tmp_path: Path) -> None:
    store = backend(kind, tmp_path)
    fill(store, 1)
    assert {each.stat().st_mode & 0o077 for each in tmp_path.iterdir()} == {0}
    store.close()


# ------------------------------------------------------------------------------------ damage


@pytest.mark.remuda_rule("EVT-132")
def test_a_line_that_was_cut_off_anywhere_costs_only_itself(tmp_path: Path) -> None:
    store = backend("ndjson", tmp_path)
    fill(store, 3)
    store.close()
    path = tmp_path / "events.ndjson"
    whole = path.read_bytes()
    last = whole.rfind(b"\n", 0, -1) + 1
    for size in range(last, len(whole)):
        path.write_bytes(whole[:size])
        again = backend("ndjson", tmp_path)
        assert (again.next_id, len(all_of(again))) == (2, 2)
        assert path.read_bytes() == whole[:last]
        again.append([(2, record(2))])
        again.close()
        assert path.read_bytes() == whole


def test_a_first_line_that_was_cut_off_is_written_again(tmp_path: Path) -> None:
    store = backend("ndjson", tmp_path)
    store.close()
    path = tmp_path / "events.ndjson"
    head = path.read_bytes()
    for size in range(len(head)):
        path.write_bytes(head[:size])
        again = backend("ndjson", tmp_path)
        fill(again, 1)
        again.close()
        assert len(path.read_bytes().splitlines()) == 2


def test_a_damaged_line_in_the_middle_is_left_out(tmp_path: Path) -> None:
    store = backend("ndjson", tmp_path)
    fill(store, 50)
    store.close()
    path = tmp_path / "events.ndjson"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[21] = b"\0" * (len(lines[21]) - 1) + b"\n"
    path.write_bytes(b"".join(lines))
    again = backend("ndjson", tmp_path)
    for first_id in range(50):
        found = [number for number, _ in again.read(first_id, 50, 50)]
        assert found == [number for number in range(first_id, 50) if number != 20]
    again.close()


@pytest.mark.remuda_rule("EVT-132")
def test_a_journal_that_was_cut_off_costs_only_its_last_part(tmp_path: Path) -> None:
    store = backend("sqlite", tmp_path)
    fill(store, 100)
    fill(store, 100)
    place = tmp_path / "copy"
    place.mkdir()
    for name in ("events.sqlite", "events.sqlite-wal"):
        (place / name).write_bytes((tmp_path / name).read_bytes())
    journal = place / "events.sqlite-wal"
    journal.write_bytes(journal.read_bytes()[:-100])
    again = backend("sqlite", place)
    assert (again.instance, again.next_id) == (store.instance, 100)
    assert all_of(again) == all_of(store)[:100]
    for each in (store, again):
        each.close()


def test_a_file_that_somebody_deletes_is_begun_again(tmp_path: Path) -> None:
    store = backend("ndjson", tmp_path)
    fill(store, 3)
    (tmp_path / "events.ndjson").unlink()
    assert all_of(store) == []
    store.append([(3, record(3))])
    assert [number for number, _ in all_of(store)] == [3]
    assert store.lowest == 3
    store.close()


# ------------------------------------------------------------------------------------ lines


@pytest.mark.remuda_rule("EVT-132")
def test_a_line_has_the_names_and_numbers_of_the_specification() -> None:
    one = EventRecord(
        "rm-1", "gpu", 2, "job-1", "t-1-0", 2, 200, 16, {"memory": 10, "z": 0}, "", "root.q"
    )
    assert encode(15, one) == (
        b'{"id":15,"partition":"gpu","rmID":"rm-1","queue":"root.q","record":{"type":2,"objectID":"job-1",'
        b'"timestampNano":16,"eventChangeType":2,"eventChangeDetail":200,"referenceID":"t-1-0",'
        b'"resource":{"resources":{"memory":{"value":10},"z":{}}}}}'
    )
    bare = EventRecord("", "", 0, "", "", 0, 0, 0)
    assert json.loads(encode(0, bare))["record"] in ({}, {"resource": {}})


@given(record=_RECORDS, number=st.integers(0, 2**63 - 1))
def test_a_line_says_all_of_a_record(record: EventRecord, number: int) -> None:
    line = encode(number, record)
    assert b"\n" not in line
    assert decode(line) == (number, record)


def test_a_record_that_has_no_line_is_lost_and_holds_nothing_up() -> None:
    odd = EventRecord("rm", "default", 2, "a", "", 2, 0, 1, None, "\ud800")
    assert decode(encode(7, odd)) == (7, LOST)


@pytest.mark.parametrize("line", [b"", b"{}", b'{"id":1}', b"\0\0", b'{"id":"1","record":{}}'])
def test_what_is_no_line_is_none(line: bytes) -> None:
    assert decode(line) is None


def test_bounds_of_nothing_keep_something(tmp_path: Path) -> None:
    store = backend("ndjson", tmp_path, Bounds(0, 1))
    fill(store, 10)
    store.prune(1)
    assert len(all_of(store)) == 10
    store.close()
    assert ROOMY.age_ns == 0
