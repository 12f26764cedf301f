"""Equal events about one object become one event with a count.

The number of events about one object is limited. Pure: posted events and the time go in, the events
to write come out.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from remuda_kubernetes.objects.metadata import ObjectReference

K = TypeVar("K")
V = TypeVar("V")


class Notice(NamedTuple):
    """What happened to an object, for people. ``type`` is Normal or Warning."""

    regarding: ObjectReference
    type: str
    reason: str
    action: str
    note: str


@dataclass
class Series:
    """Equal notices. ``name`` is that of the event, "" before it was written.

    ``count`` and ``last`` (seconds since 1970) are what is known, ``written`` the count that the
    server knows.
    """

    notice: Notice
    first: float
    last: float
    count: int = 1
    written: int = 0
    name: str = ""
    queued: bool = False
    written_at: float = 0.0


class _Allowance:
    """How many new events an object may still have."""

    __slots__ = ("since", "tokens")

    def __init__(self, tokens: float, since: float) -> None:
        self.tokens = tokens
        self.since = since


class SeriesTable:
    """The series of late, each ended by ``quiet`` seconds without a notice.

    An object may have ``burst`` new events at once, and ``rate`` a second. The tables are bounded:
    the oldest entries are forgotten, which costs an event that could have been a count.
    """

    def __init__(
        self, *, quiet: float = 360.0, burst: int = 25, rate: float = 1 / 300, size: int = 4096
    ) -> None:
        self._quiet: Final = quiet
        self._burst: Final = float(burst)
        self._rate: Final = rate
        self._size: Final = size
        self._series: Final[OrderedDict[Notice, Series]] = OrderedDict()
        self._allowed: Final[OrderedDict[ObjectReference, _Allowance]] = OrderedDict()

    def add(self, notice: Notice, now: float) -> Series | None:
        """Return the series of a notice, which it has counted; None if the object has too many."""
        series = self._series.get(notice)
        if series is not None and now - series.last < self._quiet:
            series.count += 1
            series.last = now
            self._series.move_to_end(notice)
            return series
        if not self._allow(notice.regarding, now):
            return None
        series = Series(notice, first=now, last=now)
        self._series[notice] = series
        self._series.move_to_end(notice)
        _shrink(self._series, self._size)
        return series

    def _allow(self, regarding: ObjectReference, now: float) -> bool:
        found = self._allowed.get(regarding)
        if found is None:
            found = _Allowance(self._burst, now)
            self._allowed[regarding] = found
            _shrink(self._allowed, self._size)
        self._allowed.move_to_end(regarding)
        found.tokens = min(self._burst, found.tokens + (now - found.since) * self._rate)
        found.since = now
        if found.tokens < 1.0:
            return False
        found.tokens -= 1.0
        return True


def _shrink(table: OrderedDict[K, V], size: int) -> None:
    while len(table) > size:
        table.popitem(last=False)
