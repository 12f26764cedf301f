"""The way of event records within the process: from the scheduler to their readers.

The core thread puts records into a queue and goes on; if the queue is full it drops them. One
thread takes all collected records at once, gives them IDs and passes them to streams and to the
sink (EVT-91). When tracking is switched off, the core makes no records; this module keeps its state
and goes on when tracking is switched on again (EVT-107, EVT-108, EVT-109).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, final
from uuid import uuid4

from remuda.base.message import message
from remuda.config.schema import Configuration
from remuda.config.settings import ServiceSettings, read_settings
from remuda.core.messages.effects import Effect, EventRecord
from remuda.runtime.loop import SchedulerLoop
from remuda.telemetry.events.ring import Ring
from remuda.telemetry.events.streams import (
    EventStream,
    Past,
    StreamLimits,
    Streams,
    StreamView,
)

_log = logging.getLogger("remuda.events")

# Records that may wait for the thread that handles them (EVT-91).
QUEUE_LIMIT: Final = 100_000

# The most records that memory is asked to keep: some gigabytes.
RING_LIMIT: Final = 10_000_000

# Seconds in which records gather, so that a busy scheduler is not interrupted for each of them.
_GATHER_SECONDS: Final = 0.01


class Sink(Protocol):
    """A store of records besides memory, from which they can be read again.

    ``instance``: the UUID of the series of IDs. ``next_id``: when it is opened, the ID of the first
    record it lacks.
    """

    instance: str
    next_id: int

    def add(self, first_id: int, records: Sequence[EventRecord]) -> None:
        """Take records with IDs from ``first_id`` on. Always in order, never waits."""
        ...

    def lowest(self) -> int | None:
        """Return the oldest ID that can be read, None if none can. Returns at once."""
        ...

    def read(self, first_id: int, count: int) -> Sequence[EventRecord]:
        """Return records from an ID on, as far as it has them. May wait."""
        ...

    def close(self) -> None:
        """Write everything and close."""
        ...


@message
class EventCounters:
    """The counts of records so far. Rules: EVT-122, MET-39, MET-40.

    ``created`` is the sum of ``channeled`` and ``not_channeled``. ``streams``: open streams now.
    """

    created: int
    channeled: int
    not_channeled: int
    processed: int
    streams: int
    streams_dropped: int


@message
class Range:
    """The IDs that can be read, both 0 if there are none. Rules: EVT-95, EVT-111."""

    lowest: int
    highest: int


@final
class EventSystem:
    """The event records of a scheduler: the newest ones, and streams of future ones.

    Args: core: the source of records; None: other code calls ``observe`` and ``configure``. sink:
        keeps records beyond memory; closed with this. choose: returns a sink, called once at the
        first record; may wait. Earlier streams are ended, because they have another series of IDs.
        queue_limit: records that may wait. clock: seconds, for how long a write takes.

    ``instance`` identifies the series of IDs.
    Implements: EVT-112.
    """

    def __init__(
        self,
        core: SchedulerLoop | None,
        sink: Sink | None = None,
        *,
        choose: Callable[[], Sink | None] | None = None,
        queue_limit: int = QUEUE_LIMIT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings: ServiceSettings = read_settings({})[0]
        self.instance = str(uuid4()) if sink is None else sink.instance
        self._sink = sink
        self._choose = choose
        self._clock = clock
        self._queue_limit = queue_limit
        # Guards the queue; held only briefly, because the core thread needs it.
        self._gate = threading.Lock()
        self._queue: list[EventRecord] = []
        self._channeled = self._not_channeled = self._processed = 0
        # Guards the ring and the streams, so that a new stream gets each record once (EVT-115).
        self._lock = threading.Lock()
        first_id = 0 if sink is None else sink.next_id
        self._ring = Ring(self.settings.event_ring_buffer_capacity, first_id)
        self._streams = Streams(_limits(self.settings))
        self._flushing = threading.Lock()
        self._something = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remuda-event-ids", daemon=True)
        self._forget: Callable[[], None] | None = None
        if core is not None:
            core.configurations.watch(self.configure)
            self._forget = core.subscribe(self.observe)
        self._thread.start()

    # ------------------------------------------------------------------ core thread

    def observe(self, effects: Sequence[Effect]) -> None:
        """Queue the event records among effects; never waits. Implements: EVT-91."""
        records = [effect for effect in effects if type(effect) is EventRecord]
        if not records:
            return
        with self._gate:
            room = self._queue_limit - len(self._queue)
            if room < len(records):
                self._not_channeled += len(records) - room
                records = records[:room]
            self._channeled += len(records)
            self._queue += records
        if not self._something.is_set():
            self._something.set()

    def configure(
        self, rm_id: str, configuration: Configuration, extra: Mapping[str, str] | None
    ) -> None:
        """Put an extra map in force; None changes nothing.

        Implements: EVT-104, EVT-105, EVT-107, EVT-108, EVT-109. Rules: EVT-101, EVT-102, EVT-103.
        """
        if extra is None:
            return
        settings, _ = read_settings(extra)
        with self._lock:
            self.settings = settings
            self._streams.limits = _limits(settings)
            before = self._ring.lowest
            self._ring.resize(_bounded(settings.event_ring_buffer_capacity))
            lowest = self._ring.lowest
        if lowest != before:
            _log.info("the event buffer is smaller now: lowest ID %d, was %d", lowest, before)

    # ------------------------------------------------------------------ any thread

    def counters(self) -> EventCounters:
        """Return the counts of records so far. Implements: EVT-122. Rules: MET-39."""
        with self._lock:
            streams, dropped = len(self._streams), self._streams.dropped
        with self._gate:
            return EventCounters(
                created=self._channeled + self._not_channeled,
                channeled=self._channeled,
                not_channeled=self._not_channeled,
                processed=self._processed,
                streams=streams,
                streams_dropped=dropped,
            )

    def range(self) -> Range:
        """Return the IDs that can be read. Rules: EVT-95."""
        kept = None if self._sink is None else self._sink.lowest()
        with self._lock:
            return self._range(kept)

    def read(self, first_id: int, count: int) -> Sequence[EventRecord] | None:
        """Return records from an ID on; None if there is none of this ID.

        May wait for a file if the ID is below those in memory. Rules: EVT-96.
        """
        older: list[EventRecord] = []
        while True:
            with self._lock:
                found = self._ring.query(first_id + len(older), count - len(older))
                missing = self._ring.first_id - first_id - len(older)
            if found is not None or self._sink is None or missing <= 0:
                return older + (found or []) or None
            more = self._sink.read(first_id + len(older), min(count - len(older), missing))
            older += more
            if not more or len(older) >= count:
                return older or None

    def in_memory(self) -> list[EventRecord]:
        """Return all records in memory, oldest first. Rules: EVT-98."""
        with self._lock:
            return self._ring.recent(self._ring.next_id - self._ring.first_id)

    def require_slot(self, host: str) -> None:
        """Check that a stream may be opened. Raises: TooManyStreamsError. Implements: EVT-117."""
        with self._lock:
            self._streams.require_slot(host)

    def open_stream(
        self,
        host: str,
        wake: Callable[[], None],
        *,
        recent: int = 0,
        start: int | None = None,
    ) -> EventStream:
        """Open a stream that begins in the past: ``recent`` records back, or at an ID.

        Raises: TooManyStreamsError. Implements: EVT-115. Rules: EVT-117, EVT-118, EVT-131.
        """
        kept = None if self._sink is None else self._sink.lowest()
        with self._lock:
            past = self._past(kept, recent, start)
            stream = EventStream(host, time.time_ns(), past, wake, self._clock)
            self._streams.enter(stream)
            return stream

    def close_stream(self, stream: EventStream) -> None:
        """Close a stream and free its slot; repeating is harmless. Implements: EVT-120."""
        stream.end()
        with self._lock:
            self._streams.leave(stream)

    def streams(self) -> list[StreamView]:
        """Return the open streams, oldest first. Implements: EVT-121. Rules: DMP-12."""
        with self._lock:
            return self._streams.views()

    def end_streams(self) -> None:
        """End all streams and open no more. Rules: REST-2."""
        with self._lock:
            self._streams.close()

    def flush(self) -> None:
        """Handle the queued records at once."""
        with self._flushing:
            self._something.clear()
            with self._gate:
                records, self._queue = self._queue, []
            if not records:
                return
            if self._choose is not None:
                choose, self._choose = self._choose, None
                self._adopt(choose())
            with self._lock:
                first_id = self._ring.add(records)
                self._streams.publish(records)
            if self._sink is not None:
                self._keep(self._sink, first_id, records)
            with self._gate:
                self._processed += len(records)

    def close(self) -> None:
        """Handle the remaining records, end the streams and the thread, close the sink."""
        if self._forget is not None:
            self._forget()
        self._closing.set()
        self._something.set()
        self._thread.join()
        self.flush()
        self.end_streams()
        if self._sink is not None:
            self._sink.close()

    # ------------------------------------------------------------------ own

    def _run(self) -> None:
        while not self._closing.is_set():
            self._something.wait()
            self._closing.wait(_GATHER_SECONDS)
            self.flush()

    def _adopt(self, sink: Sink | None) -> None:
        """Continue the IDs of a store; called before any record has an ID.

        Rules: EVT-112, EVT-132.
        """
        if sink is None:
            return
        with self._lock:
            self._sink = sink
            self.instance = sink.instance
            self._ring = Ring(self._ring.capacity, sink.next_id)
            self._streams.end_open()

    def _keep(self, sink: Sink, first_id: int, records: Sequence[EventRecord]) -> None:
        try:
            sink.add(first_id, records)
        except Exception as error:  # noqa: BLE001 - a store must not end the events
            _log.error("the store of event records failed, ignored: %r", error)

    def _range(self, kept: int | None) -> Range:
        """``kept``: the oldest ID in the sink."""
        first_id, next_id = self._ring.first_id, self._ring.next_id
        lowest = first_id if kept is None else min(kept, first_id)
        return Range(0, 0) if lowest == next_id else Range(lowest, next_id - 1)

    def _past(self, kept: int | None, recent: int, start: int | None) -> Past:
        first_id, next_id = self._ring.first_id, self._ring.next_id
        lowest = first_id if kept is None else min(kept, first_id)
        gap = None
        if start is None:
            wanted = max(lowest, next_id - recent)
        elif lowest <= start <= next_id:
            wanted = start
        else:
            wanted, gap = lowest, (start, lowest)
        records = self._ring.recent(next_id - wanted)
        older = _nothing if self._sink is None else self._sink.read
        return Past(next_id - len(records), records, wanted, older, gap)


def _limits(settings: ServiceSettings) -> StreamLimits:
    return StreamLimits(settings.event_max_streams, settings.event_max_streams_per_host)


def _nothing(first_id: int, count: int) -> Sequence[EventRecord]:
    return ()


def _bounded(capacity: int) -> int:
    """Return a capacity of the ring that memory has room for. Implements: EVT-103."""
    if capacity > RING_LIMIT:
        text = "event.ringBufferCapacity is above %d, which is used instead"
        _log.warning(text, RING_LIMIT)
    return min(capacity, RING_LIMIT)
