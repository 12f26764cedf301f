"""Which of several replicas leads: the one that holds a Lease, and renews it in time.

A replica counts time by its own clock only. A follower takes the lease when it has not seen it
change for the lease's whole duration. The leader stops acting a margin before that: counted from
the moment at which it *asked* for the last renewal that succeeded. So both never act at once, as
long as their clocks differ in speed by less than the margin.

With the default times a follower holds the lease at most 12 s after its leader was killed, and
within 1 s after it ended well, as it then gives the lease back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from remuda.base.errors import RemudaError
from remuda_kubernetes.api.connection import Requests
from remuda_kubernetes.api.errors import CONFLICT, NOT_FOUND, ApiError
from remuda_kubernetes.api.leadership import Leadership
from remuda_kubernetes.api.leases import StoredLease
from remuda_kubernetes.api.pace import Chance, Clock, SystemClock, Wall, system_chance
from remuda_kubernetes.objects.cluster import Lease

_LOG: Final = logging.getLogger("remuda.kubernetes")
_SHORTEST: Final = 0.05


class LeadershipLostError(RemudaError):
    """Another replica leads, or the lease could not be renewed in time."""


def own_identity() -> str:
    """Return a name for this process that no other has, not even the one before it."""
    host = os.environ.get("HOSTNAME") or socket.gethostname()
    return f"{host}_{uuid.uuid4()}"


@dataclass(frozen=True, slots=True)
class ElectionSettings:
    """The lease and its times, in seconds.

    ``duration``: whole seconds that others wait before they take the lease. ``margin``: how long
    before that the leader stops. ``renew`` and ``retry``: the times between two renewals, and
    between two tries to get the lease.
    """

    namespace: str
    name: str = "remuda-kubernetes"
    identity: str = field(default_factory=own_identity)
    duration: int = 10
    margin: float = 2.0
    renew: float = 2.0
    retry: float = 0.5
    timeout: float = 3.0


class _Seen(NamedTuple):
    """The lease as it was read last; only a difference from it matters."""

    holder: str
    renewed: str
    version: str
    duration: float


class Election:
    """Takes part in the election. ``leadership`` is the fence for the calls of this replica."""

    def __init__(
        self,
        requests: Requests,
        settings: ElectionSettings,
        *,
        clock: Clock | None = None,
        chance: Chance | None = None,
        wall: Wall = time.time,
    ) -> None:
        self._settings: Final = settings
        self._store: Final = StoredLease(
            requests,
            settings.namespace,
            settings.name,
            identity=settings.identity,
            duration=settings.duration,
            wall=wall,
        )
        self._clock: Final = clock or SystemClock()
        self._chance: Final = chance or system_chance()
        self.leadership: Final = Leadership(self._clock)
        # Who leads, as far as known; "" if nobody does.
        self.leader = ""
        self.problem = ""
        self._lease: Lease | None = None
        self._seen: _Seen | None = None
        self._seen_at = 0.0

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait until we lead, then work; the lease is given back when the work ends.

        When the lease is lost, or the caller cancels this, the work is cancelled first.
        Raises: LeadershipLostError; what the work raises.
        """
        await self.acquire()
        working = asyncio.ensure_future(work())
        holding = asyncio.create_task(self.hold())
        try:
            await asyncio.wait([working, holding], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (working, holding):
                task.cancel()
            await asyncio.gather(working, holding, return_exceptions=True)
            await self.release()
        for task in (working, holding):
            if not task.cancelled():
                task.result()

    async def acquire(self) -> None:
        """Return as soon as we hold the lease.

        Failures of the server are logged, and the attempts go on.
        """
        while True:
            started = self._clock.now()
            try:
                held = await self._try_once(started)
            except ApiError as error:
                held = False
                self._tell(str(error))
            if held:
                _LOG.info("%s: held by this replica, %s", self._named(), self._settings.identity)
                return
            await self._clock.sleep(self._jittered(self._settings.retry))

    async def hold(self) -> None:
        """Renew the lease. Ends only by raising LeadershipLostError."""
        while True:
            wait = self._settings.renew if not self.problem else self._settings.retry / 2
            await self._clock.sleep(max(_SHORTEST, min(wait, self.leadership.remaining())))
            await self._renew_once()

    async def _renew_once(self) -> None:
        started = self._clock.now()
        held = True
        try:
            if self.leadership.leads:
                held = await self._try_once(started)
        except ApiError as error:
            self._tell(str(error))
        if not held:
            self.leadership.end()
            raise LeadershipLostError(f"{self._named()}: taken by {self.leader or 'nobody'}")
        if not self.leadership.leads:
            self.leadership.end()
            raise LeadershipLostError(f"{self._named()}: not renewed in time: {self.problem}")

    async def release(self) -> None:
        """Give the lease back if we hold it, so that another may lead at once."""
        held = self.leadership.leads
        self.leadership.end()
        if not held or self._lease is None:
            return
        with contextlib.suppress(ApiError):
            try:
                await self._store.give_back(self._lease, self._timeout())
            except ApiError as error:
                # A renewal that was interrupted may have succeeded.
                found = await self._read() if error.status == CONFLICT else None
                if found is None or found.spec.holder_identity != self._settings.identity:
                    raise
                await self._store.give_back(found, self._timeout())
            self.leader = ""
            _LOG.info("%s: given back", self._named())

    # ---------------------------------------------------------------- one try

    async def _try_once(self, started: float) -> bool:
        """Take or renew the lease; return whether we hold it now. Raises: ApiError."""
        lease = self._lease
        if lease is None or not self.leadership.leads:
            lease = await self._read()
        if not self._may_take():
            self.problem = ""
            return False
        try:
            written = await self._store.take(lease, self._timeout())
        except ApiError as error:
            if error.status not in {CONFLICT, NOT_FOUND}:
                raise
            # Somebody was faster, an earlier try of ours had succeeded, or the lease was deleted.
            return await self._look_again(started)
        self._note(written)
        self.problem = ""
        self.leadership.extend(started + self._settings.duration - self._settings.margin)
        return True

    async def _look_again(self, started: float) -> bool:
        found = await self._read()
        ours = self._seen is not None and self._seen.holder == self._settings.identity
        if not ours:
            self.problem = ""
            return False
        written = await self._store.take(found, self._timeout())
        self._note(written)
        self.leadership.extend(started + self._settings.duration - self._settings.margin)
        return True

    def _may_take(self) -> bool:
        """Whether the lease is ours, nobody's, or has not changed for its whole duration.

        A lease that was deleted counts as the last that was seen: its holder may not know yet.
        """
        seen = self._seen
        if seen is None or seen.holder in {"", self._settings.identity}:
            return True
        return self._clock.now() - self._seen_at >= seen.duration

    def _note(self, lease: Lease) -> None:
        """Note what was seen, and since when it has been so."""
        spec = lease.spec
        duration = float(spec.lease_duration_seconds or self._settings.duration)
        seen = _Seen(
            spec.holder_identity or "",
            spec.renew_time or "",
            lease.metadata.resource_version,
            max(1.0, duration),
        )
        if seen != self._seen:
            self._seen_at = self._clock.now()
        self._seen = seen
        self._lease = lease
        self.leader = seen.holder

    async def _read(self) -> Lease | None:
        lease = await self._store.read(self._timeout())
        if lease is None:
            self._lease = None
        else:
            self._note(lease)
        return lease

    def _timeout(self) -> float:
        limit = self._settings.timeout
        remaining = self.leadership.remaining()
        return min(limit, max(_SHORTEST, remaining)) if remaining > 0 else limit

    # ---------------------------------------------------------------- words

    def _named(self) -> str:
        return f"lease {self._settings.namespace}/{self._settings.name}"

    def _jittered(self, seconds: float) -> float:
        return seconds * (0.8 + 0.4 * self._chance())

    def _tell(self, text: str) -> None:
        if text != self.problem:
            _LOG.warning("%s: %s", self._named(), text)
        self.problem = text
