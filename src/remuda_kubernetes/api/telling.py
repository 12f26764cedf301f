"""Logs a problem once, although every reflector has it when the server is away."""

from __future__ import annotations

import logging
from typing import Final

from remuda_kubernetes.api.pace import Clock

_LOG: Final = logging.getLogger("remuda.kubernetes")
_AGAIN_SECONDS: Final = 60.0
_LIMIT: Final = 256


class Telling:
    """Writes each text at most once a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._told: Final[dict[str, float]] = {}

    def warn(self, text: str) -> None:
        """Log a problem."""
        self._tell(logging.WARNING, text)

    def note(self, text: str) -> None:
        """Log that a problem is over."""
        self._tell(logging.INFO, text)

    def _tell(self, level: int, text: str) -> None:
        now = self._clock.now()
        last = self._told.get(text)
        if last is not None and now - last < _AGAIN_SECONDS:
            return
        if len(self._told) >= _LIMIT:
            self._told.clear()
        self._told[text] = now
        _LOG.log(level, "%s", text)
