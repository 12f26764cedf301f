"""The service for measurements: samples, amounts, health and events, for those who only watch.

It changes nothing, so any identity may call it; what belongs to one resource manager is shown to
those who may act for it, and to administrators.
"""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import unquote

import grpc

from remuda.edges.grpc.access import caller
from remuda.edges.grpc.event_watch import Watched
from remuda.edges.grpc.measurements import Measurements
from remuda.edges.grpc.refusals import Context, RefusalError
from remuda.edges.grpc.samples import (
    Changes,
    Pace,
    Samples,
    Slots,
    Wanted,
    interval_seconds,
    sample_set,
)
from remuda.edges.grpc.streaming import streaming, write
from remuda.edges.grpc.unary import unary
from remuda.edges.grpc.usage import UsagePages
from remuda.runtime.loop import SchedulerLoop
from remuda.si import limits
from remuda.si.pb import extension_pb2 as ext

SERVICE: Final = "remuda.v1.Metrics"

# Bytes of a request: the longest filter there may be, and a list of types with one identifier.
_SAMPLES_BYTES: Final = 2 * 1024 * 1024
_EVENTS_BYTES: Final = 16 * 1024

# How long a client may take for one message of a stream (EVT-119).
_WRITE_SECONDS: Final = 5.0

_CLOSED: Final = (
    "Event stream was closed by the producer: it was read too slowly, or the scheduler stops"
)


class MetricsService:
    """Serves ``remuda.v1.Metrics``. Event loop of the server.

    Args:
        core: the running loop.
        measurements: what is measured; what is not there answers UNIMPLEMENTED.
        bytes_limit: of one message, so that any client takes it.

    Rules: EXT-25.
    """

    def __init__(self, core: SchedulerLoop, measurements: Measurements, bytes_limit: int) -> None:
        self._usage = UsagePages(core)
        source = measurements.samples
        self._samples = None if source is None else Samples(source)
        self._checks = measurements.health
        self._events = measurements.events
        self._bytes_limit = bytes_limit
        self._pace = Pace()
        self._slots = Slots()

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers of the service."""
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "GetSamples": unary(ext.SampleFilter, self._get_samples, limits.SAMPLE_FILTER),
                "WatchSamples": streaming(
                    ext.WatchSamplesRequest, self._watch_samples, _SAMPLES_BYTES
                ),
                "GetUsage": unary(ext.UsageRequest, self._get_usage, limits.FLAT),
                "GetHealth": unary(ext.HealthRequest, self._get_health, limits.FLAT),
                "WatchEvents": streaming(ext.WatchEventsRequest, self._watch_events, _EVENTS_BYTES),
            },
        )

    async def _get_samples(self, request: ext.SampleFilter) -> ext.SampleSet:
        """Return the samples of this moment. Rules: EXT-25."""
        wanted = Wanted(request)
        taken = await self._sampled().now()
        return sample_set(taken, filter(wanted.lets, taken.samples), self._bytes_limit)

    async def _watch_samples(self, request: ext.WatchSamplesRequest, context: Context) -> None:
        """Send samples now and again, at most one message per second and client.

        With ``changes_only`` what did not change is left out, and a message without anything is
        not sent. Implements: EXT-25.
        """
        samples = self._sampled()
        wanted = Wanted(request.filter)
        seconds = interval_seconds(request)
        changes = Changes() if request.changes_only else None
        client, host = context.peer(), peer_host(context)
        clock = asyncio.get_running_loop().time
        due = clock()
        self._slots.take(host)
        try:
            while True:
                await asyncio.sleep(due - clock())
                taken = await samples.recent()
                found = [each for each in taken.samples if wanted.lets(each)]
                if changes is not None:
                    found = changes.since(found)
                if found or changes is None:
                    await self._pace.turn(client)
                    await write(
                        context, sample_set(taken, found, self._bytes_limit), _WRITE_SECONDS
                    )
                due = max(due + seconds, clock())
        finally:
            self._slots.free(host)

    async def _get_usage(self, request: ext.UsageRequest) -> ext.UsageResponse:
        """Return the allocated and pending amounts. Rules: EXT-25."""
        return await self._usage.page(request, caller())

    async def _get_health(self, request: ext.HealthRequest) -> ext.HealthResponse:
        """Return the result of the last run of the health checks. Rules: EXT-25, REST-93."""
        if self._checks is None:
            raise _not_offered("GetHealth")
        found = self._checks.health()
        if found is None:
            raise RefusalError(grpc.StatusCode.UNAVAILABLE, "Health check is not available")
        response = ext.HealthResponse(healthy=found.healthy)
        for each in found.checks:
            response.checks.add(
                name=each.name,
                succeeded=each.succeeded,
                description=each.description,
                message=each.message,
            )
        return response

    async def _watch_events(self, request: ext.WatchEventsRequest, context: Context) -> None:
        """Send events as they come, after the last ones if ``history`` says so.

        Rules: EXT-25, EVT-115, EVT-117, EVT-119, EVT-120.
        """
        if self._events is None:
            raise _not_offered("WatchEvents")
        watched = Watched(request, caller())
        stream = self._events.open(peer_host(context), request.history)
        try:
            while (events := await stream.read()) is not None:
                for batch in watched.batches(events):
                    await write(context, batch, _WRITE_SECONDS)
                # Records that are not wanted must not keep the event loop from others.
                await asyncio.sleep(0)
        finally:
            stream.close()
        raise RefusalError(grpc.StatusCode.ABORTED, _CLOSED)

    def _sampled(self) -> Samples:
        if self._samples is None:
            raise _not_offered("Samples")
        return self._samples


def _not_offered(what: str) -> RefusalError:
    text = f"{SERVICE}: {what} is not offered by this scheduler; GetUsage is"
    return RefusalError(grpc.StatusCode.UNIMPLEMENTED, text)


def peer_host(context: Context) -> str:
    """Return the address of the caller, without the port (EVT-118)."""
    kind, _, address = unquote(context.peer()).partition(":")
    return address.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else address
