"""Earlier forecasts: whether they held, and how much wider later ones have to be.

Simulations know what chance does to single applications, and not what these have in common, such
as a user whose jobs all run longer than declared. So intervals may be too narrow; those whose truth
is known by now show by how much.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from math import ceil
from typing import Final, final

from remuda.base.message import message
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.rows import Rows
from remuda.core.scheduler import Scheduler

# Intervals are widened once so many starts are known; the latest so many count.
KNOWN_LEAST: Final = 10
KNOWN_LIMIT: Final = 200

# The part of the starts that widened intervals hold.
_HELD: Final = 0.8

# The least median that a distance is divided by, in seconds.
_MEDIAN_LEAST: Final = 1.0


@message
class Promise:
    """An interval that was told and whose start is not known yet, in wall-clock time.

    ``late``: it is known already that it did not hold.
    """

    application_id: str
    low_ns: int
    high_ns: int
    late: bool = False


@message
class Settled:
    """What is known by now about a promise.

    ``held`` None: that will never be known. ``began_ns`` 0: not begun yet.
    """

    application_id: str
    held: bool | None
    began_ns: int = 0


def settled(
    core: Scheduler, wall_ns: int, partition: str, rm_id: str, promises: Iterable[Promise]
) -> Iterator[Settled]:
    """Yield what is known now about promises, and was not before. Implements: EXT-123."""
    for promise in promises:
        name = promise.application_id
        view = _found(core, partition, rm_id, name)
        if view is None or (view.finished_time_ns and not view.start_time_ns):
            yield Settled(name, None)
        elif view.start_time_ns:
            began_ns = view.start_time_ns
            yield Settled(name, promise.low_ns <= began_ns <= promise.high_ns, began_ns)
        elif wall_ns > promise.high_ns and not promise.late:
            yield Settled(name, held=False)


def _found(
    core: Scheduler, partition: str, rm_id: str, application_id: str
) -> ApplicationView | None:
    found = core.view(ApplicationQuery(partition, application_id, completed=True, rm_id=rm_id))
    assert isinstance(found, tuple | Rows)
    for view in found:
        if isinstance(view, ApplicationView):
            return view
    return None


@final
class Widening:
    """By how much intervals are widened: conformal inference over the starts that are known.

    A start misses the interval of its simulations by its distance to it, as a part of the median;
    within the interval the distance is negative. Each end of an interval moves by the part that
    four of five of the latest starts do not miss by more. Implements: EXT-186.
    """

    def __init__(self) -> None:
        self._misses: deque[float] = deque(maxlen=KNOWN_LIMIT)

    def learn(self, low_s: float, median_s: float, high_s: float | None, began_s: float) -> None:
        """Take note of a start, in seconds from the forecast, and of its simulations' interval.

        ``high_s`` None: without an end.
        """
        outside = low_s - began_s
        if high_s is not None:
            outside = max(outside, began_s - high_s)
        self._misses.append(outside / max(median_s, _MEDIAN_LEAST))

    def part(self) -> float:
        """Return the part of the median by which each end moves; 0: intervals stay as they are."""
        known = len(self._misses)
        if known < KNOWN_LEAST:
            return 0.0
        place = min(ceil(_HELD * (known + 1)), known)
        return max(0.0, sorted(self._misses)[place - 1])
