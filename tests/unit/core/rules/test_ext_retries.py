"""What predicates refused is asked about again by time, bounded, and at once where the RM says so.

Decision 135 of docs/spec.
"""

from __future__ import annotations

import time
from collections import Counter

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.ports import NodesAnswer, NodesQuestion
from remuda.core.scheduler import Scheduler
from tests.unit.core.door import REQUIRED_NODE, SECOND, START, Caller, leaf, of, partition
from tests.unit.core.rules.crowd import LATE, Crowd, Reluctant, reserved
from tests.unit.core.rules.distant import Distant, placed
from tests.unit.core.rules.gang import Gang

ONE = {"vcore": 1}
MINUTE = 60 * SECOND


class Fickle(Caller):
    """An RM in process that refuses all until it likes a node, whatever is asked.

    ``asked``: when it was asked, and about which asks and how many nodes; ``spent``: processor time
    in it, in seconds.
    """

    def __init__(self, nodes: int = 1, partitions: int = 1) -> None:
        self.asked: list[tuple[int, str, int]] = []
        self.liked: set[str] = set()
        self.spent = 0.0
        self.scheduler = Scheduler(self._judge, reservation_delay_ns=None)
        self.now = START
        self.rm = "rm"
        names = ["default", *(f"p{number}" for number in range(1, partitions))]
        parts = tuple(partition(leaf("a"), leaf("b"), name=name) for name in names)
        self.send(c.RegisterResourceManager(self.rm, Configuration(parts), predicates=True))
        for name in names:
            updates = tuple(
                c.NodeUpdate(f"{name}-n{n}", c.CREATE, {"vcore": 99}, attributes=_home(name))
                for n in range(nodes)
            )
            self.send(c.UpdateNodes(self.rm, updates))
            added = c.NewApplication("app", "root.a", name, user="ann")
            other = c.NewApplication("other", "root.b", name, user="ann")
            self.send(c.UpdateApplications(self.rm, new=(added, other)))

    def _judge(self, question: NodesQuestion) -> NodesAnswer:
        began = time.process_time()
        passed = next((at for at, n in enumerate(question.node_ids) if n in self.liked), -1)
        count = len(question.node_ids) if passed < 0 else passed + 1
        self.asked.append((self.now - START, question.allocation_key, count))
        answer = NodesAnswer(passed, ("no",) * (len(question.node_ids) if passed < 0 else passed))
        self.spent += time.process_time() - began
        return answer

    def until(self, after_ns: int) -> list[Effect]:
        """Go from timer to timer until so long after the start; all that can be is decided."""
        effects = self._decide()
        while (due := self.scheduler.next_deadline()) is not None and due <= START + after_ns:
            self.now = max(self.now, due)
            effects += self._decide()
        self.now = START + after_ns
        return effects + self._decide()

    def _decide(self) -> list[Effect]:
        effects = self.step(10_000)
        while self.scheduler.has_work():
            effects += self.step(10_000)
        return effects

    def seconds(self) -> list[float]:
        """When it was asked, in seconds."""
        return [at / SECOND for at, _, _ in self.asked]


class Slow(Fickle):
    """The same, but its answers come later."""

    def _judge(self, question: NodesQuestion) -> NodesAnswer:
        self.asked.append((self.now - START, question.allocation_key, len(question.node_ids)))
        return NodesAnswer(-1, ticket=len(self.asked), asked=len(question.node_ids))

    def answer(self, *refused: str, unknown: bool = False) -> None:
        """Answer the last question."""
        reasons = tuple((node_id, "no") for node_id in refused)
        verdict = c.PredicateVerdict(len(self.asked), refused=reasons, unknown=unknown)
        self.send(c.PredicateVerdicts(self.rm, (verdict,)))


def _home(name: str) -> dict[str, str]:
    return {"si/node-partition": name}


# ---------------------------------------------------------------------- by time


@pytest.mark.remuda_rule("EXT-15", "SI-10", "NOD-13")
@pytest.mark.parametrize("kind", ["", "class"])
def test_a_refused_ask_is_asked_about_after_1_2_4_8_then_every_15_seconds(kind: str) -> None:
    rm = Fickle()
    rm.ask("app", "k", ONE, equivalence=kind)
    rm.until(MINUTE)
    assert rm.seconds() == [0, 1, 3, 7, 15, 30, 45, 60]
    rm.scheduler.check()


@pytest.mark.remuda_rule("EXT-15", "SI-10", "NOD-13")
@pytest.mark.parametrize("kind", ["", "class"])
def test_an_rm_that_changes_its_mind_in_silence_is_heard_within_15_seconds(kind: str) -> None:
    rm = Fickle(nodes=3)
    rm.ask("app", "k", ONE, equivalence=kind)
    rm.until(20 * SECOND)
    rm.liked.add("default-n2")
    found = of(rm.until(30 * SECOND), e.AllocationNew)
    assert [(new.allocation_id, new.node_id) for new in found] == [("k-0", "default-n2")]
    rm.scheduler.check()


@pytest.mark.remuda_rule("EXT-15", "SI-10")
def test_a_class_is_asked_about_once_for_all_who_wait() -> None:
    rm = Fickle(nodes=3)
    for app, key in (("app", "k"), ("app", "l"), ("other", "m")):
        rm.ask(app, key, ONE, equivalence="class")
    rm.until(0)
    rm.asked.clear()
    rm.until(2 * SECOND)
    assert rm.asked == [(SECOND, "k", 3)]
    rm.liked |= {"default-n0", "default-n1"}
    assert len(of(rm.until(4 * SECOND), e.AllocationNew)) == 3


@pytest.mark.remuda_rule("EXT-15", "SI-10")
@pytest.mark.parametrize("kind", ["sizes", "nodes"])
def test_asks_of_a_class_that_differ_are_all_heard_within_15_seconds(kind: str) -> None:
    rm = Fickle(nodes=20)
    for number in range(19):
        # They wait for room that no node has, or each for a node of its own.
        size = {"vcore": 100 + number} if kind == "sizes" else ONE
        tags = {} if kind == "sizes" else {REQUIRED_NODE: f"default-n{number}"}
        rm.ask("app", f"other{number}", size, equivalence="class", tags=tags)
    tags = {} if kind == "sizes" else {REQUIRED_NODE: "default-n19"}
    rm.ask("app", "k", ONE, equivalence="class", tags=tags)
    rm.until(20 * SECOND)
    rm.liked.add("default-n19")
    found = of(rm.until(36 * SECOND), e.AllocationNew)
    assert [(new.allocation_id, new.node_id) for new in found] == [("k-0", "default-n19")]
    rm.scheduler.check()


@pytest.mark.remuda_rule("EXT-15")
def test_a_round_asks_a_class_of_many_sizes_once_about_each_node() -> None:
    rm = Fickle(nodes=3)
    for number in range(1, 20):
        rm.ask("app", f"k{number}", {"vcore": number}, equivalence="class")
    rm.until(0)
    rm.asked.clear()
    rm.until(MINUTE + SECOND)
    assert [(at_ns // SECOND, count) for at_ns, _, count in rm.asked] == [
        (second, 3) for second in (1, 3, 7, 15, 30, 45, 60)
    ]


@pytest.mark.remuda_rule("EXT-15")
@pytest.mark.parametrize("change", ["release", "node", "placed"])
def test_a_change_lets_the_pauses_begin_anew_a_second_later(change: str) -> None:
    rm = Fickle(nodes=2)
    rm.existing("other", "runs", "default-n1", {"vcore": 99})
    rm.existing("other", "more", "default-n1", ONE)
    rm.ask("app", "k", ONE)
    rm.until(20 * SECOND)
    rm.asked.clear()
    if change == "release":
        rm.release("other", "more")  # The node is still full.
    elif change == "node":
        rm.node("more", {"vcore": 1}, c.CREATE_DRAIN)
    else:
        rm.liked.add("default-n0")
        rm.ask("app", "small", {"vcore": 2}, tags={REQUIRED_NODE: "default-n0"})
        rm.until(20 * SECOND)
        rm.liked.clear()
        rm.asked.clear()
    rm.until(24 * SECOND)
    assert rm.seconds() == [21, 23]


@pytest.mark.remuda_rule("EXT-15", "SI-10")
def test_a_request_that_only_asks_changes_nothing_for_those_who_wait() -> None:
    rm = Fickle()
    rm.ask("app", "k", ONE)
    rm.until(20 * SECOND)
    rm.asked.clear()
    rm.ask("app", "large", {"vcore": 100})
    rm.until(29 * SECOND)
    assert rm.asked == []


@pytest.mark.remuda_rule("EXT-15", "SI-10", "RSV-4")
def test_the_node_an_ask_would_reserve_is_asked_about_again() -> None:
    moods = Reluctant({("big", "n1", False): "not there"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    assert reserved(crowd.run(LATE)) == []
    moods.refused.clear()
    assert reserved(crowd.run(SECOND)) == [("+", "n1", "big")]


@pytest.mark.remuda_rule("EXT-15", "SI-10", "SI-39")
def test_an_ask_for_one_node_is_asked_about_again() -> None:
    rm = Fickle(nodes=3)
    rm.ask("app", "k", ONE, tags={REQUIRED_NODE: "default-n1"})
    rm.until(0)
    rm.liked.add("default-n1")
    assert [new.node_id for new in of(rm.until(SECOND), e.AllocationNew)] == ["default-n1"]
    assert {count for _, _, count in rm.asked} == {1}


@pytest.mark.remuda_rule("EXT-15", "SI-10", "CYC-20")
def test_a_node_that_an_ask_reserved_is_asked_about_again() -> None:
    moods = Reluctant({("big", "n1", True): "not yet"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    crowd.clear("n1")
    assert placed(crowd.run()) == []
    moods.refused.clear()
    assert placed(crowd.run(SECOND)) == [("big-0", "n1")]


# ---------------------------------------------------------------------- at once


@pytest.mark.remuda_rule("EXT-15", "SI-10")
@pytest.mark.parametrize("kind", ["", "class"])
def test_an_empty_node_request_says_look_again_at_all(kind: str) -> None:
    rm = Fickle()
    rm.ask("app", "k", ONE, equivalence=kind)
    rm.until(20 * SECOND)
    rm.liked.add("default-n0")
    rm.send(c.UpdateNodes(rm.rm))
    assert len(of(rm.until(20 * SECOND), e.AllocationNew)) == 1


@pytest.mark.remuda_rule("EXT-15", "SI-10", "SI-39")
@pytest.mark.parametrize("way", ["all", "ask"])
def test_asks_of_a_class_that_reserved_their_nodes_are_looked_at_again(way: str) -> None:
    rm = Fickle(nodes=3)
    tags = [{REQUIRED_NODE: f"default-n{number}"} for number in range(3)]
    for number in range(3):
        rm.ask("app", f"k{number}", ONE, equivalence="class", tags=tags[number])
    rm.until(20 * SECOND)
    rm.liked.update({"default-n1", "default-n2"})
    if way == "all":
        rm.send(c.UpdateNodes(rm.rm))
    else:
        rm.ask("app", "k0", ONE, equivalence="class", tags=tags[0])
    rm.scheduler.check()
    found = of(rm.until(20 * SECOND), e.AllocationNew)
    assert [new.node_id for new in found] == ["default-n1", "default-n2"]
    rm.scheduler.check()


@pytest.mark.remuda_rule("EXT-15", "SI-10", "NODE-7")
@pytest.mark.parametrize("kind", ["", "class"])
def test_an_update_without_content_says_look_again_at_a_node(kind: str) -> None:
    rm = Fickle(nodes=2)
    rm.ask("app", "k", ONE, equivalence=kind)
    rm.until(20 * SECOND)
    rm.liked.add("default-n1")
    rm.node("default-n1", action=c.UPDATE)
    assert len(of(rm.until(20 * SECOND), e.AllocationNew)) == 1


@pytest.mark.remuda_rule("EXT-15", "SI-10", "SI-33")
def test_an_ask_that_is_sent_once_more_says_look_again_at_its_class() -> None:
    rm = Fickle()
    rm.ask("app", "k", ONE, equivalence="class")
    rm.ask("other", "l", ONE, equivalence="class")
    rm.ask("app", "m", ONE, equivalence="another")
    rm.until(20 * SECOND)
    rm.liked.add("default-n0")
    rm.ask("app", "k", ONE, equivalence="class")
    found = of(rm.until(20 * SECOND), e.AllocationNew)
    assert sorted(new.ask.allocation_key for new in found) == ["k", "l"]


# ---------------------------------------------------------------------- bounded


@pytest.mark.remuda_rule("EXT-15")
@pytest.mark.parametrize("partitions", [1, 2])
def test_an_rm_is_asked_about_no_more_than_10_000_nodes_a_second(partitions: int) -> None:
    rm = Fickle(nodes=1_000, partitions=partitions)
    for name in ["default", "p1"][:partitions]:
        asks = [
            c.Ask("app", f"k{number}", ONE, name, equivalence=f"c{number}") for number in range(40)
        ]
        rm.send(c.UpdateAllocations(rm.rm, asks=tuple(asks)))
    rm.until(0)
    rm.asked.clear()
    rm.until(20 * SECOND)
    seconds = Counter[int]()
    for at_ns, _, count in rm.asked:
        assert count <= 256
        seconds[at_ns // SECOND] += count
    assert max(seconds.values()) <= 10_000 + 256
    assert sum(seconds.values()) >= 100_000
    # Everybody has its turn, however many there are.
    turns = Counter(key for _, key, _ in rm.asked)
    assert max(turns.values()) <= 2 * min(turns.values())


@pytest.mark.remuda_rule("EXT-15")
def test_10_000_refused_asks_of_100_classes_cost_below_2_percent_of_a_core() -> None:
    rm = Fickle(nodes=1_000)
    asks = [
        c.Ask("app" if number % 2 else "other", f"k{number}", ONE, equivalence=f"c{number % 100}")
        for number in range(10_000)
    ]
    rm.send(c.UpdateAllocations(rm.rm, asks=tuple(asks)))
    rm.until(0)
    rm.asked.clear()
    rm.spent = 0.0
    began = time.process_time()
    rm.until(MINUTE)
    used = time.process_time() - began - rm.spent
    assert sum(count for _, _, count in rm.asked) >= 3 * 100_000
    assert used < 0.02 * 60


@pytest.mark.remuda_rule("EXT-15")
def test_nothing_is_left_of_refused_asks_whose_application_is_removed() -> None:
    # No view shows what is kept, so the test looks inside.
    rm = Fickle()
    (home,) = rm.scheduler._cluster.partitions()
    for number in range(500):
        rm.ask("app", f"k{number}", ONE)
        rm.until(0)
        rm.release_ask("app", f"k{number}")
    assert len(home.waiting.retries._heap) <= 64
    rm.ask("app", "last", ONE)
    rm.until(0)
    rm.send(c.UpdateApplications(rm.rm, remove=(c.ApplicationRemoval("app"),)))
    assert (home.waiting.retries.count, home.waiting.predicate_classes) == (0, {})
    rm.until(MINUTE)
    rm.scheduler.check()


# ---------------------------------------------------------------------- answers that come later


@pytest.mark.remuda_rule("EXT-15", "EXT-14", "SI-10")
@pytest.mark.parametrize("kind", ["", "class"])
def test_nobody_waits_for_the_answer_about_refused_asks(kind: str) -> None:
    rm = Distant()
    rm.want("k", equivalence=kind)
    rm.refuse(1)
    rm.run(SECOND)
    assert [(q.allocation_key, q.node_ids) for q in rm.asked[1:]] == [("k", ("n1", "n2"))]
    rm.want("small", priority=-1)
    assert placed(rm.accept(3)) == [("small-0", "n1")]
    passed = c.PredicateVerdict(2, passed=("n2",), refused=(("n1", "tainted"),))
    rm.answer(passed)
    found = placed(rm.accept(4))
    assert found == [("k-0", "n2")]


@pytest.mark.remuda_rule("EXT-15", "EXT-17")
def test_without_an_answer_the_next_question_comes_after_the_next_pause() -> None:
    rm = Slow()
    rm.ask("app", "k", ONE)
    rm.until(0)
    rm.answer("default-n0")
    rm.until(2 * SECOND)
    rm.answer()
    rm.until(4 * SECOND)
    rm.answer(unknown=True)
    rm.until(9 * SECOND)
    assert rm.seconds() == [0, 1, 4, 8]  # each pause begins with the answer


@pytest.mark.remuda_rule("EXT-15", "EXT-10")
def test_an_answer_about_an_ask_that_is_gone_does_nothing() -> None:
    rm = Distant()
    rm.want("k")
    rm.refuse(1)
    rm.run(SECOND)
    rm.send(c.UpdateApplications(rm.rm, remove=(c.ApplicationRemoval("app"),)))
    assert placed(rm.accept(2)) == []
    rm.run(MINUTE)
    assert len(rm.asked) == 2


@pytest.mark.remuda_rule("EXT-15", "EXT-12")
def test_another_session_is_asked_anew() -> None:
    rm = Distant()
    rm.want("k")
    rm.refuse(1)
    rm.run(SECOND)
    rm.send(c.BindPredicates(rm.rm, predicates=False))
    rm.send(c.BindPredicates(rm.rm, predicates=True))
    rm.run()
    assert placed(rm.accept(2)) == []
    assert placed(rm.accept(3)) == [("k-0", "n1")]


@pytest.mark.remuda_rule("EXT-15", "RM-15")
def test_while_an_rm_is_away_it_is_not_asked_and_then_goes_on() -> None:
    rm = Distant()
    rm.want("k")
    rm.refuse(1)
    rm.send(c.PauseResourceManager(rm.rm))
    rm.run(MINUTE // 2)
    assert len(rm.asked) == 1
    rm.send(c.ResumeResourceManager(rm.rm))
    rm.run(SECOND)
    assert len(rm.asked) == 2


# ---------------------------------------------------------------------- swaps


@pytest.mark.remuda_rule("EXT-15", "GANG-16", "SI-10")
def test_a_placeholder_that_was_refused_is_asked_about_again() -> None:
    judge = Reluctant({("r1", "n1", False): "not here", ("r1", "n1", True): "not here"})
    gang = Gang(predicates=judge)
    gang.nodes(n1=10)
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.run()
    gang.want("r1")
    assert gang.run() == []
    judge.refused.clear()
    assert gang.run(SECOND - 1) == []
    assert gang.run(1) == ["released[p1-0 REPLACED]"]
