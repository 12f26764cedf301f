"""The composition root of ``remuda kubernetes``: builds the parts, runs them, takes them down.

A replica that does not lead keeps up with all objects, so that it can begin as soon as it leads. It
writes nothing but its tries to take the lease, and the scheduler does not know it. The end of
leadership is the end of the process: the next one starts from what the API server says.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from remuda.client import Security
from remuda.edges.addresses import Address, address_text
from remuda.edges.rest.transport.server import RestServer
from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import Served, discover_patiently
from remuda_kubernetes.api.election import Election, ElectionSettings, own_identity
from remuda_kubernetes.api.events import Events, EventSettings
from remuda_kubernetes.api.leadership import Fence, NoFence
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.link.session import SchedulerLink
from remuda_kubernetes.processes import (
    connection_of,
    link_to,
    listen,
    own_namespace,
    until_one_ends,
)
from remuda_kubernetes.reports.http import Reports, build_app
from remuda_kubernetes.reports.sources import Sources
from remuda_kubernetes.service import Service
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation.settings import Settings

# While more calls than this have not ended, events wait.
_CALLS_BEFORE_EVENTS: Final = 8


@dataclass(frozen=True, slots=True)
class Options:
    """What ``remuda kubernetes`` was told.

    ``kubeconfig`` None: KUBECONFIG, then ~/.kube/config, then the account of the pod.
    ``namespace`` "": that of the pod, else ``yunikorn``. ``http_address``: health and metrics.
    ``elect``: several replicas may run, of which one leads.
    """

    kubeconfig: Path | None = None
    kubeconfig_context: str = ""
    namespace: str = ""
    rm_id: str = ""
    http_address: Address = ("127.0.0.1", 9081)
    elect: bool = False
    security: Security | None = None


class Program:
    """One replica of the shim."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.namespace = options.namespace or own_namespace()
        self.identity = own_identity()
        self.reports = Reports()

    async def run(self, scheduler: str) -> None:
        """Run until cancelled, or until another replica leads.

        ``scheduler``: HOST:PORT of the gRPC listener.
        Raises: UsageError, ApiError, LeadershipLostError, ShimStoppedError.
        """
        options = self.options
        async with AsyncExitStack() as running:
            listener = listen(options.http_address, "reports")
            server = RestServer(build_app(self.reports), listener, tls=None)
            await server.start()
            running.push_async_callback(server.stop)
            connection = await running.enter_async_context(
                connection_of(options.kubeconfig, options.kubeconfig_context)
            )
            served = await discover_patiently(connection)
            at = address_text(listener.getsockname()[:2])
            print(f"kubernetes {served.version} reports={at}", flush=True)  # noqa: T201
            election = Election(
                connection, ElectionSettings(namespace=self.namespace, identity=self.identity)
            )
            fence = election.leadership if options.elect else NoFence()
            parts = _Parts(connection, served, fence, self)
            running.push_async_callback(parts.reflectors.aclose)
            # Not while we lead: it may take seconds, and another replica waits for the lease.
            running.push_async_callback(parts.service.close)
            self.reports.show(parts.sources)
            running.callback(self.reports.hide)
            lead = partial(self._lead, parts, scheduler)
            self.reports.standing_by = options.elect
            parts.reflectors.start()
            # Only a replica that can begin at once takes the lease.
            await parts.reflectors.wait_synced()
            working = election.lead(lead) if options.elect else lead()
            await until_one_ends(working, parts.reflectors.watch_over(), parts.service.watch_over())

    async def _lead(self, parts: _Parts, scheduler: str) -> None:
        """Schedule until cancelled."""
        self.reports.standing_by = False
        options = self.options

        def connect(rm_id: str, settings: Settings) -> SchedulerLink:
            parts.connection.set_rate(settings.calls_per_second, settings.calls_burst)
            return link_to(scheduler, rm_id, settings, parts.service, security=options.security)

        if options.elect:
            # What the leader before this one did last has to be known.
            await parts.reflectors.refresh()
        try:
            parts.service.begin(connect)
            await parts.events.run()
        finally:
            await parts.service.halt()


class _Parts:
    """What a replica is made of, whether it leads or not."""

    def __init__(
        self, connection: Connection, served: Served, fence: Fence, program: Program
    ) -> None:
        self.connection: Final = connection
        calls = Calls(connection, served, fence=fence)
        self.events: Final = Events(
            connection,
            served.events,
            EventSettings(instance=program.identity),
            room=lambda: calls.figures.open <= _CALLS_BEFORE_EVENTS and connection.spare,
        )
        shim = Shim(Settings(), program.options.rm_id, program.namespace)
        self.service: Final = Service(shim, calls, self.events)
        self.reflectors: Final = Reflectors(
            connection, served, self.service.deliver, namespace=program.namespace
        )
        self.sources: Final = Sources(self.service, self.reflectors, calls, self.events, connection)
