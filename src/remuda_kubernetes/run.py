"""The composition root of ``remuda kubernetes``: builds the parts, runs them, takes them down.

A replica that does not lead listens for health probes and waits; all the rest begins when it leads
and ends when it does not. The end of leadership is the end of the process: the next one starts
from what the API server says.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.client import Security
from remuda.edges.protection import Address, address_text
from remuda.edges.rest.transport.server import RestServer
from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import Served, discover_patiently
from remuda_kubernetes.api.election import Election, ElectionSettings, own_identity
from remuda_kubernetes.api.errors import NOT_FOUND, ApiError
from remuda_kubernetes.api.events import Events, EventSettings
from remuda_kubernetes.api.leadership import Fence, NoFence
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.link.session import SchedulerLink
from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.objects.kinds import CONFIG_MAP
from remuda_kubernetes.objects.values import ObjectError, read
from remuda_kubernetes.reports.http import Reports, build_app
from remuda_kubernetes.reports.sources import Sources
from remuda_kubernetes.service import Service
from remuda_kubernetes.shim.configuring import CONFIGS, DEFAULTS
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.configuration import first_configuration
from remuda_kubernetes.translation.settings import Settings

_log = logging.getLogger("remuda.kubernetes")

_IN_CLUSTER_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

# How often it is looked whether a part has ended by a fault.
_LOOK_SECONDS: Final = 1.0


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
        self._options = options
        self.namespace = options.namespace or _own_namespace()
        self.identity = own_identity()
        self.reports = Reports()

    async def run(self, scheduler: str) -> None:
        """Run until cancelled, or until another replica leads.

        ``scheduler``: HOST:PORT of the gRPC listener.
        Raises: UsageError, ApiError, LeadershipLostError.
        """
        options = self._options
        async with AsyncExitStack() as running:
            listener = _listen(options.http_address)
            server = RestServer(build_app(self.reports), listener, tls=None)
            await server.start()
            running.push_async_callback(server.stop)
            connection = await running.enter_async_context(self._connection())
            served = await discover_patiently(connection)
            for kind in served.absent:
                _log.warning("the server has no %s: what depends on it is left out", kind.name)
            at = address_text(listener.getsockname()[:2])
            print(f"kubernetes {served.version} reports={at}", flush=True)  # noqa: T201
            if options.elect:
                election = Election(
                    connection,
                    ElectionSettings(namespace=self.namespace, identity=self.identity),
                )
                self.reports.standing_by = True

                async def work() -> None:
                    self.reports.standing_by = False
                    await self._lead(connection, served, election.leadership, scheduler)

                await election.lead(work)
            else:
                await self._lead(connection, served, NoFence(), scheduler)

    def _connection(self) -> Connection:
        options = self._options
        if options.kubeconfig is not None:
            return Connection.from_kubeconfig(
                options.kubeconfig, options.kubeconfig_context or None
            )
        return Connection.default(options.kubeconfig_context or None)

    async def _lead(
        self, connection: Connection, served: Served, fence: Fence, scheduler: str
    ) -> None:
        """Schedule until cancelled."""
        calls = Calls(connection, served, fence=fence)
        events = Events(connection, served.events, EventSettings(instance=self.identity))
        settings = await _first_settings(connection, self.namespace)
        connection.set_rate(settings.calls_per_second, settings.calls_burst)
        rm_id = self._options.rm_id or settings.cluster_id
        shim = Shim(settings, rm_id, self.namespace)
        service = Service(shim, calls, events)
        link = SchedulerLink(
            asyncio.get_running_loop(),
            scheduler,
            rm_id,
            service,
            policy_group=settings.policy_group,
            build={names.LEVEL_KEY: names.INTERFACE_LEVEL},
            security=self._options.security,
        )
        service.attach(link)
        reflectors = Reflectors(connection, served, service.deliver, namespace=self.namespace)
        self.reports.show(Sources(service, reflectors, calls, events))
        writing = asyncio.create_task(events.run(), name="events")
        try:
            reflectors.start()
            await reflectors.wait_synced()
            service.synced()
            await _until_one_ends(reflectors, writing)
        finally:
            self.reports.hide()
            await reflectors.aclose()
            await service.close()
            await link.close()
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)


async def _first_settings(connection: Connection, namespace: str) -> Settings:
    """Return the settings that count from the start on. The shim tells what is wrong with them.

    Raises: ApiError.
    """
    maps = [await _config_map(connection, namespace, name) for name in (DEFAULTS, CONFIGS)]
    return first_configuration(*maps).settings


async def _config_map(connection: Connection, namespace: str, name: str) -> ConfigMap | None:
    try:
        answer = await connection.request("GET", CONFIG_MAP.path("v1", namespace, name))
        return read(ConfigMap, answer.body)
    except ApiError as error:
        if error.status == NOT_FOUND:
            return None
        raise
    except ObjectError as error:
        _log.warning("ConfigMap %s counts as missing: %s", name, error)
        return None


async def _until_one_ends(reflectors: Reflectors, writing: asyncio.Task[None]) -> None:
    """Wait for ever; raise what a part raised."""
    while not writing.done():
        reflectors.check()
        await asyncio.sleep(_LOOK_SECONDS)
    writing.result()


def _own_namespace() -> str:
    """Return the namespace of the pod that this process runs in, else the usual one."""
    try:
        return _IN_CLUSTER_NAMESPACE.read_text(encoding="utf-8").strip() or "yunikorn"
    except OSError:
        return "yunikorn"


def _listen(address: Address) -> socket.socket:
    """Return a listening socket. Raises: UsageError."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {address_text(address)} for reports: {error.strerror or error}"
        ) from None
