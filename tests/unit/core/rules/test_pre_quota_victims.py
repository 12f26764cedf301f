"""Who goes for a changed maximum, and how many (PRE-70, PRE-71; edge cases 50, 51)."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import MINUTE, SECOND, leaf, of, parent
from tests.unit.core.rules.quota import (
    BOUND,
    ON,
    Quotas,
    above,
    bytes_of,
    planned,
    queue,
    summaries,
)


def cut(door: Quotas, *queues: QueueConfig) -> list[str]:
    """Change the configuration and let ten minutes pass; who is ordered out."""
    door.change(*queues)
    return door.evicted(10 * MINUTE)


def in_turn(*kinds: tuple[str, dict[str, Any]]) -> list[str]:
    """The order in which these go, one after the other, each of 20 memory unless said otherwise."""
    door = Quotas(queue("a"))
    for key, kind in kinds:
        door.run("root.a", key, **kind)
    order: list[str] = []
    while left := door.used("root.a").get("memory", 0):
        order += cut(door, queue("a", left - 1))
        door.confirm()
    return order


# ------------------------------------------------------------------------------------ PRE-70


@pytest.mark.remuda_rule("PRE-70")
def test_the_order_is_ordinary_then_opted_out_then_originator() -> None:
    kinds = (
        ("both", {"originator": True, "allow_preempt_self": False}),
        ("first", {"originator": True, "priority": -5}),
        ("out", {"allow_preempt_self": False, "priority": -5}),
        ("plain", {"priority": 9}),
    )
    assert in_turn(*kinds) == ["plain", "out", "first", "both"]


@pytest.mark.remuda_rule("PRE-70")
def test_lower_priority_goes_first() -> None:
    kinds = [("high", {"priority": 7}), ("low", {"priority": -7}), ("none", {"priority": 0})]
    assert in_turn(*kinds) == ["low", "none", "high"]


@pytest.mark.remuda_rule("PRE-70")
def test_the_newer_by_the_hour_goes_first() -> None:
    """At the start it is 13 minutes past: what comes 47 minutes later is of another hour."""
    door = Quotas(queue("a"))
    door.run("root.a", "b", size=18)
    door.now += 46 * MINUTE
    door.run("root.a", "a", size=19)
    door.now += MINUTE
    door.run("root.a", "z", size=20)
    assert cut(door, queue("a", 37)) == ["z"]
    door.confirm()
    assert cut(door, queue("a", 19)) == ["b"]


@pytest.mark.remuda_rule("PRE-70")
def test_the_priority_counts_before_the_hour() -> None:
    door = Quotas(queue("a"))
    door.run("root.a", "old", priority=-1)
    door.now += 60 * MINUTE
    door.run("root.a", "new", priority=1)
    assert cut(door, queue("a", 39)) == ["old"]


@pytest.mark.remuda_rule("PRE-70")
def test_within_an_hour_the_smaller_goes_first_then_the_newer_then_the_key() -> None:
    door = Quotas(queue("a"))
    door.run("root.a", "large", size=30)
    door.run("root.a", "d", "c", size=10)
    door.now += MINUTE
    door.run("root.a", "e", size=10)
    assert cut(door, queue("a", 50)) == ["e"]
    door.confirm()
    assert cut(door, queue("a", 40)) == ["c"]
    door.confirm()
    assert cut(door, queue("a", 30)) == ["d"]


@pytest.mark.remuda_rule("PRE-70", "RES-53")
def test_more_of_its_types_wanted_goes_first() -> None:
    """All of its types, then one of two, then one of three, whatever their priority."""
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("third", {"size": {"memory": 20, "vcore": 1, "gpu": 1}, "priority": -9}),
        ("second", {"size": {"memory": 20, "vcore": 1}}),
        ("first", {"size": {"memory": 20}, "priority": 9}),
    ]
    assert in_turn(*kinds) == ["first", "second", "third"]


@pytest.mark.remuda_rule("PRE-70")
@pytest.mark.parametrize(
    "kind",
    [{"tags": BOUND}, {"size": {"vcore": 5}}, {"size": {"memory": 0, "vcore": 5}}],
    ids=["required node", "other type", "nothing of the type"],
)
def test_these_do_not_go(kind: dict[str, Any]) -> None:
    door = Quotas(queue("a"))
    door.run("root.a", "kept", **kind)
    door.run("root.a", "k1")
    assert cut(door, queue("a", 1)) == ["k1"]
    door.confirm()
    assert "kept" in [each.allocation_id for each in door.apps()["root.a"].allocations]


@pytest.mark.remuda_rule("PRE-70")
def test_who_was_ordered_out_already_does_not_go_twice() -> None:
    """It took too long and is about to end; until then it counts."""
    door = Quotas(queue("a"))
    door.app("slow", "root.a")
    door.ask("slow", "s", bytes_of(20), execution_timeout_ms=1000)
    assert len(door.place()) == 1
    door.wait(SECOND)
    (answer,) = of(door.last, e.AllocationsReleased)
    assert answer.released[0].allocation_id == "s-0"
    door.run("root.a", "k1", "k2")
    assert cut(door, queue("a", 40)) == ["k1"]


@pytest.mark.remuda_rule("PRE-70")
def test_a_victim_of_one_run_is_not_one_of_the_next() -> None:
    home = above("p", queue("a", 100), maximum=100)
    door = Quotas(home)
    door.fill("root.p.a", 5)
    door.change(above("p", queue("a", 80), maximum=100))
    door.wait(1)
    door.change(above("p", queue("a", 80), maximum=60))
    assert door.evicted(11 * MINUTE) == ["a01", "a02"]
    assert [record.object_id for record in summaries(door.last)][-1:] == ["root.p"]


@pytest.mark.remuda_rule("PRE-70", "GANG-14")
def test_a_placeholder_goes_unless_it_is_being_replaced() -> None:
    door = Quotas(queue("a"))
    door.app("gang", "root.a", placeholder_ask=bytes_of(40))
    door.ask("gang", "p", bytes_of(20), 2, placeholder=True, task_group="g")
    assert len(door.place()) == 2
    door.ask("gang", "real", bytes_of(20), task_group="g")
    (swap,) = of(door.step(), e.AllocationsReleased)
    replaced = swap.released[0].allocation_id
    (other,) = {"p-0", "p-1"} - {replaced}
    assert cut(door, queue("a", 5)) == [other]
    door.confirm()
    assert door.used("root.a") == bytes_of(20)
    door.release("gang", replaced, kind=c.PLACEHOLDER_REPLACED)
    assert door.used("root.a") == bytes_of(20)


# ------------------------------------------------------------------------------------ PRE-71


@pytest.mark.remuda_rule("PRE-71")
@pytest.mark.parametrize("maximum, victims, left", [(60, 2, 60), (70, 2, 60), (90, 1, 80)])
def test_the_examples_with_victims_of_20(maximum: int, victims: int, left: int) -> None:
    """Use 100. The excess of 10 is smaller than every allocation (edge case 50): one goes."""
    door = Quotas(queue("a", 100))
    door.fill("root.a", 5)
    assert len(cut(door, queue("a", maximum))) == victims
    door.confirm()
    assert door.used("root.a") == bytes_of(left)


@pytest.mark.remuda_rule("PRE-71")
def test_the_example_with_a_guarantee_above_the_maximum() -> None:
    """Guaranteed 50, maximum 45: two go, 60 stay, for a third one would leave 40."""
    door = Quotas(queue("a", 100, 50))
    door.fill("root.a", 5)
    assert len(cut(door, queue("a", 45, 50))) == 2
    assert planned(door.last) == "map[memory:50]"
    door.confirm()
    assert door.used("root.a") == bytes_of(60)


@pytest.mark.remuda_rule("PRE-71")
@pytest.mark.parametrize("size, victims, left", [(20, 2, 60), (25, 1, 75), (50, 0, 100)])
def test_a_guarantee_equal_to_the_maximum(size: int, victims: int, left: int) -> None:
    """Edge case 51: of 100 it is to be 60, and what would leave less does not go."""
    door = Quotas(queue("a", 100, 60))
    door.fill("root.a", 100 // size, size)
    assert len(cut(door, queue("a", 60, 60))) == victims
    door.confirm()
    assert door.used("root.a") == bytes_of(left)


@pytest.mark.remuda_rule("PRE-71")
def test_what_is_too_large_is_passed_over_while_smaller_ones_are_there() -> None:
    door = Quotas(queue("a"))
    door.run("root.a", "large", size=50, priority=-1)
    door.run("root.a", "k1", "k2", size=10)
    assert cut(door, queue("a", 50)) == ["k1", "k2"]


@pytest.mark.remuda_rule("PRE-71")
def test_the_one_that_goes_beyond_it_is_the_smallest_that_suffices() -> None:
    """Of 25 that are too much 20 fit; for the 5 that are left 8 suffice."""
    door = Quotas(queue("a"))
    door.run("root.a", "x20", size=20, priority=-9)
    door.run("root.a", "x60", size=60, priority=-5)
    door.run("root.a", "x30", size=30, priority=-5)
    door.run("root.a", "x08", size=8)
    assert cut(door, queue("a", 93)) == ["x08", "x20"]


@pytest.mark.remuda_rule("PRE-71")
def test_who_need_not_go_because_of_a_larger_one_stays() -> None:
    door = Quotas(queue("a"))
    door.run("root.a", "small", size=3)
    door.run("root.a", "large", size=40)
    assert cut(door, queue("a", 38)) == ["large"]


@pytest.mark.remuda_rule("PRE-71")
def test_an_opted_out_one_is_spared_for_a_larger_ordinary_one() -> None:
    door = Quotas(queue("a"))
    door.run("root.a", "out", size=10, allow_preempt_self=False)
    door.run("root.a", "plain", size=40)
    assert cut(door, queue("a", 45)) == ["plain"]


@pytest.mark.remuda_rule("PRE-71")
def test_shares_of_leaves_that_nobody_fits_are_taken_together() -> None:
    """Of 30 each leaf has to give 10, all have allocations of 20: 20 fit, and one more goes."""

    def home(maximum: int) -> QueueConfig:
        return above("p", leaf("a"), leaf("b"), leaf("c"), maximum=maximum)

    door = Quotas(home(300))
    for name in ("a", "b", "c"):
        door.fill(f"root.p.{name}", 5)
    assert len(cut(door, home(270))) == 2


@pytest.mark.remuda_rule("PRE-71")
def test_a_leaf_gives_more_than_its_share_where_another_cannot() -> None:
    def home(maximum: int) -> QueueConfig:
        return above("p", leaf("a"), leaf("b"), maximum=maximum)

    door = Quotas(home(200))
    door.run("root.p.a", *[f"a{number}" for number in range(5)], tags=BOUND)
    door.fill("root.p.b", 5)
    evicted = cut(door, home(160))
    assert evicted == ["b01", "b02"]


@pytest.mark.remuda_rule("PRE-71")
def test_a_type_of_which_enough_goes_keeps_nobody_from_going_for_another() -> None:
    """Much too much memory and one core too many: the cores that go along are no reason."""
    door = Quotas(leaf("a"))
    door.fill("root.a", 10, {"memory": 10, "vcore": 1})
    maximum = {"memory": 50, "vcore": 9}
    assert len(cut(door, leaf("a", maximum, None, ON))) == 5


@pytest.mark.remuda_rule("PRE-71")
def test_those_with_a_type_of_which_enough_goes_go_in_their_order() -> None:
    """One core is too much and goes with k1; of the memory 30 are left, and three have 10."""
    door = Quotas(leaf("a"))
    small = {"memory": 10, "vcore": 1}
    door.run("root.a", "k1", "k2", "k3", "k4", size=small, priority=-9)
    door.run("root.a", "large", size={"memory": 35, "vcore": 1}, priority=9)
    maximum = {"memory": 35, "vcore": 4}
    assert cut(door, leaf("a", maximum, None, ON)) == ["k1", "k2", "k3", "k4"]


@pytest.mark.remuda_rule("PRE-71")
def test_those_without_a_type_of_which_enough_goes_are_preferred() -> None:
    """The leaf b has to give all: 20 and 5 its share, x, and of the rest y takes all cores."""

    def home(maximum: Resource | None) -> QueueConfig:
        return parent("p", leaf("a"), leaf("b"), maximum=maximum, properties=ON)

    door = Quotas(home(None))
    door.run("root.p.a", "kept", size={"memory": 50, "vcore": 15}, tags=BOUND)
    door.run("root.p.b", "x", size={"memory": 20, "vcore": 5}, priority=-9)
    door.run("root.p.b", "y", size={"memory": 10, "vcore": 5}, priority=-8)
    door.run("root.p.b", "k", size={"memory": 10, "vcore": 5}, priority=-7)
    door.run("root.p.b", "z", size={"memory": 10}, priority=9)
    assert cut(door, home({"memory": 60, "vcore": 20})) == ["x", "y", "z"]


@pytest.mark.remuda_rule("PRE-71")
def test_what_was_too_large_in_one_type_is_not_when_enough_of_it_goes() -> None:
    """With y the core that is too much goes; then x1 and x2 have just the memory that is left."""
    door = Quotas(leaf("a"))
    door.run("root.a", "g", size={"gpu": 1}, priority=-10)
    door.run("root.a", "x1", "x2", size={"memory": 10, "vcore": 3}, priority=-9)
    door.run("root.a", "y", size={"memory": 1, "vcore": 1, "gpu": 1})
    door.run("root.a", "z", size={"memory": 25, "vcore": 3}, priority=9)
    maximum = {"memory": 25, "vcore": 9, "gpu": 1}
    assert cut(door, leaf("a", maximum, None, ON)) == ["x1", "x2", "y"]


@pytest.mark.remuda_rule("PRE-71")
def test_who_stays_in_the_end_makes_room_below_guarantees_for_another() -> None:
    """The guarantee of a lets go v or k. With w enough cores go, so v stays, and k may go."""

    def home(maximum: Resource | None) -> QueueConfig:
        own = leaf("a", None, {"vcore": 3}), leaf("b")
        return parent("p", *own, maximum=maximum, properties=ON)

    door = Quotas(home(None))
    door.run("root.p.a", "v", size={"vcore": 3}, priority=-9)
    door.run("root.p.a", "k", size={"memory": 10, "vcore": 5})
    door.run("root.p.b", "w", size={"vcore": 5})
    assert cut(door, home({"memory": 0, "vcore": 8})) == ["k"]


@pytest.mark.remuda_rule("PRE-71")
def test_two_types_too_much_that_nobody_has_together() -> None:
    door = Quotas(leaf("a"))
    door.run("root.a", "m1", "m2", size=20)
    door.run("root.a", "c1", "c2", size={"vcore": 20})
    maximum = {"memory": 35, "vcore": 35}
    assert cut(door, leaf("a", maximum, None, ON)) == ["c1", "m1"]


@pytest.mark.remuda_rule("PRE-71")
def test_one_that_suffices_for_both_types_goes_instead_of_two() -> None:
    door = Quotas(leaf("a"))
    door.run("root.a", "m1", size=20)
    door.run("root.a", "c1", size={"vcore": 20})
    door.run("root.a", "both", size={"memory": 30, "vcore": 30})
    maximum = {"memory": 45, "vcore": 45}
    assert cut(door, leaf("a", maximum, None, ON)) == ["both"]


@pytest.mark.remuda_rule("PRE-71")
def test_guarantees_of_types_that_go_along_hold_too() -> None:
    """The memory of the first is wanted, its cores are guaranteed to the leaf."""
    door = Quotas(leaf("a", None, {"vcore": 10}, ON))
    door.run("root.a", "cores", size={"memory": 20, "vcore": 10}, priority=-1)
    door.run("root.a", "plain", size=20)
    assert cut(door, leaf("a", {"memory": 20}, {"vcore": 10}, ON)) == ["plain"]


@pytest.mark.remuda_rule("PRE-71")
@pytest.mark.parametrize("level", ["leaf", "below the changed queue", "above the changed queue"])
def test_no_queue_on_the_path_falls_below_its_guarantee(level: str) -> None:
    """Allocations of 30 in a leaf of 90: for the excess of 10 one may go if 60 are guaranteed."""

    def home(maximum: int, guaranteed: int) -> QueueConfig:
        own = {name: guaranteed if name == level else 0 for name in (level, "leaf")}
        low = above(
            "q", queue("a", 0, own["leaf"]), guaranteed=own.get("below the changed queue", 0)
        )
        changed = above("p", low, maximum=maximum)
        high = {"memory": own.get("above the changed queue", 0)} if level[0] == "a" else None
        return parent("top", changed, guaranteed=high, properties=ON)

    for guaranteed, victims in ((60, 1), (61, 0)):
        door = Quotas(home(90, guaranteed))
        door.fill("root.top.p.q.a", 3, 30)
        assert len(cut(door, home(80, guaranteed))) == victims
