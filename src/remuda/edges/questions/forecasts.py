"""The JSON shape of when applications will start (EXT-124)."""

from __future__ import annotations

import msgspec

from remuda.edges.questions.answers import Answer
from remuda.edges.questions.shapes import Shape
from remuda.insight.forecast import Calibration, Forecast


class ForecastPart(Shape, kw_only=True):
    """One application. ``low``, ``median``, ``high``: seconds, null: after the horizon."""

    application_id: str
    queue_name: str
    outcome: str
    reason: str = ""
    low: float | None
    median: float | None
    high: float | None
    seeds: int = 0
    horizon: float = 0.0
    assumed: list[str] = msgspec.field(default_factory=list)


class CalibrationPart(Shape, kw_only=True):
    """How many earlier intervals held the start, of those whose start is known.

    ``widened``: by how much each end of the intervals was moved, as a part of the median.
    """

    forecasts: int
    held: int
    open: int
    widened: float


class Forecasts(Answer, kw_only=True):
    """When applications will start, and how good such answers were so far."""

    forecasts: list[ForecastPart]
    calibration: CalibrationPart


def forecasts(found: tuple[Forecast, ...], version: int, wall_ns: int) -> Forecasts:
    """Return forecasts. Rules: EXT-124."""
    quality = found[0].calibration if found else Calibration()
    return Forecasts(
        state_version=version,
        timestamp=wall_ns,
        text=[line for each in found for line in str(each).split("\n")] or ["nothing waits there"],
        forecasts=[
            ForecastPart(
                application_id=each.application_id,
                queue_name=each.queue,
                outcome=each.outcome,
                reason=each.reason,
                low=each.low_seconds,
                median=each.median_seconds,
                high=each.high_seconds,
                seeds=each.seeds,
                horizon=each.horizon_seconds,
                assumed=list(each.assumed),
            )
            for each in found
        ],
        calibration=CalibrationPart(
            forecasts=quality.forecasts,
            held=quality.held,
            open=quality.open,
            widened=quality.widened,
        ),
    )
