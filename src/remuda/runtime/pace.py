"""Limits how often the core thread turns to single requests in quick succession, and for how long.

Each turn wakes this thread, switches the interpreter between threads, and makes a separate
response: that costs several times as much as a small request. So requests that come in quick
succession are collected for a moment. The moment is longer if turns take longer, because threads
that read requests hardly run during a turn. A single request, and one whose sender waits for the
answer before the next, is served at once.

What a turn handles delays everything else, so a turn takes fewer elements if they cost much.
"""

from __future__ import annotations

from typing import Final

# How far apart turns begin while requests gather: a multiple of what the last one took, within
# bounds; and what counts as quick succession.
SHARE: Final = 4
SPACING_NS: Final = 2_000_000
SPACING_NS_LIMIT: Final = 4_000_000
_CLOSE_NS: Final = 400_000

# The most and the fewest elements that a turn takes, and how long it should take to handle them.
MOST: Final = 1_024
FEWEST: Final = 64
TURN_NS: Final = 10_000_000


class Portion:
    """How many elements the next turn takes, by what those of the last one cost."""

    def __init__(self) -> None:
        self.elements: int = MOST

    def note(self, elements: int, took_ns: int) -> None:
        """A turn took so long to handle so many elements."""
        if elements >= FEWEST:
            self.elements = min(MOST, max(FEWEST, TURN_NS * elements // max(1, took_ns)))


class Pace:
    """Knows when the last turn began, and whether requests should gather for the next."""

    def __init__(self) -> None:
        self._began_ns = 0
        self._gathering = False
        self._spacing_ns = SPACING_NS

    def begin(self, entries: int, now_ns: int) -> None:
        """A turn begins, with what came since the last one."""
        close = not self._gathering and now_ns < self._began_ns + _CLOSE_NS
        self._gathering = entries > 1 or close
        self._began_ns = now_ns

    def end(self, now_ns: int) -> None:
        """The turn ends."""
        wanted_ns = SHARE * (now_ns - self._began_ns)
        self._spacing_ns = min(max(wanted_ns, SPACING_NS), SPACING_NS_LIMIT)

    def rest_ns(self, now_ns: int) -> int:
        """Return how long requests should gather before the next turn."""
        return max(0, self._began_ns + self._spacing_ns - now_ns) if self._gathering else 0
