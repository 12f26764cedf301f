"""Responses on their way to one RM, in one queue over three streams.

Responses wait here while their stream is closed (SI-103), up to a limit: that of the RM while it
has no stream at all (``rm.outboundLimit``), else that of the server, if it is higher. When the
limit is exceeded, responses are lost, so the session is lost and the RM has to register again
(RM-16). A response is given to its stream after all earlier ones of the other kinds were given to
theirs, as far as those streams are open and take them (SI-104).

Everything here runs on the edge's event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Final

from remuda.core.messages.effects import Effect
from remuda.edges.grpc.settings import GrpcSettings
from remuda.si.codec_out import ResponseWriter
from remuda.si.generation import Generation
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response


class Kind(Enum):
    """The three streams of an RM, by their method."""

    ALLOCATION = "UpdateAllocation"
    APPLICATION = "UpdateApplication"
    NODE = "UpdateNode"


_KIND_OF: Final[dict[type[Response], Kind]] = {
    si.AllocationResponse: Kind.ALLOCATION,
    si.ApplicationResponse: Kind.APPLICATION,
    si.NodeResponse: Kind.NODE,
}


class _KindQueue:
    """The responses of one kind, each with its number in the order over all kinds."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[int, bytes]] = deque()
        self.open = False
        self.writing = False
        self.ready = asyncio.Event()
        self.drained = asyncio.Event()


class Outbound:
    """The outbound queue of one RM.

    ``limit``: what its extra map says may wait while it is gone, None if that says nothing.

    Implements: SI-103, SI-104. Rules: RM-15, RM-16, SI-7.
    """

    def __init__(self, settings: GrpcSettings, generation: Generation | None = None) -> None:
        self._settings = settings
        self.limit: int | None = None
        self._writer = ResponseWriter(generation)
        self._queues = {kind: _KindQueue() for kind in Kind}
        self._number = 0
        self._messages = 0
        self._bytes = 0
        self.overflowed = False

    def add(self, effects: Sequence[Effect]) -> None:
        """Queue the responses that these effects make."""
        if self.overflowed:
            return
        for kind, encoded in self._writer.encoded(effects, self._settings.send_bytes_limit):
            self._number += 1
            self._queues[_KIND_OF[kind]].waiting.append((self._number, encoded))
            self._messages += 1
            self._bytes += len(encoded)
        self._bound()
        self._wake()

    def overflow(self) -> None:
        """Give up: drop everything, take nothing more (RM-16)."""
        self.overflowed = True
        for queue in self._queues.values():
            queue.waiting.clear()
        self._messages = self._bytes = 0
        self._wake()

    def put(self, kind: Kind, encoded: bytes) -> None:
        """Queue a response that was encoded elsewhere."""
        if not self.overflowed:
            self._number += 1
            self._queues[kind].waiting.append((self._number, encoded))
            self._messages += 1
            self._bytes += len(encoded)
            self._bound()
            self._wake()

    def take_all(self) -> list[tuple[Kind, bytes]]:
        """Remove and return the waiting responses, in order, without the one being written.

        Rules: SI-7, EXT-12.
        """
        taken: list[tuple[int, Kind, bytes]] = []
        for kind, queue in self._queues.items():
            kept = [queue.waiting.popleft()] if queue.writing and queue.waiting else []
            taken += [(number, kind, encoded) for number, encoded in queue.waiting]
            queue.waiting = deque(kept)
        self._messages -= len(taken)
        self._bytes -= sum(len(encoded) for _, _, encoded in taken)
        self._wake()
        return [(kind, encoded) for _, kind, encoded in sorted(taken, key=lambda each: each[0])]

    @property
    def waiting(self) -> int:
        """How many messages wait, over all kinds."""
        return self._messages

    def open(self, kind: Kind) -> None:
        """A stream of this kind takes responses from now on."""
        self._queues[kind].open = True
        self._queues[kind].writing = False
        self._wake()

    def close(self, kind: Kind) -> None:
        """No stream of this kind takes responses any more."""
        self._queues[kind].open = False
        self._queues[kind].writing = False
        self._bound()
        self._wake()

    async def drained(self, kind: Kind) -> None:
        """Wait until nothing waits for the stream of this kind."""
        queue = self._queues[kind]
        while queue.waiting:
            queue.drained.clear()
            await queue.drained.wait()

    async def next(self, kind: Kind) -> bytes:
        """Wait for the next response of this kind whose turn it is; ``done`` removes it."""
        queue = self._queues[kind]
        while not (queue.waiting and self._due(kind)):
            queue.ready.clear()
            await queue.ready.wait()
        queue.writing = True
        self._wake()
        return queue.waiting[0][1]

    def done(self, kind: Kind) -> None:
        """The response that ``next`` gave out was handed to the transport."""
        queue = self._queues[kind]
        queue.writing = False
        if queue.waiting:
            _, encoded = queue.waiting.popleft()
            self._messages -= 1
            self._bytes -= len(encoded)
        self._wake()

    def _due(self, kind: Kind) -> bool:
        """Whether no other open stream still has to be given an earlier response."""
        number = self._queues[kind].waiting[0][0]
        return all(
            not queue.open or queue.writing or not queue.waiting or queue.waiting[0][0] > number
            for other, queue in self._queues.items()
            if other is not kind
        )

    def _bound(self) -> None:
        """Give up if too much waits. Rules: RM-15, RM-16."""
        most = self._settings.outbound_messages_limit
        if self.limit is not None:
            is_open = any(queue.open for queue in self._queues.values())
            most = max(self.limit, most) if is_open else self.limit
        if self._messages > most or self._bytes > self._settings.outbound_bytes_limit:
            self.overflow()

    def _wake(self) -> None:
        """Wake only the writers that have something to write: a waking costs as much as a write."""
        for kind, queue in self._queues.items():
            if not queue.waiting:
                queue.drained.set()
            elif not queue.writing and self._due(kind):
                queue.ready.set()
