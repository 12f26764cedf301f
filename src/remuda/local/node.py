"""Puts the local node together: directory, agent, routes; for the service that it is part of."""

from __future__ import annotations

import asyncio
import logging
from importlib.resources import files
from types import TracebackType
from typing import Self

from remuda.edges.inproc import InProcessScheduler
from remuda.edges.rest.requests.endpoint import Routes
from remuda.local.agent import LocalAgent
from remuda.local.bounds import bounds_of
from remuda.local.directory import StateDirectory
from remuda.local.http import LocalRoutes
from remuda.local.machine import this_machine
from remuda.local.settings import LocalSettings
from remuda.runtime.loop import SchedulerLoop
from remuda.telemetry.audit.records import Audit

_log = logging.getLogger("remuda.local")


class LocalNode:
    """This machine as a node of a scheduler in this process.

    Enter it before the scheduler starts, ``start`` when the HTTP API listens, and ``keep`` it until
    the end. ``known_callers``: the HTTP API knows its callers by tokens; else a secret of this
    process lets them in, which its owner can read in the directory. ``audit``: takes records of
    commands.

    Raises: UsageError if the directory or the control groups cannot be used.
    """

    def __init__(
        self, settings: LocalSettings, core: SchedulerLoop, *, known_callers: bool, audit: Audit
    ) -> None:
        self._settings = settings
        bounds = bounds_of(settings.bounds, settings.directory)
        _log.info("what bounds the memory of commands: %s", bounds.told)
        self._directory = StateDirectory(settings.directory)
        config = "" if settings.stored else local_configuration()
        self._scheduler = InProcessScheduler(core=core)
        self._agent = LocalAgent(self._scheduler, self._directory, this_machine(), config, bounds)
        self._routes = LocalRoutes(
            self._agent, self._directory, known_callers=known_callers, audit=audit
        )

    @property
    def routes(self) -> Routes:
        """The routes by which commands come."""
        return self._routes.routes()

    def start(self, address: str, *, tls: bool) -> None:
        """Register, report what runs, and let people in. ``address``: that of the HTTP API.

        Waits for the scheduler, so not on the event loop. Raises: ConfigError, ProtocolError.
        """
        self._agent.start()
        scheme = "https" if tls else "http"
        self._directory.write_door(f"{scheme}://{address}", self._routes.secret)

    async def keep(self) -> None:
        """Run until cancelled. Raises: what made the agent fail."""
        try:
            await asyncio.wrap_future(self._agent.failure)
        finally:
            await asyncio.to_thread(self._agent.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._agent.stop()
        self._scheduler.stop()
        self._directory.close()


def local_configuration() -> str:
    """Return the queues of a local node whose service has no queue file."""
    return files("remuda.local").joinpath("queues.yaml").read_text("utf-8")
