"""What the resource manager is asked about victims, and what its answer means (chapter 60 section
A.6)."""

from __future__ import annotations

import pytest

from remuda.core.ports import (
    PreemptionAnswer,
    PreemptionQuestion,
    PreemptionVerdict,
)
from tests.unit.core.door import MINUTE, SECOND, leaf, parent
from tests.unit.core.preemption.arena import ONE, Arena, Panel, cores, full, pair, row
from tests.unit.core.rules.crowd import Reluctant

BOTH = pytest.mark.parametrize("parity", [False, True])
SELF = {"allow_preempt_self": False}
NO = (False, -1)


@pytest.mark.remuda_rule("PRE-24", "PRE-23", "SI-81")
@BOTH
def test_a_question_names_the_ask_the_node_and_all_victims_there(parity: bool) -> None:
    panel = Panel()
    arena = full(3, victims_port=panel, parity=parity)
    arena.wants("a", "k", ONE)
    arena.after()
    (question,) = panel.questions
    assert question.rm_id == "rm"
    (item,) = question.items
    assert (item.allocation_key, item.node_id) == ("k", "n1")
    assert (item.victims, item.start_index) == (("v2", "v1", "v0"), 0)


@pytest.mark.remuda_rule("PRE-27", "PRE-30", "SI-81")
@pytest.mark.parametrize("index, taken", [(0, 1), (1, 2), (2, 3)])
@BOTH
def test_the_answer_says_how_many_go(index: int, taken: int, parity: bool) -> None:
    # Edge case 26.
    arena = full(3, victims_port=Panel(n1=(True, index)), parity=parity)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v2", "v1", "v0"][:taken]


@pytest.mark.remuda_rule("PRE-87", "PRE-27")
def test_an_answer_below_the_start_counts_as_the_start() -> None:
    arena = full(3, victims_port=Panel(n1=(True, 0)))
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v2", "v1"]


@pytest.mark.remuda_rule("PRE-27", "PRE-29")
@pytest.mark.parametrize("answer", [NO, (False, 0), (True, 3), (True, 99)])
@BOTH
def test_a_failure_or_an_index_beyond_the_list_is_no_node(
    answer: tuple[bool, int], parity: bool
) -> None:
    # Edge case 27.
    panel = Panel(n1=answer)
    arena = full(3, victims_port=panel, parity=parity)
    arena.wants("a", "k", ONE)
    assert arena.after(MINUTE) == []
    assert len(panel.questions) == 1


@pytest.mark.remuda_rule("PRE-29")
def test_what_was_not_judged_is_no_node() -> None:
    # Edge case 30.
    class Silent(Panel):
        def __call__(self, question: PreemptionQuestion) -> PreemptionAnswer:
            super().__call__(question)
            return PreemptionAnswer()

    panel = Silent()
    arena = full(3, victims_port=panel)
    arena.wants("a", "k", ONE)
    assert arena.after(MINUTE) == []
    assert len(panel.questions) == 1


@pytest.mark.remuda_rule("PRE-25")
@BOTH
def test_of_eleven_nodes_ten_are_asked_about_if_one_of_them_is_good(parity: bool) -> None:
    # Edge case 28.
    panel = Panel(n1=NO)
    arena = row(11, victims_port=panel, parity=parity)
    arena.wants("a", "k", ONE)
    assert len(arena.after()) == 1
    assert [len(question.items) for question in panel.questions] == [10]


@pytest.mark.remuda_rule("PRE-25", "PRE-29")
@BOTH
def test_the_eleventh_node_is_asked_about_if_none_of_ten_is_good(parity: bool) -> None:
    names = [f"n{number}" for number in range(1, 12)]
    panel = Panel(**dict.fromkeys(names, NO))
    arena = row(11, victims_port=panel, parity=parity)
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    assert [len(question.items) for question in panel.questions] == [10, 1]
    assert [item.node_id for item in panel.items] == sorted(names)


@pytest.mark.remuda_rule("PRE-25", "PRE-29")
@BOTH
def test_the_next_nodes_are_asked_about_while_only_unwilling_victims_would_do(
    parity: bool,
) -> None:
    names = [f"n{number:02}" for number in range(1, 12)]
    panel = Panel(**dict.fromkeys(names[:10], (True, 1)))
    nodes = {name: cores(2) for name in names}
    arena = pair(nodes=nodes, victims_port=panel, parity=parity)
    for name in names:
        arena.runs("b", name, ONE, f"{name}-willing")
        arena.runs("b", name, ONE, f"{name}-opted", **SELF)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["n11-willing"]
    assert [len(question.items) for question in panel.questions] == [10, 1]


@pytest.mark.remuda_rule("PRE-29")
def test_if_nothing_is_better_unwilling_victims_go() -> None:
    names = [f"n{number:02}" for number in range(1, 12)]
    panel = Panel(**dict.fromkeys(names, (True, 1)))
    arena = pair(nodes={name: cores(2) for name in names}, victims_port=panel)
    for name in names:
        # On n07 the second is an originator, which is asked before those who opted out.
        fields = {"originator": True} if name == "n07" else SELF
        arena.runs("b", name, ONE, f"{name}-willing")
        arena.runs("b", name, ONE, f"{name}-other", **fields)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["n07-willing", "n07-other"]


@pytest.mark.remuda_rule("PRE-29")
@BOTH
def test_the_best_answer_of_a_batch_is_taken_and_not_the_first(parity: bool) -> None:
    panel = Panel(n1=(True, 2), n2=(True, 1), n3=(True, 1))
    nodes = {f"n{number}": cores(3) for number in range(1, 4)}
    arena = pair(nodes=nodes, victims_port=panel, parity=parity)
    for name in nodes:
        arena.runs("b", name, ONE, *(f"{name}-{number}" for number in range(3)))
    arena.wants("a", "k", ONE)
    assert arena.after() == ["n2-0", "n2-1"]


@pytest.mark.remuda_rule("PRE-29")
def test_the_score_is_that_of_the_list_that_was_sent() -> None:
    # PRE-29, defect (a): the second of the list is an originator, the second candidate is not.
    panel = Panel(n1=(True, 1), n2=(True, 1))
    queues = leaf("a", guaranteed=cores(5)), leaf("b"), leaf("c", guaranteed=ONE)
    nodes = {"n1": cores(3), "n2": cores(2)}
    arena = Arena(*queues, nodes=nodes, victims_port=panel)
    arena.apps_in(a="a", b="b", c="c")
    arena.runs("c", "n1", ONE, "kept", age=1)
    arena.runs("b", "n1", ONE, "first", age=2)
    arena.runs("b", "n1", ONE, "origin", age=3, originator=True)
    arena.runs("b", "n2", ONE, "w1", "w2", age=4)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["w1", "w2"]
    assert ("n1", ("first", "origin"), 0) in panel.told


def capped(**other: object) -> Arena:
    """The example of PRE-33: p may have 10, b has them on n1, n2 is empty, a wants two."""
    children = leaf("a", guaranteed=cores(5)), leaf("b", guaranteed=cores(5))
    top = parent("p", *children, maximum=cores(10))
    nodes = {"n1": cores(10), "n2": cores(10)}
    arena = Arena(top, nodes=nodes, **other)  # type: ignore[arg-type]
    arena.apps_in(a="p.a", b="p.b")
    for number in range(10):
        arena.runs("b", "n1", ONE, f"v{number}", age=number + 1)
    arena.wants("a", "k", cores(2))
    return arena


@pytest.mark.remuda_rule("PRE-20", "PRE-24", "PRE-26", "PRE-29", "PRE-33")
@BOTH
def test_a_free_node_beats_every_victim(parity: bool) -> None:
    # Edge cases 29 and 31.
    panel = Panel()
    arena = capped(victims_port=panel, parity=parity)
    assert arena.after() == ["v0", "v1"]
    assert arena.reserved() == [("n2", "k")]
    assert ("n2", (), -1) in panel.told
    assert arena.preempting("root.p") == arena.preempting("root") == cores(2)


@pytest.mark.remuda_rule("PRE-26", "PRE-29", "PRE-33")
@BOTH
def test_a_free_node_that_is_refused_is_none(parity: bool) -> None:
    arena = capped(victims_port=Panel(n2=NO), parity=parity)
    assert arena.after() == ["v0", "v1"]
    assert arena.reserved() == [("n1", "k")]


@pytest.mark.remuda_rule("PRE-24", "PRE-3")
@BOTH
def test_a_free_node_that_was_tried_is_not_asked_about_again(parity: bool) -> None:
    judge, panel = Reluctant({("*", "n2", True): "no", ("*", "n2", False): "no"}), Panel()
    nodes = {"n1": ONE, "n2": ONE}
    arena = pair(nodes=nodes, victims_port=panel, predicates=judge, parity=parity)
    arena.runs("b", "n1", ONE, "v")
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v"]
    assert ("k", "n2", True) in judge.asked
    assert panel.told == [("n1", ("v",), 0)]


@pytest.mark.remuda_rule("PRE-28", "PRE-87")
@BOTH
def test_without_a_judge_every_node_does_with_its_own_start(parity: bool) -> None:
    # Edge case 25.
    arena = full(3, parity=parity)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v2", "v1"]


@pytest.mark.remuda_rule("PRE-62", "PRE-87")
def test_one_attempt_goes_through_eighty_nodes_and_goes_on_after_a_while() -> None:
    names = [f"n{number}" for number in range(1, 251)]
    panel = Panel(**dict.fromkeys(names, NO))
    arena = row(250, victims_port=panel)
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    assert len(panel.items) == 80
    assert {len(question.items) for question in panel.questions} == {10}
    for asked in (160, 240, 250, 250):
        assert arena.after(SECOND // 10) == []
        assert len(panel.items) == asked
    assert len({item.node_id for item in panel.items}) == 250


@pytest.mark.remuda_rule("PRE-62", "PRE-87")
def test_at_most_fifty_batches_are_asked_about() -> None:
    names = [f"n{number}" for number in range(600)]
    panel = Panel(**dict.fromkeys(names, NO))
    children = leaf("a", guaranteed=cores(5)), leaf("b")
    top = parent("p", *children, maximum=ONE)
    arena = Arena(top, nodes=dict.fromkeys(names, ONE), victims_port=panel)
    arena.apps_in(a="p.a", b="p.b")
    arena.runs("b", "n0", ONE, "v")
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    assert [len(question.items) for question in panel.questions] == [10] * 50


@pytest.mark.remuda_rule("PRE-81", "PRE-29")
def test_the_answers_of_the_rm_decide_and_nothing_else() -> None:
    def victims(verdict: PreemptionVerdict) -> list[str]:
        says = (verdict.success, verdict.index)
        arena = row(4, victims_port=Panel(n1=NO, n2=says, n3=NO, n4=NO))
        arena.wants("a", "k", ONE)
        return arena.after()

    assert victims(PreemptionVerdict(True, 0)) == ["v2"]
    assert victims(PreemptionVerdict(False)) == []
