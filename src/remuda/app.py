"""The composition root: builds everything `remuda serve` consists of, runs it, takes it down.

Two threads: the core thread inside SchedulerLoop, and the edge thread, which is the main thread
with one asyncio event loop for gRPC, REST and the demo. What can be wrong with files is found
before anything starts. The end comes by SIGTERM, Ctrl-C, a given duration or a fault of the
scheduler, and takes the same way down each time: demo, edges, core.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeAlias

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.config.load import load_configuration
from remuda.config.schema import Configuration, Load, built_in
from remuda.edges.grpc.server import GrpcServer
from remuda.edges.rest.app import build_app
from remuda.edges.rest.server import RestServer
from remuda.runtime.errors import LoopStoppedError, RecordingError
from remuda.runtime.interpreter import tune_interpreter
from remuda.runtime.journal import JournalWriter
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.stored import read_configuration

Address: TypeAlias = tuple[str, int]


@message
class Settings:
    """What `remuda serve` was told. Addresses are (host, port); port 0 means a free one."""

    config: Path | None
    grpc_address: Address
    rest_address: Address
    rest_cors: bool
    demo: bool
    duration_seconds: float | None
    record: Path | None


def run(settings: Settings) -> None:
    """Serve until told to stop.

    Raises: ConfigError, UsageError for files and addresses that cannot be used,
        LoopStoppedError if the scheduler stopped itself after a fault, RecordingError if the
        recording is not complete.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    load = _loader(settings.config)
    with (
        _listen("gRPC", settings.grpc_address) as probe,
        _listen("REST", settings.rest_address) as listener,
    ):
        probe.close()
        recorder = None if settings.record is None else JournalWriter(settings.record)
        core = SchedulerLoop(recorder=recorder)
        try:
            asyncio.run(_serve(settings, core, load, listener))
        finally:
            core.stop()
            if core.failed:
                raise LoopStoppedError(f"stopped after a fault of the scheduler: {core.failure}")
        if recorder is not None and recorder.failure:
            raise RecordingError(recorder.failure)


def _loader(path: Path | None) -> Load:
    """Return what turns the configuration text of a registration into records.

    For an empty text that is the stored document: the file, else the built-in (RM-5).
    """
    stored = built_in() if path is None else read_configuration(path)

    def load(text: str) -> Configuration:
        return load_configuration(text) if text else stored

    return load


async def _serve(
    settings: Settings, core: SchedulerLoop, load: Load, listener: socket.socket
) -> None:
    """Start the parts, say where they listen, wait for the end, stop the parts."""
    stop = _on_signals()
    async with AsyncExitStack() as running:
        core.start()
        running.callback(core.stop)
        grpc_server = GrpcServer(core, load)
        grpc_address = await grpc_server.start(_text(settings.grpc_address))
        running.push_async_callback(grpc_server.stop)
        rest_server = RestServer(build_app(core, cors=settings.rest_cors), listener)
        await rest_server.start()
        running.push_async_callback(rest_server.stop)
        rest_address = _text(listener.getsockname()[:2])
        tune_interpreter()
        print(f"listening grpc={grpc_address} rest={rest_address}", flush=True)  # noqa: T201
        fault: asyncio.Future[None] = asyncio.wrap_future(core.ended)
        ends: list[Awaitable[object]] = [stop.wait(), fault]
        if settings.demo:
            ends.append(_demo(settings, core, load, rest_address))
        await _first(ends, settings.duration_seconds)


def _on_signals() -> asyncio.Event:
    """Return an event that SIGTERM and Ctrl-C set; a second signal ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def told() -> None:
        stop.set()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)

    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, told)
    return stop


def _listen(purpose: str, address: Address) -> socket.socket:
    """Return a listening socket. Raises: UsageError, one line, if the address cannot be used.

    The gRPC library binds its own and complains at length; trying first gives the reason.
    """
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]
        raise UsageError(f"cannot listen on {_text(address)} for {purpose}: {reason}") from None


async def _demo(settings: Settings, core: SchedulerLoop, load: Load, rest_address: str) -> None:
    """Run the embedded cluster until cancelled."""
    from remuda.demo.run import demo_configuration, run_demo  # noqa: PLC0415 - rarely wanted
    from remuda.demo.status import display  # noqa: PLC0415
    from remuda.edges.inproc import InProcessScheduler  # noqa: PLC0415

    config = "" if settings.config else demo_configuration()
    with InProcessScheduler(core=core, load=load) as scheduler:
        await run_demo(scheduler, config, rest_address, display())


async def _first(ends: list[Awaitable[object]], seconds: float | None) -> None:
    """Wait until the first of ``ends`` is over or the time is up, then cancel the others.

    Raises: what the first one raised.
    """
    tasks = [asyncio.ensure_future(end) for end in ends]
    done, rest = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    errors = [error for error in [task.exception() for task in done] if error is not None]
    if errors:
        raise errors[0]


def _text(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
