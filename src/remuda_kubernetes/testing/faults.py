"""Faults that a test asks for: slow or wrong answers, a server that is away, watches that break.

Methods may be called from any thread; what a server does with them happens in its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from remuda_kubernetes.testing.store import Store


@dataclass(frozen=True, slots=True)
class Call:
    """A request as the server understood it.

    ``verb``: get, list, watch, create, update, patch, delete, deletecollection; "" for discovery.
    ``body``: as it was sent.
    """

    verb: str
    path: str = ""
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    body: bytes = b""


Predicate = Callable[[Call], bool]


@dataclass(eq=False)
class Failure:
    """Answers to give instead of the right ones.

    ``status`` 0: the connection breaks without an answer. ``times`` None: until it is removed.
    ``performed``: the request is carried out all the same, so only its answer is lost.
    ``seen`` counts the requests that were met.
    """

    applies: Predicate
    status: int = 500
    reason: str = "InternalError"
    message: str = "a test asked for this failure"
    times: int | None = 1
    performed: bool = False
    retry_after: int | None = None
    seen: int = 0


class _Watch(Protocol):
    """A running watch."""

    def wake(self) -> None:
        """Let it look whether it was cut."""


@dataclass(eq=False)
class Faults:
    """The faults of a server at the moment.

    ``latency``: seconds before each answer; ``latency_of`` adds to it by request. ``stale``:
    watches stay open and get nothing. ``denied``: says of the spec of a review of rights whether it
    is answered with no; nothing else is refused because of it.
    """

    store: Store
    latency: float = 0.0
    latency_of: Callable[[Call], float] | None = None
    stale: bool = False
    denied: Callable[[Mapping[str, Any]], bool] | None = None
    failures: list[Failure] = field(default_factory=list)
    watches: set[_Watch] = field(default_factory=set)
    run: Callable[[Callable[[], None]], None] = lambda call: call()
    _cut: set[_Watch] = field(default_factory=set)
    _away: asyncio.Event | None = None

    def fail(self, applies: Predicate, **how: Any) -> Failure:
        """Answer requests with a failure; see Failure. Returns it, for ``cease``."""
        failure = Failure(applies, **how)
        self.failures.append(failure)
        return failure

    def cease(self, failure: Failure) -> None:
        """Answer rightly again."""
        if failure in self.failures:
            self.failures.remove(failure)

    def pause(self) -> None:
        """Answer nothing until ``resume``; connections stay open, watches are silent."""

        def act() -> None:
            self._away = self._away or asyncio.Event()
            self.stale = True

        self.run(act)

    def resume(self) -> None:
        """Answer again, first what has waited."""

        def act() -> None:
            if self._away is not None:
                self._away.set()
            self._away = None
            self.stale = False
            self._wake()

        self.run(act)

    def hold_watches(self) -> None:
        """Tell watches nothing until ``release_watches``; all else works."""
        self.stale = True

    def release_watches(self) -> None:
        """Tell watches everything that they missed."""

        def act() -> None:
            self.stale = False
            self._wake()

        self.run(act)

    def cut_watches(self) -> None:
        """End all running watches, as if their time was over."""

        def act() -> None:
            self._cut.update(self.watches)
            self._wake()

        self.run(act)

    def compact(self) -> None:
        """Forget the history: watches and pages of older versions end with 410."""
        self.run(self.store.compact)

    def is_cut(self, watch: _Watch) -> bool:
        """Whether a watch was cut; True only once for each cut."""
        if watch in self._cut:
            self._cut.discard(watch)
            return True
        return False

    async def before(self, call: Call) -> Failure | None:
        """Wait as long as a test wants; return the failure to answer with."""
        if self._away is not None:
            await self._away.wait()
        delay = self.latency + (self.latency_of(call) if self.latency_of else 0.0)
        if delay > 0:
            await asyncio.sleep(delay)
        for failure in self.failures:
            if failure.applies(call):
                failure.seen += 1
                if failure.times is not None and failure.seen >= failure.times:
                    self.failures.remove(failure)
                return failure
        return None

    def _wake(self) -> None:
        for watch in self.watches:
            watch.wake()
