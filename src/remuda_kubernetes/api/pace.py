"""Time and chance, injected: waiting, back-off with jitter, limits of rate.

Tests give a clock that they turn themselves, and a random source that they know.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

# Returns numbers from 0 up to, and without, 1.
Chance = Callable[[], float]
# The time of day in seconds since 1970; only for texts that people and other programs read.
Wall = Callable[[], float]


class Clock(Protocol):
    """A clock that never goes back, in seconds."""

    def now(self) -> float:
        """Return the seconds since some moment."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The clock of the machine.

    It counts the time in which the machine was suspended, if the system can tell: a leader that
    slept for a minute must not believe that its lease is still valid.
    """

    def __init__(self) -> None:
        self._source: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def now(self) -> float:
        """Return the seconds since the machine was started."""
        return time.clock_gettime(self._source)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def system_chance() -> Chance:
    """Return a random source; it decides about waiting times only."""
    return random.Random().random  # noqa: S311 - no secret depends on it


@dataclass
class Backoff:
    """Waiting times that double with each failure, up to the longest; half of each is random.

    Clients whose server comes back would otherwise all return at the same moment.
    """

    chance: Chance
    first: float = 0.5
    longest: float = 30.0
    failures: int = 0

    def next(self) -> float:
        """Return the seconds to wait after one more failure."""
        whole = min(self.longest, self.first * 2.0 ** min(self.failures, 32))
        self.failures += 1
        return whole * (0.5 + 0.5 * self.chance())

    def reset(self) -> None:
        """Begin anew after a success."""
        self.failures = 0


@dataclass
class TokenBucket:
    """So many requests a second, and so many at once. A rate of 0 has no limit.

    ``waited``: how many had to wait for a token.
    """

    rate: float
    burst: int
    clock: Clock
    waited: int = field(default=0, init=False)
    _tokens: float = field(init=False)
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin with a full bucket."""
        self._tokens = float(max(1, self.burst))
        self._since = self.clock.now()

    def _fill(self) -> None:
        now = self.clock.now()
        self._tokens = min(
            float(max(1, self.burst)), self._tokens + (now - self._since) * self.rate
        )
        self._since = now

    @property
    def half_full(self) -> bool:
        """Whether half of a burst could be taken at once."""
        self._fill()
        return self.rate <= 0 or self._tokens >= self.burst / 2

    async def take(self) -> None:
        """Wait for the next token; those who wait are served in the order in which they came."""
        if self.rate <= 0:
            return
        self._fill()
        self._tokens -= 1.0
        if self._tokens >= 0:
            return
        self.waited += 1
        try:
            await self.clock.sleep(-self._tokens / self.rate)
        except BaseException:
            self._tokens += 1.0
            raise
