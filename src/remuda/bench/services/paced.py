"""A scheduler in this process that is served, and asked for one allocation each millisecond.

The REST server has an event loop of its own, as when the scheduler is served; who reads is another
process, one request after the other.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final, final

from remuda.base.errors import RemudaError
from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.companion import start_beside
from remuda.bench.services.reader import Read, read_on
from remuda.bench.throughput.run import MEMORY, TIMEOUT_S, Receiver, request_of
from remuda.edges.inproc import InProcessScheduler
from remuda.edges.rest.requests.endpoint import Routes
from remuda.edges.rest.routes.dump import StateDump, dump_routes
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.server import RestServer
from remuda.runtime.loop import SchedulerLoop
from remuda.si.pb import si_pb2 as si

# Asks in a request that fills the cluster.
_FILLING: Final = 1_000


@final
class Manager(Receiver):
    """The resource manager's side: when each ask was placed. Called on the core thread."""

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[str, tuple[float, str]] = {}
        self.refused = ""

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Note the time."""
        now = time.perf_counter()
        for new in response.new:
            self.at[new.allocationKey] = (now, new.allocationID)
        for bad in response.rejected:
            self.refused = bad.reason

    def wait_for(self, key: str) -> None:
        """Wait until an ask is placed. Raises: RemudaError if it is not."""
        end = time.monotonic() + TIMEOUT_S
        while key not in self.at:
            if self.refused or time.monotonic() > end:
                raise RemudaError(f"asks were not placed: {self.refused or 'too late'}")
            time.sleep(0.0005)


def fill(scheduler: InProcessScheduler, cluster: Shape, count: int) -> None:
    """Place what the cluster is to have from the beginning."""
    for start in range(0, count, _FILLING):
        numbers = range(start, min(count, start + _FILLING))
        scheduler.update_allocation(request_of(cluster, "old", numbers, MEMORY))
    scheduler.wait_idle(TIMEOUT_S)


@contextmanager
def served(core: SchedulerLoop, more: Routes | None = None) -> Iterator[int]:
    """Serve REST on an event loop of its own, with the state dump and more routes; the port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="rest", daemon=True)
    thread.start()

    async def start() -> tuple[RestServer, int]:
        listener = socket.create_server(("127.0.0.1", 0))
        routes = {**dump_routes(StateDump(core)), **(more or {})}
        server = RestServer(build_app(core, more=routes), listener)
        await server.start()
        return server, listener.getsockname()[1]

    server, port = asyncio.run_coroutine_threadsafe(start(), loop).result(TIMEOUT_S)
    try:
        yield port
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(TIMEOUT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def reading(port: int, *paths: str) -> Iterator[Future[Read]]:
    """Have another process read paths meanwhile; what it read is there afterwards."""
    read: Future[Read] = Future()
    if not paths:
        read.set_result({})
        yield read
        return
    process, ours = start_beside(read_on, port, list(paths))
    ours.recv()
    try:
        yield read
    finally:
        ours.send(None)
        read.set_result(ours.recv())
        process.join()


def ask_each_millisecond(
    scheduler: InProcessScheduler, cluster: Shape, manager: Manager, numbers: range
) -> list[float]:
    """Return the milliseconds from each ask to its callback.

    The time counts from when an ask was due, or from when the one before was sent, if that was
    later. So if the whole process stands still before an ask can be sent, that is part of its wait.
    """
    ready: dict[str, float] = {}
    began = sent = time.perf_counter()
    for place, number in enumerate(numbers):
        due = began + place / 1_000
        ready[f"k-{number}"] = max(due, sent)
        request = request_of(cluster, "k", range(number, number + 1), MEMORY)
        time.sleep(max(0.0, due - time.perf_counter()))
        scheduler.update_allocation(request)
        sent = time.perf_counter()
    manager.wait_for(f"k-{numbers[-1]}")
    scheduler.wait_idle(TIMEOUT_S)
    return [(manager.at[key][0] - at) * 1e3 for key, at in ready.items()]
