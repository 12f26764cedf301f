"""Unpacks long messages beside the event loop, so that nobody else's wait for it.

A legal request of some megabytes takes a second to count, unpack and translate. A message of the
usual length takes less than handing it to another thread would, and is dealt with on the spot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

# Bytes from which a message is long: some 2,000 asks, 5 ms.
LONG_BYTES: Final = 256 * 1024


class Aside:
    """A thread for long messages; there is one, so that they do not crowd out the core thread.

    What an RM sends stays in order, because whoever hands a message over waits for its result
    before reading on.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="remuda-unpack")

    async def run(self, work: Callable[[], T]) -> T:
        """Do ``work`` on the other thread and return its result, or raise its error."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def stop(self) -> None:
        """Take no more work; what has begun comes to its end."""
        self._thread.shutdown(wait=False, cancel_futures=True)
