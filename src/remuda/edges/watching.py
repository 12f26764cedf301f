"""Looks after the means of the process, once a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

_PAUSE_SECONDS: Final = 1.0


async def look_every_second(look: Callable[[], None]) -> None:
    """Call ``look`` again and again, until cancelled."""
    while True:
        look()
        await asyncio.sleep(_PAUSE_SECONDS)
