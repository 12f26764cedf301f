"""Reads the bodies that clients send, within limits of size and time.

If a connection is closed while its client still writes, it is reset and the answer is lost. So a
body that is too large is read for a while and dropped, and the client learns why it was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from starlette.requests import Request
from starlette.types import Receive

from remuda.edges.rest.requests.errors import BODY_TOO_LARGE, BODY_TOO_SLOW, ApiError

# Bytes of a body that no route reads.
BODY_LIMIT: Final = 64 * 1024

# Seconds for a body to arrive.
BODY_SECONDS: Final = 30.0

# Bytes of a body that need no place among the large ones. All connections together may hold so many
# bytes each.
SMALL: Final = 64 * 1024

# Seconds that a large body may take to arrive while others wait for its place.
PATIENCE_SECONDS: Final = 1.0

# Bytes of a refused body that are read and dropped, and seconds for one that was announced.
_DROP_LIMIT: Final = 64 * 1024 * 1024
DROP_SECONDS: Final = 5.0


class Room:
    """Places for large bodies; the others wait until one is free.

    The first ``SMALL`` bytes of a body need no place, so a small body never waits. If all places
    are taken and others wait, a body that is still arriving after ``PATIENCE_SECONDS`` loses its
    place, so clients that never finish delay the others for so long at most. The next free place
    goes to the waiting body whose address has the fewest places.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._holding: list[Share] = []
        self._waiting: list[Share] = []
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def share(self, source: str) -> Iterator[Share]:
        """Give the share of one body from an address, until the block ends."""
        share = Share(self, source)
        try:
            yield share
        finally:
            if share in self._holding:
                self._holding.remove(share)
            self._give()

    async def take(self, share: Share) -> None:
        """Take a place for a body as soon as there is one."""
        share.granted = asyncio.get_running_loop().create_future()
        self._waiting.append(share)
        self._give()
        try:
            await share.granted
        finally:
            if share in self._waiting:
                self._waiting.remove(share)

    def _give(self) -> None:
        """Give free places to those that wait, or see to it that one becomes free."""
        now = asyncio.get_running_loop().time()
        while self._waiting and len(self._holding) < self._places:
            share = min(self._waiting, key=self._held_by_source)
            self._waiting.remove(share)
            share.since = now
            self._holding.append(share)
            if share.granted is not None and not share.granted.done():
                share.granted.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        arriving = self._arriving()
        if self._waiting and arriving:
            due = min(each.since for each in arriving) + PATIENCE_SECONDS
            self._timer = asyncio.get_running_loop().call_at(due, self._press)

    def _press(self) -> None:
        """Take the place of a slow body: of the address that has most, the one that began first."""
        self._timer = None
        due = asyncio.get_running_loop().time() - PATIENCE_SECONDS
        late = [each for each in self._arriving() if each.since <= due]
        if self._waiting and late:
            max(late, key=self._held_by_source).give_up()
        else:
            self._give()

    def _arriving(self) -> list[Share]:
        return [each for each in self._holding if each.deadline is not None]

    def _held_by_source(self, share: Share) -> int:
        return sum(each.source == share.source for each in self._holding)


class Share:
    """What one body takes of a room; ``since``: the time at which it got a place.

    ``deadline``: that of its arrival, None when it is complete. ``granted``: done when it has a
    place, None if it has not asked for one.
    """

    def __init__(self, room: Room, source: str) -> None:
        self._room = room
        self._size = 0
        self.source = source
        self.since = 0.0
        self.deadline: asyncio.Timeout | None = None
        self.granted: asyncio.Future[None] | None = None

    async def grow(self, size: int) -> None:
        """Make room for so many bytes more."""
        self._size += size
        if self._size > SMALL and self.granted is None:
            await self._room.take(self)

    def give_up(self) -> None:
        """End the arrival of the body now."""
        if self.deadline is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time())
            self.deadline = None


async def read_body(request: Request, limit: int, share: Share) -> bytes:
    """Return the body of a request, whether its size was announced or not. Rules: REST-61.

    Raises: ApiError 413 if it is larger than ``limit``, 408 if it does not come in time;
        ClientDisconnect.
    """
    body = bytearray()
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS) as share.deadline:
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
    finally:
        share.deadline = None
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
