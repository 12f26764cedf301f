"""Serves the HTTP API about a scheduler as it was at a moment of the past.

The parts are those of ``remuda serve``, but the core makes no step and its clock stands still.
There is no gRPC, so nobody can register. What only the process of that time knew is not there:
event records, samples of history, connections, counters of metrics.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack

from remuda.app import first, hangups_let_in, listen, stop_on_signals
from remuda.core.scheduler import Scheduler
from remuda.edges.addresses import Address, address_text
from remuda.edges.event_loop import event_loop
from remuda.edges.observation import Observation, ObservationSettings
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.hosts import own_hosts
from remuda.edges.rest.transport.server import RestServer
from remuda.runtime.clock import StoppedClock
from remuda.runtime.loop import SchedulerLoop


def serve_past(
    scheduler: Scheduler, at_ns: int, address: Address, told: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or Ctrl-C. ``told`` gets the address, which may have had port 0.

    Raises: UsageError if the address cannot be used. Implements: EXT-101.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with (
        listen("REST", address) as listener,
        asyncio.Runner(loop_factory=event_loop) as runner,
    ):
        core = SchedulerLoop(lambda *_, **__: scheduler, clock=StoppedClock(at_ns), acts=False)
        runner.run(_serve(core, listener, address, told))


async def _serve(
    core: SchedulerLoop, listener: socket.socket, address: Address, told: Callable[[str], None]
) -> None:
    """Start the parts, wait for the end, stop the parts."""
    stop = stop_on_signals([])
    async with AsyncExitStack() as running:
        running.enter_context(hangups_let_in())
        settings = ObservationSettings(history_samples=0, self_audit=False)
        observed = Observation(core, settings)
        running.callback(observed.stop)
        core.start()
        running.callback(core.stop)
        observed.start()
        app = build_app(
            core,
            more=observed.routes,
            cors=False,
            debug=False,
            hosts=own_hosts("", address[0]),
            scarce=observed.memory.scarce,
        )
        server = RestServer(app, listener)
        await server.start()
        running.push_async_callback(server.stop)
        running.callback(observed.end_streams)
        told(address_text(listener.getsockname()[:2]))
        ended: asyncio.Future[None] = asyncio.wrap_future(core.ended)
        await first([stop.wait(), ended], None)
