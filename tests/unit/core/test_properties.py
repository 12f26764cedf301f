"""Queue properties and how they are inherited (A.4 and chapter 10, section 8)."""

from __future__ import annotations

import pytest

from tests.unit.core.door import CREATING, Caller, leaf, parent, partition

POLICY, PRIORITY = "application.sort.policy", "application.sort.priority"
FENCE, OFFSET = "priority.policy", "priority.offset"


@pytest.mark.remuda_rule("QUE-18", "PRP-2", "QUE-19")
@pytest.mark.parametrize(
    "value, policy",
    [
        ("fair", "fair"),
        ("fifo", "fifo"),
        ("FAIR", "fifo"),
        ("lifo", "fifo"),
        ("", "fifo"),
        ("stateaware", "fifo"),
    ],
)
def test_the_sort_policy_is_read_exactly(value: str, policy: str) -> None:
    assert Caller(leaf("a", properties={POLICY: value})).queue("root.a").sort_policy == policy


@pytest.mark.remuda_rule("QUE-18", "PRP-2")
@pytest.mark.parametrize(
    "value, enabled", [("disabled", False), ("DISABLED", False), ("enabled", True), ("off", True)]
)
def test_priority_sorting_is_read_in_any_case(value: str, enabled: bool) -> None:
    assert (
        Caller(leaf("a", properties={PRIORITY: value})).queue("root.a").priority_sorting is enabled
    )


@pytest.mark.remuda_rule("QUE-18", "PRP-2")
@pytest.mark.parametrize(
    "value, offset",
    [
        ("5", 5),
        ("+5", 5),
        ("-2147483648", -(2**31)),
        ("2147483647", 2**31 - 1),
        ("2147483648", 0),
        ("1.5", 0),
        ("five", 0),
        ("1_0", 0),
        ("", 0),
    ],
)
def test_the_offset_is_a_32_bit_number_or_nothing(value: str, offset: int) -> None:
    assert Caller(leaf("a", properties={OFFSET: value})).queue("root.a").priority_offset == offset


@pytest.mark.remuda_rule("QUE-18")
@pytest.mark.parametrize("value, fenced", [("fence", True), ("Fence", True), ("wall", False)])
def test_the_fence_is_read_in_any_case(value: str, fenced: bool) -> None:
    assert Caller(leaf("a", properties={FENCE: value})).queue("root.a").priority_fence is fenced


@pytest.mark.remuda_rule("QUE-18", "QUE-20", "PRP-3", "PRP-5")
def test_sorting_is_inherited_and_priorities_are_not() -> None:
    everything = {POLICY: "fair", PRIORITY: "disabled", FENCE: "fence", OFFSET: "7", "x": "y"}
    door = Caller(
        parent("p", leaf("a"), leaf("b", properties={POLICY: "fifo"}), properties=everything)
    )
    inner = door.queue("root.p.a")
    assert (inner.sort_policy, inner.priority_sorting) == ("fair", False)
    assert (inner.priority_fence, inner.priority_offset) == (False, 0)
    assert inner.properties["x"] == "y"
    assert door.queue("root.p.b").sort_policy == "fifo"
    assert not door.queue("root.p.b").priority_sorting


@pytest.mark.remuda_rule("PRP-3", "PRP-5")
def test_the_worked_example_of_inheritance() -> None:
    root = {OFFSET: "3", POLICY: "fair", "x": "y"}
    door = Caller(leaf("a", properties={OFFSET: "7"}), leaf("p"), properties=root)
    assert dict(door.queue("root.a").properties) == {OFFSET: "7", POLICY: "fair", "x": "y"}
    assert dict(door.queue("root.p").properties) == {OFFSET: "0", POLICY: "fair", "x": "y"}


@pytest.mark.remuda_rule("PRP-4", "D-C24", "PLC-66")
def test_a_dynamic_leaf_inherits_like_a_configured_one() -> None:
    inherited = {POLICY: "fair", OFFSET: "7", PRIORITY: "disabled"}
    door = Caller(
        partitions=[partition(parent("p", properties=inherited), placement_rules=(CREATING,))]
    )
    door.app("app", "root.p.x")
    found = door.queue("root.p.x")
    assert (found.leaf, found.managed) == (True, False)
    assert (found.sort_policy, found.priority_sorting, found.priority_offset) == ("fair", False, 0)


@pytest.mark.remuda_rule("QUE-33", "QUE-18")
def test_priority_sorting_of_the_parent_decides_among_its_children() -> None:
    door = Caller(leaf("a"), leaf("b"), properties={PRIORITY: "disabled"})
    door.node("n1", {"vcore": 10})
    door.app("a", "root.a")
    door.app("b", "root.b")
    door.existing("b", "used", "n1", {"vcore": 1})
    door.ask("a", "a", {"vcore": 1}, priority=1)
    door.ask("b", "b", {"vcore": 1}, priority=9)
    assert door.order() == ["a", "b"]
