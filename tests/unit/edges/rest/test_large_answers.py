"""Answers that are too large to be made in one go (REST-6, DMP-17)."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from remuda.core.messages.application_views import AllocationView, ApplicationView
from remuda.edges.rest.requests.endpoint import Endpoint, Routes, Stream
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.text import scribe
from remuda.edges.rest.text.units import Layout, application, applications, array, nodes, values
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.server import RestServer
from remuda.runtime.errors import LoopStoppedError
from tests.unit.edges.rest.conftest import FakeViews
from tests.unit.edges.rest.golden import APPLICATION, NODE

SECONDS = 60.0
HOME = "/ws/v1/partition/default"
HOT = {"accept-encoding": "identity"}


@asynccontextmanager
async def served(views: Any, more: Routes | None = None) -> AsyncIterator[int]:
    """A listener; its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = RestServer(build_app(views, more=more), listener)
    await server.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        await server.stop()


async def fetched(port: int, path: str, *headers: str) -> bytes:
    """The whole answer to a request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = (f"GET {path} HTTP/1.1", "Host: x", "Connection: close", *headers, "", "")
    writer.write("\r\n".join(lines).encode())
    answer = await asyncio.wait_for(reader.read(), SECONDS)
    writer.close()
    await writer.wait_closed()
    return answer


def allocations(count: int) -> tuple[AllocationView, ...]:
    """So many allocations, by ID."""
    (one,) = APPLICATION.allocations[:1]
    return tuple(replace(one, allocation_id=f'k-{n:05}<&"') for n in range(count))


def large(count: int = 3_000) -> ApplicationView:
    """An application with so many allocations and as many asks, one of which reserved a node."""
    request = APPLICATION.requests[0]
    asks = [replace(request, allocation_key=f"r-{number:05}") for number in range(count)]
    asks[-1] = replace(asks[-1], reservations=("n1",))
    return replace(APPLICATION, requests=tuple(asks), allocations=allocations(count))


@pytest.mark.remuda_rule("REST-11", "REST-77", "REST-85")
@pytest.mark.parametrize("count", [0, 1, 8, 9, 40])
@pytest.mark.parametrize("lines", [True, False])
def test_text_in_units_says_what_text_in_one_says(count: int, lines: bool) -> None:
    views = [large(count) if count else replace(APPLICATION, requests=(), allocations=())] * 2
    layout = Layout(lines=lines)
    text = b"".join(array(layout, applications(layout, views, FakeViews())))
    whole = [dao.application(view) for view in views]
    assert json.loads(text) == json.loads(dao.encode(whole))
    assert text == (
        msgspec.json.format(text, indent=2) if lines else msgspec.json.format(text, indent=-1)
    )


@pytest.mark.remuda_rule("REST-22")
@pytest.mark.parametrize("lines", [True, False])
def test_lists_without_and_with_elements(lines: bool) -> None:
    layout = Layout(lines=lines)
    assert b"".join(array(layout, [])) == b"[]"
    some = b"".join(array(layout, values(layout, [1, {"a": "<"}])))
    expected = b'[\n  1,\n  {\n    "a": "\\u003c"\n  }\n]' if lines else b'[1,{"a":"\\u003c"}]'
    assert some == expected
    shown = b"".join(array(layout, nodes(layout, [NODE])))
    assert json.loads(shown) == [json.loads(dao.encode(dao.node(NODE)))]


@pytest.mark.remuda_rule("DMP-17")
def test_a_unit_of_a_large_application_is_small() -> None:
    units = list(application(Layout(lines=True), large(), FakeViews()))
    assert max(map(len, units)) < 2_000
    assert len(units) > 6_000


@pytest.mark.remuda_rule("REST-6", "REST-33")
def test_a_short_list_has_a_length_and_a_long_one_comes_in_pieces(
    views: FakeViews, client: TestClient
) -> None:
    path = f"{HOME}/queue/root.etl/applications"
    views.applications["rm-a", "default"]["root.etl"] = (APPLICATION,)
    short = client.get(path, headers=HOT)
    assert int(short.headers["content-length"]) == len(short.content)
    assert "vary" not in short.headers
    assert short.content == dao.encode([dao.application(APPLICATION)])
    views.applications["rm-a", "default"]["root.etl"] = (large(),) * 2
    long = client.get(path, headers=HOT)
    assert "content-length" not in long.headers
    assert long.headers["access-control-allow-origin"] == "*"
    assert long.headers["content-type"] == "application/json; charset=UTF-8"
    assert long.text.endswith("]\n")
    found = long.json()
    assert [len(each["allocations"]) for each in found] == [3_000, 3_000]
    assert (found[0]["hasReserved"], found[0]["reservations"]) == (True, ["n1|r-02999"])


@pytest.mark.remuda_rule("REST-6", "REST-31")
def test_pieces_are_compressed_for_who_takes_that(views: FakeViews) -> None:
    many = tuple(
        replace(NODE, node_id=f"n{number:04}", allocations=allocations(10)) for number in range(600)
    )
    views.nodes["rm-a", "default"] = many

    async def fetch() -> bytes:
        async with served(views) as port:
            return await fetched(port, f"{HOME}/nodes", "Accept-Encoding: gzip")

    header, _, body = asyncio.run(fetch()).partition(b"\r\n\r\n")
    assert b"content-encoding: gzip" in header
    assert b"transfer-encoding: chunked" in header.lower()
    found = json.loads(gzip.decompress(_unchunked(body)))
    assert [each["nodeID"] for each in found] == [view.node_id for view in many]
    assert {len(each["allocations"]) for each in found} == {10}


def _unchunked(body: bytes) -> bytes:
    text = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        text += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]
    return text


@pytest.mark.remuda_rule("DMP-17")
def test_text_is_made_on_threads_that_neither_serve_nor_schedule() -> None:
    threads: set[str] = set()

    def units() -> Iterator[bytes]:
        for _ in range(200):
            threads.add(threading.current_thread().name.rpartition("_")[0])
            yield b"x" * 1_024

    async def read() -> list[bytes]:
        assert len(await scribe.opening(units())) == 200 * 1_024
        return [piece async for piece in scribe.written(units(), FakeViews())]

    pieces = asyncio.run(read())
    assert threads == {"remuda-answers", "remuda-scribe"}
    assert sum(map(len, pieces)) == 200 * 1_024
    assert all(piece for piece in pieces)


@pytest.mark.remuda_rule("DMP-17")
def test_who_writes_much_pauses_and_shares_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(scribe, "sleep", pauses.append)
    monkeypatch.setattr(scribe, "WORK_SECONDS", -1.0)
    order: list[str] = []
    core = FakeViews()

    def units(name: str) -> Iterator[bytes]:
        for _ in range(4):
            order.append(name)
            yield b"x" * scribe.PIECE_BYTES

    async def read(name: str) -> None:
        async for _ in scribe.written(units(name), core):
            pass

    async def both() -> None:
        await asyncio.gather(read("a"), read("b"))

    asyncio.run(both())
    assert pauses == [scribe.PAUSE_SECONDS] * 8
    assert order[:4] in (["a", "b", "a", "b"], ["b", "a", "b", "a"])


@pytest.mark.remuda_rule("DMP-17")
def test_pauses_are_long_while_the_core_works(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(scribe, "sleep", pauses.append)
    monkeypatch.setattr(scribe, "WORK_SECONDS", -1.0)
    core = FakeViews()

    def units() -> Iterator[bytes]:
        for works in (False, True, True, False):
            core.turns += works
            yield b"x" * scribe.PIECE_BYTES

    async def read() -> None:
        async for _ in scribe.written(units(), core):
            pass

    asyncio.run(read())
    short, long = scribe.PAUSE_SECONDS, scribe.LONG_PAUSE_SECONDS
    assert pauses == [short, long, long, short]
    assert long > short


@pytest.mark.remuda_rule("REST-2", "DMP-1")
def test_a_client_that_takes_nothing_is_given_up(
    views: FakeViews, caplog: pytest.LogCaptureFixture
) -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b" " * 1_000_000
        finally:
            closed.set()

    async def handler(_views: object, _asked: object) -> object:
        return Stream(endless(), dao.JSON_TYPE, write_seconds=0.2)

    async def stall() -> None:
        async with served(views, {"/ws/v1/endless": Endpoint(handler)}) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /ws/v1/endless HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readexactly(10)
            await asyncio.wait_for(closed.wait(), SECONDS)
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()

    asyncio.run(stall())
    assert "a client took nothing of its answer for 0.2 s" in caplog.messages


@pytest.mark.remuda_rule("REST-17")
@pytest.mark.parametrize(
    "failure, told",
    [
        (LoopStoppedError("the scheduler was stopped"), "an answer ends half-way: the scheduler"),
        (ValueError("no"), "an answer ends half-way after a failure"),
    ],
)
def test_an_answer_that_fails_half_way_has_no_proper_end(
    views: FakeViews, caplog: pytest.LogCaptureFixture, failure: Exception, told: str
) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"[1"
        raise failure

    async def handler(_views: object, _asked: object) -> object:
        return Stream(breaking(), dao.JSON_TYPE)

    async def fetch() -> bytes:
        async with served(views, {"/ws/v1/breaking": Endpoint(handler)}) as port:
            return await fetched(port, "/ws/v1/breaking")

    answer = asyncio.run(fetch())
    assert b"[1" in answer
    assert not answer.endswith(b"0\r\n\r\n")
    assert b"Traceback" not in answer
    assert [each for each in caplog.messages if each.startswith(told)]


@pytest.mark.remuda_rule("EXT-39", "REST-13")
def test_large_answers_are_refused_while_memory_is_scarce(views: FakeViews) -> None:
    scarce = True
    views.applications["rm-a", "default"] = {"root.etl": (large(),) * 2, "root.a": (APPLICATION,)}
    app = build_app(views, scarce=lambda: scarce)
    with TestClient(app, "http://remuda") as client:
        path = f"{HOME}/queue/root.etl/applications"
        refused = client.get(path, headers=HOT)
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        message = "The scheduler runs short of memory; ask for less, or try again later"
        told = {"status_code": 503, "message": message, "description": message}
        assert refused.json() == told
        assert client.get(f"{HOME}/queue/root.a/applications").status_code == 200
        assert client.get(f"{path}?limit=1&fields=applicationID", headers=HOT).status_code == 200
        scarce = False
        assert client.get(path, headers=HOT).status_code == 200


@pytest.mark.remuda_rule("EXT-39")
def test_nothing_is_asked_for_an_answer_that_is_always_large(views: FakeViews) -> None:
    async def handler(_views: object, _asked: object) -> object:
        raise AssertionError("it was asked")

    more = {"/ws/v1/whole": Endpoint(handler, large=True)}
    with TestClient(build_app(views, more=more, scarce=lambda: True), "http://remuda") as client:
        assert client.get("/ws/v1/whole").status_code == 503


@pytest.mark.remuda_rule("EXT-39")
def test_metrics_and_events_are_shown_while_memory_is_scarce(views: FakeViews) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"x"

    async def handler(_views: object, _asked: object) -> object:
        return Stream(pieces(), "text/plain")

    more = {"/ws/v1/following": Endpoint(handler)}
    with TestClient(build_app(views, more=more, scarce=lambda: True), "http://remuda") as client:
        assert client.get("/ws/v1/following").text == "x"
