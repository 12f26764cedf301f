"""Keeps the lease while the process lives: a thread that asks the store, and the end of all that.

The thread only waits for the store, so that neither a busy event loop nor a slow name server delays
what closes the fence: its time. The event loop watches that on its own.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Protocol

from remuda.base.duration import SECOND
from remuda.runtime.errand import promise
from remuda.runtime.lease.candidacy import Answer, Candidacy, Held, Request, State
from remuda.runtime.lease.errors import LeaseLostError, StoreError
from remuda.runtime.lease.fence import Clock, Fence, steady_ns

_log = logging.getLogger("remuda.lease")

# How long the end of the thread is waited for; it waits for one request at most.
_END_SECONDS: Final = 5.0


class Store(Protocol):
    """Where the lease is; EtcdStore in production. Used by one thread at a time."""

    def perform(self, request: Request) -> Answer:
        """Carry out a request. Raises: StoreError."""
        ...

    def give_back(self, held: Held) -> None:
        """End the lease. Raises: StoreError."""
        ...


class LeaseKeeper:
    """Takes part for one process; ``fence`` says whether it is active.

    Args:
        name: of the lease, for messages.
        open_store: returns the store for the process with this identity and gRPC address.
        clock: the time of the fence.
    """

    def __init__(
        self, name: str, open_store: Callable[[str, str], Store], clock: Clock = steady_ns
    ) -> None:
        self.fence: Final = Fence(clock)
        self._identity = str(uuid.uuid4())
        self._open_store = open_store
        self._named = f"lease {name}"
        self._clock = clock
        self._candidacy = Candidacy(self._identity, self.fence)
        self._store: Store | None = None
        self._active: Future[None] = promise()
        self._over: Future[None] = promise()
        self._ending = threading.Event()
        self._told = ""
        self._thread = threading.Thread(target=self._run, name="remuda-lease", daemon=True)

    @property
    def state(self) -> State:
        """What this process is. Any thread."""
        return self._candidacy.state

    @property
    def problem(self) -> str:
        """Why the store was not reached the last time, "" if it was. Any thread."""
        return self._candidacy.problem

    @property
    def failures(self) -> int:
        """How often the store was not reached. Any thread."""
        return self._candidacy.failures

    async def lead(self, address: str, begin: Callable[[], None]) -> None:
        """Wait until this process is active, ``begin``, and wait until it is not any more.

        ``address``: where it listens for gRPC. Once only.

        Raises: LeaseLostError then. Rules: EXT-34.
        """
        self._store = self._open_store(self._identity, address)
        self._thread.start()
        await asyncio.wrap_future(self._active)
        begin()
        over = asyncio.wrap_future(self._over)
        while self.fence.open and not over.done():
            await asyncio.wait({over}, timeout=self.fence.remaining_ns() / SECOND)
        reason = self._candidacy.over_because or self._candidacy.late
        raise LeaseLostError(f"{self._named} is lost, so this process ends: {reason}")

    async def give_back(self) -> None:
        """Stop trying, and let another process be active at once. Implements: EXT-38."""
        self._ending.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, _END_SECONDS)

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        assert self._store is not None
        candidacy = self._candidacy
        while not self._ending.is_set() and not candidacy.over:
            request = candidacy.request(self._clock())
            if request is None:
                if not candidacy.over:
                    self._ending.wait(candidacy.rest_ns(self._clock()) / SECOND)
                continue
            was = candidacy.state
            try:
                answer = self._store.perform(request)
            except StoreError as error:
                candidacy.failed(str(error), self._clock())
            else:
                candidacy.answered(answer, self._clock())
            self._tell(was)
        if candidacy.over:
            self._over.set_result(None)
        self._end(self._store)

    def _tell(self, was: State) -> None:
        candidacy = self._candidacy
        if candidacy.problem != self._told:
            if candidacy.problem:
                _log.warning("%s: %s", self._named, candidacy.problem)
            self._told = candidacy.problem
        if was is State.STANDBY and candidacy.state is State.ACTIVE:
            text = "%s: this process is the active scheduler, with fencing token %d"
            _log.warning(text, self._named, self.fence.token)
            self._active.set_result(None)

    def _end(self, store: Store) -> None:
        """Give back what is held; the streams have ended."""
        held = self._candidacy.held
        self.fence.shut()
        if held is None:
            return
        try:
            store.give_back(held)
        except StoreError as error:
            _log.warning("%s: not given back, it ends by itself: %s", self._named, error)
        else:
            _log.warning("%s: given back", self._named)
