"""Who is evicted again and again: a count per ask and per application over the last hour.

Something that is taken back before it has done its work, and again, costs the cluster without
end; nobody sees it who looks at one preemption at a time. Memory is bounded: of very many only
those that were evicted last are remembered, and of one subject only the latest times.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from typing import Final, TypeAlias, final

from remuda.core.model.deadlines import SECOND_NS

# How far back an eviction counts, and how often a subject is told of at most (PRE-92).
WINDOW_NS: Final = 3_600 * SECOND_NS

# From how many on it is too often (PRE-92).
ASK_LIMIT: Final = 3
APPLICATION_LIMIT: Final = 10

# How many asks, and how many applications, are remembered.
REMEMBERED: Final = 10_000

# How many times are remembered of one; more count as that many.
COUNTED: Final = 1_000

# Application ID, allocation key; of an application without a key.
Subject: TypeAlias = tuple[str, str]


@final
class Toll:
    """When one subject was evicted: the times that may count still, oldest first.

    ``number``: the preemption counted last; ``told_ns``: when it was told last, None for never.
    """

    __slots__ = ("number", "times", "told_ns")

    def __init__(self) -> None:
        self.times: list[int] = []
        self.number: int = 0
        self.told_ns: int | None = None

    def within(self, now_ns: int) -> list[int]:
        """Return those of the hour that ends now; one an hour ago is over. Rules: PRE-92."""
        return self.times[bisect_right(self.times, now_ns - WINDOW_NS) :]

    def add(self, now_ns: int) -> None:
        """Note one more, and forget what counts no more. Rules: PRE-92."""
        times = self.times
        del times[: bisect_right(times, now_ns - WINDOW_NS)]
        times.append(now_ns)
        if len(times) > COUNTED:
            del times[0]


@final
class Tolls:
    """The tolls of all asks, or of all applications, of a partition; the latest evicted last."""

    __slots__ = ("limit", "subjects")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.subjects: OrderedDict[Subject, Toll] = OrderedDict()

    def note(self, subject: Subject, number: int, now_ns: int) -> int:
        """Count a preemption that took something of a subject, once however much it took.

        Return how often that happened within the hour if it is to be told now, else 0. Times must
        not go back. Cost: O(1) amortised. Rules: PRE-92.
        """
        toll = self.subjects.setdefault(subject, Toll())
        if toll.number == number:
            return 0
        toll.number = number
        toll.add(now_ns)
        self.subjects.move_to_end(subject)
        self._forget(now_ns)
        told_ns = toll.told_ns
        if len(toll.times) < self.limit or (told_ns is not None and now_ns - told_ns < WINDOW_NS):
            return 0
        toll.told_ns = now_ns
        return len(toll.times)

    def _forget(self, now_ns: int) -> None:
        """Forget those that were not evicted within the hour, and the oldest of too many."""
        while True:
            subject, toll = next(iter(self.subjects.items()))
            if len(self.subjects) <= REMEMBERED and toll.times[-1] > now_ns - WINDOW_NS:
                return
            del self.subjects[subject]

    def repeated(self, now_ns: int) -> list[tuple[Subject, list[int]]]:
        """Return who is evicted too often, by subject, with the times. Rules: PRE-92."""
        often = [each for each in self.subjects.items() if len(each[1].times) >= self.limit]
        found = [(subject, toll.within(now_ns)) for subject, toll in often]
        return sorted([each for each in found if len(each[1]) >= self.limit])


@final
class Evictions:
    """What preemption took of the asks and applications of one partition (PRE-92)."""

    __slots__ = ("applications", "asks")

    def __init__(self) -> None:
        self.asks = Tolls(ASK_LIMIT)
        self.applications = Tolls(APPLICATION_LIMIT)
