"""Which allocations may be victims at all (PRE-13, PRE-14, chapter 60 part C, PRE-86)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import MINUTE, REQUIRED_NODE, SECOND, leaf, of, parent
from tests.unit.core.preemption.arena import (
    DELAY,
    ONE,
    Arena,
    Panel,
    cores,
    full,
    pair,
    row,
)

BOTH = pytest.mark.parametrize("parity", [False, True])
ROOM = {"vcore": 100, "memory": 100, "gpu": 100}


@pytest.mark.remuda_rule("PRE-13", "SI-45")
@BOTH
def test_what_is_bound_to_its_node_is_no_victim(parity: bool) -> None:
    arena = pair(2, parity=parity)
    arena.runs("b", "n1", ONE, "bound", tags={REQUIRED_NODE: "n1"})
    arena.runs("b", "n1", ONE, "free", age=100)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["free"]
    arena.wants("a", "l", ONE)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-13")
@BOTH
def test_what_others_run_on_a_node_is_no_victim(parity: bool) -> None:
    arena = pair(1, parity=parity)
    daemon = c.Ask("", "other", ONE, tags={"foreign": "default"})
    reported = (c.ExistingAllocation(daemon, "", "n1"),)
    arena.send(c.UpdateAllocations(arena.rm, allocations=reported))
    arena.wants("a", "k", ONE)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-13", "GANG-19")
@BOTH
def test_a_placeholder_that_is_being_replaced_is_no_victim(parity: bool) -> None:
    arena = pair(2, parity=parity)
    arena.ask("b", "held", cores(2), placeholder=True, task_group="t")
    assert arena.placed() == [("held-0", "n1")]
    arena.ask("b", "real", cores(2), task_group="t")
    ends = [g for a in of(arena.step(), e.AllocationsReleased) for g in a.released]
    assert [gone.termination_type for gone in ends] == [c.PLACEHOLDER_REPLACED]
    arena.wants("a", "k", ONE)
    assert arena.after(MINUTE) == []
    arena.release("b", "held-0", kind=c.PLACEHOLDER_REPLACED)
    # What came instead is one.
    assert arena.after(MINUTE) == ["real-0"]


@pytest.mark.remuda_rule("PRE-38", "GANG-7", "GANG-35")
def test_a_placeholder_is_a_victim_like_any_other() -> None:
    arena = pair(1)
    arena.ask("b", "held", ONE, placeholder=True, task_group="t")
    assert arena.placed() == [("held-0", "n1")]
    arena.wants("a", "k", ONE)
    assert arena.after() == ["held-0"]
    assert arena.confirm("held-0") == [("k-0", "n1")]
    counted = arena.apps()["b"].placeholder_data[0]
    assert (counted.count, counted.replaced, counted.timed_out) == (1, 0, 1)


@pytest.mark.remuda_rule("GANG-19", "PRE-38")
def test_a_placeholder_that_is_a_victim_is_not_replaced() -> None:
    arena = pair(1)
    arena.ask("b", "held", ONE, placeholder=True, task_group="t")
    arena.step()
    arena.wants("a", "k", ONE)
    assert arena.after() == ["held-0"]
    arena.ask("b", "real", ONE, task_group="t")
    assert of(arena.step(), e.AllocationsReleased) == []


@pytest.mark.remuda_rule("PRE-13", "PRE-59", "SI-37")
def test_what_is_ordered_out_already_is_no_victim() -> None:
    arena = pair(1)
    arena.ask("b", "timed", ONE, execution_timeout_ms=20_000)
    arena.step()
    arena.wants("a", "k", ONE)
    arena.now += DELAY - SECOND
    ends = [g for a in of(arena.step(), e.AllocationsReleased) for g in a.released]
    assert [gone.termination_type for gone in ends] == [c.TIMEOUT]
    assert arena.after() == []


@pytest.mark.remuda_rule("PRE-13", "PRE-60")
@BOTH
def test_two_asks_never_choose_the_same_victim(parity: bool) -> None:
    # Edge case 14.
    arena = row(3, parity=parity)
    arena.wants("a", "k1", ONE)
    arena.wants("a", "k2", ONE)
    taken = arena.after()
    assert len(set(taken)) == len(taken) == 2
    assert sum(arena.preempting("root.b").values()) == 2


@pytest.mark.remuda_rule("PRE-14", "PRE-52", "PRE-54")
@BOTH
def test_a_leaf_without_guarantee_gives_all_it_has(parity: bool) -> None:
    arena = pair(4, parity=parity)
    arena.runs("b", "n1", cores(4), "v")
    arena.wants("a", "k", cores(4))
    assert arena.after() == ["v"]


@pytest.mark.remuda_rule("PRE-14", "PRE-54", "PRE-86")
@BOTH
@pytest.mark.parametrize(
    "guaranteed, taken", [(4, []), (5, []), (3, ["v3"]), (2, ["v3", "v2"]), (0, ["v3", "v2"])]
)
def test_a_leaf_gives_what_it_has_above_its_guarantee(
    guaranteed: int, taken: list[str], parity: bool
) -> None:
    """Of four victims of one core as many as an ask for two may have."""
    least = cores(guaranteed, memory=0)
    queues = leaf("a", guaranteed=cores(5)), leaf("b", guaranteed=least)
    arena = Arena(*queues, nodes={"n1": cores(4)}, parity=parity)
    arena.apps_in(a="a", b="b")
    for number in range(4):
        arena.runs("b", "n1", ONE, f"v{number}", age=100 - number)
    arena.wants("a", "k", cores(max(1, min(2, 4 - guaranteed))))
    assert arena.after() == taken


def scene(
    victims: dict[str, Resource],
    guaranteed: Resource,
    ask: Resource,
    owed: Resource | None = None,
) -> Arena:
    """Leaf ``b`` has ``guaranteed`` and runs ``victims``, the last the newest, on a full node."""
    total: dict[str, int] = {}
    for size in victims.values():
        for name, amount in size.items():
            total[name] = total.get(name, 0) + amount
    queues = leaf("a", guaranteed=owed or ROOM), leaf("b", guaranteed=guaranteed)
    arena = Arena(*queues, nodes={"n1": total})
    arena.apps_in(a="a", b="b")
    for number, (name, size) in enumerate(victims.items()):
        arena.runs("b", "n1", size, name, age=1000 - number)
    arena.wants("a", "k", ask)
    return arena


@pytest.mark.remuda_rule("PRE-17", "PRE-86")
def test_a_guarantee_protects_by_type() -> None:
    # Guarantee {memory 10, vcore 10}, use {memory 5, vcore 12}: memory is not to be had.
    victims: dict[str, Resource] = {"m": {"memory": 5}, "v": cores(12)}
    least = cores(10, memory=10)
    assert scene(victims, least, {"memory": 1}).after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-86", "PRE-17")
def test_what_holds_a_protected_type_too_stays() -> None:
    # Edge case 12: one of two types is guaranteed, and used up to that.
    victims: dict[str, Resource] = {"plain": {"memory": 1}, "mixed": cores(2, memory=1)}
    arena = scene(victims, cores(2), {"memory": 1})
    assert arena.after() == []
    victims = {"more": ONE, **victims}
    assert scene(victims, cores(2), {"memory": 1}).after() == ["plain"]


@pytest.mark.remuda_rule("PRE-86", "PRE-56")
@pytest.mark.parametrize(
    "use, taken",
    [
        # guaranteed {vcore 4, memory 10}; the ask and the victim are of gpu only
        (cores(3, memory=12), False),
        (cores(4, memory=10), False),
        (cores(4, memory=11), True),
        (cores(5, memory=10), True),
        (cores(5, memory=9), False),
    ],
)
def test_a_queue_gives_what_is_not_guaranteed_if_it_is_above_its_guarantee(
    use: Resource, taken: bool
) -> None:
    arena = scene({"rest": use, "v": {"gpu": 1}}, cores(4, memory=10), {"gpu": 1})
    assert arena.after() == ["v"] * taken


@pytest.mark.remuda_rule("PRE-86", "PRE-56")
def test_a_queue_gives_a_type_it_has_too_much_of_though_it_lacks_another() -> None:
    use: Resource = {"vcore": 3, "memory": 10}
    arena = scene({"rest": use, "v": {"memory": 2}}, cores(4, memory=10), {"memory": 2})
    assert arena.after() == ["v"]


@pytest.mark.remuda_rule("PRE-86")
@pytest.mark.parametrize(
    "guaranteed, memory, taken",
    [
        ({"vcore": 1, "memory": 0}, 1, True),
        ({"vcore": 1, "memory": 0}, 0, False),
        ({"vcore": 1}, 1, False),
    ],
)
def test_a_guarantee_of_zero_is_one(guaranteed: Resource, memory: int, taken: bool) -> None:
    victims: dict[str, Resource] = {"rest": cores(1, memory=memory), "v": {"gpu": 1}}
    assert scene(victims, guaranteed, {"gpu": 1}).after() == ["v"] * taken


@pytest.mark.remuda_rule("PRE-86")
def test_the_guarantee_of_every_queue_beside_the_ask_protects() -> None:
    inner = parent("q", leaf("b"), leaf("empty"), guaranteed=cores(3))
    arena = Arena(leaf("a", guaranteed=cores(5)), inner, nodes={"n1": cores(4)})
    arena.apps_in(a="a", b="q.b")
    for number in range(4):
        arena.runs("b", "n1", ONE, f"v{number}", age=100 - number)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v3"]
    arena.wants("a", "l", ONE)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-86", "PRE-56")
def test_a_victim_larger_than_what_is_owed_is_passed_over_and_the_search_goes_on() -> None:
    victims: dict[str, Resource] = {"small": cores(3), "large": cores(6)}
    arena = scene(victims, {}, cores(2), owed=cores(5))
    assert arena.after() == ["small"]


@pytest.mark.remuda_rule("PRE-86")
def test_all_victims_together_are_no_more_than_what_is_owed() -> None:
    victims: dict[str, Resource] = {"w": cores(1), "v": cores(3), "u": cores(3)}
    # u and v together would be six; u and w are four.
    assert scene(victims, {}, cores(4), owed=cores(5)).after() == ["u", "w"]


@pytest.mark.remuda_rule("PRE-86")
@pytest.mark.parametrize("memory, taken", [(2, True), (3, False)])
def test_what_is_owed_bounds_types_the_ask_does_not_want(memory: int, taken: bool) -> None:
    victims: dict[str, Resource] = {"v": cores(1, memory=memory)}
    arena = scene(victims, {}, ONE, owed=cores(5, memory=2))
    assert arena.after() == ["v"] * taken


@pytest.mark.remuda_rule("PRE-51", "PRE-86")
def test_what_has_nothing_the_ask_wants_is_no_candidate() -> None:
    panel = Panel()
    arena = pair(nodes={"n1": cores(2, memory=2)}, victims_port=panel)
    arena.runs("b", "n1", {"memory": 1, "vcore": 0}, "memory")
    arena.runs("b", "n1", cores(1, memory=1), "both")
    arena.runs("b", "n1", ONE, "vcore")
    arena.wants("a", "k", ONE)
    arena.after()
    assert [sorted(item.victims) for item in panel.items] == [["both", "vcore"]]


@pytest.mark.remuda_rule("PRE-13")
def test_a_victim_that_stays_after_all_is_a_candidate_again_only_when_it_is_reported_anew() -> None:
    arena = full(1)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v0"]
    arena.release_ask("a", "k")
    arena.wants("a", "l", ONE)
    assert arena.after(MINUTE) == []
    assert arena.confirm("v0") == [("l-0", "n1")]
