"""Brings together what is measured and the service that shows it over gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

import grpc

from remuda.edges.grpc.measurements import (
    Check,
    EventStream,
    Health,
    Measurements,
    NumberedEvent,
    Sample,
)
from remuda.edges.grpc.refusals import RefusalError
from remuda.edges.rest.requests.errors import TOO_MANY_STREAMS, TRACKING_OFF
from remuda.telemetry.events import streams
from remuda.telemetry.events.pipeline import EventSystem
from remuda.telemetry.health.checker import HealthChecker
from remuda.telemetry.metrics.exposition import Metrics

# Records that are taken out of a stream at a time.
_PORTION: Final = 1_000


def measurements(metrics: Metrics, checker: HealthChecker, events: EventSystem) -> Measurements:
    """Return what ``remuda.v1.Metrics`` shows of a running scheduler. Rules: EXT-25."""
    return Measurements(_Samples(metrics), _Checks(checker), _Events(events))


class _Samples:
    """The samples that Prometheus reads, too."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def samples(self) -> Iterable[Sample]:
        """Return all samples of this moment. Not on the core thread."""
        return [Sample(each.name, each.value, each.labels) for each in self._metrics.samples()]


class _Checks:
    """The result that REST shows, too (REST-93)."""

    def __init__(self, checker: HealthChecker) -> None:
        self._checker = checker

    def health(self) -> Health | None:
        """Return the last stored result. Any thread."""
        found = self._checker.latest
        if found is None:
            return None
        checks = [
            Check(each.name, each.succeeded, each.description, each.diagnosis)
            for each in found.findings
        ]
        return Health(found.healthy, tuple(checks))


class _Events:
    """The streams of the REST endpoint, with its limits (EVT-117)."""

    def __init__(self, events: EventSystem) -> None:
        self._events = events

    def open(self, host: str, history: int) -> EventStream:
        """Open a stream. Event loop of the server.

        Raises: RefusalError. Rules: EVT-115, EVT-117, EVT-118, REST-92.
        """
        if not self._events.settings.event_tracking:
            raise RefusalError(grpc.StatusCode.FAILED_PRECONDITION, TRACKING_OFF)
        woken = asyncio.Event()
        wake = partial(_wake, asyncio.get_running_loop(), woken)
        try:
            stream = self._events.open_stream(host, wake, recent=history)
        except streams.TooManyStreamsError:
            raise RefusalError(grpc.StatusCode.RESOURCE_EXHAUSTED, TOO_MANY_STREAMS) from None
        return _Reading(self._events, stream, woken)


class _Reading:
    """One open stream, read in an event loop."""

    def __init__(
        self, events: EventSystem, stream: streams.EventStream, woken: asyncio.Event
    ) -> None:
        self._events = events
        self._stream = stream
        self._woken = woken

    async def read(self) -> Sequence[NumberedEvent] | None:
        """Wait for the next records; None: the stream was given up (EVT-119)."""
        while True:
            self._woken.clear()
            if self._stream.may_wait:
                portion = await asyncio.to_thread(self._stream.take, _PORTION)
            else:
                portion = self._stream.take(_PORTION)
            if portion is None:
                return None
            if portion.records:
                return list(enumerate(portion.records, portion.first_id))
            await self._woken.wait()

    def close(self) -> None:
        """Free the slot (EVT-120)."""
        self._events.close_stream(self._stream)


def _wake(loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
    """Tell the event loop that there is something, if it still runs. Any thread."""
    try:
        loop.call_soon_threadsafe(woken.set)
    except RuntimeError:
        return
