"""The history: a sample a minute, a day of them, read from live counters."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from remuda.core.messages.health_queries import PartitionCountsQuery, PartitionCountsView
from remuda.core.messages.queries import Query, View
from remuda.runtime.errors import LoopStoppedError
from remuda.telemetry import history as history_module
from remuda.telemetry.history import PARTITIONS, SAMPLES, History, Sample
from tests.unit.core.door import MINUTE, Caller, partition
from tests.unit.core.rules.gang import Gang
from tests.unit.telemetry.health.ward import CORES, Direct
from tests.waiting import wait

Answer = tuple[PartitionCountsView, ...]


class Counters:
    """Partitions with numbers a test sets; ``failure`` is answered instead, if there is one."""

    def __init__(self) -> None:
        self.parts: Answer = ()
        self.failure: Exception | None = None
        self.silent = False
        self.now_ns = 0

    def set(self, **running: int) -> None:
        """So many applications run in each partition, and ten times as many containers."""
        self.parts = tuple(
            [
                PartitionCountsView(rm_id, "default", count, 10 * count, 1, 0)
                for rm_id, count in running.items()
            ]
        )

    def query(self, query: Query) -> Future[View]:
        assert isinstance(query, PartitionCountsQuery)
        future: Future[View] = Future()
        if self.failure is not None:
            future.set_exception(self.failure)
        elif not self.silent:
            future.set_result(self.parts)
        return future


@pytest.fixture
def counters() -> Counters:
    return Counters()


def record(counters: Counters, history: History, count: int) -> None:
    """So many samples, a minute apart; the n-th at minute n has n applications."""
    for _ in range(count):
        counters.now_ns += MINUTE
        counters.set(rm=counters.now_ns // MINUTE)
        history.sample()


def history_of(counters: Counters, size: int = SAMPLES) -> History:
    return History(counters, size, now_ns=lambda: counters.now_ns)


@pytest.mark.remuda_rule("MET-43", "MET-44")
@pytest.mark.parametrize("taken", [0, 1, 1_440, 1_441])
def test_the_last_1440_samples_are_kept_oldest_first(counters: Counters, taken: int) -> None:
    history = history_of(counters)
    record(counters, history, taken)
    first = max(1, taken - 1_439)
    assert history.samples() == [
        Sample(number * MINUTE, number, 10 * number) for number in range(first, taken + 1)
    ]


@pytest.mark.remuda_rule("MET-43")
def test_the_first_sample_comes_after_a_whole_interval(counters: Counters) -> None:
    history = History(counters, every_seconds=0.1)
    began = time.monotonic()
    history.start()
    assert history.samples() == []
    wait(lambda: len(history.samples()) == 2)
    assert time.monotonic() - began >= 0.2
    history.stop()
    assert history_module._MINUTE_SECONDS == 60


@pytest.mark.remuda_rule("MET-44")
def test_size_0_means_no_history(counters: Counters) -> None:
    history = history_of(counters, 0)
    assert not history.enabled
    history.start()
    history.stop()
    assert history.samples() == []


@pytest.mark.remuda_rule("MET-45")
def test_numbers_are_those_of_the_moment() -> None:
    gang = Gang()
    history = History(Direct(gang.scheduler), now_ns=lambda: gang.now)
    gang.nodes(n1=10)
    gang.submit("waits")
    gang.submit("app", {"vcore": 2})
    gang.hold("p1", "p2")
    gang.run()  # Starting, with two placeholders, which are containers
    history.sample()
    gang.existing("waits", "x-0", "n1", {"vcore": 1})  # recovered
    history.sample()
    gang.release("waits", "x-0")  # Completing
    history.sample()
    numbers = [(each.applications, each.containers) for each in history.samples()]
    assert numbers == [(1, 2), (2, 3), (1, 2)]


@pytest.mark.remuda_rule("MET-45")
def test_a_sample_that_cannot_be_taken_is_minus_one(
    counters: Counters, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_module, "_ANSWER_SECONDS", 0.01)
    history = history_of(counters)
    counters.set(rm=3)
    counters.silent = True
    with caplog.at_level(logging.INFO, "remuda"):
        history.sample()
    counters.silent = False
    history.sample()
    assert history.samples() == [Sample(0, -1, -1), Sample(0, 3, 30)]
    assert history.samples_of("", "default") == [Sample(0, -1, -1), Sample(0, 3, 30)]
    assert caplog.messages == ["a sample of the history is missing: the scheduler does not answer"]


@pytest.mark.remuda_rule("MET-46", "REST-21")
def test_the_history_is_that_of_the_cluster_or_of_one_partition(counters: Counters) -> None:
    history = history_of(counters)
    counters.set(b=5)
    history.sample()
    counters.set(a=1, b=6)
    history.sample()
    assert [each.applications for each in history.samples()] == [5, 7]
    assert [each.containers for each in history.samples()] == [50, 70]
    assert [each.applications for each in history.samples_of("b", "default")] == [5, 6]
    assert [each.applications for each in history.samples_of("", "default")] == [1]
    assert history.samples_of("a", "gpu") == []
    assert history.samples_of("c", "default") == []


@pytest.mark.remuda_rule("MET-46")
def test_partitions_of_one_manager_count_apart() -> None:
    caller = Caller(partitions=(partition(name="default"), partition(name="gpu")))
    caller.node("n1", CORES, home="gpu")
    history = History(Direct(caller.scheduler))
    history.sample()
    for name in ("default", "gpu"):
        assert [(x.applications, x.containers) for x in history.samples_of("rm", name)] == [(0, 0)]


@pytest.fixture
def quick(counters: Counters) -> Iterator[History]:
    found = History(counters, every_seconds=0.01)
    yield found
    found.stop()


def test_it_ends_with_the_scheduler(counters: Counters, quick: History) -> None:
    counters.failure = LoopStoppedError("the scheduler was stopped")
    quick.start()
    wait(lambda: not quick._thread.is_alive())
    assert quick.samples() == []


@pytest.mark.remuda_rule("MET-46")
def test_of_very_many_partitions_the_first_have_a_history_of_their_own(
    counters: Counters,
) -> None:
    history = history_of(counters)
    counters.set(**{f"r{number:04d}": 1 for number in range(PARTITIONS + 1)})
    history.sample()
    assert history.samples() == [Sample(0, PARTITIONS + 1, 10 * (PARTITIONS + 1))]
    assert history.samples_of(f"r{PARTITIONS - 1:04d}", "default") == [Sample(0, 1, 10)]
    assert history.samples_of(f"r{PARTITIONS:04d}", "default") == []
