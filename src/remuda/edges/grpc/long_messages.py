"""Unpacks long messages on a thread beside the event loop, so that other messages do not wait.

To count, unpack and translate a legal request of some megabytes takes a second, so it is cut into
slices (remuda.si.slices). A message of the usual length is unpacked on the event loop, because to
pass it to another thread would take longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

# Bytes from which a message is long: some 150 asks, or 8,000 that are empty.
LONG_BYTES: Final = 16 * 1024


class UnpackThread:
    """A thread for long messages; there is one, so that they do not crowd out the core thread.

    The messages of an RM stay in order, because its reader waits for each result before it reads
    on.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="remuda-unpack")

    async def run(self, work: Callable[[], T]) -> T:
        """Do ``work`` on the other thread and return its result, or raise its error."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def stop(self) -> None:
        """Take no more work; work that has begun is finished."""
        self._thread.shutdown(wait=False, cancel_futures=True)
