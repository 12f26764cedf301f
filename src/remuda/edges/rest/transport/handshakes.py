"""Accepts connections whose TLS handshake is not over yet, a bounded number of them.

The server of the event loop tells of a connection when its handshake is over. Until then nobody
would count it, and clients that never finish would use up the files of the process.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from remuda.edges.addresses import source

# Handshakes at a time. With all connections they stay below 1,024 open files, a usual limit.
HANDSHAKES_LIMIT: Final = 256

# Seconds until the next attempt when the process has no file left.
_PAUSE_SECONDS: Final = 0.1


class Handshakes:
    """Accepts TLS connections of one listener, from its creation until ``close``.

    ``protocol`` is called for each connection. A handshake that takes longer than ``seconds``, or
    fails, ends its connection. If ``limit`` handshakes run, the oldest one of the address that has
    most makes room for the next one.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext,
        *,
        seconds: float,
        limit: int,
    ) -> None:
        self._listener: Final = listener
        self._protocol: Final = protocol
        self._tls: Final = tls
        self._seconds: Final = seconds
        self._limit: Final = limit
        # The sources of those that run, the oldest first.
        self._running: Final[dict[asyncio.Task[None], str]] = {}
        listener.setblocking(False)
        self._accepting: Final = asyncio.ensure_future(self._accept())

    def close(self) -> None:
        """Accept nothing more, and end all handshakes."""
        self._accepting.cancel()
        for each in self._running:
            each.cancel()

    async def wait_closed(self) -> None:
        """Wait until all of it has ended."""
        await asyncio.gather(self._accepting, *self._running, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(self._listener)
            except OSError:
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if len(self._running) >= self._limit:
                self._make_room()
            task = asyncio.ensure_future(self._shake(connection))
            self._running[task] = source(address[0])
            task.add_done_callback(self._over)
            # It has to begin, so that its connection has an owner that closes it.
            await asyncio.sleep(0)

    def _make_room(self) -> None:
        """End the oldest handshake of the address that has most. Rules: REST-3."""
        most, _ = Counter(self._running.values()).most_common(1)[0]
        oldest = next(each for each, its_source in self._running.items() if its_source == most)
        del self._running[oldest]
        oldest.cancel()

    def _over(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)

    async def _shake(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        # Without a handshake the loop has closed the connection; there is nobody to tell.
        with suppress(OSError):
            await loop.connect_accepted_socket(
                self._protocol, connection, ssl=self._tls, ssl_handshake_timeout=self._seconds
            )
