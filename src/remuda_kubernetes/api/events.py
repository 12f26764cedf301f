"""Writes events for people, and never at the cost of scheduling.

To post never waits: the queue is bounded, and what does not fit is counted and dropped. Few
requests are in flight, and a failed one is tried again a few times only. While the server has more
urgent calls to take, an event waits; not for ever, so that people see something under load, too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.api import event_bodies
from remuda_kubernetes.api.bodies import MERGE
from remuda_kubernetes.api.connection import JSON, Requests
from remuda_kubernetes.api.errors import CONFLICT, NOT_FOUND, ApiError
from remuda_kubernetes.api.event_series import Notice, Series, SeriesTable
from remuda_kubernetes.api.pace import (
    Backoff,
    Chance,
    Clock,
    SystemClock,
    Wall,
    system_chance,
)
from remuda_kubernetes.objects.metadata import ObjectReference

_LOG: Final = logging.getLogger("remuda.kubernetes")
_TRIES: Final = 4


@dataclass(frozen=True, slots=True)
class EventSettings:
    """``controller`` and ``instance`` name the writer.

    At most ``queue`` events wait and ``in_flight`` are being written. The count of a series is
    written at most every ``again`` seconds.
    """

    instance: str
    controller: str = "remuda"
    queue: int = 5000
    in_flight: int = 8
    again: float = 30.0
    timeout: float = 10.0


# How often a writer looks whether there is room for an event, and how long it waits for it.
_LOOK_SECONDS: Final = 0.05
_YIELD_SECONDS: Final = 2.0
# Returns whether calls that matter more leave room for an event.
Room = Callable[[], bool]


@dataclass
class EventFigures:
    """Counts: notices posted, notices counted by a series only, requests, notices lost.

    ``held_back``: their object had too many; ``dropped``: the queue was full; ``failed``: the
    server did not take them.
    """

    posted: int = 0
    counted: int = 0
    written: int = 0
    held_back: int = 0
    dropped: int = 0
    failed: int = 0


class Events:
    """The writer. ``run`` writes until cancelled; ``version`` is that of events.k8s.io or "".

    ``room``: says whether an event may be written now.
    """

    def __init__(
        self,
        requests: Requests,
        version: str,
        settings: EventSettings,
        *,
        room: Room = lambda: True,
        table: SeriesTable | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
        wall: Wall = time.time,
    ) -> None:
        self.figures: Final = EventFigures()
        self._requests: Final = requests
        self._version: Final = version
        self._settings: Final = settings
        self._room: Final = room
        self._table: Final = table or SeriesTable()
        self._clock: Final = clock or SystemClock()
        self._chance: Final = chance or system_chance()
        self._wall: Final = wall
        self._queue: Final[deque[Series]] = deque()
        # Series whose count has to be written when its time comes.
        self._later: Final[deque[Series]] = deque()
        self._wake: Final = asyncio.Event()
        self._number = 0
        self._problem = ""

    def post(
        self,
        regarding: ObjectReference,
        reason: str,
        note: str,
        *,
        type: str = "Normal",  # noqa: A002 - the word of the API
        action: str = "Scheduling",
    ) -> None:
        """Tell what happened to an object. ``type`` is Normal or Warning. Returns at once."""
        self.figures.posted += 1
        notice = Notice(regarding, type, reason, action, note)
        series = self._table.add(notice, self._wall())
        if series is None:
            self.figures.held_back += 1
            return
        if series.count > 1:
            self.figures.counted += 1
        if not series.queued:
            self._enqueue(series)

    def _enqueue(self, series: Series) -> None:
        if len(self._queue) + len(self._later) >= self._settings.queue:
            self.figures.dropped += 1
            return
        series.queued = True
        if series.written:
            self._later.append(series)
        else:
            self._queue.append(series)
        self._wake.set()

    @property
    def waiting(self) -> int:
        """How many events have to be written."""
        return len(self._queue) + len(self._later)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as writers:
            for _ in range(self._settings.in_flight):
                writers.create_task(self._write_new())
            writers.create_task(self._write_later())

    async def _write_new(self) -> None:
        while True:
            if not self._queue:
                self._wake.clear()
                await self._wake.wait()
                continue
            await self._yield()
            if self._queue:
                await self._write(self._queue.popleft())

    async def _yield(self) -> None:
        """Let more urgent calls go first, for a while."""
        until = self._clock.now() + _YIELD_SECONDS
        while not self._room() and self._clock.now() < until:
            await self._clock.sleep(_LOOK_SECONDS)

    async def _write_later(self) -> None:
        """Write the counts of series: each at most once in a while, the oldest first."""
        while True:
            if not self._later:
                await self._clock.sleep(1.0)
                continue
            series = self._later[0]
            due = series.written_at + self._settings.again - self._clock.now()
            if due > 0:
                await self._clock.sleep(min(due, 1.0))
                continue
            await self._yield()
            self._later.popleft()
            await self._write(series)

    async def _write(self, series: Series) -> None:
        waits = Backoff(self._chance, longest=5.0)
        series.queued = False
        for _ in range(_TRIES):
            try:
                await self._send(series)
            except ApiError as error:
                self._tell(error)
                if not error.transient:
                    break
                await self._clock.sleep(max(waits.next(), error.retry_after or 0.0))
            else:
                self._problem = ""
                self.figures.written += 1
                return
        self.figures.failed += 1

    async def _send(self, series: Series) -> None:
        count = series.count
        namespace = event_bodies.namespace_of(series.notice.regarding, self._version)
        if series.written:
            try:
                body = event_bodies.again(series, version=self._version)
                path = event_bodies.path(self._version, namespace, series.name)
                await self._ask("PATCH", path, body, MERGE)
            except ApiError as error:
                # The server keeps events for an hour; then this is a new one.
                if error.status != NOT_FOUND:
                    raise
                series.written = 0
        if not series.written:
            self._number += 1
            if not series.name:
                number = int(self._wall() * 1e6) * 1000 + self._number % 1000
                series.name = event_bodies.new_name(series.notice.regarding, number)
            body = event_bodies.event(
                series,
                version=self._version,
                controller=self._settings.controller,
                instance=self._settings.instance,
            )
            try:
                await self._ask("POST", event_bodies.path(self._version, namespace), body)
            except ApiError as error:
                # An earlier try without an answer had written it.
                if error.status != CONFLICT:
                    raise
        series.written = count
        series.written_at = self._clock.now()
        if series.count > count and not series.queued:
            self._enqueue(series)

    async def _ask(self, method: str, path: str, body: bytes, content_type: str = JSON) -> None:
        await self._requests.request(
            method,
            path,
            body=body,
            content_type=content_type,
            timeout=self._settings.timeout,
        )

    def _tell(self, error: ApiError) -> None:
        text = str(error)
        if text != self._problem:
            _LOG.warning("an event was not written: %s", text)
        self._problem = text
