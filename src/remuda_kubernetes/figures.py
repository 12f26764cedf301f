"""The figures that the shim measures while it runs. Only the loop writes; a scrape reads."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

# Upper bounds of the classes of latencies, in seconds.
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class Histogram:
    """Counts durations by class."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Return upper bounds and how many durations were not longer."""
        total = 0
        found = []
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.counts, strict=True):
            total += count
            found.append((bound, float(total)))
        return found


@dataclass
class Figures:
    """Latencies and counts.

    ``decide``: from a pod's ask to its allocation. ``bind``: from the allocation to the server's
    answer. ``seen``: from a pod being seen to its binding being sent. ``step``: of one input.
    """

    decide: Histogram = field(default_factory=Histogram)
    bind: Histogram = field(default_factory=Histogram)
    seen: Histogram = field(default_factory=Histogram)
    step: Histogram = field(default_factory=Histogram)
    requests_sent: int = 0
    responses: int = 0
    questions: int = 0
    verdicts: int = 0
