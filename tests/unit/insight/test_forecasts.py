"""Which run times are possible, which intervals follow from starts, and which are remembered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
import pytest

from remuda.base.duration import SECOND
from remuda.base.errors import RemudaError
from remuda.insight.forecast import (
    Calibration,
    Forecast,
    ForecastAnswer,
    ForecastQuestion,
    Promise,
    forecast,
    interval_of,
)
from remuda.insight.run_times import Possible, RunTimes
from remuda.runtime.forks.forecasts import Forecasts
from tests.unit.core.door import Caller, leaf


@pytest.mark.remuda_rule("EXT-120")
def test_a_declared_time_that_is_over_says_nothing() -> None:
    times = RunTimes([])
    assert times.after("a", "root.q", "u", age_ns=99, declared_ns=100) == Possible((100,))
    assert times.after("a", "root.q", "u", age_ns=100, declared_ns=100) is None


@pytest.mark.remuda_rule("EXT-122")
@pytest.mark.parametrize(
    "count, interval", [(1, (1, 1, 1)), (9, (1, 5, 9)), (19, (2, 10, 18)), (99, (10, 50, 90))]
)
def test_a_tenth_of_the_starts_and_one_lies_on_each_side(
    count: int, interval: tuple[int, int, int]
) -> None:
    assert interval_of([*reversed(range(1, count + 1))]) == interval


def told(forecasts: Forecasts, *names: str, low: float, settled: bool | None = None) -> Calibration:
    """Have a start told for each application, and perhaps that earlier ones are known by now."""
    found = [
        Forecast(name, "root.q", "expected", 0, low_seconds=low, high_seconds=low + 1)
        for name in names
    ]
    known = () if settled is None else tuple([(name, settled) for name in names])
    wanted = ForecastQuestion("default", names[0])
    answer = forecasts.told(wanted, msgspec.json.encode(ForecastAnswer(tuple(found), known)))
    return answer.forecasts[-1].calibration


def promises(forecasts: Forecasts) -> Sequence[Promise]:
    """The intervals that are remembered."""
    question = forecasts.question(ForecastQuestion("default", "a"))
    assert isinstance(question, partial)
    wanted: ForecastQuestion = question.args[0]
    return wanted.open


@pytest.mark.remuda_rule("EXT-123")
def test_the_first_interval_of_an_application_counts() -> None:
    forecasts = Forecasts()
    told(forecasts, "a", low=5)
    assert told(forecasts, "a", low=50).open == 1
    assert promises(forecasts) == (Promise("a", 5 * SECOND, 6 * SECOND),)
    found = told(forecasts, "a", low=500, settled=True)
    assert (found.forecasts, found.held, found.open) == (1, 1, 1)


@pytest.mark.remuda_rule("EXT-123")
def test_a_thousand_forecasts_are_remembered() -> None:
    forecasts = Forecasts()
    assert told(forecasts, *[f"a-{number}" for number in range(1_002)], low=5).open == 1_000
    assert promises(forecasts)[0].application_id == "a-2"


@pytest.mark.remuda_rule("EXT-122")
def test_without_chance_one_future_is_played_with_all_instants() -> None:
    door = Caller(leaf("a"))
    door.node("n", {"vcore": 1})
    for name in ("runs", "waits"):
        door.app(name, tags={"remuda/runTimeSeconds": "60"})
        door.ask(name, "k", {"vcore": 1})
        door.step()
    played: list[partial[bytes]] = []

    def on_copies(works: Sequence[object]) -> Sequence[bytes | None]:
        played.extend(each for each in works if isinstance(each, partial))
        return [None] * len(works)

    question = ForecastQuestion("default", "waits", rm_id="rm", arrivals=False)
    with pytest.raises(RemudaError, match="only 0 of 1 simulations"):
        forecast(door.scheduler, door.now, door.now, question, on_copies)
    (work,) = played
    assert work.args[2] == 50_000
