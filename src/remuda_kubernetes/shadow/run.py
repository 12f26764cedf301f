"""The composition root of ``remuda kubernetes shadow``, beside a scheduler in this process."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from remuda.base.errors import UsageError
from remuda.edges.addresses import Address, address_text
from remuda.edges.rest.transport.server import RestServer
from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import ConnectionSettings
from remuda_kubernetes.api.discovery import discover
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.api.leadership import NoFence
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.objects.kinds import WATCHED
from remuda_kubernetes.objects.outcomes import Outcome
from remuda_kubernetes.processes import (
    connection_of,
    link_to,
    listen,
    own_namespace,
    until_one_ends,
)
from remuda_kubernetes.shadow.door import ReadOnly
from remuda_kubernetes.shadow.following import Following, adapted
from remuda_kubernetes.shadow.http import Figures, build_app
from remuda_kubernetes.shadow.ledger import Ledger
from remuda_kubernetes.shadow.report import EXAMPLES, About, as_object
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation.settings import Settings

GRACE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Options:
    """What ``remuda kubernetes shadow`` was told.

    ``scheduler_names``: those of the scheduler in charge. ``queues``: a queue file in place of that
    of the ConfigMaps, None for theirs. ``gangs``: the scheduler in charge makes placeholders for
    gangs. ``grace_seconds``: how long the shadow may decide after the scheduler in charge has.
    ``examples``: how many of each kind are told.
    """

    kubeconfig: Path | None = None
    kubeconfig_context: str = ""
    namespace: str = ""
    scheduler_names: tuple[str, ...] = ("default-scheduler",)
    queues: str | None = None
    gangs: bool = False
    http_address: Address = ("127.0.0.1", 9082)
    grace_seconds: float = GRACE_SECONDS
    examples: int = EXAMPLES


class Program:
    """One shadow. What it found can be asked for during its run, and after it.

    Implements: EXT-168.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._namespace = options.namespace or own_namespace()
        self._about = About(scheduler_names=options.scheduler_names)
        self._began = time.monotonic()
        self._following: Following | None = None
        self._reflectors: Reflectors | None = None
        self._ended: dict[str, Any] | None = None

    async def run(self, scheduler: str) -> None:
        """Run until cancelled. ``scheduler``: HOST:PORT of the gRPC listener.

        Raises: UsageError, also if the API server does not answer at the beginning;
        ShimStoppedError.
        """
        options = self.options
        async with AsyncExitStack() as running:
            listener = listen(options.http_address, "reports")
            app = build_app(self._figures, self.problems, self.agreement)
            server = RestServer(app, listener, tls=None)
            await server.start()
            running.push_async_callback(server.stop)
            connection = await running.enter_async_context(
                connection_of(
                    options.kubeconfig, options.kubeconfig_context, ConnectionSettings(in_flight=16)
                )
            )
            # Nothing but this knows the connection from here on.
            door = ReadOnly(connection)
            try:
                served = await discover(door, WATCHED)
            except ApiError as error:
                raise UsageError(str(error)) from None
            self._about.server, self._about.version = connection.server, served.version
            at = address_text(listener.getsockname()[:2])
            print(f"kubernetes {served.version} reports={at}", file=sys.stderr, flush=True)  # noqa: T201
            read = Calls(door, served, fence=NoFence()).read
            following = self._follow(read)
            reflectors = Reflectors(door, served, following.deliver, namespace=self._namespace)
            self._following, self._reflectors = following, reflectors
            running.push_async_callback(reflectors.aclose)
            running.push_async_callback(following.close)
            running.callback(self._end)
            reflectors.start()
            await reflectors.wait_synced()
            following.begin(partial(link_to, scheduler, receiver=following))
            await until_one_ends(reflectors.watch_over(), following.watch_over())

    def _follow(self, read: Callable[[str], Awaitable[Outcome]]) -> Following:
        options = self.options
        chosen = options.scheduler_names
        shim = Shim(
            Settings(),
            "",
            self._namespace,
            adapt=partial(
                adapted, scheduler_names=chosen, queues=options.queues, gangs=options.gangs
            ),
        )
        names_in_charge = frozenset(chosen)
        return Following(shim, names_in_charge, read, grace_seconds=options.grace_seconds)

    def _end(self) -> None:
        """Keep what was found, as it is before the parts end."""
        self._ended = self.agreement()

    # ------------------------------------------------------------------ what it tells

    def problems(self) -> dict[str, str]:
        """Return what keeps the shadow from deciding, by part; empty if it is ready."""
        if self._following is None or self._reflectors is None:
            return {"shadow": "is starting"}
        found = {**self._reflectors.unsynced, **self._reflectors.problems}
        if self._following.scheduler_problem:
            found["scheduler"] = self._following.scheduler_problem
        return found

    def agreement(self) -> dict[str, Any]:
        """Return what was found so far."""
        if self._ended is not None:
            return self._ended
        following, about = self._following, self._about
        about.seconds = time.monotonic() - self._began
        about.problems = self.problems()
        if following is None:
            return as_object(Ledger(), about, self.options.examples)
        about.held = following.truth.held
        about.others = tuple(sorted(following.truth.others))
        return as_object(following.ledger, about, self.options.examples)

    def _figures(self) -> Figures | None:
        return None if self._following is None else Figures(self._following)
