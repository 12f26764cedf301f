"""When the checks run: at the start, then after each interval, which may change (HLT-2)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from remuda.config.schema import built_in
from remuda.core.messages.health_queries import PartitionCountsQuery
from remuda.core.messages.measures import TotalsQuery
from remuda.core.messages.queries import Query, View
from remuda.core.scheduler import Scheduler
from remuda.runtime.errors import LoopStoppedError
from remuda.telemetry.health.checker import HealthChecker
from tests.unit.telemetry.health.ward import NAMES
from tests.waiting import wait

KEY = "health.checkInterval"
SECOND = 1_000_000_000


class Empty:
    """A scheduler without partitions; counts the runs. ``failure`` is what it answers instead."""

    def __init__(self) -> None:
        self.runs = 0
        self.failure: Exception | None = None

    def query(self, query: Query) -> Future[View]:
        assert isinstance(query, TotalsQuery | PartitionCountsQuery)
        asks_totals = isinstance(query, TotalsQuery)
        self.runs += asks_totals
        future: Future[View] = Future()
        if self.failure is None:
            future.set_result(Scheduler().view(query) if asks_totals else ())
        else:
            future.set_exception(self.failure)
        return future


@pytest.fixture
def empty() -> Empty:
    return Empty()


@pytest.fixture
def checker(empty: Empty) -> Iterator[HealthChecker]:
    found = HealthChecker(empty)
    yield found
    found.stop()


def configure(checker: HealthChecker, interval: str | None) -> None:
    """An RM comes with this interval in its map, None: with an empty map."""
    checker("rm", built_in(), {} if interval is None else {KEY: interval})


def interval(checker: HealthChecker) -> int:
    return checker._interval_ns


def shown(checker: HealthChecker) -> list[str]:
    """The names in the latest result, none if there is no result."""
    latest = checker.latest
    return [] if latest is None else [each.name for each in latest.findings]


@pytest.mark.remuda_rule("HLT-2")
def test_the_first_run_is_at_the_start_before_anybody_registered(
    checker: HealthChecker, empty: Empty
) -> None:
    assert not shown(checker)
    checker.start()
    wait(lambda: bool(shown(checker)))
    assert shown(checker) == list(NAMES)
    time.sleep(0.05)
    assert empty.runs == 1  # the next is due in 30 s
    assert interval(checker) == 30 * SECOND


@pytest.mark.remuda_rule("HLT-2")
@pytest.mark.parametrize(
    "text, seconds",
    [("5m", 300), ("abc", 30), ("", 30), (None, 30), ("0", 0), ("-1s", 0), ("-5s", 0)],
)
def test_how_an_interval_is_read(checker: HealthChecker, text: str | None, seconds: int) -> None:
    configure(checker, "7s")
    configure(checker, text)
    assert interval(checker) == seconds * SECOND


@pytest.mark.remuda_rule("HLT-2", "RM-7")
def test_a_configuration_without_a_new_map_leaves_the_interval(checker: HealthChecker) -> None:
    configure(checker, "7s")
    checker("rm", built_in(), None)
    assert interval(checker) == 7 * SECOND


@pytest.mark.remuda_rule("HLT-2")
def test_runs_come_after_each_interval(checker: HealthChecker, empty: Empty) -> None:
    configure(checker, "1ms")
    checker.start()
    wait(lambda: empty.runs >= 5)
    assert shown(checker) == list(NAMES)


@pytest.mark.remuda_rule("HLT-2")
@pytest.mark.parametrize("off", ["0", "-1"])
def test_no_interval_means_no_more_runs_and_the_result_stays(
    checker: HealthChecker, empty: Empty, off: str
) -> None:
    configure(checker, off if off == "0" else "-1ns")
    checker.start()
    wait(lambda: checker.latest is not None)
    before = checker.latest
    time.sleep(0.1)
    assert empty.runs == 1
    assert checker.latest is before
    configure(checker, "1ms")
    wait(lambda: empty.runs >= 3)


@pytest.mark.remuda_rule("HLT-2")
def test_a_number_without_unit_is_not_understood(checker: HealthChecker) -> None:
    configure(checker, "-1")
    assert interval(checker) == 30 * SECOND


@pytest.mark.remuda_rule("HLT-2")
def test_a_changed_interval_begins_anew_without_a_run_and_an_unchanged_one_does_not(
    checker: HealthChecker, empty: Empty
) -> None:
    configure(checker, "1h")
    checker.start()
    wait(lambda: checker.latest is not None)
    began = checker._since_ns
    configure(checker, "1h")
    assert checker._since_ns == began
    configure(checker, "2h")
    assert checker._since_ns > began
    time.sleep(0.05)
    assert empty.runs == 1


@pytest.mark.remuda_rule("HLT-2")
def test_a_long_run_is_followed_by_a_longer_rest(
    checker: HealthChecker, empty: Empty, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[float] = []
    run = checker.run

    def slow() -> object:
        begun.append(time.monotonic())
        time.sleep(0.02)
        return run()

    monkeypatch.setattr(checker, "run", slow)
    configure(checker, "1ms")
    checker.start()
    wait(lambda: len(begun) >= 3)
    assert begun[2] - begun[1] >= 10 * 0.02


def test_it_ends_with_the_scheduler(checker: HealthChecker, empty: Empty) -> None:
    empty.failure = LoopStoppedError("the scheduler was stopped")
    checker.start()
    wait(lambda: not checker._thread.is_alive())
    assert checker.latest is None


def test_a_fault_of_a_run_does_not_end_the_checks(
    checker: HealthChecker, empty: Empty, caplog: pytest.LogCaptureFixture
) -> None:
    empty.failure = ZeroDivisionError("oh")
    configure(checker, "1ms")
    with caplog.at_level(logging.INFO, "remuda"):
        checker.start()
        wait(lambda: empty.runs >= 2)
    assert caplog.messages[0] == "no health check: it failed itself: ZeroDivisionError('oh')"
    empty.failure = None
    wait(lambda: checker.latest is not None)


def test_a_scheduler_that_does_not_answer_is_waited_for_no_longer_than_due(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent:
        def query(self, _query: Query) -> Future[View]:
            return Future()

    monkeypatch.setattr("remuda.telemetry.health.survey.ANSWER_SECONDS", 0.01)
    checker = HealthChecker(Silent())
    with caplog.at_level(logging.INFO, "remuda"):
        checker.start()
        wait(lambda: bool(caplog.records))
    assert caplog.messages == ["no health check: the scheduler does not answer"]
    checker.stop()
    wait(lambda: not checker._thread.is_alive())
