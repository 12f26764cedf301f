"""What one client can take from others: idle connections, slow readers, bodies that never end."""

from __future__ import annotations

import asyncio
import logging
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from remuda.base.errors import UsageError
from remuda.edges.certificates import TlsFiles, following_context
from remuda.edges.event_loop import event_loop
from remuda.edges.rest.transport import server as server_module
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.server import RestServer, TimedProtocol

FILES = Path(__file__).parents[3] / "e2e" / "tls"
GET = b"GET /ws/v1/nope HTTP/1.1\r\nHost: x\r\n\r\n"
NOT_FOUND = b"404 page not found\n"

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(app: Any, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    # What the system holds back would have tests wait.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    port: int = listener.getsockname()[1]
    server = RestServer(app, listener, tls=tls)
    await server.start()
    try:
        yield port
    finally:
        await server.stop()


async def connected(port: int) -> Connection:
    return await asyncio.open_connection("127.0.0.1", port)


async def ask(connection: Connection) -> bytes:
    reader, writer = connection
    writer.write(GET)
    return await asyncio.wait_for(reader.readuntil(NOT_FOUND), 10)


async def is_closed(connection: Connection) -> bool:
    try:
        return await asyncio.wait_for(connection[0].read(1), 0.2) == b""
    except TimeoutError:
        return False


def test_of_idle_connections_the_longest_idle_one_goes_first(
    views: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimedProtocol, "idle_limit", 2)

    async def run() -> None:
        async with serving(build_app(views)) as port:  # type: ignore[arg-type]
            first, second, third = [await connected(port) for _ in range(3)]
            for each in (second, first, second, third):
                assert (await ask(each)).startswith(b"HTTP/1.1 404")
            assert await is_closed(first)
            for each in (second, third):
                assert (await ask(each)).startswith(b"HTTP/1.1 404")
            for each in (first, second, third):
                each[1].close()

    asyncio.run(run())


def test_idle_connections_make_room_for_who_asks(
    views: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS_LIMIT", 3)

    async def run() -> None:
        async with serving(build_app(views)) as port:  # type: ignore[arg-type]
            connections = [await connected(port) for _ in range(2)]
            for each in connections:
                assert (await ask(each)).startswith(b"HTTP/1.1 404")
            for _ in range(5):
                connections.append(await connected(port))
                assert (await ask(connections[-1])).startswith(b"HTTP/1.1 404")
            for each in connections:
                each[1].close()

    asyncio.run(run())


def test_an_idle_connection_is_not_kept_for_ever(
    views: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server_module._IDLE_SECONDS == 5
    monkeypatch.setattr(server_module, "_IDLE_SECONDS", 0.05)

    async def run() -> None:
        async with serving(build_app(views)) as port:  # type: ignore[arg-type]
            reader, writer = await connected(port)
            writer.write(GET)
            answer = await asyncio.wait_for(reader.read(), 10)
            assert answer.endswith(NOT_FOUND)
            writer.close()

    asyncio.run(run())


@pytest.mark.parametrize("sent", [b"", b"x", b"x" * 40])
def test_a_body_that_nobody_reads_and_that_does_not_end_ends_the_connection(
    views: object, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(TimedProtocol, "header_seconds", 0.2)
    monkeypatch.setattr(server_module, "_IDLE_SECONDS", 0.4)

    async def run() -> None:
        async with serving(build_app(views)) as port:  # type: ignore[arg-type]
            reader, writer = await connected(port)
            writer.write(GET.replace(b"\r\n\r\n", b"\r\nContent-Length: 60000\r\n\r\n"))
            assert await asyncio.wait_for(reader.readuntil(NOT_FOUND), 10)
            with suppress(ConnectionError):
                for at in range(len(sent)):
                    writer.write(sent[at : at + 1])
                    await writer.drain()
                    await asyncio.sleep(0.02)
                assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()

    asyncio.run(run())


class Endless:
    """An application whose answer does not end by itself; ``left`` is set when it is told to."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            if not await self._connected(receive):
                self.left.set()
                return

    async def _connected(self, receive: Receive) -> bool:
        try:
            async with asyncio.timeout(0.001):
                while (await receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            return True
        return False


@pytest.mark.parametrize("secure", [False, True])
def test_who_does_not_read_an_answer_is_left(monkeypatch: pytest.MonkeyPatch, secure: bool) -> None:
    monkeypatch.setattr(TimedProtocol, "taken_seconds", 0.1)
    server = following_context(tls_files()) if secure else None

    async def run() -> None:
        app = Endless()
        async with serving(app, server) as port:
            client = ssl.create_default_context(cafile=FILES / "ca.pem") if secure else None
            name = "localhost" if secure else None
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=client, server_hostname=name, limit=1024
            )
            writer.write(GET)
            await asyncio.wait_for(app.left.wait(), 10)
            writer.transport.abort()
            del reader

    asyncio.run(run())


def test_who_reads_slowly_but_steadily_gets_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TimedProtocol, "taken_seconds", 0.15)
    size = 12 * 1024 * 1024

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * size})

    async def run() -> int:
        async with serving(app) as port:
            raw = socket.socket()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
            raw.setblocking(False)
            await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
            reader, writer = await asyncio.open_connection(sock=raw, limit=65536)
            writer.write(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            got = 0
            for _ in range(8):
                got += len(await reader.readexactly(256 * 1024))
                await asyncio.sleep(0.08)
            while piece := await reader.read(1 << 20):
                got += len(piece)
            writer.close()
            return got

    assert asyncio.run(run()) > size


def tls_files(directory: Path = FILES, name: str = "server") -> TlsFiles:
    return TlsFiles(directory / f"{name}.pem", directory / f"{name}.key")


async def certificate(port: int, name: str | None) -> bytes:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname=name)
    shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return shown


def pem(name: str) -> bytes:
    text = (FILES / f"{name}.pem").read_text()
    start = text.index("-----BEGIN CERTIFICATE")
    end = text.index("-----END CERTIFICATE-----") + len("-----END CERTIFICATE-----")
    return ssl.PEM_cert_to_DER_cert(text[start:end])


@pytest.mark.remuda_rule("REST-1", "KV-6")
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_new_connections_get_a_renewed_certificate(
    views: object, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    for end in ("pem", "key"):
        shutil.copy(FILES / f"server.{end}", tmp_path / f"server.{end}")

    async def run() -> None:
        context = following_context(tls_files(tmp_path))
        async with serving(build_app(views), context) as port:  # type: ignore[arg-type]
            assert await certificate(port, name) == pem("server")
            shutil.copy(FILES / "other.pem", tmp_path / "server.pem")
            assert await certificate(port, name) == pem("server")
            shutil.copy(FILES / "other.key", tmp_path / "server.key")
            assert await certificate(port, name) == pem("other")

    with caplog.at_level(logging.INFO, "remuda.security"):
        asyncio.run(run())
    kept, replaced = [record.getMessage() for record in caplog.records]
    assert kept.endswith("; the certificate in use stays")
    assert replaced.startswith("the certificate of the HTTP listener was replaced")


@pytest.mark.remuda_rule("REST-1", "REST-3")
def test_a_handshake_that_does_not_come_ends_the_connection(
    views: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimedProtocol, "header_seconds", 0.1)

    async def run() -> None:
        context = following_context(tls_files())
        async with serving(build_app(views), context) as port:  # type: ignore[arg-type]
            reader, writer = await connected(port)
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()

    asyncio.run(run())


@pytest.mark.remuda_rule("REST-1", "REST-3")
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, event_loop], ids=["plain", "ours"])
def test_handshakes_that_never_end_keep_nobody_out(
    views: object,
    monkeypatch: pytest.MonkeyPatch,
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    monkeypatch.setattr(server_module, "HANDSHAKES_LIMIT", 8)

    async def run() -> None:
        context = following_context(tls_files())
        async with serving(build_app(views), context) as port:  # type: ignore[arg-type]
            silent = [await connected(port) for _ in range(24)]
            ended = [asyncio.ensure_future(reader.read()) for reader, _ in silent]
            assert await certificate(port, "localhost") == pem("server")
            # The oldest ones made room for the others.
            done, left = await asyncio.wait(ended[:16], timeout=60)
            assert (len(done), len(left)) == (16, 0)
            assert [each for each in ended[17:] if each.done()] == []
            for _, writer in silent:
                writer.close()
            await asyncio.gather(*ended, return_exceptions=True)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())


@pytest.mark.remuda_rule("KV-6")
def test_files_that_are_no_certificate_and_key_are_one_line(tmp_path: Path) -> None:
    wrong = TlsFiles(FILES / "server.pem", FILES / "other.key")
    missing = TlsFiles(tmp_path / "none.pem", FILES / "server.key")
    for files, words in ((wrong, "key values mismatch"), (missing, "No such file")):
        with pytest.raises(UsageError, match=words) as caught:
            following_context(files)
        assert "\n" not in str(caught.value)
