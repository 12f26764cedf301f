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
from remuda.core.scheduler import Scheduler
from remuda.insight.forecast import (
    EXPECTED,
    NEVER_NS,
    Calibration,
    Forecast,
    ForecastAnswer,
    ForecastQuestion,
    Promise,
    forecast,
)
from remuda.runtime.driver import AskedAt, Question
from remuda.runtime.forks.fork import on_copies

# Forecasts without a known truth that are remembered; of more the oldest is forgotten.
OPEN_LIMIT: Final = 1_000


@final
class Forecasts:
    """Remembers what was told, and compares it with what happened. Any thread.

    Of each application the first forecast counts, so that asking often changes nothing.
    Rules: EXT-123.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str, str], Promise] = {}
        self._known = 0
        self._held = 0

    def question(self, wanted: ForecastQuestion) -> Question:
        """Return what a copy has to answer, with a ForecastAnswer as JSON."""
        with self._lock:
            mine = [
                promise
                for (partition, rm_id, _), promise in self._open.items()
                if (partition, rm_id) == (wanted.partition, wanted.rm_id)
            ]
        return partial(_answer, replace(wanted, open=tuple(mine)))

    def told(self, wanted: ForecastQuestion, answer: bytes) -> ForecastAnswer:
        """Remember an answer, and return it with the calibration."""
        found = msgspec.json.decode(answer, type=ForecastAnswer)
        with self._lock:
            for name, held in found.settled:
                known = self._open.pop((wanted.partition, wanted.rm_id, name), None)
                if known is not None and held is not None:
                    self._known += 1
                    self._held += held
            for each in found.forecasts:
                self._remember(wanted, each)
            now = Calibration(self._known, self._held, len(self._open))
        told = tuple([replace(each, calibration=now) for each in found.forecasts])
        return replace(found, forecasts=told)

    def _remember(self, wanted: ForecastQuestion, each: Forecast) -> None:
        if each.outcome != EXPECTED or each.low_seconds is None:
            return
        high_ns = NEVER_NS
        if each.high_seconds is not None:
            high_ns = each.at_ns + round(each.high_seconds * SECOND)
        low_ns = each.at_ns + round(each.low_seconds * SECOND)
        key = (wanted.partition, wanted.rm_id, each.application_id)
        self._open.setdefault(key, Promise(each.application_id, low_ns, high_ns))
        while len(self._open) > OPEN_LIMIT:
            del self._open[next(iter(self._open))]


def _answer(question: ForecastQuestion, core: Scheduler, at: AskedAt) -> bytes:
    found = forecast(core, at.now_ns, at.wall_ns, question, on_copies)
    return msgspec.json.encode(replace(found, version=at.version, wall_ns=at.wall_ns))
