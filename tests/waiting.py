"""Waiting for what another thread or process does; bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_SECONDS: Final = 20.0


def wait(done: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + _SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)
