"""How often the core thread turns to requests that come one by one, in quick succession.

Each turn wakes this thread, hands the interpreter to and fro, and makes a response of its own: that
costs several times what a small request does. So while they come faster than turns are worth it,
they gather for a moment. A lone request, and whoever waits for the answer before the next one, is
served at once.
"""

from __future__ import annotations

from typing import Final

# How far apart turns begin while requests gather, and what counts as quick succession.
SPACING_NS: Final = 2_000_000
_CLOSE_NS: Final = 400_000


class Pace:
    """Knows when the last turn began, and whether requests should gather for the next."""

    def __init__(self) -> None:
        self._began_ns = 0
        self._gathering = False

    def begin(self, entries: int, now_ns: int) -> None:
        """A turn begins, with what came since the last one."""
        close = not self._gathering and now_ns < self._began_ns + _CLOSE_NS
        self._gathering = entries > 1 or close
        self._began_ns = now_ns

    def rest_ns(self, now_ns: int) -> int:
        """Return how long requests should gather before the next turn."""
        return max(0, self._began_ns + SPACING_NS - now_ns) if self._gathering else 0
