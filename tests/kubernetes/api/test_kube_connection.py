"""The connection: answers, refusals with advice, deadlines, rates, streams, and no secrets."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing

import httpx2
import pytest

from remuda_kubernetes.api.connection import Connection, ConnectionSettings, Lines, LineTooLongError
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.api.kubeconfig import Access
from tests.kubernetes.api.scripted import Reply, Server, Stream, eventually, refusal, run


async def read(connection: Connection, lines: list[bytes], *, idle: float = 60.0) -> None:
    """Collect the lines of a watch until it ends."""
    async with aclosing(connection.stream("/w", {"watch": "1"}, idle=idle)) as batches:
        async for batch in batches:
            lines += batch


def test_a_request_carries_query_body_and_content_type() -> None:
    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("PATCH", "/api/v1/x", Reply(200, {"a": 1}, {"X-Thing": "7"}))
            answer = await connection.request(
                "PATCH",
                "/api/v1/x",
                query={"labelSelector": "a in (b,c)"},
                body=b'{"n":1}',
                content_type="application/merge-patch+json",
            )
            assert (answer.status, answer.body) == (200, b'{"a": 1}')
            assert answer.headers["x-thing"] == "7"
            (request,) = server.requests
            assert request.query == {"labelSelector": "a in (b,c)"}
            assert request.json == {"n": 1}
            assert request.headers["content-type"] == "application/merge-patch+json"
            assert request.headers["accept-encoding"] == "identity"

    run(test())


def test_a_refusal_has_the_servers_reason_and_details_and_names_the_request() -> None:
    details = {"name": "p1", "kind": "pods", "causes": [{"reason": "DisruptionBudget"}]}

    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on(
                "POST", "/e", refusal(429, "TooManyRequests", "Cannot evict", details=details)
            )
            with pytest.raises(ApiError) as caught:
                await connection.request("POST", "/e")
            error = caught.value
            assert (error.status, error.reason) == (429, "TooManyRequests")
            assert error.details.name == "p1"
            assert error.blocked
            assert str(error).startswith(
                f"{server.url}: POST /e: 429 TooManyRequests: Cannot evict"
            )

    run(test())


@pytest.mark.parametrize(
    "reply, seconds",
    [
        (Reply(429, {}, {"Retry-After": "7"}), 7.0),
        (refusal(504, "Timeout", details={"retryAfterSeconds": 3}), 3.0),
        (Reply(429, {}, {"Retry-After": "99999999999999999999"}), 300.0),
        (Reply(429, {}, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), None),
        (refusal(409, "Conflict"), None),
    ],
)
def test_the_time_after_which_to_ask_again_is_read(reply: Reply, seconds: float | None) -> None:
    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("GET", "/x", reply)
            with pytest.raises(ApiError) as caught:
                await connection.request("GET", "/x")
            assert caught.value.retry_after == seconds

    run(test())


@pytest.mark.parametrize(
    "body, words",
    [
        (b"<html>\n<body>bad gateway", "'<html>'"),
        (b"", "no explanation"),
        (b"\xff\xfe\x00", "answered without an explanation"),
        (b'{"kind":"Status"}', "answered without an explanation"),
    ],
)
def test_an_answer_of_something_else_than_an_api_server_is_told(body: bytes, words: str) -> None:
    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("GET", "/x", Reply(502, body))
            with pytest.raises(ApiError, match="502") as caught:
                await connection.request("GET", "/x")
            assert words in str(caught.value)
            assert caught.value.transient

    run(test())


@pytest.mark.parametrize("status, words", [(401, "renew the token"), (403, "bind a role")])
def test_a_refusal_for_want_of_rights_says_what_to_do(status: int, words: str) -> None:
    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("GET", "/x", refusal(status, "Forbidden", "pods is forbidden"))
            with pytest.raises(ApiError, match=words):
                await connection.request("GET", "/x")

    run(test())


def test_a_server_that_is_not_there_is_told_as_unsent() -> None:
    async def test() -> None:
        async with Server() as server:
            connection = server.connection()
        async with connection:
            with pytest.raises(ApiError, match="check that the server runs") as caught:
                await connection.request("GET", "/x")
        assert (caught.value.status, caught.value.unsent) == (0, True)
        assert "a test" in str(caught.value)

    run(test())


def test_a_server_that_does_not_answer_is_given_up_at_the_deadline() -> None:
    async def silent(stream: Stream) -> None:
        await asyncio.sleep(3600)

    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("GET", "/x", silent)
            with pytest.raises(ApiError, match=r"no answer in 0\.2 s") as caught:
                await connection.request("GET", "/x", timeout=0.2)
            assert not caught.value.unsent

    run(test())


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\x00\x01\x02garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 40000 + b"\r\n",
    ],
)
def test_garbage_is_a_broken_connection(garbage: bytes) -> None:
    async def broken(stream: Stream) -> None:
        await stream.raw(garbage)
        stream.cut() if not garbage else await stream.raw(b"")
        raise ConnectionError

    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("GET", "/x", broken)
            with pytest.raises(ApiError, match="the connection broke") as caught:
                await connection.request("GET", "/x")
            assert caught.value.status == 0

    run(test())


def test_an_answer_larger_than_allowed_is_refused() -> None:
    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("GET", "/x", Reply(200, b"x" * 100_000))
            with pytest.raises(ApiError, match="more than 1000 bytes") as caught:
                await connection.request("GET", "/x", limit=1000)
            assert caught.value.status == 413
            assert len((await connection.request("GET", "/x")).body) == 100_000

    run(test())


def test_a_hundred_requests_are_in_flight_beside_the_watches() -> None:
    async def test() -> None:
        go = asyncio.Event()

        async def held(stream: Stream) -> None:
            await go.wait()
            await stream.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

        async def watch(stream: Stream) -> None:
            await stream.begin()
            await go.wait()
            await stream.end()

        settings = ConnectionSettings(in_flight=100, watches=17)
        async with Server() as server, server.connection(settings) as connection:
            server.on("GET", "/x", held)
            server.on("WATCH", "/w", watch)
            watches = [asyncio.create_task(read(connection, [])) for _ in range(17)]
            calls = [asyncio.create_task(connection.request("GET", "/x")) for _ in range(100)]
            await eventually(lambda: server.open_requests == 117)
            go.set()
            assert [each.status for each in await asyncio.gather(*calls)] == [200] * 100
            await asyncio.gather(*watches)

    run(test())


def test_a_stream_gives_lines_however_they_are_cut() -> None:
    async def watch(stream: Stream) -> None:
        await stream.begin()
        await stream.chunk(b'{"a":1}\n{"b"')
        await stream.chunk(b":2}\n")
        await stream.chunk(b'{"c":3}\n\n')
        await stream.chunk(b"rest")
        await stream.end()

    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("WATCH", "/w", watch)
            lines: list[bytes] = []
            await read(connection, lines)
            assert lines == [b'{"a":1}', b'{"b":2}', b'{"c":3}', b"rest"]

    run(test())


def test_a_stream_on_which_nothing_comes_is_stale() -> None:
    async def watch(stream: Stream) -> None:
        await stream.begin()
        await stream.chunk(b"{}\n")
        await asyncio.sleep(3600)

    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("WATCH", "/w", watch)
            lines: list[bytes] = []
            with pytest.raises(ApiError, match="nothing came for 0 s"):
                await read(connection, lines, idle=0.2)
            assert lines == [b"{}"]

    run(test())


def test_a_refused_stream_is_an_error() -> None:
    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            server.on("WATCH", "/w", refusal(410, "Expired", "too old"))
            with pytest.raises(ApiError, match="too old") as caught:
                await read(connection, [])
            assert caught.value.expired

    run(test())


def test_lines_are_bounded() -> None:
    lines = Lines(10)
    assert lines.feed(b"0123456789") == []
    with pytest.raises(LineTooLongError):
        lines.feed(b"0")


def test_the_token_is_in_no_message_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    class Token(httpx2.Auth):
        def auth_flow(self, request):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            request.headers["Authorization"] = "Bearer s3cr3t-t0ken"
            yield request

    async def test() -> None:
        caplog.set_level(logging.DEBUG)
        async with Server() as server:
            access = Access(server=server.url, source="a test", auth=Token())
            async with Connection(access) as connection:
                server.on("GET", "/x", refusal(401, "Unauthorized", "Unauthorized"))
                with pytest.raises(ApiError) as caught:
                    await connection.request("GET", "/x")
                assert server.requests[0].headers["authorization"] == "Bearer s3cr3t-t0ken"
                assert "s3cr3t" not in str(caught.value) + repr(access) + repr(vars(caught.value))

    run(test())
    ours = [each for each in caplog.records if not each.name.startswith(("httpcore2", "asyncio"))]
    assert not [each for each in ours if "s3cr3t" in each.getMessage()]
