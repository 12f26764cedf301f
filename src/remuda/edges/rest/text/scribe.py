"""Makes large texts in small pieces, so that scheduling goes on meanwhile.

Only one thread of a process computes at a time, and one that computes without a pause makes the
core thread wait half a millisecond each time it wants to go on. So the writer of a large text
writes for less than that and then sleeps for longer, and for much longer while the core works. All
large texts are written on one thread, which limits their time together; each gets its turn after a
piece.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep
from typing import Final, final

from remuda.edges.rest.requests.asking import Views

# Seconds of work between pauses, and seconds of a pause: while the core is at rest, and while it
# works, when answers of scheduling matter more than those of reading.
WORK_SECONDS: Final = 0.0003
PAUSE_SECONDS: Final = 0.0005
LONG_PAUSE_SECONDS: Final = 0.003

# Bytes after which a piece is handed on.
PIECE_BYTES: Final = 64 * 1024

# What an answer may take without a pause: most end within that.
_OPENING_SECONDS: Final = 0.05
_OPENING_BYTES: Final = 512 * 1024

_OPENER: Final = ThreadPoolExecutor(1, "remuda-answers")
_SCRIBE: Final = ThreadPoolExecutor(1, "remuda-scribe")


async def opening(units: Iterator[bytes]) -> bytes:
    """Return the beginning of a text, made without pauses. Rules: DMP-17."""
    return await asyncio.get_running_loop().run_in_executor(_OPENER, _begin, units)


async def written(units: Iterator[bytes], views: Views) -> AsyncIterator[bytes]:
    """Yield a text in pieces. A unit is some microseconds of work and may be empty.

    ``units`` is consumed lazily on its own thread; a piece is produced only when requested.
    ``views`` tells whether the core works meanwhile. Rules: DMP-17.
    """
    loop = asyncio.get_running_loop()
    pace = _Pace(views)
    while piece := await loop.run_in_executor(_SCRIBE, _go_on, units, pace):
        yield piece


@final
class _Pace:
    """How long to pause: longer while the core works."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._turns = views.turns

    def pause(self) -> None:
        """Let others compute."""
        turns, before = self._views.turns, self._turns
        self._turns = turns
        sleep(PAUSE_SECONDS if turns == before else LONG_PAUSE_SECONDS)


def _begin(units: Iterator[bytes]) -> bytes:
    text = bytearray()
    end = perf_counter() + _OPENING_SECONDS
    for unit in units:
        text += unit
        if len(text) >= _OPENING_BYTES or (text and perf_counter() > end):
            break
    return bytes(text)


def _go_on(units: Iterator[bytes], pace: _Pace) -> bytes:
    text = bytearray()
    end = perf_counter() + WORK_SECONDS
    for unit in units:
        text += unit
        if perf_counter() > end:
            if len(text) >= PIECE_BYTES:
                break
            pace.pause()
            end = perf_counter() + WORK_SECONDS
    else:
        return bytes(text)
    pace.pause()
    return bytes(text)
