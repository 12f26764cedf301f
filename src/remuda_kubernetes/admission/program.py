"""The composition root of ``remuda kubernetes admission``: builds the parts, runs them, ends them.

Every replica answers. One of them, which holds the lease ``remuda-admission``, makes certificates
and writes the webhook configurations; its end hands that over and interrupts no answer.
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.edges.addresses import Address, address_text
from remuda.edges.certificates import TlsFiles, content, following_context
from remuda.edges.rest.transport.server import RestServer
from remuda_kubernetes.admission.figures import Figures
from remuda_kubernetes.admission.front import Front, reports
from remuda_kubernetes.admission.keeper import GivenCertificates, Keeper, OwnCertificates
from remuda_kubernetes.admission.known import KINDS, Known
from remuda_kubernetes.admission.pairs import PairError, chain_of
from remuda_kubernetes.admission.store import Store
from remuda_kubernetes.admission.webhooks import IGNORE, NAME, Target
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import discover_patiently
from remuda_kubernetes.api.election import (
    Election,
    ElectionSettings,
    LeadershipLostError,
    own_identity,
)
from remuda_kubernetes.objects.kinds import LEASE
from remuda_kubernetes.processes import connection_of, listen, own_namespace, until_one_ends

_LOG: Final = logging.getLogger("remuda.kubernetes")
_URL: Final = re.compile(r"https://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?")
_CERTIFICATE: Final = "tls.crt"
_KEY: Final = "tls.key"
_AUTHORITIES: Final = "ca.crt"


@dataclass(frozen=True, slots=True)
class Options:
    """What ``remuda kubernetes admission`` was told.

    ``url``: https://HOST:PORT under which an API server outside of the cluster's network calls.
    ``certificates``: a folder with tls.crt, tls.key and perhaps ca.crt; None: we make our own.
    ``register``: whether the webhook configurations are written.
    """

    kubeconfig: Path | None = None
    kubeconfig_context: str = ""
    namespace: str = ""
    address: Address = ("127.0.0.1", 9443)
    reports_address: Address = ("127.0.0.1", 9444)
    url: str = ""
    certificates: Path | None = None
    failure_policy: str = IGNORE
    register: bool = True


class Program:
    """One replica of the admission controller."""

    def __init__(self, options: Options) -> None:
        """Check the options. Raises: UsageError."""
        self.options: Final = options
        self.namespace: Final = options.namespace or own_namespace()
        self.host: Final = _host_of(options.url)
        self.figures: Final = Figures()
        self._listening = False
        self._known: Known | None = None

    async def run(self) -> None:
        """Answer until cancelled. Raises: UsageError, ApiError."""
        options = self.options
        async with AsyncExitStack() as running:
            # Both addresses are tried before anything is written.
            listener = listen(options.address, "admission reviews")
            running.callback(listener.close)
            told = listen(options.reports_address, "reports")
            probes = RestServer(reports(self.problems, self.figures), told)
            await probes.start()
            running.push_async_callback(probes.stop)
            connection = await running.enter_async_context(
                connection_of(options.kubeconfig, options.kubeconfig_context)
            )
            served = await discover_patiently(connection, (*KINDS, LEASE))
            known = self._known = Known(connection, served, self.namespace)
            running.push_async_callback(known.reflectors.aclose)
            await known.begin()
            keeper = self._keeper(connection, known)
            server = Front(known, self.figures).application()

            async def serve() -> None:
                rest = RestServer(server, listener, tls=await keeper.context())
                await rest.start()
                running.push_async_callback(rest.stop)
                self._listening = True
                keeper.listening.set()
                places = [address_text(e.getsockname()[:2]) for e in (listener, told)]
                line = f"admission {served.version} webhook={places[0]} reports={places[1]}"
                print(line, flush=True)  # noqa: T201
                await asyncio.Event().wait()

            await until_one_ends(
                serve(),
                keeper.follow(),
                self._take_part(connection, keeper),
                known.reflectors.watch_over(),
            )

    def problems(self) -> dict[str, str]:
        """Return what keeps this replica from answering, by part; empty if it is ready."""
        if self._known is None:
            return {"API server": "is not known yet"}
        found = dict(self._known.reflectors.unsynced)
        if not self._listening:
            found["listener"] = "waits for a certificate"
        return found

    def _keeper(self, connection: Connection, known: Known) -> Keeper:
        options = self.options
        service = known.policy.settings.admission.service
        following, leading = (Store(connection, self.namespace) for _ in range(2))

        def target(authorities: bytes | None) -> Target:
            return Target(
                namespace=self.namespace,
                service=service,
                url=options.url,
                authorities=authorities,
                failure_policy=options.failure_policy,
                named=known.named,
            )

        if options.certificates is not None:
            folder = options.certificates
            tls = following_context(TlsFiles(folder / _CERTIFICATE, folder / _KEY))
            return GivenCertificates(
                tls,
                following,
                leading,
                chain=lambda: _content(folder / _CERTIFICATE),
                target=(lambda: target(_authorities(folder))) if options.register else None,
                figures=self.figures,
            )
        return OwnCertificates(
            following,
            leading,
            names=[self.host] if self.host else names_of(service, self.namespace),
            target_of=target if options.register else None,
            figures=self.figures,
        )

    async def _take_part(self, connection: Connection, keeper: Keeper) -> None:
        """Lead whenever the lease is ours."""
        identity = own_identity()
        while True:
            settings = ElectionSettings(namespace=self.namespace, name=NAME, identity=identity)
            try:
                await Election(connection, settings).lead(keeper.lead)
            except LeadershipLostError as error:
                _LOG.warning("%s; answers go on", error)


def names_of(service: str, namespace: str) -> list[str]:
    """Return the names of a service; the API server calls by the first one."""
    return [f"{service}.{namespace}.svc", f"{service}.{namespace}", service]


def _host_of(url: str) -> str:
    """Return the host of a URL, "" if there is none. Raises: UsageError."""
    if not url:
        return ""
    found = _URL.fullmatch(url)
    if found is None:
        raise UsageError(f"--url: {url!r} is no https://HOST:PORT; write one without a path")
    return found[1].strip("[]")


def _authorities(folder: Path) -> bytes | None:
    """Return the authorities of a folder, None if it has none. Raises: PairError."""
    path = folder / _AUTHORITIES
    if not path.exists():
        return None
    found = _content(path)
    chain_of(found)
    return found


def _content(path: Path) -> bytes:
    """Return the content of a file. Raises: PairError."""
    try:
        return content(path)
    except UsageError as error:
        raise PairError(str(error)) from None
