"""Checking a configuration over HTTP: the verdict, the bounds, and that others are served."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.edges.rest.routes.table import VALIDATION_LIMIT
from remuda.edges.rest.transport import bodies
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.server import RestServer
from tests.unit.edges.rest.schema import assert_valid

Fake = Any  # FakeViews of conftest.py

PATH = "/ws/v1/validate-conf"
VALID = "partitions: [{name: default, queues: [{name: root, submitacl: '*'}]}]"


def verdict(client: TestClient, body: str | bytes, **headers: str) -> dict[str, Any]:
    answer = client.post(PATH, content=body, headers=headers)
    assert answer.status_code == 200
    shown = answer.json()
    assert isinstance(shown, dict)
    assert_valid("ValidateConfResponse", shown)
    return shown


@pytest.mark.remuda_rule("REST-25", "REST-61", "REST-141", "TOOL-2")
@pytest.mark.parametrize("body", [VALID, "", " ", "# nothing\n", "partitions: []"])
def test_what_can_be_used_is_allowed(client: TestClient, body: str) -> None:
    assert verdict(client, body) == {"allowed": True}


@pytest.mark.remuda_rule("REST-61", "REST-141", "TOOL-2")
@pytest.mark.parametrize(
    "body, told",
    [
        ("partitions: [\n", ("config:2:1", "not YAML")),
        ("partitions: [{name: default, colour: red, queues: []}]", ("config:1:30", "colour")),
        ("partitions: [{name: default}]", ("CFG-41", "queue config", "not set")),
        ("- a\n- b\n", ("config:1:1", "CFG-12")),
        (b"partitions: []\n# \xff\n", ("config:2:1", "not UTF-8", "CFG-5")),
        (bytes(range(256)), ("not UTF-8",)),
        ("a: &a [b]\nc: [*d]", ("config:2:", "*d")),
    ],
)
def test_the_first_error_is_the_reason(
    client: TestClient, body: str | bytes, told: tuple[str, ...]
) -> None:
    shown = verdict(client, body)
    assert shown["allowed"] is False
    for each in told:
        assert each in shown["reason"]
    assert "\n" not in shown["reason"]


@pytest.mark.remuda_rule("REST-61")
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-yaml", "application/json", "x/y; charset=latin-1"]
)
def test_any_content_type_will_do(client: TestClient, kind: str) -> None:
    assert verdict(client, VALID, **{"Content-Type": kind}) == {"allowed": True}


@pytest.mark.remuda_rule("REST-61")
def test_four_mebibytes_are_read_and_not_one_byte_more(client: TestClient) -> None:
    body = VALID + "\n#" + "x" * (VALIDATION_LIMIT - len(VALID) - 2)
    assert len(body) == 4 * 1024 * 1024
    assert verdict(client, body) == {"allowed": True}
    answer = client.post(PATH, content=body + "x")
    assert answer.status_code == 413
    assert answer.json()["message"] == "Request body is too large"
    assert answer.headers["connection"] == "close"
    assert "access-control-allow-methods" not in answer.headers
    assert_valid("Error", answer.json())


@pytest.mark.remuda_rule("REST-61")
def test_a_size_that_is_not_announced_is_found_out(client: TestClient) -> None:
    def pieces(count: int) -> Iterator[bytes]:
        yield VALID.encode() + b"\n#"
        for _ in range(count):
            yield b"x" * 65536

    answer = client.post(PATH, content=pieces(3))
    assert (answer.status_code, answer.json()) == (200, {"allowed": True})
    answer = client.post(PATH, content=pieces(65))
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"


@pytest.mark.remuda_rule("REST-7", "REST-8", "REST-4")
def test_only_post_is_a_method_of_this_path(
    client: TestClient, views: Fake, make_client: Callable[[Fake, bool], TestClient]
) -> None:
    for method in ("GET", "PUT", "DELETE", "HEAD"):
        answer = client.request(method, PATH)
        assert (method, answer.status_code) == (method, 405)
        assert answer.headers["allow"] == "OPTIONS, POST"
    options = client.options(PATH)
    assert (options.status_code, options.content) == (200, b"")
    assert options.headers["allow"] == "OPTIONS, POST"
    assert "access-control-allow-methods" not in options.headers
    assert client.post(PATH + "/", content=VALID).status_code == 307
    quiet = make_client(views, False).post(PATH, content=VALID)
    assert not [name for name in quiet.headers if name.startswith("access-control")]


@pytest.mark.remuda_rule("REST-17")
def test_a_client_that_leaves_is_no_failure(views: Fake, caplog: pytest.LogCaptureFixture) -> None:
    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def send(_: object) -> None:
        pass

    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "headers": [],
    }
    asyncio.run(build_app(views)(scope, receive, send))  # type: ignore[arg-type]
    assert caplog.records == []


@pytest.mark.remuda_rule("REST-61")
@pytest.mark.parametrize("announced", [True, False])
def test_a_client_that_sends_ten_megabytes_learns_why_it_is_refused(
    views: Fake, announced: bool
) -> None:
    async def run() -> bytes:
        listener = socket.create_server(("127.0.0.1", 0))
        server = RestServer(build_app(views), listener)
        await server.start()
        reader, writer = await asyncio.open_connection(*listener.getsockname()[:2])
        size = "Content-Length: 10485760" if announced else "Transfer-Encoding: chunked"
        writer.write(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n{size}\r\n\r\n".encode())
        piece = b"x" * 1_048_576
        for _ in range(10):
            writer.write(piece if announced else b"100000\r\n" + piece + b"\r\n")
            await writer.drain()
        if not announced:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        answer = await read_all(reader)
        writer.close()
        await writer.wait_closed()
        await server.stop()
        return answer

    answer = asyncio.run(run())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"message":"Request body is too large"' in answer


@pytest.mark.remuda_rule("REST-61")
def test_nobody_is_listened_to_for_ever(views: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "DROP_SECONDS", 0.05)
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "headers": [(b"content-length", b"99999999999")],
    }
    asyncio.run(build_app(views)(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 413


async def read_all(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.read(), 10)


@pytest.mark.remuda_rule("REST-61")
def test_a_body_that_does_not_come_ends_the_connection(
    views: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bodies.BODY_SECONDS == 30.0
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.05)

    async def run() -> bytes:
        listener = socket.create_server(("127.0.0.1", 0))
        server = RestServer(build_app(views), listener)
        await server.start()
        reader, writer = await asyncio.open_connection(*listener.getsockname()[:2])
        writer.write(f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\npart".encode())
        answer = await read_all(reader)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        await server.stop()
        return answer

    answer = asyncio.run(run())
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"message":"Request body did not arrive in time"' in answer


@pytest.mark.remuda_rule("REST-61")
def test_others_are_served_while_a_large_configuration_is_checked(views: Fake) -> None:
    """The event loop keeps turning: it answers hundreds of times before the verdict is there."""
    queues = ", ".join(f"{{name: q{number}}}" for number in range(20_000))
    body = f"partitions: [{{name: default, queues: [{queues}]}}]".encode()

    async def run() -> tuple[int, list[Any]]:
        sent: list[Any] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(event: Any) -> None:
            sent.append(event)

        scope = {
            "type": "http",
            "method": "POST",
            "path": PATH,
            "raw_path": PATH.encode(),
            "query_string": b"",
            "headers": [(b"content-length", str(len(body)).encode())],
        }
        check = asyncio.ensure_future(build_app(views)(scope, receive, send))
        turns = 0
        while not check.done():
            await asyncio.sleep(0.001)
            turns += 1
        return turns, sent

    turns, sent = asyncio.run(run())
    assert sent[0]["status"] == 200
    assert turns > 5
