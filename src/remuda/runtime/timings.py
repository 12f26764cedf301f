"""How long the scheduler takes to decide, measured around the core, which reads no clock.

One histogram each, in the buckets of the service's metrics: the steps of the loop, with any
outcome; the cycles, from the first step that finds work to the one after which nothing more can be
placed; the attempts to preempt; and the questions to resource managers, about nodes and about
victims, until they are answered. A step is a burst of decisions of the driver, with predicates one,
so that then it is one partition turn.

The core thread counts, any thread may read. Two readings of a clock per step, and two more per
question and per attempt.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Final, TypeAlias

from remuda.base.duration import MICROSECOND
from remuda.base.message import message
from remuda.core.messages.commands import PredicateVerdict
from remuda.core.messages.effects import AllocationNew, Effect
from remuda.core.ports import (
    NodesAnswer,
    NodesQuestion,
    Predicates,
    PreemptionAnswer,
    PreemptionPredicates,
    PreemptionQuestion,
)

# Reads a clock that only differences are taken of, in nanoseconds.
Stopwatch: TypeAlias = Callable[[], int]

# Upper bounds of the buckets, inclusive: 0.1 ms to 1,000 s. Rules: MET-5.
BOUNDS_NS: Final = tuple(100 * MICROSECOND * 10**power for power in range(8))


@message
class HistogramView:
    """Observed times: how many in each bucket, and their sum.

    ``counts``: one for each of BOUNDS_NS, not cumulative, and one for what is above the last.
    """

    counts: tuple[int, ...]
    total_ns: int

    @property
    def count(self) -> int:
        """How many times were observed."""
        return sum(self.counts)


@message
class TimingsView:
    """Measured times since the start.

    ``steps``: each step, with ``allocations`` made in all of them; ``placing``: those that made
    one or more (MET-10). ``cycles``: the time of the steps from the first decision until no work is
    left, without the pauses in which effects are handed out. ``questions``: each question of
    predicates that was answered or given up, the questions being about ``nodes_asked`` nodes in
    all; ``tries``: those after which a node was acceptable (MET-12). ``attempts``: each attempt to
    preempt (MET-13). ``victim_questions``: each question about victims.
    """

    steps: HistogramView
    placing: HistogramView
    cycles: HistogramView
    questions: HistogramView
    tries: HistogramView
    attempts: HistogramView
    victim_questions: HistogramView
    allocations: int
    nodes_asked: int


class Histogram:
    """Times sorted into the buckets of BOUNDS_NS."""

    __slots__ = ("_counts", "_total_ns")

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_NS) + 1)
        self._total_ns = 0

    def observe(self, took_ns: int) -> None:
        """Count one time. Core thread."""
        self._counts[bisect_left(BOUNDS_NS, took_ns)] += 1
        self._total_ns += took_ns

    def view(self) -> HistogramView:
        """Return a copy. Any thread; a time that is being counted may be half there."""
        return HistogramView(tuple(self._counts), self._total_ns)


class OpenTimes:
    """When each question was asked that is answered later, by RM and ticket."""

    __slots__ = ("_began",)

    def __init__(self) -> None:
        self._began: dict[str, dict[int, int]] = {}

    def begin(self, rm_id: str, ticket: int, began_ns: int) -> None:
        """Note when a question was asked."""
        own = self._began.get(rm_id)
        if own is None:
            own = self._began[rm_id] = {}
        own[ticket] = began_ns

    def end(self, rm_id: str, ticket: int) -> int | None:
        """Return when a question was asked and forget it; None if it is not open."""
        own = self._began.get(rm_id)
        return None if own is None else own.pop(ticket, None)

    def forget(self, rm_id: str) -> None:
        """Forget all questions of an RM."""
        self._began.pop(rm_id, None)


class Timings:
    """The stopwatch around the core. Rules: CYC-31, MET-5, MET-10, MET-12, MET-13, MET-15."""

    def __init__(self, stopwatch: Stopwatch = perf_counter_ns) -> None:
        self.read: Final = stopwatch
        self._steps = Histogram()
        self._placing = Histogram()
        self._cycles = Histogram()
        self._questions = Histogram()
        self._tries = Histogram()
        self._attempts = Histogram()
        self._victim_questions = Histogram()
        self._open = OpenTimes()
        self._open_about_victims = OpenTimes()
        self._attempt_began_ns = 0
        self._allocations = 0
        self._nodes_asked = 0
        self._cycle_ns = 0

    def step(self, took_ns: int, effects: Sequence[Effect], *, rests: bool) -> None:
        """Count one step; ``rests``: nothing more can be placed after it.

        Implements: CYC-31. Rules: MET-10.
        """
        self._steps.observe(took_ns)
        made = 0
        for effect in effects:
            if type(effect) is AllocationNew:
                made += 1
        if made:
            self._placing.observe(took_ns)
            self._allocations += made
        self._cycle_ns += took_ns
        if rests:
            self._cycles.observe(self._cycle_ns)
            self._cycle_ns = 0

    def attempt(self, *, begins: bool) -> None:
        """Count one attempt to preempt when it ends. Implements: MET-13."""
        if begins:
            self._attempt_began_ns = self.read()
        else:
            self._attempts.observe(self.read() - self._attempt_began_ns)

    def listen(self, predicates: Predicates) -> Predicates:
        """Return a port that asks ``predicates`` and measures how long the answers take.

        One that is answered later is measured until ``answered``. Rules: MET-12, MET-15.
        """

        def ask(question: NodesQuestion) -> NodesAnswer:
            began = self.read()
            answer = predicates(question)
            if answer.ticket:
                self._open.begin(question.rm_id, answer.ticket, began)
                self._nodes_asked += answer.asked
                return answer
            took_ns = self.read() - began
            self._questions.observe(took_ns)
            if answer.passed >= 0:
                self._tries.observe(took_ns)
            self._nodes_asked += len(question.node_ids)
            return answer

        return ask

    def answered(self, rm_id: str, verdicts: Sequence[PredicateVerdict]) -> None:
        """Count the questions about nodes that these verdicts end. Implements: MET-12, MET-15."""
        now = self.read()
        for verdict in verdicts:
            began = self._open.end(rm_id, verdict.ticket)
            if began is None:
                continue
            self._questions.observe(now - began)
            if verdict.passed:
                self._tries.observe(now - began)

    def answered_about_victims(self, rm_id: str, ticket: int) -> None:
        """Count the question about victims that was answered, or given up."""
        began = self._open_about_victims.end(rm_id, ticket)
        if began is not None:
            self._victim_questions.observe(self.read() - began)

    def forget(self, rm_id: str) -> None:
        """Forget what an RM was asked and has not answered: it is over. Rules: EXT-12."""
        self._open.forget(rm_id)
        self._open_about_victims.forget(rm_id)

    def listen_about_victims(self, predicates: PreemptionPredicates) -> PreemptionPredicates:
        """The same for questions about victims."""

        def ask(question: PreemptionQuestion) -> PreemptionAnswer:
            began = self.read()
            answer = predicates(question)
            if answer.ticket:
                self._open_about_victims.begin(question.rm_id, answer.ticket, began)
            else:
                self._victim_questions.observe(self.read() - began)
            return answer

        return ask

    def view(self) -> TimingsView:
        """Return all that was measured. Any thread."""
        return TimingsView(
            steps=self._steps.view(),
            placing=self._placing.view(),
            cycles=self._cycles.view(),
            questions=self._questions.view(),
            tries=self._tries.view(),
            attempts=self._attempts.view(),
            victim_questions=self._victim_questions.view(),
            allocations=self._allocations,
            nodes_asked=self._nodes_asked,
        )
