"""How full the cluster is and how many tasks wait, from instant to instant.

Sums are exact integers: the mean use of a resource is the integral of its use over time divided
by capacity and time once, at the end. Where no time passes (fill), the number of decisions
stands in for the clock, so that there is still a picture to draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import final

from remuda.base.message import message


@message
class Sample:
    """The state from ``at`` on: tasks pending, amounts in use in the order of the types."""

    at: int
    pending: int
    used: tuple[int, ...]


@final
class Timeline:
    """The amounts in use and pending now, their history, and the highest use so far.

    ``types``: the resource types some node has, sorted; ``capacity``: their totals. ``pending``:
    tasks submitted that have not started, or have to start anew.
    """

    def __init__(self, capacities: Sequence[Mapping[str, int]]) -> None:
        totals: dict[str, int] = {}
        for capacity in capacities:
            for name, amount in capacity.items():
                totals[name] = totals.get(name, 0) + amount
        self.types = tuple(name for name in sorted(totals) if totals[name] > 0)
        self.capacity = tuple(totals[name] for name in self.types)
        self._peak = [0] * len(self.types)
        self.samples: list[Sample] = []
        self.pending = 0
        self._used = [0] * len(self.types)

    def arrived(self, count: int) -> None:
        """Note that tasks were submitted."""
        self.pending += count

    def started(self, resource: Mapping[str, int]) -> None:
        """Note that a task waits no more and got what it had not yet."""
        self.pending -= 1
        self.took(resource)

    def took(self, resource: Mapping[str, int]) -> None:
        """Note that something got room on a node."""
        for place, name in enumerate(self.types):
            self._used[place] += resource.get(name, 0)
            self._peak[place] = max(self._peak[place], self._used[place])

    def ended(self, resource: Mapping[str, int]) -> None:
        """Note that something gave its room back."""
        for place, name in enumerate(self.types):
            self._used[place] -= resource.get(name, 0)

    def settle(self, at: int) -> None:
        """Take the present state as the one from ``at`` on; a later call for ``at`` replaces it."""
        if self.samples and self.samples[-1].at == at:
            self.samples.pop()
        self.samples.append(Sample(at, self.pending, tuple(self._used)))

    def means(self) -> tuple[float, ...]:
        """Return the mean share in use of each type from the first sample to the last.

        Where no time passes between them it is the share in use at the end.
        """
        span = self.samples[-1].at - self.samples[0].at
        if not span:
            return self.finals()
        areas = [0] * len(self.types)
        for sample, after in pairwise(self.samples):
            for place, used in enumerate(sample.used):
                areas[place] += used * (after.at - sample.at)
        return tuple(
            area / (total * span) for area, total in zip(areas, self.capacity, strict=True)
        )

    def peaks(self) -> tuple[float, ...]:
        """Return the highest share of each type that was ever in use."""
        return tuple(most / total for most, total in zip(self._peak, self.capacity, strict=True))

    def finals(self) -> tuple[float, ...]:
        """Return the share of each type in use at the end."""
        return tuple(used / total for used, total in zip(self._used, self.capacity, strict=True))
