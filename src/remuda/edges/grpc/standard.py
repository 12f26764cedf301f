"""The services that every gRPC server is expected to have: health checking and reflection.

Probes of clusters ask the first whether the process still serves; tools such as grpcurl ask the
second what can be called. Both come with gRPC's own packages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.loop import SchedulerLoop

_SERVING: Final = health_pb2.HealthCheckResponse.SERVING


class StandardServices:
    """Health checking and reflection of one server. Event loop of the server.

    Args:
        server: the one that serves them.
        services: the full names of the others.
    """

    def __init__(self, server: grpc.aio.Server, services: Sequence[str]) -> None:
        self._services = services
        self._health = health.aio.HealthServicer()
        self._watch: asyncio.Task[None] | None = None
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        shown = (*services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(shown, server)

    async def start(self, core: SchedulerLoop) -> None:
        """Say that all is well until the scheduler ends, or ``stop``."""
        for name in self._services:
            await self._health.set(name, _SERVING)
        self._watch = asyncio.create_task(self._wait_for_end(core))

    async def stop(self) -> None:
        """Say that nothing is served any more."""
        if self._watch is not None:
            self._watch.cancel()
        await self._health.enter_graceful_shutdown()

    async def _wait_for_end(self, core: SchedulerLoop) -> None:
        """A scheduler that failed takes no requests, whoever still listens."""
        with contextlib.suppress(LoopStoppedError):
            await asyncio.wrap_future(core.ended)
        await self._health.enter_graceful_shutdown()
