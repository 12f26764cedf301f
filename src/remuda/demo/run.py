"""Runs the demo inside the edge thread: ticks the cluster, refreshes the status line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from remuda.base.scores import abs_used_capacity
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.demo.cluster import RM_ID, HollowCluster
from remuda.demo.status import Display, RateMeter, describe
from remuda.demo.workload import Workload
from remuda.edges.inproc import InProcessScheduler

TICK_SECONDS: Final = 0.1
SEED: Final = 2026


def demo_configuration() -> str:
    """Return the queue configuration of the demo."""
    return files("remuda.demo").joinpath("queues.yaml").read_text("utf-8")


async def run_demo(scheduler: InProcessScheduler, config: str, display: Display) -> None:
    """Run the hollow cluster until cancelled; the first jobs are sent at once.

    ``config`` empty: the stored configuration of the scheduler is used. Raises: LoopStoppedError if
    the scheduler ends.
    """
    cluster = HollowCluster(scheduler, Workload(SEED))
    cluster.start(config)
    meter = RateMeter()
    started = time.monotonic()
    next_line = min(1.0, display.seconds)
    try:
        while True:
            now = time.monotonic() - started
            cluster.tick(now)
            if now >= next_line:
                next_line = now + display.seconds
                counters = cluster.counters()
                rate = meter.per_second(now, counters.placed)
                display.show(describe(counters, rate, await _utilisation(scheduler)))
            await asyncio.sleep(TICK_SECONDS)
    finally:
        display.close()


async def _utilisation(scheduler: InProcessScheduler) -> Mapping[str, int]:
    """Return percent in use per resource type of the demo's nodes."""
    views = await asyncio.wrap_future(scheduler.core.query(PartitionsQuery()))
    for view in rows(PartitionView, views):
        if view.rm_id == RM_ID and view.total_nodes:
            return abs_used_capacity(view.capacity, view.allocated)
    return {}
