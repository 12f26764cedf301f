"""Looks after the means of the process, again and again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

_log = logging.getLogger("remuda.runtime")


async def look_every(pause: Callable[[], float], look: Callable[[], None]) -> None:
    """Call ``look`` again and again, until cancelled, also after it failed.

    ``pause``: returns the seconds until the next call. The first of several failures in a row is
    logged.
    """
    failed = False
    while True:
        try:
            look()
            failed = False
        except Exception:  # noqa: BLE001 - it may lack memory, and has to notice when it does not
            if not failed:
                _log.exception("a look at the means of the process failed")
            failed = True
        await asyncio.sleep(pause())
