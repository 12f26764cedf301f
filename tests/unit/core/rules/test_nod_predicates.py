"""What a resource manager is asked about nodes, and when (NOD-13, CYC-17)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.ports import NodesAnswer, NodesQuestion
from tests.unit.core.door import Caller, leaf
from tests.unit.core.rules.crowd import LATE, Crowd, Reluctant, went

ONE = {"vcore": 1}


@pytest.mark.remuda_rule("NOD-13", "SI-80", "EXT-22", "CYC-17")
def test_the_question_names_ask_nodes_and_purpose() -> None:
    asked: list[NodesQuestion] = []

    def predicates(question: NodesQuestion) -> NodesAnswer:
        asked.append(question)
        return NodesAnswer(0)

    crowd = Crowd(predicates=predicates)
    crowd.full(n1=4)
    crowd.ask("app", "k", {"vcore": 4})
    crowd.ask("app", "big", {"vcore": 8})
    assert went(crowd.run()) == [("k-0", "n1")]
    assert asked == [NodesQuestion("rm", "app", "k", True, ("n1",))]
    crowd.run(LATE)
    assert asked[1:] == [NodesQuestion("rm", "app", "big", False, ("n1",))]


@pytest.mark.remuda_rule("NOD-13", "CYC-17", "CYC-15", "NOD-15")
def test_nodes_are_asked_about_in_order_and_only_those_with_room() -> None:
    moods = Reluctant({("k", node, True): "no" for node in ("n1", "n2", "n3", "n5")})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=5, n2=9, n3=7, n4=6, n5=8, n6=4)
    crowd.node("tiny", {"vcore": 4})
    crowd.node("off", {"vcore": 50}, c.CREATE_DRAIN)
    crowd.ask("app", "k", {"vcore": 5})
    assert went(crowd.run()) == [("k-0", "n4")]
    # Least used first: 9, 8, 7, 6 cores are free. The fifth would be n1.
    assert moods.asked == [("k", node, True) for node in ("n2", "n5", "n3", "n4")]


@pytest.mark.remuda_rule("NOD-13", "CYC-17", "RSV-7")
def test_nothing_is_asked_about_reserved_nodes() -> None:
    moods = Reluctant()
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["app|big"]}
    moods.asked.clear()
    crowd.ask("app", "small", ONE)
    crowd.run(LATE)
    assert moods.asked == []


@pytest.mark.remuda_rule("NOD-13", "EXT-13", "EXT-22")
def test_no_node_is_asked_about_twice_in_a_search() -> None:
    good = "n3500"
    questions: list[tuple[str, ...]] = []

    def predicates(question: NodesQuestion) -> NodesAnswer:
        questions.append(question.node_ids)
        if good not in question.node_ids:
            return NodesAnswer(-1, ("no",) * len(question.node_ids))
        index = question.node_ids.index(good)
        return NodesAnswer(index, ("no",) * index)

    door = Caller(leaf("a"), predicates=predicates)
    updates = [c.NodeUpdate(f"n{number:04}", c.CREATE, ONE) for number in range(4000)]
    door.send(c.UpdateNodes(door.rm, tuple(updates)))
    door.app("app")
    door.ask("app", "k", ONE)
    assert went(door.step()) == [("k-0", good)]
    asked = [node_id for question in questions for node_id in question]
    assert asked[:3501] == [f"n{number:04}" for number in range(3501)]
    assert len(asked) == len(set(asked))
    assert all(1 <= len(question) <= 1024 for question in questions)


@pytest.mark.remuda_rule("NOD-13", "CYC-17", "CYC-12")
@pytest.mark.parametrize("maximum", [{"vcore": 0}, {"vcore": 3}])
def test_nothing_is_asked_before_the_quotas_are_passed(maximum: dict[str, int]) -> None:
    moods = Reluctant()
    crowd = Crowd(leaf("a", maximum), predicates=moods)
    crowd.full(n1=10)
    crowd.ask("app", "k", {"vcore": 4})
    assert went(crowd.run() + crowd.run(LATE)) == []
    assert moods.asked == []


@pytest.mark.remuda_rule("NOD-13", "CYC-17")
def test_a_refused_ask_leaves_no_trace() -> None:
    moods = Reluctant({("k", "n1", True): "no", ("k", "n1", False): "no"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    crowd.ask("app", "k", ONE)
    before = (crowd.node_views(), crowd.queue("root"), crowd.usage())
    assert went(crowd.run()) == []
    assert (crowd.node_views(), crowd.queue("root"), crowd.usage()) == before
    assert crowd.state("app") == "Accepted"


@pytest.mark.remuda_rule("NOD-13", "SI-80", "CYC-25", "CYC-20")
def test_the_answer_for_a_class_holds_until_the_node_changes() -> None:
    moods = Reluctant({("*", "n1", True): "no"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8}, equivalence="class")
    crowd.run(LATE)
    crowd.clear("n1")
    refused = ("big", "n1", True)
    assert went(crowd.run()) == []
    assert moods.asked == [("big", "n1", False), refused]
    moods.refused.clear()
    crowd.ask("app", "huge", {"vcore": 99}, equivalence="class")
    assert went(crowd.run()) == []  # nobody is asked again
    assert moods.asked == [("big", "n1", False), refused]
    crowd.node("n1", action=c.UPDATE, attributes={"label": "new"})
    assert went(crowd.run()) == [("big-0", "n1")]
    assert moods.asked == [("big", "n1", False), refused, refused]


@pytest.mark.remuda_rule("NOD-13", "SI-80")
@pytest.mark.parametrize("answer", [NodesAnswer(3), NodesAnswer(-7), NodesAnswer(-1, ("no",))])
def test_an_answer_that_names_no_node_is_a_refusal_of_all(answer: NodesAnswer) -> None:
    crowd = Crowd(predicates=lambda question: answer)
    crowd.full(n1=4, n2=4, n3=4)
    crowd.ask("app", "k", ONE)
    assert went(crowd.run() + crowd.run(LATE)) == []
    assert crowd.held() == {}
    summary = crowd.finding("k").nodes
    assert summary is not None
    assert (summary.refused, summary.no_room) == (3, 0)


@pytest.mark.remuda_rule("NOD-13", "SI-80")
def test_a_node_keeps_the_answers_of_a_limited_number_of_classes() -> None:
    # No view shows what is kept, so the test looks inside.
    moods = Reluctant({("*", "n1", True): "no", ("*", "n1", False): "no"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=10)
    (partition,) = crowd.scheduler._cluster.partitions()
    for number in range(1000):
        crowd.ask("app", "k", ONE, equivalence=f"class-{number}")
        crowd.step()
        crowd.release_ask("app", "k")
        assert len(partition.nodes["n1"].verdicts) <= 256
    crowd.ask("app", "first", ONE, equivalence="class-999")
    crowd.run()
    moods.asked.clear()
    crowd.ask("app", "second", ONE, equivalence="class-999")
    assert went(crowd.run()) == []
    assert moods.asked == []  # the last answers are kept
