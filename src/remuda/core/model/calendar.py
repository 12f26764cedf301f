"""Converts between the scheduler's monotonic time and wall-clock time.

The core uses a time that never jumps, so that setting the machine's clock makes no timer run out
early or late. People and resource managers use wall-clock time. The difference between the two
changes when the clock is set or after the process was suspended. A past moment is always converted
with the difference of that moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final

# How many changes are kept; moments before the oldest one use the difference before it.
MARKS_LIMIT = 64

# Converts a moment to wall-clock time; see Calendar.to_wall.
ToWall: TypeAlias = Callable[[int], int]


@final
class Calendar:
    """How far wall-clock time is ahead of the scheduler's time, now and in the past.

    ``marks``: (since when, how far ahead), oldest first; replaced as a whole, so that other threads
    may read it. Before the first mark, wall-clock time is ``before_ns`` ahead. Implements: CYC-34.
    """

    __slots__ = ("before_ns", "marks")

    def __init__(self) -> None:
        self.before_ns: int = 0
        self.marks: tuple[tuple[int, int], ...] = ()

    def ahead_ns(self) -> int:
        """Return how far wall-clock time is ahead now."""
        return self.marks[-1][1] if self.marks else self.before_ns

    def move(self, now_ns: int, ahead_ns: int) -> None:
        """Note how far wall-clock time is ahead from now on. Rules: CYC-34."""
        kept = [mark for mark in self.marks if mark[0] < now_ns]
        kept.append((now_ns, ahead_ns))
        if len(kept) > MARKS_LIMIT:
            self.before_ns = kept[0][1]
            del kept[0]
        self.marks = tuple(kept)

    def to_wall(self, at_ns: int) -> int:
        """Return the wall-clock time of a moment, past or future; 0, which means never, stays 0.

        Rules: CYC-34.
        """
        if not self.marks or not at_ns:
            return at_ns
        for since_ns, ahead_ns in reversed(self.marks):
            if at_ns >= since_ns:
                return at_ns + ahead_ns
        return at_ns + self.before_ns

    def from_wall(self, wall_ns: int) -> int:
        """Return the moment of a wall-clock time, by the current difference."""
        return wall_ns - self.ahead_ns()

    def past_from_wall(self, wall_ns: int, now_ns: int) -> int:
        """Return the latest moment up to now at which the wall clock showed a given time.

        If the clock was set past that time, return the moment when it was set. If the time is in
        the future, return now. Rules: CYC-34.
        """
        if not self.marks:
            return min(wall_ns, now_ns)
        found_ns = end_ns = now_ns
        for since_ns, ahead_ns in reversed(self.marks):
            at_ns = wall_ns - ahead_ns
            if since_ns <= at_ns <= end_ns:
                return at_ns
            if at_ns < since_ns:
                found_ns = since_ns
            end_ns = since_ns
        at_ns = wall_ns - self.before_ns
        return at_ns if at_ns <= end_ns else found_ns
