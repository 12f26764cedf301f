"""The HTTP listener: Uvicorn inside an event loop of ours, with limits.

Uvicorn is used as a library: the composition root owns sockets, signals and the event loop. A
request header must be complete within 10 s (REST-3), a header may have 64 KiB, connections are
counted, and stopping waits 5 s for running requests (REST-2).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from remuda.edges.rest.streaming import ABORT

# Seconds from the first moment a request could come to the end of its header (REST-3).
_HEADER_SECONDS: Final = 10.0

# Bytes of one request header.
HEADER_LIMIT: Final = 64 * 1024

# Connections at a time; further requests are answered 503.
CONNECTIONS_LIMIT: Final = 512

# Seconds that running requests get when the server stops (REST-2).
_GRACE_SECONDS: Final = 5


class TimedProtocol(H11Protocol):
    """HTTP/1.1 that gives up on clients which are slow to send a header (REST-3)."""

    header_seconds = _HEADER_SECONDS
    _header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first header."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort}
        self._watch_header()

    def data_received(self, data: bytes) -> None:
        """Take bytes in, and wait on only while a header is incomplete."""
        super().data_received(data)
        self._watch_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)

    def _watch_header(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._header_timer is None:
            self._header_timer = self.loop.call_later(self.header_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


class _Embedded(uvicorn.Server):
    """Uvicorn without its signal handlers, and with a way to wait until it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the composition root."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the sockets and say so."""
        await super().startup(sockets)
        self.listening.set()


class RestServer:
    """A running REST listener. Build, ``start``, ``stop`` inside one event loop."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            http=TimedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=CONNECTIONS_LIMIT,
            h11_max_incomplete_event_size=HEADER_LIMIT,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        self._listener = listener
        self._server = _Embedded(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Serve in the background; returns when requests are accepted."""
        self._task = asyncio.create_task(self._server.serve([self._listener]), name="rest")
        listening = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait({self._task, listening}, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            listening.cancel()
            self._task.result()

    async def stop(self) -> None:
        """Stop accepting, wait for running requests, close (REST-2)."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
