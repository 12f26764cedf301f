"""A small HTTP server that answers what a test told it to, to the byte.

It knows nothing of Kubernetes: what a real server answers is in the tests, after recordings and
documentation. It can also break off, wait for ever, and send garbage.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

from remuda_kubernetes.api.connection import Connection, ConnectionSettings
from remuda_kubernetes.api.kubeconfig import Access

PATIENCE = 60.0
T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """A whole answer; objects are sent as JSON."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)


class Stream:
    """An answer in pieces, as a watch sends them."""

    def __init__(self, writer: asyncio.StreamWriter, request: Request) -> None:
        self.request = request
        self._writer = writer

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def begin(self) -> None:
        """Send the headers of a chunked answer."""
        await self.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
        await self.raw(b"transfer-encoding: chunked\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        """Send a chunk."""
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def event(self, kind: str, obj: object) -> None:
        """Send an event of a watch."""
        await self.chunk(json.dumps({"type": kind, "object": obj}).encode() + b"\n")

    async def end(self) -> None:
        """End the answer as HTTP has it."""
        await self.raw(b"0\r\n\r\n")

    def cut(self) -> None:
        """Break the connection."""
        self._writer.transport.abort()


# An answer that a function sends piece by piece.
Script = Callable[[Stream], Awaitable[None]]
# An answer that depends on the request.
Answering = Callable[[Request], Reply]


def refusal(code: int, reason: str, message: str = "no", **more: object) -> Reply:
    """Return the answer with which a server refuses."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    details = more.pop("details", None)
    extra = {"details": details} if details is not None else {}
    return Reply(code, {**body, "message": message, "reason": reason, "code": code, **extra})


class Server:
    """Answers each request with the next reply for its method and path; the last one repeats."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.requests: list[Request] = []
        self.accepted = 0
        self.open_requests = 0
        self.most_open = 0
        self._replies: defaultdict[tuple[str, str], deque[Reply | Script | Answering]] = (
            defaultdict(deque)
        )
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End, as a killed server does."""
        if self._server is None:
            return
        self._server.close()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def stop_listening(self) -> None:
        """Refuse connections from now on; there were none."""
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """How to reach it."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def connection(self, settings: ConnectionSettings | None = None) -> Connection:
        """Return a connection to it."""
        return Connection(Access(server=self.url, source="a test"), settings)

    def on(self, method: str, path: str, *replies: Reply | Script | Answering) -> None:
        """Answer so from now on. A watch has the method WATCH."""
        queue = self._replies[(method, path)]
        queue.clear()
        queue.extend(replies)

    def seen(self, method: str, path: str = "") -> list[Request]:
        """Return the requests that came."""
        return [
            each
            for each in self.requests
            if _method(each) == method and (not path or each.path == path)
        ]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.accepted += 1
        try:
            while request := await _read_request(reader):
                self.requests.append(request)
                self.open_requests += 1
                self.most_open = max(self.most_open, self.open_requests)
                try:
                    await self._answer(request, writer)
                finally:
                    self.open_requests -= 1
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        queue = self._replies[(_method(request), request.path)]
        reply: object = refusal(404, "NotFound", f"no reply for {request.path}")
        if queue:
            reply = queue.popleft() if len(queue) > 1 else queue[0]
        if callable(reply):
            if asyncio.iscoroutinefunction(reply):
                await reply(Stream(writer, request))
                return
            reply = reply(request)
        assert isinstance(reply, Reply)
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **reply.headers,
        }
        lines = [f"HTTP/1.1 {reply.status} X", *(f"{k}: {v}" for k, v in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()


def _method(request: Request) -> str:
    return "WATCH" if request.query.get("watch") else request.method


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode().rstrip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    return Request(method, parts.path, dict(parse_qsl(parts.query)), headers, body)


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for is not ours to change
            await asyncio.sleep(0.005)


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run a test on a loop of its own, for a bounded time."""

    async def bounded() -> T:
        async with asyncio.timeout(PATIENCE * 2):
            return await test

    return asyncio.run(bounded())


class TurnedClock:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.time = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> float:
        """Return the time."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has moved the time so far."""
        self._count += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.time + seconds, self._count, future))
        await future

    @property
    def sleeping(self) -> int:
        """How many wait."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Let time pass; who wakes up acts at the time for which it waited."""
        end = self.time + seconds
        while True:
            await settle()
            self._sleepers = [each for each in self._sleepers if not each[2].done()]
            due = min(self._sleepers, default=None, key=lambda each: each[:2])
            if due is None or due[0] > end:
                break
            self.time = max(self.time, due[0])
            due[2].set_result(None)
        self.time = end


async def settle() -> None:
    """Let all tasks run that can, without input or output."""
    for _ in range(20):
        await asyncio.sleep(0)
