"""Waiting for what another thread or process does; bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

# Long, for a machine may be busy with something else; only a test that fails takes it all.
_SECONDS: Final = 120.0


def wait(done: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + _SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)
