"""Event records over HTTP: batches, streams, filters, refusals."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.core.messages import events as ev
from remuda.edges.rest.routes import events as routes_module
from remuda.edges.rest.routes.events import event_routes
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.server import RestServer
from remuda.telemetry.events import streams as streams_module
from remuda.telemetry.events.pipeline import EventSystem
from tests.unit.core.door import Caller, leaf
from tests.unit.edges.rest.schema import assert_valid
from tests.unit.edges.rest.serving import CoreViews
from tests.unit.telemetry.events.records import configure, feed, record, records, system
from tests.waiting import wait

BATCH = "/ws/v1/events/batch"
STREAM = "/ws/v1/events/stream"


@pytest.fixture
def events() -> Iterator[EventSystem]:
    with system() as made:
        yield made


@pytest.fixture
def rest(events: EventSystem, views: object) -> Iterator[TestClient]:
    app = build_app(views, more=event_routes(events))  # type: ignore[arg-type]
    with TestClient(app, "http://remuda") as client:
        yield client


def got(rest: TestClient, query: str = "") -> Any:
    answer = rest.get(f"{BATCH}?{query}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"
    return answer.json()


def names(batch: Any) -> list[str]:
    return [each["objectID"] for each in batch["EventRecords"]]


@pytest.mark.remuda_rule("EVT-95", "EVT-110", "EVT-111", "REST-41", "REST-89")
def test_an_empty_buffer_and_one_with_a_single_record(
    rest: TestClient, events: EventSystem
) -> None:
    empty = got(rest)
    assert list(empty) == ["InstanceUUID", "LowestID", "HighestID", "EventRecords"]
    assert empty["InstanceUUID"] == events.instance
    assert [empty[key] for key in list(empty)[1:]] == [0, 0, None]
    feed(events, 0, 1)
    one = got(rest)
    assert (one["LowestID"], one["HighestID"], names(one)) == (0, 0, ["o0"])
    assert_valid("EventBatch", one)
    assert_valid("EventRecord", one["EventRecords"][0])


@pytest.mark.remuda_rule("EVT-111", "EVT-113", "REST-139")
def test_a_batch_outside_of_the_buffer_has_null_and_says_where_to_begin(
    rest: TestClient, events: EventSystem
) -> None:
    configure(events, ringBufferCapacity="10")
    feed(events, 0, 122)
    expected = {
        "InstanceUUID": events.instance,
        "LowestID": 112,
        "HighestID": 121,
        "EventRecords": None,
    }
    for query in ("", "start=111", "start=122", "start=18446744073709551615"):
        assert got(rest, query) == expected
    assert names(got(rest, "start=112&count=3")) == ["o112", "o113", "o114"]
    assert names(got(rest, "start=121&count=18446744073709551615")) == ["o121"]


@pytest.mark.remuda_rule("EVT-131")
def test_the_ends_of_the_buffer_have_names(rest: TestClient, events: EventSystem) -> None:
    configure(events, ringBufferCapacity="10")
    assert got(rest, "start=oldest")["EventRecords"] is None
    assert got(rest, "start=latest")["EventRecords"] is None
    feed(events, 0, 122)
    assert names(got(rest, "start=oldest&count=2")) == ["o112", "o113"]
    assert names(got(rest, "start=latest&count=2")) == ["o120", "o121"]


@pytest.mark.remuda_rule("EVT-105", "EVT-110")
def test_a_setting_is_the_usual_and_the_largest_size_of_a_batch(
    rest: TestClient, events: EventSystem
) -> None:
    feed(events, 0, 10_100)
    assert len(names(got(rest))) == 10_000
    assert len(names(got(rest, "count=10050&start="))) == 10_000
    assert names(got(rest, "count=1200"))[-1] == "o1199"
    configure(events, RESTResponseSize="3")
    assert names(got(rest, "count=&start=5")) == names(got(rest, "count=9&start=5"))
    assert names(got(rest, "start=5")) == ["o5", "o6", "o7"]
    configure(events, RESTResponseSize="0")
    assert len(names(got(rest))) == 10_000


@pytest.mark.remuda_rule("EVT-110", "EVT-131", "REST-13", "REST-90")
@pytest.mark.parametrize(
    "query, name",
    [
        ("count=0", "count"),
        ("count=-1", "count"),
        ("count=x", "count"),
        ("count=18446744073709551616", "count"),
        ("start=-1", "start"),
        ("start=1.5", "start"),
        ("type=POD", "type"),
        ("detail=NOTHING", "detail"),
        ("since=now", "since"),
        ("format=v3", "format"),
    ],
)
def test_a_bad_option_is_named(rest: TestClient, query: str, name: str) -> None:
    answer = rest.get(f"{BATCH}?{query}")
    value = query.partition("=")[2]
    text = f'{value} is not a valid value for "{name}"'
    assert answer.status_code == 400
    assert answer.json() == {"status_code": 400, "message": text, "description": text}


@pytest.mark.remuda_rule("EVT-131")
@pytest.mark.parametrize(
    "query, expected",
    [
        ("type=3", ["o0", "o3"]),
        ("type=NODE", ["o0", "o3"]),
        ("detail=APP_ALLOC", ["o1"]),
        ("detail=201", ["o2"]),
        ("objectID=o2", ["o2"]),
        ("referenceID=x%20y", ["o1", "o3"]),
        ("referenceID=x%20y&type=APP", ["o1"]),
        ("since=2", ["o2", "o3"]),
        ("since=9", []),
        ("type=NODE&start=1", ["o3"]),
        ("type=NODE&start=latest&count=1", ["o3"]),
    ],
)
def test_filters_choose_records(
    rest: TestClient, events: EventSystem, query: str, expected: list[str]
) -> None:
    events.observe(
        [
            record(0, ev.NODE),
            record(1, detail=ev.APP_ALLOC, reference_id="x y"),
            record(2, detail=ev.APP_REQUEST),
            record(3, ev.NODE, reference_id="x y"),
        ]
    )
    events.flush()
    assert names(got(rest, query)) == expected


@pytest.mark.remuda_rule("EVT-130")
def test_an_envelope_says_the_id_of_each_record(rest: TestClient, events: EventSystem) -> None:
    feed(events, 0, 5)
    found = got(rest, "format=v2&objectID=o3")["EventRecords"]
    plain = got(rest, "objectID=o3")["EventRecords"]
    assert_valid("EventEnvelope", found[0])
    assert found == [
        {"id": 3, "partition": "default", "rmID": "rm", "queue": "", "record": plain[0]}
    ]


@pytest.mark.remuda_rule("EVT-107", "EVT-108", "REST-92")
def test_batches_are_served_while_tracking_is_off(rest: TestClient, events: EventSystem) -> None:
    feed(events, 0, 2)
    configure(events, trackingEnabled="false")
    assert names(got(rest)) == ["o0", "o1"]
    refused = rest.get(STREAM)
    text = "Event tracking is disabled"
    assert refused.status_code == 500
    assert refused.json() == {"status_code": 500, "message": text, "description": text}
    configure(events, trackingEnabled="true")
    feed(events, 2, 1)
    assert names(got(rest)) == ["o0", "o1", "o2"]


@pytest.mark.remuda_rule("EVT-117", "REST-13", "REST-91")
def test_the_checks_of_a_stream_have_an_order_and_keep_no_slot(
    rest: TestClient, events: EventSystem
) -> None:
    configure(events, maxStreamsPerHost="0", trackingEnabled="false")
    assert rest.get(f"{STREAM}?count=x").status_code == 500
    configure(events, maxStreamsPerHost="0")
    refused = rest.get(f"{STREAM}?count=x")
    assert refused.status_code == 503
    assert refused.json()["message"] == "Too many streaming connections"
    configure(events, maxStreamsPerHost="1")
    for query in ("count=-1", "count=x", "start=x", "type=x", "format=x"):
        assert rest.get(f"{STREAM}?{query}").status_code == 400
    assert events.streams() == []


@pytest.mark.remuda_rule("REST-7", "EVT-120")
def test_head_gets_the_headers_of_a_stream_and_keeps_no_slot(
    rest: TestClient, events: EventSystem
) -> None:
    answer = rest.head(STREAM)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"
    assert events.streams() == []


# ------------------------------------------------------------------ over a real socket


class Listener:
    """A client of the stream: its headers and its lines."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.header = b""
        self.rest = b""

    async def line(self) -> Any:
        """The next line; None at the end of the stream."""
        while b"\n" not in self.rest:
            size = int(await asyncio.wait_for(self.reader.readuntil(b"\r\n"), 10), 16)
            piece = await self.reader.readexactly(size + 2)
            if not size:
                return None
            self.rest += piece[:-2]
        first, _, self.rest = self.rest.partition(b"\n")
        return json.loads(first)

    async def names(self, count: int) -> list[str]:
        return [(await self.line())["objectID"] for _ in range(count)]

    def close(self) -> None:
        self.writer.close()


Open = Callable[..., Any]


@asynccontextmanager
async def listening(
    views: object, events: EventSystem, **options: bool
) -> AsyncIterator[tuple[Open, RestServer]]:
    """A server, and what opens a stream with a query there."""
    app = build_app(views, more=event_routes(events), **options)  # type: ignore[arg-type]
    server_socket = socket.create_server(("127.0.0.1", 0))
    port: int = server_socket.getsockname()[1]
    server = RestServer(app, server_socket)
    await server.start()

    opened: list[Listener] = []

    async def open_stream(query: str = "", *headers: str) -> Listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**14)
        lines = [f"GET {STREAM}?{query} HTTP/1.1", "Host: x", *headers, "", ""]
        writer.write("\r\n".join(lines).encode())
        listener = Listener(reader, writer)
        opened.append(listener)
        listener.header = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        return listener

    try:
        yield open_stream, server
    finally:
        events.end_streams()
        for listener in opened:
            listener.close()
            with suppress(ConnectionError):
                await listener.writer.wait_closed()
        await server.stop()


async def until(done: Callable[[], bool]) -> None:
    await asyncio.to_thread(wait, done)


@pytest.mark.remuda_rule("EVT-114", "EVT-115", "EVT-116", "REST-6", "REST-42")
def test_a_stream_sends_the_instance_then_history_then_what_comes(
    views: object, events: EventSystem
) -> None:
    async def run() -> None:
        feed(events, 0, 10)
        async with listening(views, events) as (open_stream, _):
            stream = await open_stream("count=3", "Accept-Encoding: gzip")
            assert stream.header.startswith(b"HTTP/1.1 200")
            assert b"content-type: application/json; charset=utf-8" in stream.header.lower()
            assert b"transfer-encoding: chunked" in stream.header.lower()
            assert b"content-encoding" not in stream.header.lower()
            hello = await stream.line()
            assert hello == {"InstanceUUID": events.instance}
            assert_valid("StreamHello", hello)
            first = await stream.line()
            assert_valid("EventRecord", first)
            assert first["objectID"] == "o7"
            assert await stream.names(2) == ["o8", "o9"]
            for number in range(10, 30):
                feed(events, number, 1)
            assert await stream.names(20) == [f"o{number}" for number in range(10, 30)]
            stream.close()
            await until(lambda: events.streams() == [])

    asyncio.run(run())


@pytest.mark.remuda_rule("EVT-115")
@pytest.mark.parametrize("count", ["11", "18446744073709551615"])
def test_more_history_than_there_is_means_all_of_it(
    views: object, events: EventSystem, count: str
) -> None:
    async def run() -> None:
        feed(events, 0, 10)
        async with listening(views, events) as (open_stream, _):
            stream = await open_stream(f"count={count}")
            await stream.line()
            assert await stream.names(10) == [f"o{number}" for number in range(10)]
            stream.close()

    asyncio.run(run())


@pytest.mark.remuda_rule("EVT-130", "EVT-131")
def test_a_stream_can_be_filtered_enveloped_and_resumed(views: object, events: EventSystem) -> None:
    async def run() -> None:
        configure(events, ringBufferCapacity="6")
        feed(events, 0, 20)
        async with listening(views, events) as (open_stream, _):
            stream = await open_stream("start=16&format=v2&objectID=o18")
            await stream.line()
            found = await stream.line()
            assert list(found) == ["id", "partition", "rmID", "queue", "record"]
            assert (found["id"], found["record"]["objectID"]) == (18, "o18")
            late = await open_stream("start=3")
            assert list(await late.line()) == ["InstanceUUID"]
            gap = await late.line()
            assert gap == {"gap": {"requested": 3, "lowest": 14}}
            assert_valid("StreamGap", gap)
            assert await late.names(6) == [f"o{number}" for number in range(14, 20)]
            oldest, latest = await open_stream("start=oldest"), await open_stream("start=latest")
            await oldest.line()
            assert await oldest.names(1) == ["o14"]
            await latest.line()
            feed(events, 20, 1)
            assert await latest.names(1) == ["o20"]

    asyncio.run(run())


@pytest.mark.remuda_rule("EVT-118", "EVT-120")
def test_slots_belong_to_the_address_of_the_client_and_come_back(
    views: object, events: EventSystem
) -> None:
    async def run() -> None:
        async with listening(views, events) as (open_stream, _):
            opened = [await open_stream("", "X-Forwarded-For: 10.0.0.1") for _ in range(15)]
            assert {view.name for view in events.streams()} == {"127.0.0.1"}
            assert (await open_stream()).header.startswith(b"HTTP/1.1 503")
            opened[0].close()
            await until(lambda: len(events.streams()) == 14)
            assert (await open_stream()).header.startswith(b"HTTP/1.1 200")

    asyncio.run(run())


@pytest.mark.remuda_rule("EVT-118")
def test_a_trusted_proxy_says_whose_stream_it_is(views: object, events: EventSystem) -> None:
    async def run() -> None:
        async with listening(views, events, trust_forwarded=True) as (open_stream, _):
            await open_stream("", "X-Forwarded-For: 10.0.0.1, 10.0.0.9")
            await open_stream()
            assert [view.name for view in events.streams()] == ["10.0.0.1", "127.0.0.1"]

    asyncio.run(run())


@pytest.mark.remuda_rule("EVT-119", "EVT-120")
def test_a_client_that_does_not_read_is_told_so_and_loses_its_slot(
    views: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "PATIENCE_SECONDS", 0.05)

    async def run() -> None:
        with system(clock=asyncio.get_running_loop().time) as events:
            async with listening(views, events) as (open_stream, _):
                stuck, reading = await open_stream(), await open_stream()
                await stuck.line()
                await reading.line()
                number = 0
                while len(events.streams()) == 2:
                    big = [record(number + i, message="x" * 4_000) for i in range(500)]
                    events.observe(big)
                    events.flush()
                    assert await reading.names(500) == [each.object_id for each in big]
                    number += 500
                    assert number < 100_000
                assert events.counters().streams_dropped == 1
                last: Any = None
                count = 0
                while (line := await stuck.line()) is not None:
                    last, count = line, count + 1
                assert await stuck.reader.read() == b""
                assert count < number
                assert last["status_code"] == 200
                assert last["message"] == "Event stream was closed by the producer"
                assert_valid("Error", last)

    asyncio.run(run())


@pytest.mark.remuda_rule("EVT-119", "EVT-120")
def test_a_write_that_takes_too_long_ends_the_connection(
    views: object,
    events: EventSystem,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert routes_module.WRITE_SECONDS == 5.0
    monkeypatch.setattr(routes_module, "WRITE_SECONDS", 0.2)

    async def run() -> None:
        async with listening(views, events) as (open_stream, _):
            stream = await open_stream()
            await stream.line()
            while events.streams():
                events.observe([record(0, message="x" * 10_000)] * 500)
                await asyncio.sleep(0.05)
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await stream.names(1_000_000)
            told = [each.getMessage() for each in caplog.records]
            assert told == ["a client took nothing of its answer for 0.2 s"]

    asyncio.run(run())


@pytest.mark.remuda_rule("EVT-119", "EVT-120")
def test_a_client_that_goes_in_the_middle_of_its_history_is_not_sent_the_rest(
    views: object, events: EventSystem
) -> None:
    feed(events, 0, 20_000)
    app = build_app(views, more=event_routes(events))  # type: ignore[arg-type]
    sent: list[Any] = []

    async def run() -> None:
        gone = asyncio.Event()

        async def receive() -> Any:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            if len(sent) == 3:
                gone.set()

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "GET",
            "path": STREAM,
            "raw_path": STREAM.encode(),
            "query_string": b"count=20000",
            "headers": [],
        }
        await asyncio.wait_for(app(scope, receive, send), 10)

    asyncio.run(run())
    assert 3 <= len(sent) < 10
    assert events.streams() == []


@pytest.mark.remuda_rule("REST-2", "EVT-114")
def test_when_the_service_stops_its_streams_end(views: object, events: EventSystem) -> None:
    async def run() -> None:
        async with listening(views, events) as (open_stream, server):
            stream = await open_stream()
            await stream.line()
            events.end_streams()
            await asyncio.wait_for(server.stop(), 2)
            assert await stream.line() is None

    asyncio.run(run())


@pytest.mark.remuda_rule("EVT-111", "REST-6")
def test_a_long_batch_is_compressed_and_complete(rest: TestClient, events: EventSystem) -> None:
    feed(events, 0, 1_001)
    answer = rest.get(BATCH, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert names(answer.json()) == [each.object_id for each in records(0, 1_001)]


@pytest.mark.remuda_rule("EVT-133", "REST-120")
def test_why_an_ask_waits_is_told_with_its_log_and_its_last_event(events: EventSystem) -> None:
    door = Caller(leaf("a", maximum={"vcore": 1}))
    door.node("n1", {"vcore": 4})
    door.app("one", "root.a")
    door.ask("one", "holds", {"vcore": 1})
    door.ask("one", "waits", {"vcore": 1})
    events.observe(door.step())
    events.observe([record(7, kind=ev.REQUEST, reference_id="other")])
    app = build_app(CoreViews(door.scheduler), more=event_routes(events))
    with TestClient(app, "http://remuda") as client:
        path = "/ws/v1/partition/default/application/one/pending"
        wait(lambda: "event" in client.get(path).json()["requests"][0])
        found = client.get(path).json()
    assert_valid("PendingRequests", found)
    (request,) = found["requests"]
    assert request["allocationKey"] == "waits"
    assert [each["message"] for each in request["allocationLog"]] == ["Not enough queue quota"]
    event = request["event"]
    assert (event["type"], event["objectID"], event["referenceID"]) == (1, "waits", "one")
    assert event["message"] == (
        "Request 'waits' does not fit in queue 'root.a' "
        "(requested map[vcore:1], available map[vcore:0])"
    )
