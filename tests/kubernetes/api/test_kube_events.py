"""Events: form, aggregation, limits, and that posting never waits for the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from remuda_kubernetes.api.event_bodies import new_name
from remuda_kubernetes.api.event_series import Notice, SeriesTable
from remuda_kubernetes.api.events import Events, EventSettings
from remuda_kubernetes.objects.metadata import ObjectMeta, ObjectReference
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.translation.events import reference
from tests.kubernetes.api.scripted import (
    Reply,
    Server,
    Stream,
    TurnedClock,
    eventually,
    refusal,
    run,
)

EVENTS = "/apis/events.k8s.io/v1/namespaces/n/events"
CREATED = Reply(201, {"kind": "Event"})


def about(name: str = "p", version: str = "7") -> ObjectReference:
    """The reference to a pod, in some version of it."""
    metadata = ObjectMeta(name=name, namespace="n", uid=f"u-{name}", resource_version=version)
    return reference(Pod(metadata=metadata), "Pod")


@asynccontextmanager
async def writing(
    server: Server,
    version: str = "v1",
    clock: TurnedClock | None = None,
    room: Callable[[], bool] = lambda: True,
    **settings: Any,
) -> AsyncIterator[Events]:
    async with server.connection() as connection:
        found = EventSettings(instance="remuda-0", **settings)
        clock = clock or TurnedClock()
        events = Events(
            connection,
            version,
            found,
            room=room,
            clock=clock,
            chance=lambda: 0.5,
            wall=lambda: 1_764_000_000.0 + clock.now() - 1000.0,
        )
        task = asyncio.create_task(events.run())
        try:
            yield events
            assert not task.done()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def test_an_event_has_all_that_the_server_requires() -> None:
    async def test() -> None:
        async with Server() as server, writing(server) as events:
            server.on("POST", EVENTS, CREATED)
            events.post(about(), "Scheduled", "bound to m1")
            await eventually(lambda: events.figures.written == 1)
            body = server.requests[0].json
            name = body["metadata"].pop("name")
            assert name.startswith("p.")
            assert body == {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"namespace": "n"},
                "eventTime": "2025-11-24T16:00:00.000000Z",
                "reportingController": "remuda",
                "reportingInstance": "remuda-0",
                "reason": "Scheduled",
                "action": "Scheduling",
                "type": "Normal",
                "note": "bound to m1",
                "regarding": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "namespace": "n",
                    "name": "p",
                    "uid": "u-p",
                },
            }

    run(test())


def test_a_server_without_events_k8s_io_gets_events_of_the_core_group() -> None:
    path = "/api/v1/namespaces/default/events"

    async def test() -> None:
        async with Server() as server, writing(server, "") as events:
            server.on("POST", path, CREATED)
            node = ObjectReference(api_version="v1", kind="Node", name="m1", uid="m1")
            events.post(node, "NodeRejected", "no allocatable", type="Warning")
            await eventually(lambda: events.figures.written == 1)
            body = server.requests[0].json
            assert body["apiVersion"] == "v1"
            assert body["involvedObject"]["name"] == "m1"
            assert (body["reason"], body["message"]) == ("NodeRejected", "no allocatable")
            assert body["source"] == {"component": "remuda", "host": "remuda-0"}
            assert (body["type"], body["count"]) == ("Warning", 1)
            assert body["firstTimestamp"] == "2025-11-24T16:00:00Z"

    run(test())


def test_equal_events_become_a_series_with_a_count() -> None:
    async def test() -> None:
        clock = TurnedClock()
        async with Server() as server, writing(server, clock=clock) as events:
            server.on("POST", EVENTS, CREATED)
            events.post(about(), "FailedScheduling", "no room")
            await eventually(lambda: events.figures.written == 1)
            name = server.requests[0].json["metadata"]["name"]
            server.on("PATCH", f"{EVENTS}/{name}", Reply(200, {}))
            for number in range(7):
                # Each condition that tells why it waits makes a new version of the pod.
                events.post(about(version=f"{8 + number}"), "FailedScheduling", "no room")
            assert events.waiting == 1
            await clock.advance(20.0)
            assert len(server.requests) == 1
            await clock.advance(20.0)
            await eventually(lambda: events.figures.written == 2)
            request = server.requests[1]
            assert request.headers["content-type"] == "application/merge-patch+json"
            assert request.json == {
                "series": {"count": 8, "lastObservedTime": "2025-11-24T16:00:00.000000Z"}
            }
            assert events.figures.counted == 7

    run(test())


def test_a_series_whose_event_the_server_forgot_is_a_new_event() -> None:
    async def test() -> None:
        clock = TurnedClock()
        async with Server() as server, writing(server, clock=clock, again=0.0) as events:
            server.on("POST", EVENTS, CREATED)
            events.post(about(), "FailedScheduling", "no room")
            await eventually(lambda: events.figures.written == 1)
            events.post(about(), "FailedScheduling", "no room")
            await clock.advance(2.0)
            await eventually(lambda: events.figures.written == 2)
            assert [each.method for each in server.requests] == ["POST", "PATCH", "POST"]
            assert server.requests[2].json["series"]["count"] == 2

    run(test())


def test_posting_never_waits_and_what_does_not_fit_is_counted() -> None:
    async def silent(stream: Stream) -> None:
        await asyncio.sleep(3600)

    async def test() -> None:
        async with Server() as server, writing(server, queue=10, in_flight=2) as events:
            server.on("POST", EVENTS, silent)
            for number in range(30):
                events.post(about(f"p{number}"), "Scheduled", "x")
            assert (events.figures.posted, events.figures.dropped) == (30, 20)
            assert events.waiting == 10
            await eventually(lambda: server.open_requests == 2)
            assert events.waiting == 8

    run(test())


def test_an_event_waits_while_other_calls_need_the_server_but_not_for_ever() -> None:
    async def test() -> None:
        clock = TurnedClock()
        free = False
        async with (
            Server() as server,
            writing(server, clock=clock, room=lambda: free, in_flight=1) as events,
        ):
            server.on("POST", EVENTS, CREATED)
            for name in "abc":
                events.post(about(name), "Scheduled", "x")
            await clock.advance(1.0)
            assert events.figures.written == 0
            await clock.advance(1.5)
            await eventually(lambda: events.figures.written == 1)
            free = True
            await clock.advance(0.1)
            await eventually(lambda: events.figures.written == 3)

    run(test())


def test_an_object_has_25_events_and_one_more_in_five_minutes() -> None:
    table = SeriesTable()
    at_once = [table.add(notice("a", str(number)), 0.0) for number in range(30)]
    assert [each is not None for each in at_once] == [True] * 25 + [False] * 5
    assert table.add(notice("a", "early"), 299.0) is None
    assert table.add(notice("a", "in time"), 301.0) is not None
    assert table.add(notice("b"), 0.0) is not None


def test_a_refused_event_is_counted_and_the_next_one_is_written() -> None:
    async def test() -> None:
        async with Server() as server, writing(server, in_flight=1) as events:
            server.on("POST", EVENTS, refusal(403, "Forbidden", "is being terminated"), CREATED)
            events.post(about("a"), "Scheduled", "x")
            events.post(about("b"), "Scheduled", "x")
            await eventually(lambda: events.figures.written == 1)
            assert events.figures.failed == 1

    run(test())


def test_an_error_that_passes_is_tried_again_a_few_times_only() -> None:
    async def test() -> None:
        clock = TurnedClock()
        async with Server() as server, writing(server, clock=clock) as events:
            server.on("POST", EVENTS, Reply(503, b""))
            events.post(about("a"), "Scheduled", "x")
            while not events.figures.failed:
                await clock.advance(1.0)
            await clock.advance(100.0)
            assert events.figures.failed == 1
            assert len(server.requests) == 4

    run(test())


def test_texts_are_cut_at_the_limits_of_the_server() -> None:
    async def test() -> None:
        async with Server() as server, writing(server) as events:
            server.on("POST", EVENTS, CREATED)
            name = "a" * 230 + "." + "b" * 22
            events.post(about(name), "R" * 200, "ä" * 2000)
            await eventually(lambda: events.figures.written == 1)
            body = server.requests[0].json
            assert len(body["note"].encode()) <= 1024
            assert body["note"].endswith("ä…")
            assert len(body["reason"].encode()) <= 128
            assert len(body["metadata"]["name"]) <= 253

    run(test())


@pytest.mark.parametrize(
    "name, number, expected",
    [
        ("p", 255, "p.ff"),
        ("x" * 250 + ".b", 4095, "x" * 249 + ".fff"),
        ("y" * 248 + "-zz", 4095, "y" * 248 + ".fff"),
    ],
)
def test_names_of_events_are_names_that_the_server_takes(
    name: str, number: int, expected: str
) -> None:
    assert new_name(ObjectReference(name=name), number) == expected


def notice(name: str, note: str = "x") -> Notice:
    return Notice(about(name), "Normal", "Scheduled", "Scheduling", note)


def test_an_object_with_many_different_events_is_held_back_and_others_are_not() -> None:
    table = SeriesTable(burst=3, rate=0.1)
    taken = [table.add(notice("a", f"note {number}"), 100.0) for number in range(5)]
    assert [each is not None for each in taken] == [True, True, True, False, False]
    assert table.add(notice("b"), 100.0) is not None
    assert table.add(notice("a", "note 9"), 109.0) is None
    assert table.add(notice("a", "note 9"), 111.0) is not None


def test_a_series_ends_after_a_quiet_time() -> None:
    table = SeriesTable(quiet=360.0)
    first = table.add(notice("a"), 0.0)
    assert table.add(notice("a"), 300.0) is first
    second = table.add(notice("a"), 660.0)
    assert second is not None
    assert second is not first
    assert second.count == 1


def test_the_table_of_series_is_bounded() -> None:
    table = SeriesTable(size=100)
    for number in range(1000):
        table.add(notice(f"p{number}"), 0.0)
    assert len(table._series) == 100
    assert len(table._allowed) == 100
