"""Questions of predicates leave after the effects before them; verdicts come back as commands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from remuda.config.schema import AccessList, Configuration, PartitionConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages.commands import PredicateVerdict
from remuda.core.messages.effects import AllocationNew, Effect, NodesAnswered
from remuda.runtime.answers import LaterPredicates, OpenQuestion
from remuda.runtime.inbox import Inbox
from remuda.runtime.journal import JournalWriter
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.replay import replay

SECONDS = 60.0
ROOT = QueueConfig(
    "root", parent=True, queues=(QueueConfig("a"),), submit_acl=AccessList(everybody=True)
)
ONE_LEAF = Configuration((PartitionConfig("default", ROOT),))


class Rm:
    """An RM that gets effects and questions in one list, and answers when it is told to."""

    def __init__(self, loop: SchedulerLoop, rm_id: str = "rm", nodes_limit: int = 1024) -> None:
        self.loop = loop
        self.rm_id = rm_id
        self.got: list[Effect | OpenQuestion] = []
        self.changed = threading.Condition()
        self.sink = self.take
        self.port = LaterPredicates(self.take, nodes_limit)

    def take(self, what: Sequence[Effect] | Sequence[OpenQuestion]) -> None:
        with self.changed:
            self.got += what
            self.changed.notify_all()

    def register(self) -> None:
        command = c.RegisterResourceManager(self.rm_id, ONE_LEAF, predicates=True)
        assert not self.loop.register(command, self.sink, self.port).result(SECONDS).reason

    def begin(self, nodes: int = 2) -> None:
        self.register()
        names = [f"n{number}" for number in range(1, nodes + 1)]
        updates = [c.NodeUpdate(name, c.CREATE, {"vcore": 10}) for name in names]
        self.loop.submit(c.UpdateNodes(self.rm_id, tuple(updates)))
        new = c.NewApplication("app", "root.a", user="ann", groups=("g",))
        self.loop.submit(c.UpdateApplications(self.rm_id, (new,)))

    def ask(self, *keys: str) -> None:
        asks = tuple(c.Ask("app", key, {"vcore": 1}) for key in keys)
        self.loop.submit(c.UpdateAllocations(self.rm_id, asks=asks))

    def wait(self, enough: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(enough, SECONDS)

    def questions(self) -> list[OpenQuestion]:
        return [each for each in self.got if isinstance(each, OpenQuestion)]

    def placed(self) -> list[str]:
        return [each.allocation_id for each in self.got if isinstance(each, AllocationNew)]

    def accept(self, question: OpenQuestion) -> bool:
        verdict = PredicateVerdict(question.ticket, passed=question.question.node_ids)
        return self.loop.answers.give(self.rm_id, self.port, [verdict]).result(SECONDS)


@pytest.fixture
def loop() -> Iterator[SchedulerLoop]:
    running = SchedulerLoop()
    running.start()
    yield running
    running.stop()


@pytest.mark.remuda_rule("EXT-4", "EXT-14")
def test_a_question_follows_all_effects_before_it(loop: SchedulerLoop) -> None:
    rm = Rm(loop)
    rm.begin(nodes=1)
    rm.ask("a", "b")
    rm.wait(lambda: len(rm.questions()) == 2)
    first = rm.got.index(rm.questions()[0])
    assert any(isinstance(each, NodesAnswered) for each in rm.got[:first])
    for question in rm.questions():
        rm.accept(question)
    rm.wait(lambda: len(rm.questions()) == 3)
    (again,) = rm.questions()[2:]
    before = [each for each in rm.got[: rm.got.index(again)] if isinstance(each, AllocationNew)]
    assert [each.allocation_id for each in before] == ["a-0"]
    rm.accept(again)
    rm.wait(lambda: rm.placed() == ["a-0", "b-0"])
    loop.check().result(SECONDS)


@pytest.mark.remuda_rule("EXT-13")
def test_a_question_has_no_more_candidates_than_the_rm_takes(loop: SchedulerLoop) -> None:
    rm = Rm(loop, nodes_limit=3)
    rm.begin(nodes=5)
    rm.ask("a")
    rm.wait(lambda: len(rm.questions()) == 1)
    assert (len(rm.questions()[0].question.node_ids), rm.questions()[0].asked) == (5, 3)


@pytest.mark.remuda_rule("RM-9", "EXT-10")
def test_verdicts_of_an_old_life_do_nothing(loop: SchedulerLoop) -> None:
    old = Rm(loop)
    old.begin()
    old.ask("a")
    old.wait(lambda: len(old.questions()) == 1)
    new = Rm(loop)
    new.begin()
    new.ask("a")
    new.wait(lambda: len(new.questions()) == 1)
    assert old.questions()[0].ticket == new.questions()[0].ticket
    assert not old.accept(old.questions()[0])
    loop.idle().result(SECONDS)
    assert (old.placed(), new.placed()) == ([], [])
    assert new.accept(new.questions()[0])
    new.wait(lambda: new.placed() == ["a-0"])


@pytest.mark.remuda_rule("EXT-12")
def test_only_the_registration_in_force_can_be_bound(loop: SchedulerLoop) -> None:
    rm = Rm(loop)
    rm.begin()
    assert not loop.answers.bind("rm", rm.port, lambda effects: None).result(SECONDS)
    assert not loop.answers.bind("nobody", rm.port, rm.sink).result(SECONDS)
    assert loop.answers.bind("rm", rm.port, rm.sink).result(SECONDS)


@pytest.mark.remuda_rule("EXT-12", "SI-106")
def test_whoever_attaches_is_asked_instead(loop: SchedulerLoop) -> None:
    rm = Rm(loop)
    rm.begin(nodes=1)
    rm.ask("a")
    rm.wait(lambda: len(rm.questions()) == 1)
    other = Rm(loop)
    assert loop.answers.bind("rm", other.port, rm.sink).result(SECONDS)
    other.wait(lambda: len(other.questions()) == 1)
    assert not rm.accept(rm.questions()[0])
    assert other.accept(other.questions()[0])
    rm.wait(lambda: rm.placed() == ["a-0"])
    rm.ask("b")
    other.wait(lambda: len(other.questions()) == 2)
    assert not loop.answers.unbind("rm", rm.port).result(SECONDS)
    assert loop.answers.unbind("rm", other.port).result(SECONDS)
    rm.wait(lambda: rm.placed() == ["a-0", "b-0"])


@pytest.mark.remuda_rule("EXT-14")
def test_a_slow_rm_delays_nobody_else(loop: SchedulerLoop) -> None:
    slow, quick = Rm(loop, "slow"), Rm(loop, "quick")
    slow.begin()
    slow.ask("a")
    slow.wait(lambda: len(slow.questions()) == 1)
    quick.begin()
    quick.ask("a")
    quick.wait(lambda: len(quick.questions()) == 1)
    quick.accept(quick.questions()[0])
    quick.wait(lambda: quick.placed() == ["a-0"])
    assert slow.placed() == []


@pytest.mark.remuda_rule("EXT-14")
def test_a_recording_with_verdicts_is_repeated_exactly(tmp_path: Path) -> None:
    path = tmp_path / "r"
    loop = SchedulerLoop(recorder=JournalWriter(path))
    loop.start()
    rm = Rm(loop)
    rm.begin()
    rm.ask("a", "b", "c")
    rm.wait(lambda: len(rm.questions()) == 3)
    for question in rm.questions():
        rm.accept(question)
    rm.wait(lambda: len(rm.placed()) == 2)
    loop.idle().result(SECONDS)
    for question in rm.questions()[3:]:
        rm.accept(question)
    rm.wait(lambda: len(rm.placed()) == 3)
    loop.stop()
    result = replay(path)
    assert (result.difference, result.unfinished) == ("", False)


@pytest.mark.remuda_rule("SI-6")
def test_whoever_finds_a_full_inbox_is_told_when_there_is_room() -> None:
    inbox: Inbox[c.UpdateAllocations] = Inbox(2)
    assert inbox.room("rm") is None
    inbox.put(c.UpdateAllocations("rm"), 2)
    waiter = inbox.room("rm")
    assert waiter is not None
    assert not waiter.done()
    inbox.take(1, 0)
    assert waiter.done()
    inbox.put(c.UpdateAllocations("rm"), 2)
    waiter = inbox.room("rm")
    inbox.close("the end")
    assert waiter is not None
    assert waiter.done()
