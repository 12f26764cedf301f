"""Our own HTTP/1.1: framing as RFC 9112 has it, connections used again, and proxies by httpx2."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda_kubernetes.api.carriers import Direct, Proxied, carrier
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.http1 import Http1, HttpError, _Chunks
from remuda_kubernetes.api.kubeconfig import Access
from tests.kubernetes.api.scripted import Reply, Server, Stream, eventually, run

OK = b"HTTP/1.1 200 OK\r\n"


def sends(*parts: bytes, end: bool = False) -> Callable[[Stream], Any]:
    """Answer with these bytes; then end the connection, if so wanted."""

    async def script(stream: Stream) -> None:
        for part in parts:
            await stream.raw(part)
        if end:
            raise ConnectionError

    return script


async def get(http: Http1) -> tuple[int, dict[str, str], bytes]:
    reply = await http.send("GET", "/x", {"accept": "a"}, None)
    async with aclosing(reply), aclosing(reply.pieces()) as pieces:
        body = b"".join([piece async for piece in pieces])
    return reply.status, reply.headers, body


@pytest.mark.parametrize(
    "script, body",
    [
        (sends(OK + b"Content-Length: 5\r\n\r\n", b"he", b"llo"), b"hello"),
        (sends(OK + b"content-length: 0\r\n\r\n"), b""),
        (sends(b"HTTP/1.1 204 No Content\r\n\r\n"), b""),
        (sends(OK + b"Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), b"abc"),
        (sends(OK + b"transfer-encoding: chunked\r\n\r\n", b"A;x=y\r\n01234", b"56789\r",
               b"\n1", b"\r\nz\r\n0\r\nTrailer: 1\r\n\r\n"), b"0123456789z"),
        (sends(OK + b"\r\n", b"until ", b"the end", end=True), b"until the end"),
        (sends(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", OK + b"content-length: 1\r\n\r\n1"),
         b"1"),
        (sends(b"HTTP/1.1 200\r\ncontent-length: 1\r\n\r\n1"), b"1"),
        (sends(b"HTTP/1.0 200 OK\r\n\r\nold", end=True), b"old"),
    ],
)  # fmt: skip
def test_bodies_end_where_their_framing_says(script: Callable[[Stream], Any], body: bytes) -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/x", script)
            http = Http1(server.url, tls=True)
            for _ in range(2):
                status, _, found = await get(http)
                assert found == body
                assert status in {200, 204}
            await http.aclose()

    run(test())


@pytest.mark.parametrize(
    "script, words",
    [
        (sends(b"HTTP/2 200 OK\r\n\r\n"), "not an answer in HTTP"),
        (sends(b"HTTP/1.1 20 OK\r\n\r\n"), "not an answer in HTTP"),
        (sends(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), "not a header"),
        (sends(b"HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n"), "not a header"),
        (sends(b"HTTP/1.1 200 OK\r\nname : b\r\n\r\n"), "not a header"),
        (sends(OK + b"content-length: -1\r\n\r\n"), "is no number"),
        (sends(OK + b"content-length: 1, 1\r\n\r\n"), "is no number"),
        (sends(OK + b"transfer-encoding: gzip, chunked\r\n\r\n"), "is not known"),
        (sends(OK + b"transfer-encoding: chunked\r\n\r\n-1\r\n"), "is no number"),
        (sends(OK + b"transfer-encoding: chunked\r\n\r\n" + b"f" * 16 + b"\r\n"), "is no number"),
        (sends(OK + b"transfer-encoding: chunked\r\n\r\n1\r\nab\r\n"), "longer than it says"),
        (sends(OK + b"transfer-encoding: chunked\r\n\r\n" + b"1" * 9000), "chunk is missing"),
        (sends(OK + b"content-length: 9\r\n\r\nshort", end=True), "in the middle of an answer"),
        (sends(OK, end=True), "in the middle of an answer"),
        (sends(b"", end=True), "without an answer"),
        (sends(b"x" * 100_000), "where a header belongs"),
        (sends((b"HTTP/1.1 100 Continue\r\n\r\n") * 3, end=True), "without an answer"),
    ],
)
def test_what_is_no_answer_is_refused(script: Callable[[Stream], Any], words: str) -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/x", script)
            http = Http1(server.url, tls=True)
            with pytest.raises(HttpError, match=words) as caught:
                await get(http)
            assert not caught.value.unsent
            await http.aclose()

    run(test())


def test_a_connection_is_used_again_only_if_the_answer_was_read_to_its_end() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/x", Reply(200, b"x" * 100))
            http = Http1(server.url, tls=True)
            await get(http)
            await get(http)
            assert server.accepted == 1
            reply = await http.send("GET", "/x", {}, None)
            await reply.aclose()
            await get(http)
            assert server.accepted == 2
            await http.aclose()

    run(test())


@pytest.mark.parametrize("ending", [b"connection: close\r\n", b"Connection: Close\r\n"])
def test_a_connection_that_the_server_closes_is_not_used_again(ending: bytes) -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/x", sends(OK + ending + b"content-length: 1\r\n\r\n1"))
            http = Http1(server.url, tls=True)
            await get(http)
            await get(http)
            assert server.accepted == 2
            await http.aclose()

    run(test())


def test_a_connection_that_was_ended_while_idle_is_replaced() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/x", sends(OK + b"content-length: 1\r\n\r\n1", end=True))
            http = Http1(server.url, tls=True)
            for expected in (1, 2, 3):
                await get(http)
                assert server.accepted == expected
                await eventually(lambda: not http._lines)
            await http.aclose()

    run(test())


def test_bytes_after_an_answer_end_the_connection() -> None:
    async def test() -> None:
        async with Server() as server:
            extra = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged"
            server.on("GET", "/x", sends(OK + b"content-length: 1\r\n\r\n1" + extra))
            http = Http1(server.url, tls=True)
            for _ in range(3):
                assert (await get(http))[2] == b"1"
            assert server.accepted == 3
            await http.aclose()

    run(test())


def test_a_request_cannot_be_smuggled_in_a_header_or_path() -> None:
    async def test() -> None:
        async with Server() as server:
            http = Http1(server.url, tls=True)
            for target, headers in (("/x\r\nevil: 1", {}), ("/x", {"a": "b\nevil: 1"})):
                with pytest.raises(HttpError, match="the end of a line") as caught:
                    await http.send("GET", target, headers, None)
                assert caught.value.unsent
            assert not server.requests
            await http.aclose()

    run(test())


def test_a_slow_reader_holds_the_server_up_and_not_the_memory() -> None:
    async def test() -> None:
        sent = 0

        async def script(stream: Stream) -> None:
            nonlocal sent
            await stream.raw(OK + b"content-length: 60000000\r\n\r\n")
            for _ in range(60):
                await stream.raw(b"x" * 1_000_000)
                sent += 1

        async with Server() as server:
            server.on("GET", "/x", script)
            http = Http1(server.url, tls=True)
            reply = await http.send("GET", "/x", {}, None)
            (line,) = http._lines
            await eventually(lambda: line._paused)
            assert len(line.buffer) < 3_000_000
            assert sent < 30
            async with aclosing(reply), aclosing(reply.pieces()) as pieces:
                size = sum([len(piece) async for piece in pieces])
            assert size == 60_000_000
            await http.aclose()

    run(test())


def test_a_request_that_is_given_up_ends_its_connection() -> None:
    async def silent(stream: Stream) -> None:
        await asyncio.sleep(3600)

    async def test() -> None:
        async with Server() as server:
            server.on("GET", "/x", silent)
            http = Http1(server.url, tls=True)
            task = asyncio.create_task(get(http))
            await eventually(lambda: bool(server.requests))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await eventually(lambda: not http._lines)
            await http.aclose()

    run(test())


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=8), st.data())
def test_chunks_are_read_however_they_are_cut(chunks: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in chunks) + b"0\r\nt: 1\r\n\r\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=10)))
    reader, buffer, found = _Chunks(), bytearray(), b""
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        assert not reader.done or start == end == len(wire)
        buffer += wire[start:end]
        found += reader.take(buffer)
    assert found == b"".join(chunks)
    assert reader.done
    assert not buffer


@pytest.mark.parametrize(
    "server, variables, proxied",
    [
        ("https://kube.example:6443", {}, False),
        ("https://kube.example:6443", {"HTTPS_PROXY": "http://proxy:1"}, True),
        ("https://kube.example:6443", {"HTTPS_PROXY": "proxy:1"}, True),
        ("http://kube.example", {"HTTPS_PROXY": "http://proxy:1"}, False),
        ("https://kube.example", {"HTTPS_PROXY": "http://p", "NO_PROXY": ".example"}, False),
        ("https://10.96.0.1", {"HTTPS_PROXY": "http://p", "NO_PROXY": "a,10.96.0.0/12"}, False),
        ("https://10.32.0.1", {"HTTPS_PROXY": "http://p", "NO_PROXY": "a,10.96.0.0/12"}, True),
    ],
)
def test_proxies_are_those_of_the_environment(
    server: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, *, proxied: bool
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    async def test() -> None:
        found = carrier(Access(server=server, source="a test"), 10)
        assert isinstance(found, Proxied if proxied else Direct)
        await found.aclose()

    run(test())


def test_a_proxy_carries_requests_and_streams() -> None:
    async def watch(stream: Stream) -> None:
        await stream.begin()
        await stream.chunk(b"{}\n")
        await stream.end()

    async def test() -> None:
        async with Server() as proxy:
            access = Access(server="http://kube.invalid", source="a test", proxy=proxy.url)
            async with Connection(access) as connection:
                proxy.on("POST", "/x", Reply(201, {"a": 1}))
                proxy.on("WATCH", "/w", watch)
                answer = await connection.request("POST", "/x", body=b"{}")
                assert (answer.status, answer.body) == (201, b'{"a": 1}')
                lines: list[bytes] = []
                async with aclosing(connection.stream("/w", {"watch": "1"})) as batches:
                    async for batch in batches:
                        lines += batch
                assert lines == [b"{}"]
                assert proxy.requests[0].headers["host"] == "kube.invalid"

    run(test())
