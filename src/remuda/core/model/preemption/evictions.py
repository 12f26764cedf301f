"""Detects repeated evictions: counts them per ask and per application over the last hour.

An application that is evicted again and again before it finishes wastes the cluster's resources.
Looking at single preemptions does not show that. Memory is bounded: only the subjects evicted last
are remembered, and only the latest times of each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from typing import Final, TypeAlias, final

from remuda.core.model.deadlines import SECOND_NS

# How long an eviction counts, and the shortest time between two reports of a subject (PRE-92).
WINDOW_NS: Final = 3_600 * SECOND_NS

# From how many evictions on a subject is reported (PRE-92).
ASK_LIMIT: Final = 3
APPLICATION_LIMIT: Final = 10

# How many asks, and how many applications, are remembered.
REMEMBERED: Final = 10_000

# How many times are remembered for one subject; more evictions count as this many.
COUNTED: Final = 1_000

# Application ID and allocation key; the key is "" for an application.
Subject: TypeAlias = tuple[str, str]


@final
class EvictionTimes:
    """The times at which one subject was evicted that may still count, oldest first.

    ``number``: the number of the preemption counted last; ``reported_ns``: when the subject was
    reported last, None for never.
    """

    __slots__ = ("number", "reported_ns", "times")

    def __init__(self) -> None:
        self.times: list[int] = []
        self.number: int = 0
        self.reported_ns: int | None = None

    def within(self, now_ns: int) -> list[int]:
        """Return the times within the hour that ends now. Rules: PRE-92."""
        return self.times[bisect_right(self.times, now_ns - WINDOW_NS) :]

    def add(self, now_ns: int) -> None:
        """Add a time, and remove those that do not count any more. Rules: PRE-92."""
        times = self.times
        del times[: bisect_right(times, now_ns - WINDOW_NS)]
        times.append(now_ns)
        if len(times) > COUNTED:
            del times[0]


@final
class EvictionCounts:
    """The eviction times of all asks, or all applications, of a partition; latest evicted last."""

    __slots__ = ("limit", "subjects")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.subjects: OrderedDict[Subject, EvictionTimes] = OrderedDict()

    def note(self, subject: Subject, number: int, now_ns: int) -> int:
        """Count a preemption with victims of a subject, once however many victims it has.

        Return the count within the hour if the subject must be reported now, else 0. ``now_ns``
        must not decrease between calls. Cost: O(1) amortised. Rules: PRE-92.
        """
        entry = self.subjects.setdefault(subject, EvictionTimes())
        if entry.number == number:
            return 0
        entry.number = number
        entry.add(now_ns)
        self.subjects.move_to_end(subject)
        self._forget(now_ns)
        reported_ns = entry.reported_ns
        if len(entry.times) < self.limit or (
            reported_ns is not None and now_ns - reported_ns < WINDOW_NS
        ):
            return 0
        entry.reported_ns = now_ns
        return len(entry.times)

    def _forget(self, now_ns: int) -> None:
        """Remove subjects without evictions in the last hour, and the oldest beyond REMEMBERED."""
        while True:
            subject, entry = next(iter(self.subjects.items()))
            if len(self.subjects) <= REMEMBERED and entry.times[-1] > now_ns - WINDOW_NS:
                return
            del self.subjects[subject]

    def repeated(self, now_ns: int) -> list[tuple[Subject, list[int]]]:
        """Return the subjects that are evicted too often, with the times. Rules: PRE-92."""
        often = [each for each in self.subjects.items() if len(each[1].times) >= self.limit]
        found = [(subject, entry.within(now_ns)) for subject, entry in often]
        return sorted([each for each in found if len(each[1]) >= self.limit])


@final
class Evictions:
    """The evictions of the asks and applications of one partition (PRE-92)."""

    __slots__ = ("applications", "asks")

    def __init__(self) -> None:
        self.asks = EvictionCounts(ASK_LIMIT)
        self.applications = EvictionCounts(APPLICATION_LIMIT)
