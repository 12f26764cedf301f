"""Keeps certificate and registration: every replica follows, the one that leads writes.

Replicas look every ten seconds. Failures of the API server are logged once each, and what is served
goes on.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from remuda_kubernetes.admission.figures import Figures
from remuda_kubernetes.admission.pairs import (
    PairError,
    chain_of,
    is_trusted,
    new_pair,
    still_valid,
    utc,
)
from remuda_kubernetes.admission.rotation import next_state
from remuda_kubernetes.admission.serving import Serving
from remuda_kubernetes.admission.store import Store
from remuda_kubernetes.admission.webhooks import Target
from remuda_kubernetes.api.errors import CONFLICT, ApiError
from remuda_kubernetes.api.pace import Clock, SystemClock, Wall

_LOG: Final = logging.getLogger("remuda.kubernetes")
LOOK_SECONDS: Final = 10.0
_FIRST_SECONDS: Final = 0.5

# Returns what to register with these authorities.
TargetOf = Callable[[bytes | None], Target]


class Keeper(Protocol):
    """What keeps the certificate, whoever makes it.

    ``listening``: set by the owner; before it nothing is registered, as nobody would answer.
    """

    listening: asyncio.Event

    async def context(self) -> ssl.SSLContext:
        """Return the TLS settings of the listener as soon as there is a certificate."""

    async def follow(self) -> None:
        """Serve with the certificate of the moment, for ever."""

    async def lead(self) -> None:
        """Write what is to be written, for as long as this replica leads."""


class OwnCertificates:
    """Certificates that the controller makes itself and shares through a Secret.

    ``names``: those under which API servers call. ``target_of`` None: nothing is registered, and
    a new certificate counts as trusted when others have registered its authority.
    """

    def __init__(
        self,
        following: Store,
        leading: Store,
        *,
        names: Sequence[str],
        target_of: TargetOf | None,
        figures: Figures,
        clock: Clock | None = None,
        wall: Wall = time.time,
    ) -> None:
        self._following: Final = following
        self._leading: Final = leading
        self._names: Final = tuple(names)
        self._target_of: Final = target_of
        self._figures: Final = figures
        self._clock: Final = clock or SystemClock()
        self._wall: Final = wall
        self._problems: Final = Problems()
        # Set when there is a certificate.
        self._ready: Final = asyncio.Event()
        self.listening = asyncio.Event()
        self.serving: Serving | None = None

    async def context(self) -> ssl.SSLContext:
        """Return the TLS settings of the listener as soon as there is a certificate."""
        await self._ready.wait()
        assert self.serving is not None
        return self.serving.context

    async def follow(self) -> None:
        """Serve with what the Secret holds."""
        while True:
            looked = False
            with self._problems.about("the certificate"):
                await self.look()
                looked = True
            # What could not be read is not known to be so.
            self._figures.registered = self._figures.registered and looked
            settled = self._ready.is_set() and self._figures.registered
            await self._clock.sleep(LOOK_SECONDS if settled else _FIRST_SECONDS)

    async def look(self) -> None:
        """Take over what the Secret holds now. Raises: ApiError, PairError."""
        stored = await self._following.read()
        if stored is None:
            return
        if self.serving is None:
            self.serving = Serving(stored.current)
            self._ready.set()
        elif self.serving.use(stored.current):
            _LOG.info("the certificate in use was replaced")
        self._figures.ends = self.serving.end_seconds
        registered = await self._following.registered()
        trusted = still_valid(registered, utc(self._wall()))
        self._figures.registered = self.serving.pair.authority in trusted

    async def lead(self) -> None:
        """Make certificates and register them."""
        self._figures.leads = True
        try:
            while True:
                with self._problems.about("registration"):
                    await self.step()
                done = self.listening.is_set()
                await self._clock.sleep(LOOK_SECONDS if done else _FIRST_SECONDS)
        finally:
            self._figures.leads = False

    async def step(self) -> None:
        """Take the next step, if there is one. Raises: ApiError, PairError."""
        stored = await self._leading.read()
        new = next_state(
            stored,
            await self._leading.registered(),
            names=self._names,
            now=utc(self._wall()),
            make=new_pair,
        )
        if new is not stored:
            await self._leading.write(new)
        if self._target_of is None or not self.listening.is_set():
            return
        if await self._leading.register(self._target_of(new.authorities)):
            _LOG.info("the webhook configurations were written")


class Problems:
    """Logs failures, each once until another one or a success comes."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        self._about = ""

    def about(self, what: str) -> Problems:
        """Return the context of one attempt."""
        found = Problems()
        found._told = self._told
        found._about = what
        return found

    def __enter__(self) -> None:
        """Begin an attempt."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        """Log a failure that may pass; others go on. A conflict is none: somebody was faster."""
        if error is None:
            self._told.pop(self._about, None)
        elif isinstance(error, ApiError | PairError):
            conflict = isinstance(error, ApiError) and error.status == CONFLICT
            if not conflict and self._told.get(self._about) != str(error):
                self._told[self._about] = str(error)
                _LOG.warning("%s: %s", self._about, error)
        else:
            return False
        return True


class GivenCertificates:
    """Certificates that another program makes; only the registration is ours.

    ``chain``: the certificates that are served now, in PEM. ``target``: what to register now; None:
    nothing. Both may raise PairError.
    """

    def __init__(
        self,
        tls: ssl.SSLContext,
        following: Store,
        leading: Store,
        *,
        chain: Callable[[], bytes],
        target: Callable[[], Target] | None,
        figures: Figures,
        clock: Clock | None = None,
        wall: Wall = time.time,
    ) -> None:
        self.listening = asyncio.Event()
        self._tls: Final = tls
        self._following: Final = following
        self._leading: Final = leading
        self._chain: Final = chain
        self._target: Final = target
        self._figures: Final = figures
        self._clock: Final = clock or SystemClock()
        self._wall: Final = wall
        self._problems: Final = Problems()

    async def context(self) -> ssl.SSLContext:
        """Return the TLS settings of the listener."""
        return self._tls

    async def follow(self) -> None:
        """Look whether API servers ask and trust us; the listener looks at the files itself."""
        while True:
            looked = False
            with self._problems.about("the registration"):
                await self.look()
                looked = True
            self._figures.registered = self._figures.registered and looked
            await self._clock.sleep(LOOK_SECONDS if self._figures.registered else _FIRST_SECONDS)

    async def look(self) -> None:
        """See what is registered, whoever did it. Raises: ApiError, PairError."""
        chain = chain_of(self._chain())
        self._figures.ends = min(each.not_valid_after_utc for each in chain).timestamp()
        bundles = await self._following.trusted()
        now = utc(self._wall())
        trusted = bool(bundles) and all(is_trusted(chain, each, now) for each in bundles)
        self._figures.registered = trusted

    async def lead(self) -> None:
        """Register."""
        await self.listening.wait()
        self._figures.leads = True
        try:
            while True:
                with self._problems.about("registration"):
                    if self._target is not None:
                        await self._leading.register(self._target())
                await self._clock.sleep(LOOK_SECONDS)
        finally:
            self._figures.leads = False
