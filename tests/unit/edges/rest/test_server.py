"""The listener over a real socket: limits of headers and connections, start and stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from remuda.edges.rest.transport import server as server_module
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.bodies import Room
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


def test_bodies_wait_for_room_that_others_give_back() -> None:
    async def run() -> None:
        room = Room(10)
        async with room.share() as first:
            await first.grow(4)
            async with room.share() as second:
                await second.grow(6)
                waits = asyncio.create_task(first.grow(5))
                await asyncio.sleep(0)
                assert not waits.done()
            await waits
            assert first.held == 9
        async with room.share() as last:
            await asyncio.wait_for(last.grow(10), 60)

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
