"""Lets each caller have one question at a time that costs the scheduler a copy of itself (EXT-66).

There are few places for copies. Without turns a single page in a browser could take all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from remuda.edges.questions.refusals import CALLER_BUSY, Cause, UnansweredError

# Seconds that a question waits for an earlier one of the same caller.
PATIENCE_SECONDS: Final = 10.0


class Turns:
    """The turns of all callers; they belong to one event loop."""

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._patience = patience_seconds
        self._locks: dict[str, asyncio.Lock] = {}
        self._present: dict[str, int] = {}

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Wait until no other question of a caller is open. Raises: UnansweredError.

        Implements: EXT-66.
        """
        lock = self._locks.setdefault(caller, asyncio.Lock())
        self._present[caller] = self._present.get(caller, 0) + 1
        try:
            try:
                async with asyncio.timeout(self._patience):
                    await lock.acquire()
            except TimeoutError:
                raise UnansweredError(Cause.BUSY, CALLER_BUSY) from None
            try:
                yield
            finally:
                lock.release()
        finally:
            self._present[caller] -= 1
            if not self._present[caller]:
                del self._present[caller], self._locks[caller]
