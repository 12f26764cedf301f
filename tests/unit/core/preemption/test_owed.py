"""What an ask is owed, and by whom (PRE-85, PRE-16, PRE-93)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from tests.unit.core.door import MINUTE, leaf, parent
from tests.unit.core.preemption.arena import (
    DELAY,
    DISABLED,
    ONE,
    PAUSE,
    Arena,
    cores,
    pair,
    row,
)


def scene(
    *queues: QueueConfig,
    runs: dict[str, int],
    ask: Resource = ONE,
    at: str = "p.a",
    parity: bool = False,
    free: int = 0,
) -> Arena:
    """Nodes full of allocations (queue -> cores, each on a node), and one ask; more is drained."""
    arena = Arena(*queues, parity=parity)
    for path, size in runs.items():
        name = path.rpartition(".")[2]
        if name not in arena.apps():
            arena.apps_in(**{name: path})
        arena.node(f"n-{name}", cores(size))
        arena.runs(name, f"n-{name}", cores(size), name)
    if free:
        arena.node("spare", cores(free), c.CREATE_DRAIN)
    arena.app("asker", f"root.{at}")
    arena.wants("asker", "k", ask)
    return arena


@pytest.mark.remuda_rule("PRE-85", "PRE-16")
@pytest.mark.parametrize("parity", [False, True])
def test_a_leaf_without_a_guarantee_on_its_path_is_owed_nothing(parity: bool) -> None:
    queues = parent("p", leaf("a"), leaf("b"))
    assert scene(queues, runs={"p.b": 1}, parity=parity).after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-85", "PRE-16")
@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize("size, taken", [(5, True), (6, False)])
def test_an_ask_that_lifts_its_leaf_above_the_guarantee_is_owed_nothing(
    size: int, taken: bool, parity: bool
) -> None:
    # Edge case 18.
    arena = pair(6, parity=parity)
    for number in range(6):
        arena.runs("b", "n1", ONE, f"v{number}")
    arena.wants("a", "k", cores(size))
    assert bool(arena.after()) is taken


@pytest.mark.remuda_rule("PRE-85")
def test_what_the_leaf_has_counts() -> None:
    arena = pair(nodes={"n1": cores(3), "n2": cores(3)})
    arena.runs("a", "n1", cores(3), "own")
    arena.runs("b", "n2", cores(3), "v")
    arena.wants("a", "k", cores(3))
    assert arena.after(MINUTE) == []
    arena.wants("a", "l", cores(2))
    # Three cores are more than the two that are owed.
    assert arena.after(MINUTE) == []
    arena.node("n3", cores(2))
    arena.runs("b", "n3", cores(2), "w")
    assert arena.after() == ["w"]


@pytest.mark.remuda_rule("PRE-85")
def test_a_guarantee_that_both_sides_share_decides_nothing_between_them() -> None:
    shared = parent("p", leaf("a"), leaf("b"), guaranteed=cores(10))
    arena = scene(shared, leaf("out"), runs={"p.b": 1, "out": 1})
    assert arena.after() == ["out"]


@pytest.mark.remuda_rule("PRE-85")
def test_a_guarantee_that_both_sides_share_and_only_they_use_moves_nothing() -> None:
    shared = parent("p", leaf("a"), leaf("b"), guaranteed=cores(10))
    assert scene(shared, runs={"p.b": 2}).after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-85")
def test_the_guarantee_of_the_leaf_counts_though_its_parent_has_what_it_is_owed() -> None:
    children = leaf("a", guaranteed=cores(2)), leaf("b", properties=DISABLED)
    queues = parent("p", *children, guaranteed=cores(2))
    arena = scene(queues, leaf("out"), runs={"p.b": 2, "out": 1})
    assert arena.after() == ["out"]


@pytest.mark.remuda_rule("PRE-85")
@pytest.mark.parametrize("size, taken", [(1, ["out"]), (2, [])])
def test_without_one_of_the_leaf_the_least_guarantee_above_it_decides(
    size: int, taken: list[str]
) -> None:
    # g has 3 of 4, p nothing of 5.
    inner = parent("p", leaf("a"), guaranteed=cores(5))
    outer = parent("g", inner, leaf("g2"), guaranteed=cores(4 + 5))
    runs = {"g.g2": 8, "out": 1}
    arena = scene(outer, leaf("out"), runs=runs, at="g.p.a", ask=cores(size), free=2)
    arena.node("n-out", {"vcore": 2}, c.UPDATE)
    arena.runs("out", "n-out", ONE, "more", age=10)
    assert arena.after()[:1] == taken


@pytest.mark.remuda_rule("PRE-85", "PRE-55")
@pytest.mark.parametrize(
    "guaranteed, taken",
    [
        ({"vcore": 5}, True),
        ({"vcore": 5, "memory": 1}, True),
        ({"vcore": 5, "memory": 0}, False),
        ({"memory": 1}, True),
        ({"gpu": 1}, False),
        ({"vcore": 5, "gpu": 0}, True),
        ({"vcore": 0, "memory": 5}, False),
    ],
)
def test_every_guaranteed_type_an_ask_wants_has_to_be_owed(
    guaranteed: Resource, taken: bool
) -> None:
    both = cores(1, memory=1)
    arena = Arena(leaf("a", guaranteed=guaranteed), leaf("b"), nodes={"n1": both})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", both, "v")
    arena.wants("a", "k", both)
    assert arena.after() == ["v"] * taken


@pytest.mark.remuda_rule("PRE-85", "PRE-89")
def test_what_is_promised_counts_as_used() -> None:
    arena = row(3, 2)
    arena.wants("a", "k1", cores(2))
    arena.wants("a", "k2", cores(2))
    arena.wants("a", "k3", cores(2))
    assert len(arena.after()) == 2
    assert arena.after(PAUSE) == []
    assert "Preemption queue guarantees check failed" in arena.log("a", "k3")


@pytest.mark.remuda_rule("PRE-16")
@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize(
    "of_parent, of_child, size, taken",
    [
        (None, None, 5, False),
        (None, 5, 5, True),
        (10, 5, 5, True),
        (None, None, 25, False),
        (10, 5, 25, False),
        # What both share decides nothing; upstream the sibling is within it.
        (10, None, 5, False),
    ],
)
def test_the_checked_cases_of_feasibility(
    of_parent: int | None, of_child: int | None, size: int, taken: bool, parity: bool
) -> None:
    # Edge case 15: parent max 20, children max 10, the sibling uses 10.
    least = cores(of_child) if of_child else None
    children = leaf("a", cores(10), least), leaf("b", cores(10), least)
    shared = cores(of_parent) if of_parent else None
    top = parent("p", *children, maximum=cores(20), guaranteed=shared)
    arena = Arena(top, nodes={"n1": cores(10)}, parity=parity)
    arena.node("spare", cores(10), c.CREATE_DRAIN)
    arena.apps_in(a="p.a", b="p.b")
    for number in range(2):
        arena.runs("b", "n1", cores(5), f"v{number}", age=100 - number)
    arena.wants("a", "k", cores(size))
    assert arena.after() == ["v1"] * taken


@pytest.mark.remuda_rule("PRE-16", "PRE-33")
@pytest.mark.parametrize("parity", [False, True])
def test_without_candidates_nothing_happens_however_much_is_free(parity: bool) -> None:
    # Edge case 17.
    arena = pair(4, parity=parity)
    arena.runs("a", "n1", cores(3), "own")
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.wants("a", "k", cores(2))
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-16", "PRE-88")
@pytest.mark.parametrize("parity", [False, True])
def test_a_parent_exactly_at_its_maximum_gives_room_within_it(parity: bool) -> None:
    # Edge case 16.
    children = leaf("a", guaranteed=cores(2)), leaf("b", guaranteed=cores(2))
    top = parent("p", *children, maximum=cores(4))
    arena = Arena(top, nodes={"n1": cores(8)}, parity=parity)
    arena.apps_in(a="p.a", b="p.b")
    for number in range(4):
        arena.runs("b", "n1", ONE, f"v{number}", age=100 - number)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v3", "v2"]
    assert arena.confirm("v3", "v2") == [("k-0", "n1")]


@pytest.mark.remuda_rule("PRE-93")
def test_two_queues_that_both_want_all_come_to_rest_at_their_guarantees() -> None:
    queues = leaf("a", guaranteed=cores(3)), leaf("b", guaranteed=cores(3))
    arena = Arena(*queues, nodes={"n1": cores(3), "n2": cores(3)})
    arena.apps_in(a="a", b="b")
    for name in "ab":
        arena.wants(name, name, ONE, 6)
    evictions = 0
    for _ in range(40):
        for identity in arena.after(DELAY):
            evictions += 1
            arena.confirm(identity)
    assert evictions <= 3
    assert [arena.queue(f"root.{name}").allocated for name in "ab"] == [cores(3), cores(3)]


@pytest.mark.remuda_rule("PRE-93")
@pytest.mark.parametrize("guaranteed", [3, 5])
def test_victims_that_are_asked_for_again_do_not_swing_back(guaranteed: int) -> None:
    # Guarantees that are more than there is: 2 x 5 of 6 cores.
    least = cores(guaranteed)
    queues = leaf("a", guaranteed=least), leaf("b", guaranteed=least)
    arena = Arena(*queues, nodes={"n1": cores(6)})
    arena.apps_in(a="a", b="b")
    arena.wants("b", "b", ONE, 6)
    arena.step()
    arena.wants("a", "a", ONE, 6)
    evicted: list[str] = []
    for number in range(60):
        for identity in arena.after(DELAY):
            evicted.append(identity)
            arena.confirm(identity)
            arena.wants(identity[0], f"again-{number}", ONE)
    assert len(evicted) == 6 - guaranteed
    assert {identity[0] for identity in evicted} == ({"b"} if guaranteed < 6 else set())


@pytest.mark.remuda_rule("PRE-85")
@pytest.mark.parametrize("size, taken", [(1, ["out"]), (2, [])])
def test_the_least_guarantee_above_the_leaf_may_be_that_of_its_parent(
    size: int, taken: list[str]
) -> None:
    # p has 2 of 3, g has 5 of 10.
    inner = parent("p", leaf("a"), leaf("a2"), guaranteed=cores(3))
    outer = parent("g", inner, leaf("g2"), guaranteed=cores(10))
    runs = {"g.p.a2": 2, "g.g2": 3, "out": 1}
    arena = scene(outer, leaf("out"), runs=runs, at="g.p.a", ask=cores(size), free=2)
    arena.node("n-out", {"vcore": 2}, c.UPDATE)
    arena.runs("out", "n-out", ONE, "more", age=10)
    assert arena.after()[:1] == taken
