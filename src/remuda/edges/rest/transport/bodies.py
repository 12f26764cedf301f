"""Reads the bodies that clients send, within limits of size and time.

If a connection is closed while its client still writes, it is reset and the answer is lost. So a
body that is too large is read for a while and dropped, and the client learns why it was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from starlette.requests import Request
from starlette.types import Receive

from remuda.edges.rest.requests.errors import BODY_TOO_LARGE, BODY_TOO_SLOW, ApiError

# Bytes of a body that no route reads.
BODY_LIMIT: Final = 64 * 1024

# Seconds for a body to arrive.
BODY_SECONDS: Final = 30.0

# Bytes of a refused body that are read and dropped, and seconds for one that was announced.
_DROP_LIMIT: Final = 64 * 1024 * 1024
DROP_SECONDS: Final = 5.0


class Room:
    """How many bytes of bodies are held at a time; who has more to read waits for others to end.

    A body takes room as it arrives, so a slow one takes hardly any.
    """

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._more = asyncio.Event()

    @asynccontextmanager
    async def share(self) -> AsyncIterator[Share]:
        """Give room for one body, until the block ends."""
        share = Share(self)
        try:
            yield share
        finally:
            self._free += share.held
            self._more.set()

    async def take(self, size: int) -> None:
        """Take so many bytes, when there are so many."""
        while self._free < size:
            self._more.clear()
            await self._more.wait()
        self._free -= size


class Share:
    """The room of one body; ``held``: its bytes."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.held = 0

    async def grow(self, size: int) -> None:
        """Take so many bytes more."""
        await self._room.take(size)
        self.held += size


async def read_body(request: Request, limit: int, share: Share) -> bytes:
    """Return the body of a request, whether its size was announced or not (REST-61).

    Raises: ApiError 413 if it is larger than ``limit``, 408 if it does not come in time;
        ClientDisconnect.
    """
    body = bytearray()
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                size += len(piece)
                if size <= limit:
                    await share.grow(len(piece))
                    body += piece
                elif size > limit + _DROP_LIMIT:
                    break
    except TimeoutError:
        if size <= limit:
            raise ApiError(408, BODY_TOO_SLOW) from None
    if size > limit:
        raise ApiError(413, BODY_TOO_LARGE)
    return bytes(body)


async def drop_body(receive: Receive) -> None:
    """Read a body that nobody has read, and drop it, up to the limits."""
    left = _DROP_LIMIT
    with suppress(TimeoutError):
        async with asyncio.timeout(DROP_SECONDS):
            while left > 0:
                event = await receive()
                if not event.get("more_body"):
                    return
                left -= len(event["body"])
