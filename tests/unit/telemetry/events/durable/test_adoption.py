"""The event system goes on where the chosen store ends (EVT-132, EVT-112)."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.config.schema import built_in
from remuda.telemetry.events.durable.choice import StoreChoice
from remuda.telemetry.events.pipeline import EventSystem
from tests.unit.telemetry.events.records import numbers, records


def run(directory: Path, first: int, count: int) -> tuple[str, int, list[int] | None]:
    """One life: UUID, lowest ID, all records."""
    choice = StoreChoice(directory)
    extra = {"event.store": "ndjson:e", "event.ringBufferCapacity": "2", "event.storeMaxAge": "0"}
    events = EventSystem(None, choose=choice.sink)
    for watcher in (choice.configure, events.configure):
        watcher("rm", built_in(), extra)
    events.observe(records(first, count))
    events.flush()
    found = numbers(events.read(0, 1_000))
    assert choice.findings() == ()
    told = (events.instance, events.range().lowest, found)
    events.close()
    return told


@pytest.mark.remuda_rule("EVT-132")
def test_ids_and_history_go_on_over_lives(tmp_path: Path) -> None:
    first = run(tmp_path, 0, 5)
    assert first[1:] == (0, [0, 1, 2, 3, 4])
    assert run(tmp_path, 5, 3) == (first[0], 0, list(range(8)))


@pytest.mark.remuda_rule("EVT-132")
def test_streams_of_the_count_before_are_ended_and_new_ones_may_be_opened(tmp_path: Path) -> None:
    choice = StoreChoice(tmp_path)
    events = EventSystem(None, choose=choice.sink)
    early = events.open_stream("host", lambda: None)
    choice.configure("rm", built_in(), {"event.store": "sqlite:e"})
    before = events.instance
    events.observe(records(0, 1))
    events.flush()
    assert early.take(10) is None
    assert events.instance != before
    later = events.open_stream("host", lambda: None, recent=5)
    portion = later.take(10)
    assert portion is not None
    assert numbers(portion.records) == [0]
    events.close()


@pytest.mark.remuda_rule("EVT-132")
def test_what_stands_in_the_way_of_a_store_is_a_failed_check(tmp_path: Path) -> None:
    choice = StoreChoice(None)
    assert choice.sink() is None
    choice.configure("rm", built_in(), {"event.store": f"sqlite:{tmp_path}/e"})
    assert choice.sink() is None
    (finding,) = choice.findings()
    assert (finding.name, finding.succeeded) == ("Event store", False)
    assert "--event-dir" in finding.diagnosis
