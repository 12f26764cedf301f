"""The way of records from the scheduler to the buffer: order, counters, settings, history."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from remuda.core.messages import events as ev
from remuda.core.messages.effects import ApplicationsAnswered, EventRecord
from remuda.telemetry.events.pipeline import Range
from remuda.telemetry.events.selection import (
    EVERYTHING,
    Selection,
    batch_from,
    newest_batch,
)
from remuda.telemetry.events.streams import EventStream
from tests.unit.telemetry.events.records import (
    configure,
    feed,
    numbers,
    record,
    records,
    system,
)
from tests.waiting import wait


@pytest.mark.remuda_rule("EVT-91", "EVT-95")
def test_records_get_ids_in_the_order_in_which_they_were_made() -> None:
    with system() as events:
        answered = ApplicationsAnswered("rm", ("a",), ())
        events.observe([record(0), answered, record(1)])
        events.observe([answered])
        events.observe(records(2, 3))
        wait(lambda: events.counters().processed == 5)
        assert numbers(events.read(0, 10)) == [0, 1, 2, 3, 4]
        assert events.range() == Range(0, 4)


@pytest.mark.remuda_rule("EVT-91", "EVT-122", "MET-39")
def test_what_does_not_fit_into_the_queue_is_dropped_and_counted() -> None:
    with system(queue_limit=10) as events, events._flushing:
        events.observe(records(0, 8))
        events.observe(records(8, 5))
        events.observe(records(13, 1))
        counters = events.counters()
        assert (counters.created, counters.channeled, counters.not_channeled) == (14, 10, 4)
        assert counters.processed == 0
        events._flushing.release()
        events.flush()
        events._flushing.acquire()
        assert numbers(events.read(0, 100)) == list(range(10))
        assert events.counters().processed == 10


@pytest.mark.remuda_rule("EVT-91")
def test_a_hundred_thousand_records_may_wait() -> None:
    with system() as events, events._flushing:
        events.observe([record(0)] * 100_001)
        assert events.counters().not_channeled == 1


@pytest.mark.remuda_rule("EVT-99", "EVT-103")
def test_the_size_of_the_buffer_changes_at_once(caplog: pytest.LogCaptureFixture) -> None:
    with system(ringBufferCapacity="10") as events:
        feed(events, 0, 25)
        assert events.range() == Range(15, 24)
        with caplog.at_level(logging.INFO, "remuda.events"):
            configure(events, ringBufferCapacity="4")
        assert events.range() == Range(21, 24)
        assert [each.getMessage() for each in caplog.records] == [
            "the event buffer is smaller now: lowest ID 21, was 15"
        ]
        configure(events, ringBufferCapacity="8")
        feed(events, 25, 4)
        assert numbers(events.read(21, 100)) == list(range(21, 29))


@pytest.mark.remuda_rule("EVT-100")
@pytest.mark.parametrize("text", ["0", "-1", "many", ""])
def test_a_size_that_is_none_means_the_default(text: str) -> None:
    with system(ringBufferCapacity=text) as events:
        feed(events, 0, 100_000)
        feed(events, 100_000, 1)
        assert events.range() == Range(1, 100_000)


@pytest.mark.remuda_rule("EVT-101", "EVT-107", "EVT-108")
def test_what_was_recorded_stays_while_tracking_is_off_and_ids_go_on_after() -> None:
    with system() as events:
        feed(events, 0, 3)
        configure(events, trackingEnabled="false")
        assert not events.settings.event_tracking
        assert numbers(events.read(0, 10)) == [0, 1, 2]
        configure(events, trackingEnabled="true")
        feed(events, 3, 1)
        assert numbers(events.read(3, 10)) == [3]


@pytest.mark.remuda_rule("EVT-112")
def test_each_process_has_an_instance_of_its_own() -> None:
    with system() as one, system() as other:
        assert one.instance != other.instance
        assert len(one.instance) == 36


@pytest.mark.remuda_rule("EVT-131")
def test_filters_leave_out_and_keep_ids() -> None:
    made = [
        record(number, ev.NODE if number % 3 == 0 else ev.APP, reference_id=f"r{number % 2}")
        for number in range(2_500)
    ]
    with system() as events:
        events.observe(made)
        events.flush()
        nodes = batch_from(events, 1, 3, Selection(kind=ev.NODE))
        assert (list(nodes.ids), numbers(nodes.records)) == ([3, 6, 9], [3, 6, 9])
        rare = batch_from(events, 0, 10, Selection(object_id="o2400"))
        assert list(rare.ids) == [2400]
        newest = newest_batch(events, 2, Selection(kind=ev.NODE, reference_id="r0"))
        assert list(newest.ids) == [2490, 2496]
        late = batch_from(events, 0, 5, Selection(since_ns=2_498))
        assert list(late.ids) == [2498, 2499]
        nothing = batch_from(events, 0, 5, Selection(detail=ev.APP_ALLOC))
        assert (nothing.lowest, nothing.highest, nothing.records) == (0, 2499, [])
        assert batch_from(events, 2_500, 1, Selection(kind=ev.NODE)).records is None
        assert list(newest_batch(events, 3, EVERYTHING).ids) == [2497, 2498, 2499]


class Store:
    """Keeps everything in a list; it begins with records of an earlier run."""

    instance = "the store"

    def __init__(self, first_id: int, kept: list[EventRecord]) -> None:
        self.first_id = first_id
        self.kept = list(kept)
        self.next_id = first_id + len(kept)
        self.failing = self.closed = False

    def add(self, first_id: int, records: Sequence[EventRecord]) -> None:
        if self.failing:
            raise OSError("the disk is full")
        assert first_id == self.first_id + len(self.kept)
        self.kept += records

    def lowest(self) -> int | None:
        return self.first_id if self.kept else None

    def read(self, first_id: int, count: int) -> Sequence[EventRecord]:
        at = first_id - self.first_id
        return self.kept[at : at + min(count, 3)] if at >= 0 else ()

    def close(self) -> None:
        self.closed = True


@pytest.mark.remuda_rule("EVT-132")
def test_batches_reach_back_over_a_restart() -> None:
    store = Store(100, records(100, 10))
    with system(store, ringBufferCapacity="4") as events:
        assert (events.instance, events.range()) == ("the store", Range(100, 109))
        assert numbers(events.read(105, 3)) == [105, 106, 107]
        assert events.read(99, 1) is None
        feed(events, 110, 6)
        assert events.range() == Range(100, 115)
        assert numbers(events.read(103, 100)) == list(range(103, 116))
        assert numbers(events.read(114, 100)) == [114, 115]
    assert store.closed


@pytest.mark.remuda_rule("EVT-115", "EVT-132")
@pytest.mark.parametrize("recent, start", [(10, None), (0, 105)])
def test_a_stream_reaches_back_over_a_restart(recent: int, start: int | None) -> None:
    store = Store(100, records(100, 10))
    with system(store, ringBufferCapacity="4") as events:
        feed(events, 110, 5)
        stream = events.open_stream("h", lambda: None, recent=recent, start=start)
        feed(events, 115, 2)
        assert stream.may_wait
        assert drained(stream) == list(range(105, 117))
        assert not stream.may_wait


def drained(stream: EventStream) -> list[int]:
    found: list[int] = []
    while (portion := stream.take(5)) is not None and portion.records:
        assert portion.gap is None
        assert portion.first_id == int(portion.records[0].object_id[1:])
        found += numbers(portion.records) or []
    return found


@pytest.mark.remuda_rule("EVT-132")
def test_a_store_that_fails_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    store = Store(0, [])
    store.failing = True
    with system(store) as events:
        feed(events, 0, 3)
        assert numbers(events.read(0, 9)) == [0, 1, 2]
    assert "the store of event records failed, ignored: OSError" in caplog.text


@pytest.mark.remuda_rule("EVT-103")
def test_a_ring_larger_than_memory_is_not_taken(caplog: pytest.LogCaptureFixture) -> None:
    with system(ringBufferCapacity=str(2**64 - 1)) as events:
        assert caplog.messages == [
            "event.ringBufferCapacity is above 10000000, which is used instead"
        ]
        feed(events, 0, 3)
        assert [each.object_id for each in events.in_memory()] == ["o0", "o1", "o2"]
