"""The order of sibling queues (chapter 50, A.7)."""

from __future__ import annotations

import pytest

from tests.unit.core.door import Caller, leaf, parent

BIG = {"vcore": 100_000, "memory": 100_000}
PARITY = {"scheduler.parity": "1.5"}


def both(amount: int) -> dict[str, int]:
    """The same amount of every type."""
    return {"vcore": amount, "memory": amount}


def served(
    queues: dict[str, tuple[int | None, int, int]], *, by_priority: bool, limit: int = 100_000
) -> list[str]:
    """Queues (guaranteed, allocated, priority) in the order in which one ask each is served."""
    configs = [
        leaf(name, guaranteed=None if guaranteed is None else both(guaranteed))
        for name, (guaranteed, _, _) in queues.items()
    ]
    properties = {"application.sort.priority": "enabled" if by_priority else "disabled"}
    door = Caller(*configs, properties=properties)
    door.node("n1", both(limit))
    for name, (_, allocated, priority) in queues.items():
        door.app(name, f"root.{name}")
        if allocated:
            door.existing(name, f"old-{name}", "n1", both(allocated))
        door.ask(name, name, both(1), priority=priority)
    return door.order()


GUARANTEED = {
    "q0": (500, 300, 1),
    "q1": (300, 200, 1),
    "q2": (200, 100, 1),
    "q3": (200, 100, 3),
}
SHIFTED = {**GUARANTEED, "q0": (500, 200, 1), "q1": (300, 300, 1)}
UNGUARANTEED = {
    "q0": (None, 300, 1),
    "q1": (None, 200, 0),
    "q2": (None, 100, 2),
    "q3": (None, 100, 3),
}


@pytest.mark.remuda_rule("QUE-37", "QUE-33", "QUE-38", "RES-52")
@pytest.mark.parametrize(
    "queues, by_priority, order",
    [
        (GUARANTEED, False, "q3 q2 q0 q1"),
        (GUARANTEED, True, "q3 q2 q0 q1"),
        (SHIFTED, False, "q0 q3 q2 q1"),
        (SHIFTED, True, "q3 q0 q2 q1"),
        (UNGUARANTEED, False, "q3 q2 q1 q0"),
        (UNGUARANTEED, True, "q3 q2 q0 q1"),
    ],
)
def test_the_worked_example(
    queues: dict[str, tuple[int | None, int, int]], by_priority: bool, order: str
) -> None:
    assert served(queues, by_priority=by_priority) == order.split()


@pytest.mark.remuda_rule("RES-52", "QUE-38", "RES-50")
def test_fair_share_is_measured_by_guarantee_then_by_fair_maximum() -> None:
    # x: 100 of 200 guaranteed = 0.5; y: 100 of the 1000 of the cluster = 0.1;
    # z: a limit of its own of 125 makes 0.8.
    door = Caller(
        leaf("x", guaranteed={"vcore": 200}), leaf("y"), leaf("z", maximum={"vcore": 125})
    )
    door.node("n1", {"vcore": 1000})
    for name in "xyz":
        door.app(name, f"root.{name}")
        door.existing(name, f"old-{name}", "n1", {"vcore": 100})
        door.ask(name, name, {"vcore": 1})
    assert door.order() == ["y", "x", "z"]


@pytest.mark.remuda_rule("RES-52")
def test_usage_of_a_type_guaranteed_as_zero_counts_as_one() -> None:
    # x uses memory it has an explicit guarantee of 0 for: 1.0. y uses 90 % of the cluster.
    door = Caller(leaf("x", guaranteed={"memory": 0, "vcore": 10}), leaf("y"))
    door.node("n1", {"vcore": 100, "memory": 100})
    for name, used in (("x", {"memory": 1}), ("y", {"vcore": 90})):
        door.app(name, f"root.{name}")
        door.existing(name, f"old-{name}", "n1", used)
        door.ask(name, name, {"vcore": 1})
    assert door.order() == ["y", "x"]


@pytest.mark.remuda_rule("QUE-38")
def test_the_fair_maximum_of_a_child_wins_even_if_larger() -> None:
    # Below p (limit 10 of the 1000 there are) a has used 5 of its own 5 = 1.0, b 5 of p's 10.
    door = Caller(parent("p", leaf("a", maximum={"vcore": 6}), leaf("b"), maximum={"vcore": 20}))
    door.node("n1", {"vcore": 1000})
    for name in "ab":
        door.app(name, f"root.p.{name}")
        door.existing(name, f"old-{name}", "n1", {"vcore": 5})
        door.ask(name, name, {"vcore": 1})
    assert door.order() == ["b", "a"]


@pytest.mark.remuda_rule("QUE-33")
def test_own_guarantees_count_not_those_above() -> None:
    # p guarantees 10 and has used 5 (0.5); root.q has used 6 of 10 (0.6).
    door = Caller(
        parent("p", leaf("a"), guaranteed={"vcore": 10}),
        leaf("q", guaranteed={"vcore": 10}),
    )
    door.node("n1", {"vcore": 1000})
    for name, path, used in (("a", "root.p.a", 5), ("q", "root.q", 6)):
        door.app(name, path)
        door.existing(name, f"old-{name}", "n1", {"vcore": used})
        door.ask(name, name, {"vcore": 1})
    assert door.order() == ["a", "q"]


@pytest.mark.remuda_rule("QUE-35")
def test_more_pending_comes_first_among_equals() -> None:
    door = Caller(leaf("a"), leaf("b"))
    door.node("n1", BIG)
    for name, resource in (("a", {"vcore": 1}), ("b", {"vcore": 2})):
        door.app(name, f"root.{name}")
        door.ask(name, name, resource)
    assert door.order() == ["b", "a"]


@pytest.mark.remuda_rule("QUE-35", "QUE-36", "KV-5")
def test_with_parity_incomparable_pending_leaves_the_name_to_decide() -> None:
    door = Caller(leaf("b"), leaf("a"), extra_config=PARITY)
    door.node("n1", BIG)
    for name, resource in (("a", {"vcore": 1}), ("b", {"memory": 100})):
        door.app(name, f"root.{name}")
        door.ask(name, name, resource)
    assert door.order() == ["a", "b"]


@pytest.mark.remuda_rule("QUE-36", "KV-5")
def test_with_parity_ties_never_run_in_a_circle() -> None:
    # By name a < b < c; by demand c exceeds a, and b compares with neither. The first by name
    # that no other exceeds is b, then c, then a.
    door = Caller(leaf("c"), leaf("a"), leaf("b"), extra_config=PARITY)
    door.node("n1", BIG)
    for name, resource in (("a", {"vcore": 1}), ("b", {"memory": 1}), ("c", {"vcore": 2})):
        door.app(name, f"root.{name}")
        door.ask(name, name, resource)
    assert door.order() == ["b", "c", "a"]


@pytest.mark.remuda_rule("QUE-32")
def test_a_queue_without_pending_is_passed_over() -> None:
    door = Caller(leaf("a"), leaf("b"), leaf("c"))
    door.node("n1", BIG)
    door.app("b", "root.b")
    door.ask("b", "b", {"vcore": 1})
    assert door.order() == ["b"]
    assert not door.scheduler.has_work()


@pytest.mark.remuda_rule("QUE-19", "PRP-6")
def test_children_are_ordered_fairly_whatever_the_parent_says() -> None:
    door = Caller(leaf("a"), leaf("b"), properties={"application.sort.policy": "fifo"})
    door.node("n1", {"vcore": 10})
    door.app("old", "root.a")
    door.ask("old", "a", {"vcore": 1}, 3)
    door.app("new", "root.b")
    door.ask("new", "b", {"vcore": 1}, 3)
    assert door.order() == ["a", "b", "a", "b", "a", "b"]


@pytest.mark.remuda_rule("QUE-36", "QUE-20")
def test_the_order_does_not_depend_on_the_order_of_the_file() -> None:
    names = ["d", "b", "a", "c"]
    orders = []
    for turn in range(4):
        door = Caller(*(leaf(name) for name in names[turn:] + names[:turn]))
        door.node("n1", BIG)
        for name in names:
            door.app(name, f"root.{name}")
            door.ask(name, name, {"vcore": 1}, 2)
        orders.append(door.order())
    assert orders == [["a", "b", "c", "d"] * 2] * 4
