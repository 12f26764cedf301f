"""What a server is like: which release it behaves as, who may use it, how its time runs."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

# The oldest release that was recorded and the newest whose behaviour is known here (1.N).
OLDEST: Final = 20
NEWEST: Final = 34


class Clock(Protocol):
    """Seconds that only grow, and calls at a moment of them."""

    def now(self) -> float:
        """Return the seconds since some start."""

    def call_at(self, moment: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call from the running loop as soon as ``now`` is at least this; return what cancels."""


class RealClock:
    """The time of the machine."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def now(self) -> float:
        """Return the seconds since the clock was made."""
        return time.monotonic() - self._start

    def call_at(self, moment: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call at a moment; return what cancels."""
        delay = max(0.0, moment - self.now())
        return asyncio.get_running_loop().call_later(delay, callback).cancel


class ManualClock:
    """Time that passes only when a test says so, from any thread.

    It rules watches and waits of the server. Timestamps in objects are those of the real clock.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[float, asyncio.AbstractEventLoop, Callable[[], None]]] = {}
        self._numbers = itertools.count()

    def now(self) -> float:
        """Return the seconds that have passed."""
        return self._now

    def call_at(self, moment: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call when ``advance`` has reached a moment; return what cancels."""
        number = next(self._numbers)
        with self._lock:
            self._waiting[number] = (moment, asyncio.get_running_loop(), callback)
        self.advance(0.0)
        return lambda: self._cancel(number)

    def advance(self, seconds: float) -> None:
        """Let time pass and make the calls that are due."""
        with self._lock:
            self._now += seconds
            due = [number for number, each in self._waiting.items() if each[0] <= self._now]
            calls = [self._waiting.pop(number) for number in due]
        for _, loop, callback in calls:
            loop.call_soon_threadsafe(callback)

    def _cancel(self, number: int) -> None:
        with self._lock:
            self._waiting.pop(number, None)


async def sleep_until(clock: Clock, moment: float) -> None:
    """Wait until a clock has reached a moment."""
    ready = asyncio.Event()
    cancel = clock.call_at(moment, ready.set)
    try:
        await ready.wait()
    finally:
        cancel()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a server behaves.

    ``minor``: as Kubernetes 1.N. ``token``: the only one that is accepted; without one everybody
    may do everything. ``history``: changes of a kind that watches can still begin at.
    ``binding_uid_checked``: None means as the release does. ``namespaces_required``: objects can
    be created in existing namespaces only. ``too_new_wait``: seconds that a list waits for a
    version that does not exist yet. ``clock`` rules watches and waits.
    """

    minor: int = 32
    token: str | None = None
    history: int = 20_000
    binding_uid_checked: bool | None = None
    namespaces_required: bool = True
    too_new_wait: float = 3.0
    watch_seconds: float = 1800.0
    clock: Clock = field(default_factory=RealClock)

    def __post_init__(self) -> None:
        """Refuse unknown releases. Raises: ValueError."""
        if not OLDEST <= self.minor <= NEWEST:
            message = f"minor: {self.minor} is not between {OLDEST} and {NEWEST}"
            raise ValueError(message)

    @property
    def checks_binding_uid(self) -> bool:
        """Whether a binding that names another uid than the pod's is refused."""
        if self.binding_uid_checked is not None:
            return self.binding_uid_checked
        return self.minor > OLDEST

    @property
    def has_name_labels(self) -> bool:
        """Whether namespaces get a label with their name (since 1.21)."""
        return self.minor > OLDEST

    @property
    def has_gates(self) -> bool:
        """Whether pods may have scheduling gates (stable in 1.30, on since 1.27)."""
        return self.minor >= 27

    @property
    def has_generations(self) -> bool:
        """Whether pods have a generation (since 1.33)."""
        return self.minor >= 33

    @property
    def has_resize(self) -> bool:
        """Whether the resources of a running pod can be changed (pods/resize, on since 1.33)."""
        return self.minor >= 32  # the first release with the sub-resource
