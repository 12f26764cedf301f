"""Open event streams: the records each listener has still to get, and the limits of listeners.

A listener takes records when it can write them; new records wait for it meanwhile. The publisher
never waits. A listener that hangs in a write is ended when two buffers of a thousand records are
full. A listener that reads, but got a burst, may fall further behind (EVT-119).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final, final

from remuda.base.message import message
from remuda.core.messages.effects import EventRecord

_log = logging.getLogger("remuda.events")

# Records that may wait for a listener that does not read (EVT-119), and for one that does.
BUFFERED: Final = 2 * 1_000
BURST: Final = 100_000

# Seconds in one write after which a listener counts as one that does not read.
PATIENCE_SECONDS: Final = 0.25


@message
class StreamView:
    """The description of an open stream. Rules: EVT-121, DMP-12."""

    name: str
    created_ns: int


@message
class StreamLimits:
    """How many streams may be open at a time. Rules: EVT-104."""

    total: int
    per_host: int


@message
class Portion:
    """The next records of a stream, IDs counting up from ``first_id``.

    ``gap``: records are missing before them, because they are gone: the ID that was asked for and
    the lowest there is; None: nothing is missing.
    """

    first_id: int
    records: Sequence[EventRecord]
    gap: tuple[int, int] | None = None


@message
class Past:
    """The records with which a stream begins, before the new ones.

    ``records``: those in memory, the first of them has ``first_id``. ``older``: reads up to so many
    of those before them, from an ID on; it may wait for a file. ``older_id``: where that begins.
    """

    first_id: int
    records: list[EventRecord]
    older_id: int
    older: Callable[[int, int], Sequence[EventRecord]]
    gap: tuple[int, int] | None = None


class TooManyStreamsError(Exception):
    """No further stream may be opened. Rules: EVT-117."""


@final
class EventStream:
    """One listener. ``host``: the client's host.

    ``wake`` is called on another thread, must return at once, and means: ``take`` has something.
    """

    def __init__(
        self,
        host: str,
        created_ns: int,
        past: Past,
        wake: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self.view = StreamView(host, created_ns)
        self.dropped = False
        self._lock = threading.Lock()
        self._outer = past.records
        self._taken = 0
        self._inner: list[EventRecord] = []
        self._next_id = past.older_id
        self._memory_id = past.first_id
        self._older = past.older
        self._gap = past.gap
        self._wake = wake
        self._clock = clock
        self._idle = False
        self._over = False
        self._writing_since: float | None = None

    @property
    def may_wait(self) -> bool:
        """Whether the next ``take`` may wait for a file."""
        return self._next_id < self._memory_id

    def take(self, most: int) -> Portion | None:
        """Return the next portion to write, which may be empty; None: the stream is over.

        Only one thread at a time may call it. Rules: EVT-115.
        """
        if self.may_wait and not self._over:
            records = self._older(self._next_id, min(most, self._memory_id - self._next_id))
            if records:
                return self._portion(records)
            if self._gap is None:
                self._gap = (self._next_id, self._memory_id)
            self._next_id = self._memory_id
        with self._lock:
            self._writing_since = None
            if self._over:
                return None
            if self._taken == len(self._outer):
                self._outer, self._inner, self._taken = self._inner, [], 0
            records = self._outer[self._taken : self._taken + most]
            self._taken += len(records)
            self._idle = not records
            if records:
                self._writing_since = self._clock()
        return self._portion(records)

    def written(self) -> None:
        """Note that the client got the last portion.

        The time until the next ``take`` is no slow write.
        """
        with self._lock:
            self._writing_since = None

    def offer(self, records: Sequence[EventRecord]) -> bool:
        """Add records that just got IDs; return whether the stream goes on.

        Implements: EVT-119.
        """
        with self._lock:
            if self._over:
                return False
            self._inner.extend(records)
            since = self._writing_since
            stuck = since is not None and self._clock() - since > PATIENCE_SECONDS
            self.dropped = len(self._inner) > (BUFFERED if stuck else BURST)
            idle, self._idle = self._idle, False
        if self.dropped:
            self.end()
        elif idle:
            self._wake()
        return not self.dropped

    def end(self) -> None:
        """End the stream; what it has not taken is forgotten. Any thread."""
        with self._lock:
            self._over = True
            self._outer, self._inner, self._taken = [], [], 0
        self._wake()

    def _portion(self, records: Sequence[EventRecord]) -> Portion:
        first_id = self._next_id
        self._next_id += len(records)
        gap, self._gap = self._gap, None
        return Portion(first_id, records, gap)


@final
class Streams:
    """All open streams. Not safe for threads by itself."""

    def __init__(self, limits: StreamLimits) -> None:
        self.limits = limits
        self.dropped = 0
        self._open: list[EventStream] = []
        self._per_host: dict[str, int] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._open)

    def views(self) -> list[StreamView]:
        """Return the open streams, oldest first. Rules: EVT-121, DMP-12."""
        return [stream.view for stream in self._open]

    def require_slot(self, host: str) -> None:
        """See that a stream may be opened. Raises: TooManyStreamsError. Rules: EVT-117, EVT-118."""
        limits, own = self.limits, self._per_host.get(host, 0)
        if self._closed or len(self._open) >= limits.total or own >= limits.per_host:
            raise TooManyStreamsError

    def enter(self, stream: EventStream) -> None:
        """Send a stream all records published from now on. Raises: TooManyStreamsError."""
        host = stream.view.name
        self.require_slot(host)
        self._open.append(stream)
        self._per_host[host] = self._per_host.get(host, 0) + 1

    def leave(self, stream: EventStream) -> None:
        """Free the slot of a stream; repeating is harmless. Rules: EVT-120."""
        if stream not in self._open:
            return
        self._open.remove(stream)
        host = stream.view.name
        self._per_host[host] -= 1
        if not self._per_host[host]:
            del self._per_host[host]

    def publish(self, records: Sequence[EventRecord]) -> None:
        """Offer new records to all streams; streams that are too slow are ended. Rules: EVT-119."""
        for stream in [each for each in self._open if not each.offer(records)]:
            self.leave(stream)
            if stream.dropped:
                self.dropped += 1
                _log.warning("event stream of %s dropped: it does not keep up", stream.view.name)

    def close(self) -> None:
        """End all streams and open no more. Rules: REST-2."""
        self._closed = True
        self.end_open()

    def end_open(self) -> None:
        """End the streams that are open now."""
        for stream in list(self._open):
            stream.end()
            self.leave(stream)
