"""The services that every gRPC server is expected to have: health checking and reflection.

Health probes ask the first whether the process still serves. Tools such as grpcurl ask the second
which services there are; it needs gRPC's own packages, which the extra ``reflection`` installs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import grpc.aio

from remuda.edges.grpc import health
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.loop import SchedulerLoop


class StandardServices:
    """Health checking and reflection of one server. Event loop of the server.

    Args:
        server: the one that serves them.
        services: the full names of the others.
    """

    def __init__(self, server: grpc.aio.Server, services: Sequence[str]) -> None:
        self._services = services
        self._health = health.Health(server)
        self._watch: asyncio.Task[None] | None = None
        _reflect(server, (*services, health.SERVICE))

    async def start(self, core: SchedulerLoop, *, serving: bool) -> None:
        """Report until ``stop``; all is well, if it is ``serving``, until the scheduler ends."""
        for name in self._services:
            self._health.know(name)
        if serving:
            self.serve()
        self._watch = asyncio.create_task(self._wait_for_end(core))

    def serve(self) -> None:
        """Say that all is well from now on."""
        self._health.report(serving=True)

    async def stop(self) -> None:
        """Say that nothing is served any more."""
        if self._watch is not None:
            self._watch.cancel()
        self._health.report(serving=False)

    async def _wait_for_end(self, core: SchedulerLoop) -> None:
        """Report that a failed scheduler takes no requests."""
        with contextlib.suppress(LoopStoppedError):
            await asyncio.wrap_future(core.ended)
        self._health.report(serving=False)


def _reflect(server: grpc.aio.Server, services: Sequence[str]) -> None:
    """Serve reflection, if its packages are installed."""
    try:
        # The first describes the messages of health checking to the second.
        from grpc_health.v1 import health_pb2  # noqa: F401, PLC0415 - an extra
        from grpc_reflection.v1alpha import reflection  # noqa: PLC0415 - an extra
    except ImportError:
        return
    reflection.enable_server_reflection((*services, reflection.SERVICE_NAME), server)
