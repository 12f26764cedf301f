"""How much has to go, and who gives how much of it (PRE-67, PRE-68, PRE-69; edge cases 48, 49)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.preempt.quota_change import portions
from tests.unit.core.door import MINUTE, leaf, parent
from tests.unit.core.rules.quota import OFF, ON, Quotas, above, bytes_of, planned, queue

WIDE = {"M": 10_000, "C": 10_000}


def due(door: Quotas) -> list[str]:
    """Let ten minutes pass; who is ordered out."""
    return door.evicted(10 * MINUTE)


def given(door: Quotas, *paths: str) -> list[int]:
    """How much memory is about to go in each of these queues."""
    return [door.queue(path).preempting.get("memory", 0) for path in paths]


@pytest.mark.remuda_rule("PRE-67")
@pytest.mark.parametrize(
    "maximum, use, excess",
    [
        ({"M": 50}, {"M": 80}, "map[M:30]"),
        ({"M": 200, "C": 50}, {"M": 100, "C": 80}, "map[C:30]"),
        ({"M": 100, "C": 100}, {"M": 50, "C": 500}, "map[C:400]"),
        ({"M": 50}, {"M": 80, "C": 100}, "map[M:30]"),
    ],
)
def test_what_exceeds_the_maximum_has_to_go(maximum: Resource, use: Resource, excess: str) -> None:
    """The examples of PRE-67 (edge case 48)."""
    door = Quotas(leaf("a", None, None, ON))
    door.node("wide", WIDE)
    door.run("root.a", "k", size=use)
    door.change(leaf("a", maximum, None, ON))
    due(door)
    assert planned(door.last) == excess


@pytest.mark.remuda_rule("PRE-67")
@pytest.mark.parametrize("maximum", [{"M": 80}, {"M": 81, "C": 100}, {"G": 1}])
def test_what_is_within_the_maximum_stays(maximum: Resource) -> None:
    door = Quotas(leaf("a", None, None, ON))
    door.node("wide", WIDE)
    door.run("root.a", "k", size={"M": 80, "C": 100})
    door.change(leaf("a", maximum, None, ON))
    assert due(door) == []


@pytest.mark.remuda_rule("PRE-68")
@pytest.mark.parametrize(
    "own, above_it, amount",
    [
        (10, 4, 4),
        (4, 10, 4),
        (30, 30, 20),
        (10, 0, 0),
        (0, 10, 0),
        (-5, 10, 0),
        (10, -5, 0),
    ],
)
def test_the_smallest_surplus_on_the_path_limits_what_goes(
    own: int, above_it: int, amount: int
) -> None:
    """A queue that is 20 above its maximum, and so far above the guarantees on its path."""

    def home(maximum: int) -> QueueConfig:
        return above("p", queue("a", maximum, 100 - own), guaranteed=100 - above_it)

    door = Quotas(home(100))
    door.fill("root.p.a", 100, 1)
    door.change(home(80))
    assert len(due(door)) == amount
    assert planned(door.last) == (f"map[memory:{amount}]" if amount else "map[]")


@pytest.mark.remuda_rule("PRE-68")
def test_a_level_that_does_not_guarantee_a_type_does_not_limit_it() -> None:
    def home(maximum: int) -> QueueConfig:
        return parent("p", queue("a", maximum, 90), guaranteed={"vcore": 100}, properties=OFF)

    door = Quotas(home(100))
    door.fill("root.p.a", 100, 1)
    door.change(home(80))
    assert len(due(door)) == 10


@pytest.mark.remuda_rule("PRE-68")
def test_a_guarantee_of_zero_keeps_nothing() -> None:
    def home(maximum: int) -> QueueConfig:
        return leaf("a", bytes_of(maximum), {"memory": 0, "vcore": 1}, ON)

    door = Quotas(home(100))
    door.fill("root.a", 100, 1)
    door.change(home(80))
    assert len(due(door)) == 20


@pytest.mark.remuda_rule("PRE-69")
def test_the_worked_example_of_two_children_and_one_within_its_guarantee() -> None:
    """Edge case 49: of 35, a gives 21, b gives 14, c nothing."""

    def home(maximum: int) -> QueueConfig:
        queues = queue("a", 0, 20), queue("b"), queue("c", 0, 30)
        return above("p", *queues, maximum=maximum)

    door = Quotas(home(100))
    for name, use in (("a", 50), ("b", 20), ("c", 30)):
        door.fill(f"root.p.{name}", use, 1)
    door.change(home(65))
    assert len(due(door)) == 35
    assert given(door, "root.p.a", "root.p.b", "root.p.c") == [21, 14, 0]


@pytest.mark.remuda_rule("PRE-69")
def test_three_levels_deep_whole_units_are_neither_lost_nor_added() -> None:
    """Of 10 the parents hold 30, 30 and 40: 3, 3, 4. The first has 7 and 23, of 3: 1 and 2.

    7/30 of 3 is 0.7 and 23/30 is 2.3: rounded down 0 and 2, and the larger remainder gets one.
    The second has three times 10: one each. The third has 39 and 1: 3.9 and 0.1.
    """

    def home(maximum: int) -> QueueConfig:
        return above(
            "p",
            parent("x", leaf("a"), leaf("b")),
            parent("y", leaf("a"), leaf("b"), leaf("c")),
            parent("z", leaf("a"), leaf("b")),
            maximum=maximum,
        )

    door = Quotas(home(100))
    use = {"x.a": 7, "x.b": 23, "y.a": 10, "y.b": 10, "y.c": 10, "z.a": 39, "z.b": 1}
    for path, count in use.items():
        door.run(f"root.p.{path}", *[f"{path}.{number}" for number in range(count)], size=1)
    door.change(home(90))
    assert len(due(door)) == 10
    assert given(door, *[f"root.p.{path}" for path in use]) == [1, 2, 1, 1, 1, 4, 0]


@pytest.mark.remuda_rule("PRE-69")
def test_a_child_below_its_guarantee_gives_nothing_of_that_type() -> None:
    """It is above it in one type and below it in the other."""
    least = {"memory": 50, "vcore": 10}

    def home(maximum: int) -> QueueConfig:
        most = {"memory": maximum, "vcore": maximum}
        return parent("p", leaf("a", None, least), leaf("b"), maximum=most, properties=ON)

    door = Quotas(home(100))
    door.run("root.p.a", *[f"am{number}" for number in range(40)], size=1)
    door.run("root.p.a", *[f"ac{number}" for number in range(40)], size={"vcore": 1})
    door.run("root.p.b", *[f"bm{number}" for number in range(30)], size=1)
    door.run("root.p.b", *[f"bc{number}" for number in range(30)], size={"vcore": 1})
    door.change(home(60))
    evicted = due(door)
    assert len([key for key in evicted if key.startswith("am")]) == 0
    assert len([key for key in evicted if key.startswith("bm")]) == 10
    assert len([key for key in evicted if key.startswith("ac")]) == 5
    assert len([key for key in evicted if key.startswith("bc")]) == 5


@pytest.mark.remuda_rule("PRE-69")
def test_a_type_that_a_child_does_not_guarantee_is_above_its_guarantee() -> None:
    def home(maximum: int) -> QueueConfig:
        queues = leaf("a", None, {"memory": 100}), leaf("b", None, {"memory": 100})
        return parent("p", *queues, maximum={"vcore": maximum}, properties=ON)

    door = Quotas(home(100))
    for name in ("a", "b"):
        door.fill(f"root.p.{name}", 20, {"vcore": 1, "memory": 1})
        door.run(f"root.p.{name}", f"{name}bare", size={"vcore": 1})
    door.change(home(40))
    assert due(door) == ["abare", "bbare"]


@pytest.mark.remuda_rule("PRE-69")
def test_what_guarantees_further_below_keep_is_no_share_of_anybody() -> None:
    """The parent x has no guarantee and could give nothing: all it has is guaranteed to x.a."""

    def home(maximum: int) -> QueueConfig:
        return above("p", parent("x", queue("a", 0, 50)), queue("b"), maximum=maximum)

    door = Quotas(home(100))
    door.fill("root.p.x.a", 50, 1)
    door.fill("root.p.b", 40, 1)
    door.change(home(60))
    assert len(due(door)) == 30
    assert given(door, "root.p.x.a", "root.p.b") == [0, 30]


@pytest.mark.remuda_rule("PRE-69", "RLD-27")
def test_a_former_parent_gives_of_its_own_and_of_its_former_children() -> None:
    door = Quotas(above("p", leaf("x"), maximum=100))
    door.run("root.p.x", *[f"old{number}" for number in range(60)], size=1)
    door.change(queue("p", 100))
    door.run("root.p", *[f"new{number}" for number in range(40)], size=1)
    door.change(queue("p", 50))
    evicted = due(door)
    assert len([key for key in evicted if key.startswith("old")]) == 30
    assert len([key for key in evicted if key.startswith("new")]) == 20


@pytest.mark.remuda_rule("PRE-69")
@pytest.mark.parametrize(
    "amount, weights, parts",
    [
        (35, [30, 20, 0], [21, 14, 0]),
        (10, [1, 1, 1], [1, 1, 1]),
        (2, [1, 1, 1], [1, 1, 0]),
        (4, [5, 5, 5], [2, 1, 1]),
        (3, [7, 23], [1, 2]),
        (1, [1, 2], [0, 1]),
        (5, [], []),
        (5, [0, 0], [0, 0]),
        (2**62, [2**63 - 1, 2**63 - 1], [2**61, 2**61]),
    ],
)
def test_portions_are_exact(amount: int, weights: list[int], parts: list[int]) -> None:
    """Largest remainders, equal ones to the first; nobody gives more than he has."""
    assert portions(amount, weights) == parts
