"""Starts the admission controller from what the command line says, until a signal comes."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import suppress

from remuda.edges.event_loop import event_loop
from remuda_kubernetes.admission.program import Options, Program


def start(options: Options) -> None:
    """Run until SIGTERM or SIGINT. Raises: UsageError, ApiError."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("remuda").setLevel(logging.INFO)
    program = Program(options)
    with asyncio.Runner(loop_factory=event_loop) as runner:
        runner.run(_until_told(program))


async def _until_told(program: Program) -> None:
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(program.run())
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, running.cancel)
    with suppress(asyncio.CancelledError):
        await running
