"""Forecasts worked out on copies, and how often earlier ones were right.

The copies read the truth about earlier forecasts, since it is in the state. So nothing has to
listen to the scheduler, and what nobody asks costs nothing.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from typing import Final, final

import msgspec

from remuda.base.duration import SECOND
from remuda.base.message import message
from remuda.core.scheduler import Scheduler
from remuda.insight.forecast import (
    EXPECTED,
    NEVER_NS,
    Calibration,
    Forecast,
    ForecastAnswer,
    ForecastQuestion,
    forecast,
)
from remuda.insight.promises import Promise, Settled, Widening
from remuda.runtime.driver import AskedAt, Question
from remuda.runtime.forks.fork import on_copies

# Forecasts without a known truth that are remembered; of more the oldest is forgotten.
OPEN_LIMIT: Final = 1_000


@message
class _Told:
    """A promise, and the forecast of the simulations that it was made of."""

    promise: Promise
    simulated: Forecast


@final
class Forecasts:
    """Remembers what was told, compares it with what happened, and widens intervals. Any thread.

    Of each application the first forecast counts, so that asking often changes nothing.
    Rules: EXT-123, EXT-186.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str, str], _Told] = {}
        self._widening = Widening()
        self._known = 0
        self._held = 0

    def question(self, wanted: ForecastQuestion) -> Question:
        """Return what a copy has to answer, with a ForecastAnswer as JSON."""
        return partial(_answer, self.with_promises(wanted))

    def with_promises(self, wanted: ForecastQuestion) -> ForecastQuestion:
        """Return a question with the earlier promises about its partition."""
        with self._lock:
            mine = [
                told.promise
                for (partition, rm_id, _), told in self._open.items()
                if (partition, rm_id) == (wanted.partition, wanted.rm_id)
            ]
        return replace(wanted, open=tuple(mine))

    def told(self, wanted: ForecastQuestion, answer: bytes) -> ForecastAnswer:
        """Return an answer with wider intervals and the calibration, and remember it."""
        found = msgspec.json.decode(answer, type=ForecastAnswer)
        with self._lock:
            for each in found.settled:
                self._settle((wanted.partition, wanted.rm_id, each.application_id), each)
            part = self._widening.part()
            told = [_widened(each, part) for each in found.forecasts]
            for simulated, wider in zip(found.forecasts, told, strict=True):
                self._remember(wanted, simulated, wider)
            open_count = sum(not each.promise.late for each in self._open.values())
            now = Calibration(self._known, self._held, open_count, part)
        forecasts = tuple([replace(each, calibration=now) for each in told])
        return replace(found, forecasts=forecasts)

    def _settle(self, key: tuple[str, str, str], found: Settled) -> None:
        """Count a promise once, when it is known whether it held; learn from its start."""
        known = self._open.get(key)
        if known is None:
            return
        promise, simulated = known.promise, known.simulated
        if found.held is not None and not promise.late:
            self._known += 1
            self._held += found.held
        if found.held is not None and not found.began_ns:
            self._open[key] = _Told(replace(promise, late=True), simulated)
            return
        del self._open[key]
        if found.held is None:
            return
        low_s, median_s = simulated.low_seconds, simulated.median_seconds
        if low_s is not None and median_s is not None:
            began_s = (found.began_ns - simulated.at_ns) / SECOND
            self._widening.learn(low_s, median_s, simulated.high_seconds, began_s)

    def _remember(self, wanted: ForecastQuestion, simulated: Forecast, told: Forecast) -> None:
        if told.outcome != EXPECTED or told.low_seconds is None:
            return
        high_ns = NEVER_NS
        if told.high_seconds is not None:
            high_ns = told.at_ns + round(told.high_seconds * SECOND)
        low_ns = told.at_ns + round(told.low_seconds * SECOND)
        key = (wanted.partition, wanted.rm_id, told.application_id)
        self._open.setdefault(key, _Told(Promise(told.application_id, low_ns, high_ns), simulated))
        while len(self._open) > OPEN_LIMIT:
            del self._open[next(iter(self._open))]


def _widened(each: Forecast, part: float) -> Forecast:
    """Move each end of an interval outwards by a part of the median. Rules: EXT-186."""
    low_s, median_s, high_s = each.low_seconds, each.median_seconds, each.high_seconds
    if not part or low_s is None or median_s is None:
        return each
    more_s = part * median_s
    if high_s is not None:
        high_s += more_s
        if high_s > each.horizon_seconds:
            high_s = None
    return replace(each, low_seconds=max(0.0, low_s - more_s), high_seconds=high_s)


def _answer(question: ForecastQuestion, core: Scheduler, at: AskedAt) -> bytes:
    found = forecast(core, at.now_ns, at.wall_ns, question, on_copies)
    return msgspec.json.encode(replace(found, version=at.version, wall_ns=at.wall_ns))
