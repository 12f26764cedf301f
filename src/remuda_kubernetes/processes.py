"""What the long-running processes of this package have in common."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.client import Security
from remuda.edges.addresses import Address, address_text
from remuda_kubernetes.api.connection import Connection, ConnectionSettings
from remuda_kubernetes.link.session import Receiver, SchedulerLink
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.settings import Settings

_IN_CLUSTER_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


async def until_one_ends(*parts: Coroutine[None, None, None]) -> None:
    """Run all of these until one ends; the others are cancelled. Raises: what it raised."""
    tasks = [asyncio.ensure_future(each) for each in parts]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()


def link_to(
    scheduler: str,
    rm_id: str,
    settings: Settings,
    receiver: Receiver,
    *,
    security: Security | None = None,
) -> SchedulerLink:
    """Return a session with a scheduler, from the running loop, as the shim registers.

    ``scheduler``: HOST:PORT of the gRPC listener. ``settings``: those of the beginning.
    """
    return SchedulerLink(
        asyncio.get_running_loop(),
        scheduler,
        rm_id,
        receiver,
        policy_group=settings.policy_group,
        build={
            names.LEVEL_KEY: names.INTERFACE_LEVEL,
            names.PARTITIONS_KEY: names.DEFAULT_PARTITION,
        },
        security=security,
    )


def own_namespace() -> str:
    """Return the namespace of the pod that this process runs in, else the usual one."""
    try:
        return _IN_CLUSTER_NAMESPACE.read_text(encoding="utf-8").strip() or "yunikorn"
    except OSError:
        return "yunikorn"


def listen(address: Address, purpose: str) -> socket.socket:
    """Return a listening socket. Raises: UsageError."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {address_text(address)} for {purpose}: {error.strerror or error}"
        ) from None


def connection_of(
    kubeconfig: Path | None, context: str, settings: ConnectionSettings | None = None
) -> Connection:
    """Return the connection to the API server; None: the usual files. Raises: UsageError."""
    if kubeconfig is not None:
        return Connection.from_kubeconfig(kubeconfig, context or None, settings)
    return Connection.default(context or None, settings)
