"""Questions about victims reach the RM they concern, are measured, recorded and repeated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.commands import Ask, Command
from remuda.core.messages.effects import AllocationNew, Effect
from remuda.core.ports import (
    NodesQuestion,
    PreemptionAnswer,
    PreemptionItem,
    PreemptionPredicates,
    PreemptionQuestion,
    PreemptionVerdict,
)
from remuda.runtime.answers import LaterPreemption, OpenPreemptionQuestion, Question
from remuda.runtime.driver import SLICE
from remuda.runtime.journal import JournalWriter
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.replay import named, replay
from tests.unit.runtime.fakes import Evicting, Factory, FakeScheduler, Sink, asks, registration

SECONDS = 60.0
YES = PreemptionVerdict(True, 0)


class Other(Evicting):
    """Has another victim in mind."""

    items: tuple[PreemptionItem, ...] = (Evicting.items[0], PreemptionItem("", "n2", ("v4",), 0))


class Curious(Evicting):
    """Asks about a node where it should ask about victims."""

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        if isinstance(command, c.UpdateAllocations):
            self.predicates(NodesQuestion(command.rm_id, "a", "k", True, ("n1",)))
        return super().handle(command, now_ns)


def victims(rm_id: str = "rm", *, predicates: bool = False) -> c.RegisterResourceManager:
    """The registration of an RM that is asked about victims."""
    return replace(registration(rm_id, predicates=predicates), preemption_predicates=True)


def agreeing(question: PreemptionQuestion) -> PreemptionAnswer:
    """The first node will not do, the others will."""
    return PreemptionAnswer((PreemptionVerdict(False), *[YES] * (len(question.items) - 1)))


def told(loop: SchedulerLoop, rm_id: str = "rm") -> str:
    """What came of a question about victims of an RM."""
    sink = Sink()
    forget = loop.subscribe(sink)
    loop.submit(asks("k", rm_id=rm_id))
    loop.barrier().result(SECONDS)
    forget()
    (effect,) = [each for each in sink.effects if isinstance(each, AllocationNew)]
    return effect.allocation_id


@pytest.mark.remuda_rule("PRE-24", "PRE-28", "SI-81")
def test_each_rm_is_asked_about_its_own_victims_if_it_wants_to_be() -> None:
    loop = SchedulerLoop(Evicting)
    loop.start()
    loop.register(victims("picky"), preemption=agreeing).result(SECONDS)
    loop.register(victims("dull")).result(SECONDS)
    loop.register(registration("silent"), preemption=agreeing).result(SECONDS)
    # Without an answer of its own the first node will do, with the victims it was asked with.
    assert [told(loop, rm_id) for rm_id in ("picky", "dull", "silent")] == ["0-1 10 ", "10 ", "10 "]
    loop.stop()


@pytest.mark.remuda_rule("SI-9")
@pytest.mark.parametrize("later, limit", [(False, 1), (True, SLICE)])
def test_effects_are_handed_out_before_an_rm_is_asked_again(later: bool, limit: int) -> None:
    factory = Factory()
    loop = SchedulerLoop(factory)
    loop.start()
    port: PreemptionPredicates = LaterPreemption(lambda _: None) if later else agreeing
    loop.register(victims(), preemption=port).result(SECONDS)
    loop.submit(asks("k1", "k2"))
    loop.idle().result(SECONDS)
    assert set(factory.scheduler.limits) == {limit}
    loop.stop()


@pytest.mark.remuda_rule("MET-5", "CYC-31")
def test_questions_about_victims_are_measured_beside_those_about_nodes() -> None:
    times = iter(range(0, 1_000_000_000, 2_000_000))
    loop = SchedulerLoop(Evicting, stopwatch=lambda: next(times))
    loop.start()
    loop.register(victims(), preemption=agreeing).result(SECONDS)
    told(loop)
    view = loop.timings()
    assert view.victim_questions.counts == (0, 0, 1, 0, 0, 0, 0, 0, 0)
    assert (view.questions.count, view.nodes_asked) == (0, 0)
    loop.stop()


# ---------------------------------------------------------------------- answered later


class Later:
    """An RM that answers later, and what it gets."""

    def __init__(self, loop: SchedulerLoop) -> None:
        self.loop = loop
        self.got: list[Effect | Question] = []
        self.sink = self.got.extend
        self.port = LaterPreemption(self.got.extend)

    def questions(self) -> list[OpenPreemptionQuestion]:
        self.loop.barrier().result(SECONDS)
        return [each for each in self.got if isinstance(each, OpenPreemptionQuestion)]

    def give(self, ticket: int, *verdicts: PreemptionVerdict) -> bool:
        answer = self.loop.answers.give_about_victims("rm", self.port, ticket, verdicts)
        return answer.result(SECONDS)


def heard(scheduler: FakeScheduler) -> list[Command]:
    kinds = (c.PreemptionVerdicts, c.BindPredicates)
    return [each for each in scheduler.handled if isinstance(each, kinds)]


@pytest.mark.remuda_rule("EXT-4", "EXT-18")
def test_a_question_follows_the_effects_before_it_and_its_verdicts_come_as_a_command() -> None:
    keeping = Factory(Evicting)
    loop = SchedulerLoop(keeping)
    loop.start()
    rm = Later(loop)
    loop.register(victims(), rm.sink, preemption=rm.port).result(SECONDS)
    loop.submit(asks("a", "b"))
    first, second = rm.questions()
    assert [type(each) for each in rm.got[-4:]] == [AllocationNew] * 2 + [
        OpenPreemptionQuestion
    ] * 2
    assert (first.ticket, second.ticket) == (1, 2)
    assert second.question.items[0] == PreemptionItem("b", "n1", ("v1", "v2"), 0)
    assert rm.give(2, PreemptionVerdict(False), YES)
    assert rm.give(1)
    assert heard(keeping.scheduler) == [
        c.PreemptionVerdicts("rm", 2, ((False, -1), (True, 0))),
        c.PreemptionVerdicts("rm", 1),
    ]
    loop.stop()


@pytest.mark.remuda_rule("RM-9", "EXT-12")
def test_verdicts_through_a_port_that_is_not_asked_any_more_do_nothing() -> None:
    keeping = Factory(Evicting)
    loop = SchedulerLoop(keeping)
    loop.start()
    old, new = Later(loop), Later(loop)
    loop.register(victims(), old.sink, preemption=old.port).result(SECONDS)
    loop.submit(asks("a"))
    (asked,) = old.questions()
    assert loop.answers.bind("rm", None, old.sink, new.port).result(SECONDS)
    assert not old.give(asked.ticket, YES)
    assert not loop.answers.unbind("rm", None, old.port).result(SECONDS)
    assert loop.answers.unbind("rm", None, new.port).result(SECONDS)
    assert not new.give(1, YES)
    assert heard(keeping.scheduler) == [
        c.BindPredicates("rm", predicates=False),
        c.BindPredicates("rm", predicates=False, preemption=True),
        c.BindPredicates("rm", predicates=False),
    ]
    loop.unregister("rm").result(SECONDS)
    assert not new.give(1, YES)
    loop.stop()


@pytest.mark.remuda_rule("MET-5", "EXT-18")
def test_a_question_about_victims_is_measured_until_its_answer() -> None:
    now = [0]
    loop = SchedulerLoop(Evicting, stopwatch=lambda: now[0])
    loop.start()
    rm = Later(loop)
    loop.register(victims(), rm.sink, preemption=rm.port).result(SECONDS)
    loop.submit(asks("a", "b"))
    first, second = rm.questions()
    assert loop.timings().victim_questions.count == 0
    now[0] = 30_000_000
    assert rm.give(second.ticket, YES)
    assert rm.give(second.ticket, YES)
    view = loop.timings().victim_questions
    assert (view.count, view.total_ns) == (1, 30_000_000)
    now[0] = 70_000_000
    assert rm.give(first.ticket)
    view = loop.timings().victim_questions
    assert (view.count, view.total_ns) == (2, 100_000_000)
    loop.stop()


# ---------------------------------------------------------------------- recordings


def record(path: Path) -> None:
    loop = SchedulerLoop(Evicting, recorder=JournalWriter(path))
    loop.start()
    loop.register(victims(), preemption=agreeing).result(SECONDS)
    told(loop)
    loop.stop()


@pytest.mark.remuda_rule("PRE-81")
def test_a_recording_holds_questions_about_victims_and_repeats_their_answers(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r"
    record(path)
    (line,) = [each for each in path.read_bytes().splitlines() if each.startswith(b'["victims"')]
    _, question, answer = msgspec.json.decode(line)
    assert [item["victims"] for item in question["items"]] == [["v1", "v2"], ["v3"]]
    assert question["first_success"] is False
    assert [each["success"] for each in answer["verdicts"]] == [False, True]
    assert replay(path, Evicting).same


@pytest.mark.remuda_rule("PRE-81")
@pytest.mark.parametrize(
    "scheduler, difference",
    [
        (
            Other,
            (
                "predicates were asked about 'k' on n2 without v4 from 0 on ('rm', node 2 of 2), "
                "recorded is 'k' on n2 without v3 from 0 on ('rm', node 2 of 2)"
            ),
        ),
        (
            Curious,
            (
                "predicates were asked about 'k' of 'a' ('rm') to run on n1, "
                "recorded is 'k' on n1 without v1, v2 from 0 on ('rm', node 1 of 2)"
            ),
        ),
        (FakeScheduler, "1 recorded predicate answers were not asked for"),
    ],
)
def test_a_scheduler_with_other_questions_about_victims_is_found(
    tmp_path: Path, scheduler: type[FakeScheduler], difference: str
) -> None:
    path = tmp_path / "r"
    record(path)
    assert replay(path, scheduler).difference == f"input 2 (UpdateAllocations): {difference}"


@pytest.mark.remuda_rule("PRE-81")
def test_a_question_without_a_recorded_answer_is_found(tmp_path: Path) -> None:
    path = tmp_path / "r"
    record(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if not line.startswith(b'["victims"')))
    assert replay(path, Evicting).difference == (
        "input 2 (UpdateAllocations): predicates were asked about 'k' on n1 without v1, v2 from 0 "
        "on ('rm', node 1 of 2), no answer is recorded"
    )


def test_of_two_questions_the_first_difference_is_told() -> None:
    many = tuple(f"v{number}" for number in range(10))
    items = (PreemptionItem("k", "n1", many, 3), PreemptionItem("k", "n2", (), -1))
    long, short = PreemptionQuestion("rm", items), PreemptionQuestion("rm", items[:1])
    begin = "'k' on n1 without v0, v1, v2, v3, v4, v5, v6, v7 and 2 more from 3 on ('rm', node 1 of"
    end = "up to the first success)"
    assert named(long) == f"{begin} 2, {end}"
    assert named(short, short) == f"{begin} 1, {end}"
    assert named(long, short) == f"'k' on n2 without nobody from -1 on ('rm', node 2 of 2, {end}"
    assert named(short, long) == f"nothing ('rm', node 2 of 1, {end}"


def test_verdicts_and_flags_are_in_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "r"
    loop = SchedulerLoop(recorder=JournalWriter(path))
    loop.start()
    rm = Later(loop)
    loop.register(victims(), rm.sink, preemption=rm.port).result(SECONDS)
    assert rm.give(7, PreemptionVerdict(False), YES)
    assert loop.answers.bind("rm", None, rm.sink, rm.port).result(SECONDS)
    loop.stop()
    repeated: list[Command] = []

    class Noting(FakeScheduler):
        def handle(self, command: Command, now_ns: int) -> list[Effect]:
            repeated.append(command)
            return super().handle(command, now_ns)

    replay(path, Noting)
    registered = repeated[0]
    assert isinstance(registered, c.RegisterResourceManager)
    assert registered.preemption_predicates
    assert replay(path).same


@pytest.mark.parametrize("version", [5, 6])
def test_a_recording_from_before_there_were_victims_is_repeated(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "r"
    loop = SchedulerLoop(recorder=JournalWriter(path))
    loop.start()
    loop.register(registration()).result(SECONDS)
    loop.submit(c.UpdateAllocations("rm", asks=(Ask("a", "k", {"vcore": 1}),)))
    loop.barrier().result(SECONDS)
    loop.stop()
    head, *tail = path.read_bytes().splitlines(keepends=True)
    old = b"".join(tail).replace(b',"preemption_predicates":false', b"")
    assert old != b"".join(tail)
    path.write_bytes(head.replace(b",6,", b",%d," % version) + old)
    result = replay(path)
    assert (result.same, result.inputs) == (True, 2)
