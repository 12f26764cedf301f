"""Which node an ask reserves: the least that is missing (RSV-4, RES-54)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import Caller, leaf
from tests.unit.core.rules.crowd import LATE, reserved

Amounts = dict[str, int]

# Ask, what the better node has available, what the worse one has.
TABLE: dict[str, tuple[Amounts, Amounts, Amounts]] = {
    "the example: 0.125 against 1.875": (
        {"vcore": 8, "memory": 10},
        {"vcore": 7, "memory": 100},
        {"vcore": 1, "memory": 0},
    ),
    "sums of shares: 1.0 against 1.1": (
        {"vcore": 10, "memory": 10},
        {"vcore": 5, "memory": 5},
        {"vcore": 9, "memory": 0},
    ),
    "sums of shares: 0.9 against 1.0": (
        {"vcore": 10, "memory": 10},
        {"vcore": 9, "memory": 2},
        {"vcore": 5, "memory": 5},
    ),
    "more than enough counts as enough: 0.5 against 0.75": (
        {"vcore": 4, "memory": 4},
        {"vcore": 2, "memory": 4},
        {"vcore": 1, "memory": 100},
    ),
    "nothing counts one: 1.0 against 1.1": (
        {"vcore": 10, "memory": 10},
        {"vcore": 0, "memory": 10},
        {"vcore": 0, "memory": 9},
    ),
    "less than nothing counts one, too: 1.0 against 1.1": (
        {"vcore": 10, "memory": 10},
        {"vcore": -50, "memory": 10},
        {"vcore": 0, "memory": 9},
    ),
    "types that are not asked for do not count: 0.2 against 0.3": (
        {"vcore": 10},
        {"vcore": 8, "memory": 0},
        {"vcore": 7, "memory": 100},
    ),
    "nor do explicit zeros: 0.2 against 0.3": (
        {"vcore": 10, "memory": 0},
        {"vcore": 8, "memory": 0},
        {"vcore": 7, "memory": 100},
    ),
    "shares and not amounts: 0.9 against 1.0": (
        {"vcore": 10, "memory": 1000},
        {"vcore": 10, "memory": 100},
        {"vcore": 0, "memory": 1000},
    ),
}


def choice(ask: Amounts, nodes: dict[str, tuple[Amounts, Amounts]], policy: str = "fair") -> str:
    """Which node an ask reserves, given nodes of (total, available); "" if none."""
    door = Caller(leaf("a"), node_sort_policy=policy)
    door.node("spare", {"vcore": 100_000, "memory": 100_000}, c.CREATE_DRAIN)
    for node_id, (total, available) in nodes.items():
        taken = {name: total[name] - available[name] for name in total}
        door.node(node_id, total, occupied=taken)
    door.app("app")
    door.ask("app", "k", ask)
    door.now += LATE
    found = reserved(door.step())
    assert door.node_views().keys() == {"spare", *nodes}
    return found[0][1] if found else ""


def with_total(available: Amounts) -> tuple[Amounts, Amounts]:
    """A node of 100 of each type, with so much available."""
    room = {"vcore": 0, "memory": 0, **available}
    return dict.fromkeys(room, 1000), room


@pytest.mark.remuda_rule("RSV-4", "RES-54")
@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("policy", ["fair", "binpacking"])
@pytest.mark.parametrize("better_first", [True, False])
def test_the_node_that_lacks_least_is_reserved(name: str, policy: str, better_first: bool) -> None:
    ask, better, worse = TABLE[name]
    first, second = ("a", "b") if better_first else ("b", "a")
    nodes = {first: with_total(better), second: with_total(worse)}
    assert choice(ask, nodes, policy) == first


@pytest.mark.remuda_rule("RSV-4", "NOD-15", "NOD-16")
@pytest.mark.parametrize("policy, wanted", [("fair", "small"), ("binpacking", "large")])
@pytest.mark.parametrize("small, large", [("a", "b"), ("b", "a")])
def test_the_order_of_nodes_decides_ties(policy: str, wanted: str, small: str, large: str) -> None:
    # Both lack half of the ask; 60 % of the small node are used, 80 % of the large one.
    nodes = {
        small: ({"vcore": 10}, {"vcore": 4}),
        large: ({"vcore": 20}, {"vcore": 4}),
    }
    assert choice({"vcore": 8}, nodes, policy) == {"small": small, "large": large}[wanted]


@pytest.mark.remuda_rule("RSV-4", "NOD-15")
def test_the_first_by_name_of_equal_nodes_is_reserved() -> None:
    nodes = {name: ({"vcore": 10}, {"vcore": 4}) for name in ("n3", "n1", "n2")}
    assert choice({"vcore": 8}, nodes) == "n1"


@pytest.mark.remuda_rule("RSV-4", "NOD-9", "CYC-15")
def test_a_node_without_a_type_of_the_ask_is_not_reserved() -> None:
    lacking = ({"vcore": 10}, {"vcore": 10})
    assert choice({"vcore": 8, "memory": 1}, {"a": lacking}) == ""
    having = ({"vcore": 10, "memory": 1}, {"vcore": 0, "memory": 0})
    assert choice({"vcore": 8, "memory": 1}, {"a": lacking, "b": having}) == "b"
