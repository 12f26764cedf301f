"""Open streams: history and what follows it, limits, slow listeners."""

from __future__ import annotations

import logging
import threading

import pytest

from remuda.telemetry.events.pipeline import EventSystem
from remuda.telemetry.events.streams import EventStream, TooManyStreamsError
from tests.unit.telemetry.events.records import Clock, configure, feed, numbers, records, system


def nothing() -> None:
    """Nobody has to be woken: the test asks."""


def taken(stream: EventStream, most: int = 100) -> list[int]:
    """Everything a stream has at the moment."""
    found: list[int] = []
    while (portion := stream.take(most)) is not None and portion.records:
        found += numbers(portion.records) or []
    return found


@pytest.mark.remuda_rule("EVT-115")
@pytest.mark.parametrize("count, first", [(0, 20), (5, 15), (7, 13), (2**64 - 1, 13)])
def test_a_stream_begins_with_recent_records_and_goes_on_without_gap(
    count: int, first: int
) -> None:
    with system(ringBufferCapacity="7") as events:
        feed(events, 0, 20)
        stream = events.open_stream("h", nothing, recent=count)
        feed(events, 20, 30)
        assert taken(stream) == list(range(first, 50))
        feed(events, 50, 1)
        assert taken(stream) == [50]


@pytest.mark.remuda_rule("EVT-115")
def test_each_record_comes_once_while_a_producer_runs_at_full_speed() -> None:
    with system() as events:
        stop = threading.Event()

        def produce() -> None:
            number = 0
            while not stop.is_set() and number < 60_000:
                events.observe(records(number, 50))
                number += 50

        producer = threading.Thread(target=produce)
        producer.start()
        opened: list[tuple[int, EventStream]] = []
        while len(opened) < 20:
            events.flush()
            before = events.range().highest
            opened.append((before, events.open_stream(f"h{len(opened)}", nothing, recent=5)))
        stop.set()
        producer.join()
        events.flush()
        last = events.range().highest
        for before, stream in opened:
            found = taken(stream, 1_000)
            assert found == list(range(last + 1 - len(found), last + 1))
            assert len(found) >= min(5, before) + last - before


@pytest.mark.remuda_rule("EVT-131")
@pytest.mark.parametrize(
    "start, gap, first",
    [(13, None, 13), (16, None, 16), (20, None, 20), (12, (12, 13), 13), (21, (21, 13), 13)],
)
def test_a_stream_resumes_at_an_id_or_tells_what_is_missing(
    start: int, gap: tuple[int, int] | None, first: int
) -> None:
    with system(ringBufferCapacity="7") as events:
        feed(events, 0, 20)
        stream = events.open_stream("h", nothing, start=start)
        feed(events, 20, 2)
        portion = stream.take(3)
        assert portion is not None
        assert (portion.gap, portion.first_id) == (gap, first)
        assert numbers(portion.records) == list(range(first, 22))[:3]
        following = stream.take(3)
        assert following is not None
        assert following.gap is None


def open_many(events: EventSystem, host: str, count: int) -> list[EventStream]:
    return [events.open_stream(host, nothing) for _ in range(count)]


@pytest.mark.remuda_rule("EVT-104", "EVT-117", "EVT-118")
def test_a_host_has_fifteen_streams_and_a_lower_limit_closes_none() -> None:
    with system() as events:
        opened = open_many(events, "10.0.0.1", 15)
        with pytest.raises(TooManyStreamsError):
            events.open_stream("10.0.0.1", nothing)
        events.open_stream("10.0.0.2", nothing)
        events.close_stream(opened.pop())
        events.close_stream(opened[0])
        opened[0] = events.open_stream("10.0.0.1", nothing)
        opened += open_many(events, "10.0.0.1", 1)
        configure(events, maxStreamsPerHost="3")
        feed(events, 0, 2)
        assert [taken(stream) for stream in opened] == [[0, 1]] * 15
        with pytest.raises(TooManyStreamsError):
            events.require_slot("10.0.0.1")
        for stream in opened[:12]:
            events.close_stream(stream)
            with pytest.raises(TooManyStreamsError):
                events.require_slot("10.0.0.1")
        events.close_stream(opened[12])
        events.require_slot("10.0.0.1")


@pytest.mark.remuda_rule("EVT-104", "EVT-117")
def test_there_are_a_hundred_streams_in_all() -> None:
    with system() as events:
        for number in range(100):
            events.open_stream(f"10.0.0.{number}", nothing)
        with pytest.raises(TooManyStreamsError):
            events.open_stream("10.0.1.1", nothing)
        assert events.counters().streams == 100


@pytest.mark.remuda_rule("EVT-104")
@pytest.mark.parametrize("key", ["maxStreams", "maxStreamsPerHost"])
def test_a_limit_of_zero_allows_no_stream(key: str) -> None:
    with system() as events:
        configure(events, **{key: "0"})
        with pytest.raises(TooManyStreamsError):
            events.open_stream("h", nothing)


@pytest.mark.remuda_rule("EVT-119", "MET-40")
def test_a_listener_that_does_not_read_is_dropped_after_two_buffers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    with system(clock=clock) as events:
        stuck, healthy = open_many(events, "h", 2)
        feed(events, 0, 1)
        assert stuck.take(500) is not None
        clock.now += 1
        for first in range(1, 2_001, 100):
            feed(events, first, 100)
        assert events.counters().streams_dropped == 0
        with caplog.at_level(logging.WARNING, "remuda.events"):
            feed(events, 2_001, 1)
        assert stuck.dropped
        assert stuck.take(500) is None
        assert taken(healthy) == list(range(2_002))
        assert (events.counters().streams, events.counters().streams_dropped) == (1, 1)
        assert "event stream of h dropped" in caplog.text


@pytest.mark.remuda_rule("EVT-119")
def test_a_burst_does_not_drop_a_listener_that_reads() -> None:
    clock = Clock()
    with system(clock=clock) as events:
        stream = events.open_stream("h", nothing)
        feed(events, 0, 1)
        assert stream.take(500) is not None
        feed(events, 1, 50_000)
        clock.now += 0.2
        feed(events, 50_001, 1)
        assert taken(stream, 500) == list(range(1, 50_002))


@pytest.mark.remuda_rule("EVT-119")
def test_waiting_for_a_turn_after_a_write_does_not_make_a_listener_slow() -> None:
    clock = Clock()
    with system(clock=clock) as events:
        stream = events.open_stream("h", nothing)
        feed(events, 0, 1)
        assert stream.take(500) is not None
        stream.written()
        clock.now += 1
        feed(events, 1, 2_001)
        assert taken(stream, 500) == list(range(1, 2_002))


@pytest.mark.remuda_rule("EVT-119")
def test_a_listener_that_falls_a_hundred_thousand_behind_is_dropped() -> None:
    with system() as events:
        stream = events.open_stream("h", nothing)
        feed(events, 0, 100_000)
        assert not stream.dropped
        feed(events, 0, 1)
        assert stream.dropped


@pytest.mark.remuda_rule("EVT-114")
def test_a_listener_with_nothing_to_read_is_woken_once() -> None:
    woken: list[int] = []
    with system() as events:
        stream = events.open_stream("h", lambda: woken.append(1))
        feed(events, 0, 1)
        assert woken == []
        assert taken(stream) == [0]
        feed(events, 1, 2)
        feed(events, 3, 2)
        assert woken == [1]
        assert taken(stream) == [1, 2, 3, 4]


@pytest.mark.remuda_rule("EVT-108", "EVT-109")
def test_an_open_stream_is_silent_while_tracking_is_off_and_goes_on_after() -> None:
    with system() as events:
        stream = events.open_stream("h", nothing)
        configure(events, trackingEnabled="false")
        portion = stream.take(1)
        assert portion is not None
        assert portion.records == []
        configure(events, trackingEnabled="true")
        feed(events, 0, 1)
        assert taken(stream) == [0]


@pytest.mark.remuda_rule("EVT-118", "EVT-120", "EVT-121", "DMP-12")
def test_open_streams_are_listed_by_host_and_age_until_they_are_closed() -> None:
    with system() as events:
        first, second = open_many(events, "10.0.0.1", 1) + open_many(events, "10.0.0.2", 1)
        assert [view.name for view in events.streams()] == ["10.0.0.1", "10.0.0.2"]
        assert 0 < first.view.created_ns <= second.view.created_ns
        events.close_stream(first)
        events.close_stream(first)
        assert events.streams() == [second.view]
        feed(events, 0, 1)
        assert first.take(1) is None


@pytest.mark.remuda_rule("REST-2")
def test_when_the_service_stops_streams_end_and_no_more_are_opened() -> None:
    woken: list[int] = []
    with system() as events:
        stream = events.open_stream("h", lambda: woken.append(1))
        events.end_streams()
        assert stream.take(1) is None
        assert not stream.dropped
        assert woken == [1]
        with pytest.raises(TooManyStreamsError):
            events.open_stream("h", nothing)
