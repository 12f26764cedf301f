"""Whether this replica may act, and until when: the fence before every write."""

from __future__ import annotations

import math
from typing import Final, Protocol

from remuda_kubernetes.api.pace import Clock


class Fence(Protocol):
    """Says how long we may still act."""

    def remaining(self) -> float:
        """Return the seconds for which writes are allowed; 0 or less: no longer."""


class NoFence:
    """The fence of a replica that is alone."""

    def remaining(self) -> float:
        """Return that there is no end."""
        return math.inf


class Leadership:
    """The fence of one of several replicas: open until the time to which its lease was renewed."""

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._until = -math.inf

    def extend(self, until: float) -> None:
        """Writes are allowed until this moment of the clock."""
        self._until = max(self._until, until)

    def end(self) -> None:
        """Writes are not allowed from now on."""
        self._until = -math.inf

    @property
    def leads(self) -> bool:
        """Whether writes are allowed now."""
        return self.remaining() > 0

    def remaining(self) -> float:
        """Return the seconds for which writes are allowed; 0 or less: no longer."""
        return self._until - self._clock.now()
