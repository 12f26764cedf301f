"""Starts the shim from what the command line says, beside a scheduler or for one elsewhere."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# The gRPC library would add lines of its own to ours; it reads this when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from remuda.app import Settings, run
from remuda.edges.addresses import Address
from remuda.edges.event_loop import event_loop
from remuda_kubernetes.run import Options, Program


@dataclass(frozen=True, slots=True)
class Start:
    """What the command line says.

    ``scheduler``: HOST:PORT, or several with commas between them; None: one runs in this process.
    """

    kubeconfig: Path | None
    kube_context: str
    namespace: str
    scheduler: str | None
    grpc_address: Address
    rest_address: Address
    reports_address: Address
    elect: bool
    rm_id: str


def start(what: Start) -> None:
    """Run until told to stop.

    Raises: UsageError, ApiError, LeadershipLostError, ShimStoppedError, LoopStoppedError.
    """
    program = Program(
        Options(
            kubeconfig=what.kubeconfig,
            kubeconfig_context=what.kube_context,
            namespace=what.namespace,
            rm_id=what.rm_id,
            http_address=what.reports_address,
            elect=what.elect,
        )
    )
    # Each request would be a line.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    if what.scheduler is None:
        run(_scheduler(what), program.run)
    else:
        logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        logging.getLogger("remuda").setLevel(logging.INFO)
        with asyncio.Runner(loop_factory=event_loop) as runner:
            runner.run(_alone(program, what.scheduler))


def _scheduler(what: Start) -> Settings:
    """Return the settings of the scheduler in this process."""
    return Settings(
        config=None,
        grpc_address=what.grpc_address,
        rest_address=what.rest_address,
        rest_cors=True,
        demo=False,
        duration_seconds=None,
        record=None,
    )


async def _alone(program: Program, scheduler: str) -> None:
    """Run the shim without a scheduler in this process, until a signal comes."""
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(program.run(scheduler))
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, running.cancel)
    with suppress(asyncio.CancelledError):
        await running
