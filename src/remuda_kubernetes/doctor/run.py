"""The look at a cluster as a whole: connects, reads, judges, prints."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from remuda.base.errors import UsageError
from remuda.edges.event_loop import event_loop
from remuda_kubernetes.api.connection import ConnectionSettings
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.doctor import configuration, installation, permissions, pods, versions
from remuda_kubernetes.doctor.door import SECONDS, ReadOnly
from remuda_kubernetes.doctor.findings import Finding, Severity, as_objects, as_text, clean, ordered
from remuda_kubernetes.doctor.reading import look
from remuda_kubernetes.doctor.sight import Sight
from remuda_kubernetes.processes import connection_of, own_namespace

# Seconds for everything; a server that answers each request slowly cannot hold the command.
_SECONDS: Final = 120.0
_AREAS: Final = (versions, permissions, configuration, installation, pods)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says.

    ``pods``: how many are looked at. ``account``: NAMESPACE/NAME whose rights count, "": those
    of what is installed. ``json``: for programs. ``seconds``: for
    each answer of the API server.
    """

    kubeconfig: Path | None = None
    kubeconfig_context: str = ""
    namespace: str = ""
    pods: int = 5_000
    account: str = ""
    json: bool = False
    seconds: float = SECONDS


def examine(options: Options) -> tuple[str, bool]:
    """Return what to print, and whether there are errors.

    Raises: UsageError if a file or an address is wrong, or the API server does not answer.
    """
    # What the server lacks is a finding; the shim would log it as well.
    logging.getLogger("remuda").addHandler(logging.NullHandler())
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    with asyncio.Runner(loop_factory=event_loop) as runner:
        sight, server = runner.run(_looked(options))
    found = judged(sight)
    worst = any(each.severity is Severity.ERROR for each in found)
    version = clean(sight.served.version)
    about = {"server": server, "version": version, "namespace": sight.namespace}
    if options.json:
        text = msgspec.json.format(msgspec.json.encode(as_objects(found, **about)), indent=2)
        return text.decode() + "\n", worst
    title = f"Kubernetes {version} at {server}, namespace {sight.namespace}"
    return as_text(found, title), worst


async def _looked(options: Options) -> tuple[Sight, str]:
    settings = ConnectionSettings(in_flight=16, watches=0, qps=50.0, burst=100)
    namespace = options.namespace or own_namespace()
    async with connection_of(
        options.kubeconfig, options.kubeconfig_context, settings
    ) as connection:
        try:
            async with asyncio.timeout(_SECONDS):
                sight = await look(
                    ReadOnly(connection, seconds=options.seconds),
                    namespace,
                    now_s=int(time.time()),
                    pods=options.pods,
                    account=options.account,
                )
        except ApiError as error:
            raise UsageError(str(error)) from None
        except TimeoutError:
            raise UsageError(
                f"{connection.server}: too slow: not all was read in {_SECONDS:.0f} s; try again,"
                " or look at fewer pods with --pods"
            ) from None
        return sight, connection.server


def judged(sight: Sight) -> list[Finding]:
    """Return all findings about what was read, the worst first. Implements: EXT-150."""
    found = [each for area in _AREAS for each in area.findings(sight)]
    unread: dict[str, list[str]] = {}
    for what, reason in sight.unread.items():
        unread.setdefault(reason, []).append(what)
    for reason, several in unread.items():
        what = ", ".join(several)
        advice = "get the right to read it, or let somebody run this who has it"
        found.append(Finding(Severity.WARNING, "reading", what, f"not read: {reason}", advice))
    for what, reason in sight.unreadable.items():
        advice = "correct the object; what is in it was not looked at"
        problem = f"it has a form that Remuda cannot read: {reason}"
        found.append(Finding(Severity.WARNING, "reading", what, problem, advice))
    return ordered(found)
