"""The listener over a real socket: limits of headers and connections, start and stop."""

from __future__ import annotations

import asyncio
import socket
from asyncio import StreamReader
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress

import pytest

from remuda.edges.rest.transport import bodies
from remuda.edges.rest.transport import server as server_module
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.bodies import PATIENCE_SECONDS, SMALL, Room
from remuda.edges.rest.transport.server import (
    ADDRESS_LIMIT,
    HEADER_LIMIT,
    RestServer,
    TimedProtocol,
)


@asynccontextmanager
async def serving(views: object, address_limit: int = ADDRESS_LIMIT) -> AsyncIterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    app = build_app(views)  # type: ignore[arg-type]
    server = RestServer(app, listener, address_limit=address_limit)
    await server.start()
    try:
        yield port
    finally:
        await server.stop()
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await asyncio.open_connection("127.0.0.1", port)


async def exchange(port: int, text: bytes, **how: tuple[str, int]) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, **how)  # type: ignore[arg-type]
    writer.write(text)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    await writer.wait_closed()
    return answer


def request(line: str, *headers: str) -> bytes:
    return "\r\n".join([line, "Host: x", "Connection: close", *headers, "", ""]).encode()


async def busy(port: int) -> asyncio.StreamWriter:
    """A connection with a request that runs: its body is not complete."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    line = b"POST /ws/v1/validate-conf HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n"
    writer.write(line + b"Expect: 100-continue\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
    return writer


@pytest.mark.remuda_rule("REST-25", "REST-61")
def test_bodies_that_do_not_come_keep_nobody_waiting(views: object) -> None:
    async def run() -> None:
        async with serving(views) as port:
            slow = [await busy(port) for _ in range(8)]
            post = request("POST /ws/v1/validate-conf HTTP/1.1", "Content-Length: 1") + b"-"
            assert (await exchange(port, post)).startswith(b"HTTP/1.1 200")
            for each in slow:
                each.close()

    asyncio.run(run())


BAD_CHUNK = "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n5\t\nparti\r\n"


@pytest.mark.parametrize("path", ["/no/such/page", "/ws/v1/validate-conf"])
def test_a_body_that_is_no_http_is_refused_once_and_is_no_failure_of_ours(
    views: object, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    async def run() -> None:
        async with serving(views) as port:
            answer = await exchange(port, f"POST {path} HTTP/1.1\r\n{BAD_CHUNK}".encode())
            assert answer.startswith(b"HTTP/1.1 400")
            assert answer.count(b"HTTP/1.1") == 1

    asyncio.run(run())
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


LARGE = 2 * SMALL
SLOW_BODIES = [(4, LARGE - 1), (40, LARGE - 1), (40, 1)]


def post(size: int) -> bytes:
    return request("POST /ws/v1/validate-conf HTTP/1.1", f"Content-Length: {size}") + b"#" * size


@asynccontextmanager
async def slow_bodies(port: int, count: int, sent: int) -> AsyncIterator[list[StreamReader]]:
    """Connections of 127.0.0.2, each of which has sent a part of a large body and stops there."""
    opened = [
        await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
        for _ in range(count)
    ]
    for _, writer in opened:
        writer.write(post(LARGE)[: sent - LARGE])
    yield [reader for reader, _ in opened]
    for _, writer in opened:
        writer.close()


@pytest.mark.remuda_rule("REST-61")
@pytest.mark.parametrize("origin", ["127.0.0.2", "127.0.0.3"])
@pytest.mark.parametrize("count, sent", SLOW_BODIES)
def test_a_small_body_waits_for_no_other(
    views: object, monkeypatch: pytest.MonkeyPatch, count: int, sent: int, origin: str
) -> None:
    monkeypatch.setattr(bodies, "PATIENCE_SECONDS", 600)

    async def run() -> None:
        async with serving(views) as port, slow_bodies(port, count, sent):
            answer = await exchange(port, post(SMALL), local_addr=(origin, 0))
            assert answer.startswith(b"HTTP/1.1 200")

    asyncio.run(run())


@pytest.mark.remuda_rule("REST-61")
@pytest.mark.parametrize("origin", ["127.0.0.2", "127.0.0.3"])
@pytest.mark.parametrize("count, sent", SLOW_BODIES)
def test_a_large_body_takes_the_place_of_a_slow_one(
    views: object, monkeypatch: pytest.MonkeyPatch, count: int, sent: int, origin: str
) -> None:
    assert PATIENCE_SECONDS == 1
    monkeypatch.setattr(bodies, "BODY_SECONDS", 600)
    monkeypatch.setattr(bodies, "PATIENCE_SECONDS", 0.05)

    async def run() -> None:
        async with serving(views) as port, slow_bodies(port, count, sent) as slow:
            answer = await exchange(port, post(LARGE), local_addr=(origin, 0))
            assert answer.startswith(b"HTTP/1.1 200")
            if sent > SMALL:
                first = await asyncio.wait_for(slow[0].read(), 10)
                assert first.startswith(b"HTTP/1.1 408")
                assert b"did not arrive in time" in first

    asyncio.run(run())


@pytest.mark.remuda_rule("REST-61")
def test_places_for_large_bodies_go_to_addresses_that_have_fewest() -> None:
    async def run() -> None:
        room = Room(2)
        with ExitStack() as first, ExitStack() as second, ExitStack() as rest:
            for stack in (first, second):
                share = stack.enter_context(room.share("a"))
                await share.grow(SMALL)
                await share.grow(1)
            third, fourth = (rest.enter_context(room.share(name)) for name in "ab")
            waits = [asyncio.create_task(each.grow(LARGE)) for each in (third, fourth)]
            await asyncio.sleep(0)
            assert not any(each.done() for each in waits)
            with room.share("b") as gone:
                leaving = asyncio.create_task(gone.grow(LARGE))
                await asyncio.sleep(0)
                leaving.cancel()
                with suppress(asyncio.CancelledError):
                    await leaving
            first.close()
            await asyncio.wait_for(waits[1], 60)
            assert not waits[0].done()
            second.close()
            await asyncio.wait_for(waits[0], 60)

    asyncio.run(run())


@pytest.mark.remuda_rule("REST-1", "REST-7", "REST-9")
def test_raw_paths_and_head_over_the_wire(views: object) -> None:
    async def run() -> None:
        async with serving(views) as port:
            path = "/ws/v1/partition/default/queue/root.x%2Fy"
            got = await exchange(port, request(f"GET {path} HTTP/1.1"))
            header, _, body = got.partition(b"\r\n\r\n")
            assert header.startswith(b"HTTP/1.1 200")
            assert b'"queuename":"root.x/y"' in body
            head = await exchange(port, request(f"HEAD {path} HTTP/1.1"))
            assert head.startswith(b"HTTP/1.1 200")
            assert f"content-length: {len(body)}".encode() in head
            assert head.endswith(b"\r\n\r\n")
            dots = await exchange(port, request("GET /ws/./v1/partitions HTTP/1.1"))
            assert dots.startswith(b"HTTP/1.1 301")
            assert b"location: /ws/v1/partitions\r\n" in dots

    asyncio.run(run())


@pytest.mark.remuda_rule("REST-7")
@pytest.mark.parametrize(
    "target, status",
    [
        ("http://x/ws/v1/partitions", b"200"),
        ("HTTP://x:9080/ws/v1/partitions?limit=1", b"200"),
        ("http://x/WS/v1/partitions", b"301"),
        ("http://x", b"200"),
        ("ftp://x/ws/v1/partitions", b"404"),
        ("*", b"404"),
    ],
)
def test_a_whole_address_is_as_good_as_its_path(views: object, target: str, status: bytes) -> None:
    async def run() -> None:
        async with serving(views) as port:
            got = await exchange(port, request(f"GET {target} HTTP/1.1"))
            assert got.startswith(b"HTTP/1.1 " + status)

    asyncio.run(run())


@pytest.mark.remuda_rule("REST-3")
@pytest.mark.parametrize("start", [b"", b"GET /ws/v1/partitions HTT"])
def test_a_header_that_does_not_come_ends_the_connection(
    views: object, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    assert TimedProtocol.header_seconds == 10.0
    monkeypatch.setattr(server_module.TimedProtocol, "header_seconds", 0.05)

    async def run() -> None:
        async with serving(views) as port:
            assert await exchange(port, start) == b""

    asyncio.run(run())


@pytest.mark.remuda_rule("REST-3")
def test_a_second_slow_header_on_a_kept_connection_ends_it(
    views: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module.TimedProtocol, "header_seconds", 0.2)

    async def run() -> None:
        async with serving(views) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /ws/v1/nope HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"404 page not found\n")).startswith(b"HTTP/1.1 404")
            writer.write(b"GET /ws")
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()

    asyncio.run(run())


def test_a_huge_header_is_refused(views: object) -> None:
    async def run() -> None:
        async with serving(views) as port:
            unfinished = b"GET /ws/v1/partitions HTTP/1.1\r\nX: " + b"x" * HEADER_LIMIT
            assert (await exchange(port, unfinished)).startswith(b"HTTP/1.1 400")

    asyncio.run(run())


def test_requests_beyond_the_connection_limit_are_answered_503(
    views: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS_LIMIT", 2)

    async def run() -> None:
        async with serving(views) as port:
            writer = await busy(port)
            answer = await exchange(port, request("GET /ws/v1/partitions HTTP/1.1"))
            assert answer.startswith(b"HTTP/1.1 503")
            writer.close()

    asyncio.run(run())


@pytest.mark.remuda_rule("REST-3")
@pytest.mark.parametrize("start", [b"", b"GET /ws/v1/part"])
def test_silent_connections_make_room_for_who_asks(
    views: object, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS_LIMIT", 20)

    async def run() -> None:
        async with serving(views) as port:
            writers = []
            for _ in range(60):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(start)
                writers.append(writer)
            answer = await exchange(port, request("GET /ws/v1/partitions HTTP/1.1"))
            assert answer.startswith(b"HTTP/1.1 200")
            for writer in writers:
                writer.close()

    asyncio.run(run())


@pytest.mark.remuda_rule("REST-3")
def test_an_address_has_so_many_connections_and_others_have_theirs(views: object) -> None:
    assert server_module.ADDRESS_LIMIT == 256

    async def run() -> None:
        async with serving(views, address_limit=2) as port:
            writers = [await busy(port) for _ in range(2)]
            ask = request("GET /ws/v1/partitions HTTP/1.1")
            with suppress(ConnectionResetError):
                assert await exchange(port, ask) == b""
            answer = await exchange(port, ask, local_addr=("127.0.0.2", 0))
            assert answer.startswith(b"HTTP/1.1 200")
            for writer in writers:
                writer.close()

    asyncio.run(run())
