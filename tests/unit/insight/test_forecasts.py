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
    forecast,
    interval_of,
)
from remuda.insight.promises import KNOWN_LIMIT, Promise, Settled, Widening
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
    known = () if settled is None else tuple([Settled(name, settled, SECOND) for name in names])
    return asked(forecasts, *[expected(name, low) for name in names], known=known).calibration


def expected(name: str, low: float, horizon: float = 1e6) -> Forecast:
    """A forecast of a start within two seconds."""
    return Forecast(
        name,
        "root.q",
        "expected",
        0,
        low_seconds=low,
        median_seconds=low + 1,
        high_seconds=low + 2,
        horizon_seconds=horizon,
    )


def asked(forecasts: Forecasts, *found: Forecast, known: tuple[Settled, ...] = ()) -> Forecast:
    """Have forecasts told, and that something is known by now; return the last one."""
    wanted = ForecastQuestion("default", "a")
    return forecasts.told(wanted, msgspec.json.encode(ForecastAnswer(found, known))).forecasts[-1]


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
    assert promises(forecasts) == (Promise("a", 5 * SECOND, 7 * SECOND),)
    found = told(forecasts, "a", low=500, settled=True)
    assert (found.forecasts, found.held, found.open) == (1, 1, 1)


@pytest.mark.remuda_rule("EXT-123")
def test_a_thousand_forecasts_are_remembered() -> None:
    forecasts = Forecasts()
    assert told(forecasts, *[f"a-{number}" for number in range(1_002)], low=5).open == 1_000
    assert promises(forecasts)[0].application_id == "a-2"


@pytest.mark.remuda_rule("EXT-123")
def test_an_application_that_is_late_counts_once_and_is_learned_from_when_it_starts() -> None:
    forecasts = Forecasts()
    asked(forecasts, expected("a", 5))
    late = asked(forecasts, expected("b", 5), known=(Settled("a", held=False),))
    assert late.calibration == Calibration(1, 0, 1)
    assert promises(forecasts)[0] == Promise("a", 5 * SECOND, 7 * SECOND, late=True)
    begun = asked(forecasts, expected("b", 5), known=(Settled("a", held=False, began_ns=SECOND),))
    assert begun.calibration == Calibration(1, 0, 1)
    assert [each.application_id for each in promises(forecasts)] == ["b"]


def widening(*began: float) -> float:
    """The part after intervals from 90 to 120 seconds, with the median at 100."""
    found = Widening()
    for each in began:
        found.learn(90, 100, 120, each)
    return found.part()


@pytest.mark.remuda_rule("EXT-186")
def test_intervals_are_widened_by_what_four_of_five_earlier_starts_missed() -> None:
    # Of ten starts the ninth miss counts, since 0.8 x 11 is above 8.
    assert widening(*[80] * 2, *[150] * 7, 1_000) == pytest.approx(0.3)
    assert widening(*[80] * 9, 1_000) == pytest.approx(0.1)
    assert widening(*[150] * 9) == 0


@pytest.mark.remuda_rule("EXT-186")
def test_intervals_that_held_are_not_narrowed_and_old_ones_are_forgotten() -> None:
    assert widening(*[100] * 50) == 0
    assert widening(*[150] * KNOWN_LIMIT) == pytest.approx(0.3)
    assert widening(*[150] * KNOWN_LIMIT, *[100] * KNOWN_LIMIT) == 0


@pytest.mark.remuda_rule("EXT-186")
def test_a_median_of_less_than_a_second_counts_as_one() -> None:
    found = Widening()
    for _ in range(10):
        found.learn(0, 0, 0, 3)
    assert found.part() == 3


@pytest.mark.remuda_rule("EXT-186")
def test_an_answer_has_the_wider_interval_and_tells_by_how_much() -> None:
    forecasts = Forecasts()
    names = [f"a-{number}" for number in range(10)]
    asked(forecasts, *[expected(name, 99) for name in names])
    # Each begins at 151 s, which is 50 s or half of the median after its interval.
    known = tuple([Settled(name, held=False, began_ns=151 * SECOND) for name in names])
    found = asked(forecasts, expected("b", 199), known=known)
    assert (found.low_seconds, found.median_seconds, found.high_seconds) == (99, 200, 301)
    assert found.calibration == Calibration(10, 0, 1, 0.5)
    assert "each end was moved by 50 % of the median" in str(found)
    assert promises(forecasts) == (Promise("b", 99 * SECOND, 301 * SECOND),)
    assert asked(forecasts, expected("c", 199, horizon=300)).high_seconds is None
    # What is learned comes from the interval of the simulations, not from the wider one.
    told = asked(forecasts, expected("c", 199), known=(Settled("b", True, 301 * SECOND),))
    assert told.calibration.widened == 0.5


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
