"""How preemption decides with ``scheduler.parity: 1.5``, where that differs (PRE-83, PRE-84)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from tests.unit.core.door import MINUTE, leaf, parent
from tests.unit.core.preemption.arena import (
    ONE,
    PARITY,
    PAUSE,
    Arena,
    cores,
    full,
    pair,
    row,
)

BOTH = pytest.mark.parametrize("parity", [False, True])


@pytest.mark.remuda_rule("QUE-16", "PRE-15", "PRE-16")
@pytest.mark.parametrize(
    "ask, taken",
    [
        (cores(8000), True),
        (cores(8001), False),
        (cores(8000, memory=30), True),
        (cores(8000, memory=31), False),
        ({"memory": 30}, True),
    ],
)
def test_the_effective_guarantee_is_the_least_on_the_path(ask: Resource, taken: bool) -> None:
    # The example of QUE-16: {vcore 8000} above {vcore 10000, memory 30}.
    owed = leaf("a", guaranteed=cores(10_000, memory=30))
    above = parent("p", owed, guaranteed=cores(8000))
    arena = Arena(above, leaf("b"), nodes={"n1": cores(9000, memory=40)}, parity=True)
    arena.apps_in(a="p.a", b="b")
    arena.runs("b", "n1", cores(9000, memory=40), "v")
    arena.wants("a", "k", ask)
    assert arena.after() == ["v"] * taken


@pytest.mark.remuda_rule("PRE-15", "PRE-16", "PRE-85")
@pytest.mark.parametrize("parity, taken", [(True, []), (False, ["out"])])
def test_an_ask_that_lifts_its_parent_above_the_guarantee_takes_nothing(
    parity: bool, taken: list[str]
) -> None:
    # Law 4. By default the guarantee of the leaf decides alone.
    children = leaf("a", guaranteed=cores(5)), leaf("c")
    arena = Arena(
        parent("p", *children, guaranteed=cores(5)),
        leaf("out"),
        nodes={"n1": cores(6)},
        parity=parity,
    )
    arena.apps_in(a="p.a", c="p.c", out="out")
    arena.runs("c", "n1", cores(3), "c")
    arena.runs("out", "n1", cores(3), "out", priority=-1)
    arena.wants("a", "k", cores(3))
    assert arena.after() == taken


@pytest.mark.remuda_rule("PRE-15")
@pytest.mark.parametrize("gpus, taken", [(1, True), (2, False)])
@BOTH
def test_a_type_that_is_not_guaranteed_is_bounded_by_the_maximum(
    gpus: int, taken: bool, parity: bool
) -> None:
    owed = leaf("a", cores(9, gpu=1), cores(5))
    arena = Arena(owed, leaf("b"), nodes={"n1": cores(5, gpu=2)}, parity=parity)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(5, gpu=2), "v")
    arena.wants("a", "k", cores(1, gpu=gpus))
    assert arena.after() == ["v"] * taken


@pytest.mark.remuda_rule("PRE-15", "PRE-16")
@BOTH
def test_what_is_about_to_go_counts_as_gone(parity: bool) -> None:
    # The room of a is used up by an allocation that is a victim itself.
    queues = leaf("a", guaranteed=cores(2)), leaf("b", guaranteed=cores(2)), leaf("c")
    nodes = {"n1": cores(2), "n2": cores(4)}
    arena = Arena(*queues, nodes=nodes, parity=parity, extra_config={"rm.confirmTimeout": "0"})
    arena.apps_in(a="a", b="b", c="c")
    arena.runs("a", "n1", cores(2), "own")
    arena.runs("a", "n2", cores(2), "more", age=9)
    arena.runs("c", "n2", cores(2), "c", age=99, allow_preempt_self=False)
    arena.wants("b", "first", cores(2))
    assert arena.after() == ["own"]
    arena.wants("a", "k", ONE)
    # a keeps two of two, so it is owed nothing.
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-11", "PRE-14", "PRE-17")
@BOTH
def test_a_second_attempt_sees_what_the_first_has_chosen(parity: bool) -> None:
    arena = row(4, parity=parity)
    least = leaf("b", guaranteed=cores(2))
    extra = PARITY if parity else {}
    arena.reload(leaf("a", guaranteed=cores(5)), least, extra_config=extra)
    for number in range(4):
        arena.wants("a", f"k{number}", ONE)
    assert len(arena.after()) == 2
    assert arena.after(PAUSE) == []


@pytest.mark.remuda_rule("PRE-17", "PRE-84")
@pytest.mark.parametrize("parity, taken", [(True, []), (False, ["v"])])
def test_a_guarantee_above_both_protects_only_in_parity(parity: bool, taken: list[str]) -> None:
    children = leaf("a", guaranteed=cores(5)), leaf("b")
    shared = parent("p", *children, guaranteed=cores(10))
    arena = Arena(shared, nodes={"n1": cores(10)}, parity=parity)
    arena.apps_in(a="p.a", b="p.b")
    arena.runs("b", "n1", cores(5), "rest", age=100, allow_preempt_self=False)
    arena.runs("b", "n1", cores(5), "v", age=10)
    arena.wants("a", "k", cores(5))
    assert arena.after() == taken


@pytest.mark.remuda_rule("PRE-84", "PRE-7", "PRE-51")
@pytest.mark.parametrize("parity, taken", [(True, ["out", "p2"]), (False, ["p2"])])
def test_a_full_queue_is_no_fence_in_parity(parity: bool, taken: list[str]) -> None:
    top = parent("p", leaf("a", guaranteed=cores(5)), leaf("p2"), maximum=ONE)
    arena = Arena(top, leaf("out"), nodes={"n1": cores(2)}, parity=parity)
    arena.apps_in(a="p.a", p2="p.p2", out="out")
    arena.runs("p2", "n1", ONE, "p2", age=9)
    arena.runs("out", "n1", ONE, "out", age=9)
    arena.wants("a", "k", ONE)
    assert arena.after() == taken


@pytest.mark.remuda_rule("PRE-83", "PRE-6")
def test_in_parity_too_an_ask_whose_room_is_lost_takes_room_again() -> None:
    arena = row(2, parity=True)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v1"]
    arena.node("n1", action=c.DECOMISSION)
    assert arena.after(PAUSE) == ["v2"]


@pytest.mark.remuda_rule("PRE-83", "PRE-10")
def test_in_parity_too_the_offset_of_a_common_ancestor_counts_for_nobody() -> None:
    children = leaf("a", guaranteed=cores(5)), leaf("b")
    top = parent("p", *children, properties={"priority.offset": "100"})
    arena = Arena(top, nodes={"n1": ONE}, parity=True)
    arena.apps_in(a="p.a", b="p.b")
    arena.runs("b", "n1", ONE, "v", priority=50)
    arena.wants("a", "k", ONE)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-83", "PRE-84")
def test_parity_is_switched_while_it_runs() -> None:
    queues = leaf("a", guaranteed=cores(5)), leaf("b")
    arena = Arena(*queues, nodes={"n1": cores(2)})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", ONE, "old", age=9, priority=-2)
    arena.runs("b", "n1", ONE, "new", age=1, priority=-1)
    arena.reload(*queues, extra_config=PARITY)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["new"]


@pytest.mark.remuda_rule("PRE-84", "PRE-87")
@pytest.mark.parametrize("parity, taken", [(True, ["one", "uno", "two"]), (False, ["one", "two"])])
def test_in_parity_no_victim_of_a_node_is_dropped_again(parity: bool, taken: list[str]) -> None:
    arena = pair(4, parity=parity)
    for number, (name, size) in enumerate({"one": 1, "uno": 1, "two": 2}.items()):
        arena.runs("b", "n1", cores(size), name, age=100 + number)
    arena.wants("a", "k", cores(3))
    assert arena.after() == taken


@pytest.mark.remuda_rule("PRE-31", "PRE-32", "PRE-84")
def test_in_parity_what_does_not_help_the_queue_stays() -> None:
    top = parent("p", leaf("a", guaranteed=cores(5)), leaf("b"), maximum=cores(2))
    arena = Arena(top, leaf("out"), nodes={"n1": cores(3), "n2": cores(9)}, parity=True)
    arena.apps_in(a="p.a", b="p.b", out="out")
    arena.runs("b", "n1", ONE, "v1", "v2", age=9)
    arena.runs("out", "n1", ONE, "newest", age=1)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v1"]
    assert arena.reserved() == [("n2", "k")]


@pytest.mark.remuda_rule("PRE-5", "PRE-84")
def test_the_delay_is_the_same_in_parity() -> None:
    arena = full(2, parity=True)
    arena.wants("a", "k", ONE)
    assert arena.after(30 * 10**9 - 1) == []
    assert arena.after(1) == ["v1"]
