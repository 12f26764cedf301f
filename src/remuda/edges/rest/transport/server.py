"""The HTTP listener: Uvicorn inside an event loop of ours, with limits.

Uvicorn is used as a library: the composition root owns sockets, signals and the event loop. A
request header must be complete within 10 s (REST-3), a header may have 64 KiB, connections are
counted, for all and for each address, and idle ones are closed for new ones. A client that does not
read its answer is cut off, and stopping waits 5 s for running requests (REST-2).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from remuda.edges.addresses import source
from remuda.edges.rest.transport.handshakes import HANDSHAKES_LIMIT, Handshakes
from remuda.edges.rest.transport.streaming import ABORT

# Seconds from the first moment a request could come to the end of its header (REST-3), and for
# the handshake of a connection.
_HEADER_SECONDS: Final = 10.0

# Bytes of one request header.
HEADER_LIMIT: Final = 64 * 1024

# Connections at a time; further requests are answered 503.
CONNECTIONS_LIMIT: Final = 512

# Connections of one address.
ADDRESS_LIMIT: Final = 256

# The most idle connections that are kept; the longest idle one is closed first.
IDLE_LIMIT: Final = 128

# Seconds that a connection is kept for a next request.
_IDLE_SECONDS: Final = 5

# A client has to take that many bytes of its answer in as many seconds, or all that is left. The
# system takes large bites on its behalf, so a short time would end connections that are only slow.
_TAKEN_BYTES: Final = 16 * 1024
_TAKEN_SECONDS: Final = 60.0

# Seconds that running requests get when the server stops (REST-2).
_GRACE_SECONDS: Final = 5


class TimedProtocol(H11Protocol):
    """HTTP/1.1 that gives up on clients which are slow to send a header or to read an answer."""

    header_seconds = _HEADER_SECONDS
    taken_seconds = _TAKEN_SECONDS
    idle_limit = IDLE_LIMIT
    address_limit = ADDRESS_LIMIT
    # Since when it waits for the header of a request; None: it does not.
    idle_since: float | None = None
    source = ""
    # Whether a request was answered on it, after which it was kept.
    kept = False
    _header_timer: asyncio.TimerHandle | None = None
    _taken_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first header. Implements: REST-3."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort}
        # Bytes that are not sent at once hold the answer up; it goes on when its last part is gone.
        transport.set_write_buffer_limits(high=1)
        # Else the end of an answer waits 40 ms for the client to acknowledge its beginning; asyncio
        # does this only for listeners that it opened by itself.
        connected = transport.get_extra_info("socket")
        if connected is not None:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.source = source(self.client[0]) if self.client else ""
        self._make_room()
        self.idle_since = self.loop.time()
        self._watch_header()

    def data_received(self, data: bytes) -> None:
        """Take bytes in, and wait on only while a header is incomplete."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self.idle_since = None
        self._watch_header()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; a request that runs has no answer any more."""
        if self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY):
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def on_response_complete(self) -> None:
        """Keep the connection, unless too many are kept already."""
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self.conn.our_state is h11.DONE:
            self._watch_header()
        elif self.conn.their_state is h11.IDLE:
            self.kept = True
            self.idle_since = self.loop.time()
            kept = [each for each in self._others(including_self=True) if each.kept]
            waiting = _waiting(kept)
            for each in waiting[: max(len(waiting) - self.idle_limit, 0)]:
                each.leave()

    def pause_writing(self) -> None:
        """Wait until the client has read on."""
        super().pause_writing()
        if self._taken_timer is None:
            self._watch_taking()

    def resume_writing(self) -> None:
        """Go on: the client has read all."""
        super().resume_writing()
        if self._taken_timer is not None:
            self._taken_timer.cancel()
            self._taken_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        self.idle_since = None
        super().connection_lost(exc)
        self.resume_writing()

    def leave(self) -> None:
        """Close a connection that waits for a request."""
        self.idle_since = None
        self.timeout_keep_alive_handler()

    def _make_room(self) -> None:
        """Close the connection that waits longest if there are too many, or this one if none waits.

        If its address has too many, only connections of that address are considered. Rules: REST-3.
        """
        others = self._others()
        own = [each for each in others if each.source == self.source]
        if self.address_limit and len(own) >= self.address_limit:
            waiting = _waiting(own)
            if waiting:
                waiting[0].leave()
            else:
                self.transport.abort()
        elif self.limit_concurrency is not None and len(others) + 1 >= self.limit_concurrency:
            for each in _waiting(others)[:1]:
                each.leave()

    def _others(self, *, including_self: bool = False) -> list[TimedProtocol]:
        """Return the other connections that are not about to close."""
        return [
            each
            for each in self.connections
            if isinstance(each, TimedProtocol)
            and (including_self or each is not self)
            and not each.transport.is_closing()
        ]

    def _watch_taking(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._taken_timer = self.loop.call_later(self.taken_seconds, self._require_taking, left)

    def _require_taking(self, before: int) -> None:
        """End the connection if the client took too little since there were ``before`` bytes."""
        self._taken_timer = None
        if before - self.transport.get_write_buffer_size() < min(_TAKEN_BYTES, before):
            self.transport.abort()
        else:
            self._watch_taking()

    def _watch_header(self) -> None:
        # An unread body would precede the next header.
        left_over = self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        if not left_over and self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._header_timer is None:
            self._header_timer = self.loop.call_later(self.header_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


def _waiting(connections: list[TimedProtocol]) -> list[TimedProtocol]:
    """Return those of the connections that wait for a request, the longest waiting first."""
    found = [
        (each.idle_since, number, each)
        for number, each in enumerate(connections)
        if each.idle_since is not None
    ]
    return [each for _, _, each in sorted(found)]


class _Embedded(uvicorn.Server):
    """Uvicorn without its signal handlers, and with a way to wait until it listens."""

    def __init__(
        self, config: uvicorn.Config, tls: ssl.SSLContext | None, address_limit: int
    ) -> None:
        super().__init__(config)
        self._tls = tls
        self._address_limit = address_limit
        self._handshakes: list[Handshakes] = []
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the composition root."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the sockets and say so. A handshake gets no more time than a header."""
        assert sockets is not None

        def protocol() -> TimedProtocol:
            made = TimedProtocol(self.config, self.server_state, self.lifespan.state)
            made.address_limit = self._address_limit
            return made

        self.servers = []
        if self._tls is None:
            loop = asyncio.get_running_loop()
            self.servers = [
                await loop.create_server(protocol, sock=each, backlog=self.config.backlog)
                for each in sockets
            ]
        else:
            seconds = TimedProtocol.header_seconds
            for each in sockets:
                each.listen(self.config.backlog)
                self._handshakes.append(
                    Handshakes(each, protocol, self._tls, seconds=seconds, limit=HANDSHAKES_LIMIT)
                )
        self.started = True
        self.listening.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing more, and let running requests end."""
        for each in self._handshakes:
            each.close()
        for each in self._handshakes:
            await each.wait_closed()
        await super().shutdown(sockets)


class RestServer:
    """A running REST listener. Build, ``start``, ``stop`` inside one event loop.

    ``tls`` None: connections are in clear text. ``address_limit``: connections that one
    address may have, 0: as many as it likes.
    Implements: REST-1.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        tls: ssl.SSLContext | None = None,
        address_limit: int = ADDRESS_LIMIT,
    ) -> None:
        config = uvicorn.Config(
            app,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=CONNECTIONS_LIMIT,
            h11_max_incomplete_event_size=HEADER_LIMIT,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        self._listener = listener
        self._server = _Embedded(config, tls, address_limit)
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
        """Stop accepting, wait for running requests, close. Implements: REST-2."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
