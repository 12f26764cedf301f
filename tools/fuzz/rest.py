"""Bytes on a connection of the HTTP API, up to the answers of its routes.

The first byte of an input says whether tokens are needed. The rest is what a client sends; then it
goes away. There are neither sockets nor other threads' schedulers, only the protocol, the
application and a scheduler with a little work. A fault is what the listener or a route logs as one.
"""

from __future__ import annotations

import asyncio
import logging
import re
from functools import cache
from hashlib import sha256
from typing import Any, Final

import h11
import uvicorn
from uvicorn.server import ServerState

from remuda.config.load import load_configuration
from remuda.core.messages.commands import (
    CREATE,
    Ask,
    NewApplication,
    NodeUpdate,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.ports import always_true
from remuda.core.scheduler import Scheduler
from remuda.edges.callers import KnownCallers
from remuda.edges.rest.routes.table import ROUTES
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.server import HEADER_LIMIT, TimedProtocol
from remuda.edges.rights import Identity
from tests.unit.edges.rest.serving import CoreViews
from tools.fuzz.target import Target

TOKEN: Final = b"reader-token"

# Turns of the event loop in which a request gets as far as it can without its body.
_TURNS: Final = 20

# Seconds for answers that are complete; they take milliseconds.
_PATIENCE_SECONDS: Final = 60.0

_GIB: Final = 2**30
_CONFIGURATION: Final = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
            resources: {guaranteed: {memory: 1Gi}, max: {memory: 10Gi, vcore: 10}}
          - name: b
"""


class _Wire(asyncio.Transport):
    """A connection that takes all that is sent at once."""

    def __init__(self, protocol: TimedProtocol) -> None:
        super().__init__({"peername": ("127.0.0.1", 50_000), "sockname": ("127.0.0.1", 9_080)})
        self._protocol = protocol
        self._closing = False

    def write(self, data: object) -> None:
        """Take a part of an answer."""

    def is_closing(self) -> bool:
        """Whether the server has ended the connection."""
        return self._closing

    def close(self) -> None:
        """End the connection."""
        if not self._closing:
            self._closing = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        """End the connection."""
        self.close()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is buffered."""

    def get_write_buffer_size(self) -> int:
        """Nothing is buffered."""
        return 0

    def pause_reading(self) -> None:
        """All that comes is there already."""

    def resume_reading(self) -> None:
        """All that comes is there already."""


class _Faults(logging.Handler):
    """Keeps the exceptions that are logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the exception of a record."""
        raised = record.exc_info[1] if record.exc_info else None
        self.found.append(raised or AssertionError(record.getMessage()))


class _Listener:
    """A listener without a socket, and what it logged."""

    def __init__(self, callers: KnownCallers | None) -> None:
        self.faults = _Faults()
        for name in ("remuda.rest", "uvicorn.error", "asyncio"):
            logging.getLogger(name).addHandler(self.faults)
        app = build_app(CoreViews(_scheduler()), callers=callers, debug=False, hosts={"remuda"})
        self.config = uvicorn.Config(
            app,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=HEADER_LIMIT,
        )
        self.config.load()

    async def serve(self, data: bytes) -> None:
        """Serve one connection until its client goes away."""
        state = ServerState()
        protocol = TimedProtocol(self.config, state, {})
        wire = _Wire(protocol)
        protocol.connection_made(wire)
        protocol.data_received(data)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        while state.tasks and protocol.conn.their_state is not h11.SEND_BODY:
            await _wait(state.tasks)
            await asyncio.sleep(0)
        wire.close()
        await asyncio.sleep(0)
        while state.tasks:
            await _wait(state.tasks)


async def _wait(tasks: set[asyncio.Task[Any]]) -> None:
    done, _ = await asyncio.wait(
        tasks, timeout=_PATIENCE_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    assert done, "a request that is complete has no answer"


def take(data: bytes) -> None:
    """Serve what a client sends; it sends something, as event loops report nothing else."""
    if len(data) < 2:
        return
    listener = _listener(with_tokens=data[0] % 2 == 1)
    _loop().run_until_complete(listener.serve(data[1:]))
    if listener.faults.found:
        fault = listener.faults.found[0]
        listener.faults.found.clear()
        raise fault


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


@cache
def _listener(*, with_tokens: bool) -> _Listener:
    reader = Identity("reader", token_digests=(sha256(TOKEN).digest(),), read=True)
    return _Listener(KnownCallers([reader]) if with_tokens else None)


@cache
def _scheduler() -> Scheduler:
    """Return a scheduler with two nodes, an application that runs, and an ask that cannot."""
    scheduler = Scheduler(always_true)
    capacity = {"memory": 8 * _GIB, "vcore": 4_000}
    nodes = tuple([NodeUpdate(name, CREATE, capacity) for name in ("node-1", "node-2")])
    asks = (
        Ask("app-1", "ask-1", {"memory": _GIB, "vcore": 500}),
        Ask("app-1", "ask-2", {"memory": 100 * _GIB}),
    )
    application = NewApplication("app-1", "root.a", user="user", groups=("group",))
    for command in (
        RegisterResourceManager("rm", load_configuration(_CONFIGURATION)),
        UpdateNodes("rm", nodes),
        UpdateApplications("rm", new=(application,)),
        UpdateAllocations("rm", asks=asks),
    ):
        scheduler.handle(command, 0)
    scheduler.step(1, 10)
    return scheduler


_VALUES: Final = {
    "partition": "default",
    "queue": "root.a",
    "application": "app-1",
    "node": "node-1",
    "user": "user",
    "group": "group",
}


def _seeds() -> list[bytes]:
    """Return a request for each route, and some of other shapes."""
    found = []
    for template, endpoint in ROUTES.items():
        path = re.sub(r"{(\w+)}", lambda part: _VALUES.get(part[1], "x"), template)
        body = _CONFIGURATION.encode() if endpoint.body_limit else b""
        method = "POST" if body else "GET"
        found.append(_request(f"{method} {path}", body))
    base = "GET /ws/v1/partition/default"
    found += [
        _request(f"{base}/nodes?limit=1&offset=1&fields=nodeID,state"),
        _request(f"{base}/queue/root%2Ea/applications?status=running"),
        _request(f"{base}/queue/root.%C3%A4/applications"),
        _request("GET //WS/v1/./clusters/?a=b"),
        _request("OPTIONS /ws/v1/clusters"),
        _request("GET http://remuda/ws/v1/clusters"),
        _request("GET /ws/v1/config", headers="Accept: application/json;q=0.9, */*;q=0.1\r\n"),
        _request("GET /ws/v1/config", headers='If-None-Match: W/"1", *\r\n'),
        _request("GET /ws/v1/clusters", headers="Accept-Encoding: gzip;q=0, br\r\n"),
        b"\1" + _request("GET /ws/v1/clusters")[1:],
        b"\1"
        + _request("GET /ws/v1/clusters", headers=f"Authorization: Bearer {TOKEN.decode()}\r\n")[
            1:
        ],
        _chunked(),
        _request("POST /ws/v1/validate-conf", b"x", "Expect: 100-continue\r\n"),
        2 * _request("GET /ws/v1/clusters")[1:],
    ]
    return found


def _request(line: str, body: bytes = b"", headers: str = "") -> bytes:
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return b"\0" + f"{line} HTTP/1.1\r\nHost: remuda\r\n{headers}{length}\r\n".encode() + body


def _chunked() -> bytes:
    head = _request("POST /ws/v1/validate-conf", headers="Transfer-Encoding: chunked\r\n")
    return head + b"5\r\nparti\r\n5\r\ntions\r\n0\r\n\r\n"


_WORDS: Final = (
    b"Content-Length: ",
    b"Transfer-Encoding: chunked",
    b"Authorization: Bearer ",
    b"Accept: ",
    b"If-None-Match: ",
    b"X-Forwarded-For: ",
    b"Expect: 100-continue",
    b"Host: ",
    b"\r\n\r\n",
    b"%2F",
    b"%",
    b"?rm=",
    b"&limit=",
    b"&offset=",
    b"&fields=",
    b"&status=",
    b"/ws/v1/",
    b"/../",
)

REST: Final = Target(take, _seeds, _WORDS)
