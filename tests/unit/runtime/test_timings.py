"""What is measured around the core, on a clock that the tests set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.core.messages.commands import PredicateVerdict
from remuda.core.messages.effects import Effect
from remuda.core.ports import AttemptWatch, NodesAnswer, NodesQuestion
from remuda.runtime.answers import LaterPredicates
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.timings import BOUNDS_NS, Histogram, Timings, TimingsView
from tests.unit.runtime.fakes import Factory, FakeScheduler, Sink, asks, registration

MS = 1_000_000


class Watch:
    """A clock that goes on by ``pace`` nanoseconds with each reading."""

    def __init__(self, pace: int) -> None:
        self.pace = pace
        self.now = 0
        self.readings = 0

    def __call__(self) -> int:
        self.readings += 1
        self.now += self.pace
        return self.now


@pytest.fixture
def watch() -> Watch:
    """Every step seems to take two milliseconds."""
    return Watch(2 * MS)


@pytest.fixture
def loop(watch: Watch) -> Iterator[SchedulerLoop]:
    running = SchedulerLoop(Factory(), stopwatch=watch)
    running.start()
    yield running
    running.stop()


@pytest.mark.remuda_rule("MET-5")
def test_the_buckets_are_those_of_the_metrics_in_seconds() -> None:
    assert [bound / 1e9 for bound in BOUNDS_NS] == [1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000]


@pytest.mark.remuda_rule("MET-5")
@pytest.mark.parametrize(
    "took_ns, bucket",
    [
        (0, 0),
        (100_000, 0),
        (100_001, 1),
        (1 * MS, 1),
        (1 * MS + 1, 2),
        (1_000_000 * MS, 7),
        (1_000_000 * MS + 1, 8),
    ],
)
def test_a_time_counts_in_the_first_bucket_that_holds_it(took_ns: int, bucket: int) -> None:
    histogram = Histogram()
    histogram.observe(took_ns)
    view = histogram.view()
    assert view.counts == tuple(int(place == bucket) for place in range(9))
    assert (view.count, view.total_ns) == (1, took_ns)


def measured(loop: SchedulerLoop) -> TimingsView:
    """The timings once the loop has come to rest."""
    loop.idle().result(60)
    return loop.timings()


@pytest.mark.remuda_rule("CYC-31")
def test_each_step_is_measured_whatever_comes_of_it(loop: SchedulerLoop, watch: Watch) -> None:
    def refuse_odd(question: NodesQuestion) -> NodesAnswer:
        return NodesAnswer(-1, ("odd",)) if question.allocation_key == "k1" else NodesAnswer(0)

    loop.register(registration(predicates=True), None, refuse_odd).result(60)
    before = measured(loop)
    assert (before.steps.count, before.cycles.count, watch.readings) == (0, 0, 0)
    loop.submit(asks("k0", "k1", "k2"))
    after = measured(loop)
    # With predicates a step is one decision: three steps, one of them in vain. A reading is 2 ms;
    # a step has two of its own with the two of its question between them.
    assert after.steps.counts == (0, 0, 3, 0, 0, 0, 0, 0, 0)
    assert after.steps.total_ns == 3 * 6 * MS
    assert after.questions.counts == (0, 0, 3, 0, 0, 0, 0, 0, 0)
    assert (after.questions.total_ns, after.nodes_asked) == (3 * 2 * MS, 3)
    assert after.allocations == 2
    # One cycle of three steps: 18 ms.
    assert after.cycles.counts == (0, 0, 0, 1, 0, 0, 0, 0, 0)
    assert after.cycles.total_ns == 18 * MS


@pytest.mark.remuda_rule("CYC-31")
def test_a_step_costs_two_readings_however_much_it_places(
    loop: SchedulerLoop, watch: Watch
) -> None:
    loop.register(registration()).result(60)
    loop.submit(asks("k0", "k1", "k2"))
    after = measured(loop)
    assert (after.steps.count, after.cycles.count, after.allocations) == (1, 1, 3)
    assert watch.readings == 2 + 2 * after.questions.count


@pytest.mark.remuda_rule("CYC-31")
def test_a_cycle_lasts_until_nothing_more_can_be_placed() -> None:
    timings = Timings(Watch(1))
    timings.step(5, (), rests=False)
    timings.step(7, (), rests=False)
    assert timings.view().cycles.count == 0
    timings.step(1, (), rests=True)
    timings.step(2, (), rests=True)
    view = timings.view()
    assert (view.cycles.count, view.cycles.total_ns) == (2, 15)
    assert (view.steps.count, view.steps.total_ns) == (4, 15)


class Slow:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def distant(slow: Slow) -> Iterator[SchedulerLoop]:
    """A loop that measures with a clock that tests set."""
    running = SchedulerLoop(Factory(), stopwatch=slow)
    running.start()
    yield running
    running.stop()


@pytest.mark.remuda_rule("MET-12", "MET-15", "CYC-31")
def test_a_question_that_is_answered_later_is_measured_until_its_answer(
    distant: SchedulerLoop, slow: Slow
) -> None:
    port = LaterPredicates(lambda _: None, nodes_limit=1)
    distant.register(registration(predicates=True), None, port).result(60)
    distant.submit(asks("k0", "k1", "k2"))
    asked = measured(distant)
    assert (asked.questions.count, asked.tries.count, asked.nodes_asked) == (0, 0, 3)
    slow.now = 5 * MS
    refused = PredicateVerdict(1, refused=(("n", "no"),))
    assert distant.answers.give("rm", port, [refused]).result(60)
    slow.now = 40 * MS
    # The second node is acceptable; the third question was given up, and one was never asked.
    verdicts = [PredicateVerdict(2, passed=("n",)), PredicateVerdict(3), PredicateVerdict(9)]
    assert distant.answers.give("rm", port, verdicts).result(60)
    assert distant.answers.give("rm", port, verdicts).result(60)
    view = measured(distant)
    assert view.questions.counts == (0, 0, 1, 2, 0, 0, 0, 0, 0)
    assert view.questions.total_ns == 85 * MS
    assert view.tries.counts == (0, 0, 0, 1, 0, 0, 0, 0, 0)
    assert view.tries.total_ns == 40 * MS


@pytest.mark.remuda_rule("EXT-12", "MET-15")
@pytest.mark.parametrize("how", ["another port", "another life", "no life"])
def test_what_is_over_with_its_session_is_not_measured(
    distant: SchedulerLoop, slow: Slow, how: str
) -> None:
    old, new = (LaterPredicates(lambda _: None, nodes_limit=1) for _ in range(2))
    sink = Sink()
    distant.register(registration(predicates=True), sink, old).result(60)
    distant.submit(asks("k0", "k1"))
    measured(distant)
    if how == "another port":
        assert distant.answers.bind("rm", new, sink).result(60)
    else:
        if how == "no life":
            distant.unregister("rm").result(60)
        distant.register(registration(predicates=True), sink, new).result(60)
    slow.now = 1_000 * MS
    distant.submit(asks("k3"))
    measured(distant)
    slow.now = 1_005 * MS
    # What was asked through the new port has the number 1 again; nothing else is open there.
    verdicts = [PredicateVerdict(number, passed=("n",)) for number in (1, 2)]
    assert distant.answers.give("rm", new, verdicts).result(60)
    view = measured(distant)
    assert (view.questions.count, view.questions.total_ns) == (1, 5 * MS)


@pytest.mark.remuda_rule("MET-12")
def test_a_try_counts_if_a_node_was_acceptable() -> None:
    timings = Timings(Watch(2 * MS))
    answers = [NodesAnswer(-1, ("no", "no")), NodesAnswer(1, ("no",))]
    ask = timings.listen(lambda _: answers.pop())
    for _ in range(2):
        ask(NodesQuestion("rm", "a", "k", True, ("n1", "n2")))
    view = timings.view()
    assert (view.questions.count, view.nodes_asked) == (2, 4)
    assert (view.tries.count, view.tries.total_ns) == (1, 2 * MS)


class Searching(FakeScheduler):
    """Tells of an attempt to preempt in each of its steps."""

    def watch_attempts(self, watch: AttemptWatch) -> None:
        self.watch = watch

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        self.watch(begins=True)
        self.watch(begins=False)
        return super().step(now_ns, limit, timers=timers)


@pytest.mark.remuda_rule("MET-13")
def test_attempts_to_preempt_are_measured_inside_their_step(watch: Watch) -> None:
    loop = SchedulerLoop(Factory(Searching), stopwatch=watch)
    loop.start()
    loop.register(registration()).result(60)
    loop.submit(asks("k0"))
    view = measured(loop)
    loop.stop()
    assert (view.attempts.count, view.attempts.total_ns) == (view.steps.count, 2 * MS)
