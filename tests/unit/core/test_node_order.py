"""Scores and order of nodes, seen in where the next ask goes (chapter 50 part C)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import Caller, leaf


def choice(
    nodes: dict[str, tuple[dict[str, int], dict[str, int]]],
    policy: str = "fair",
    weights: dict[str, float] | None = None,
) -> str:
    """Where an ask of one pod goes, given nodes of (capacity, occupied)."""
    door = Caller(leaf("a"), node_sort_policy=policy, node_sort_weights=weights or {})
    for node_id, (capacity, occupied) in nodes.items():
        door.node(node_id, {"pods": 100, **capacity}, occupied=occupied)
    door.app("app")
    door.ask("app", "k", {"pods": 1})
    ((_, node_id),) = door.place()
    return node_id


WORKED = ({"vcore": 100, "memory": 100}, {"vcore": 90, "memory": 50})


@pytest.mark.remuda_rule("NOD-16", "NOD-17", "NOD-18")
@pytest.mark.parametrize(
    "weights, usage",
    [
        ({}, 70),
        ({"vcore": 4.0, "memory": 1.0}, 82),
        ({"vcore": 1.0, "gpu": 5.0}, 90),
        ({"memory": 3.0}, 50),
    ],
)
@pytest.mark.parametrize("policy", ["fair", "binpacking"])
def test_the_worked_scores_against_nodes_just_above_and_below(
    weights: dict[str, float], usage: int, policy: str
) -> None:
    """A rival with the same usage of every type scores that usage under any weights."""
    for rival_usage in (usage - 1, usage + 1):
        occupied = {"vcore": rival_usage, "memory": rival_usage}
        nodes = {"worked": WORKED, "rival": ({"vcore": 100, "memory": 100}, occupied)}
        less_used = "worked" if usage < rival_usage else "rival"
        most_used = "rival" if usage < rival_usage else "worked"
        wanted = less_used if policy == "fair" else most_used
        assert choice(nodes, policy, weights) == wanted


@pytest.mark.remuda_rule("NOD-16", "NOD-17", "NOD-18")
@pytest.mark.parametrize("weights", [{"vcore": 0.0}, {"gpu": 1.0}])
def test_without_a_weighted_type_a_node_scores_zero(weights: dict[str, float]) -> None:
    empty: tuple[dict[str, int], dict[str, int]] = ({"vcore": 100, "memory": 100}, {})
    assert choice({"b": empty, "a": WORKED}, "fair", weights) == "a"  # equal: the name decides
    assert choice({"a": empty, "b": WORKED}, "fair", weights) == "a"
    used_gpu = ({"vcore": 100, "gpu": 100}, {"gpu": 1})
    if "gpu" in weights:
        assert choice({"a": used_gpu, "b": WORKED}, "fair", weights) == "b"
        assert choice({"b": used_gpu, "a": WORKED}, "binpacking", weights) == "b"


@pytest.mark.remuda_rule("NOD-16", "NODE-3", "NOD-2")
def test_occupied_counts_as_used() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 100, "memory": 100}, occupied={"memory": 10})
    door.app("app")
    door.existing("app", "k", "n1", {"vcore": 90, "memory": 40})
    assert door.node_view("n1").available == {"vcore": 10, "memory": 50}
    door.node("n2", {"vcore": 100, "memory": 100}, occupied={"vcore": 71, "memory": 71})
    door.ask("app", "next", {"vcore": 1})
    assert door.place() == [("next-0", "n1")]


@pytest.mark.remuda_rule("NOD-18", "NOD-19")
def test_types_the_node_has_none_of_are_left_out() -> None:
    # Only memory counts on the first: 0.5 against 0.4 and 0.6.
    half = ({"vcore": 0, "memory": 100}, {"memory": 50})
    for rival, wanted in ((40, "rival"), (60, "half")):
        other = ({"vcore": 100, "memory": 100}, {"vcore": rival, "memory": rival})
        assert choice({"half": half, "rival": other}) == wanted


@pytest.mark.remuda_rule("NOD-19")
def test_a_type_without_capacity_but_with_usage_is_left_out_too() -> None:
    odd = ({"vcore": 0, "memory": 100}, {"vcore": 5, "memory": 50})
    for rival, wanted in ((40, "rival"), (60, "odd")):
        other = ({"vcore": 100, "memory": 100}, {"vcore": rival, "memory": rival})
        assert choice({"odd": odd, "rival": other}) == wanted


@pytest.mark.remuda_rule("NOD-18")
def test_usage_beyond_the_capacity_scores_above_one() -> None:
    over = ({"memory": 20}, {"memory": 40})
    full = ({"memory": 20}, {"memory": 20})
    assert choice({"a-over": over, "b-full": full}) == "b-full"
    assert choice({"b-over": over, "a-full": full}, "binpacking") == "b-over"


@pytest.mark.remuda_rule("NOD-15")
def test_equal_nodes_are_ordered_by_name() -> None:
    door = Caller(leaf("a"))
    for node_id in ("n3", "n1", "n2"):
        door.node(node_id, {"vcore": 2})
    door.app("app")
    door.ask("app", "k", {"vcore": 1}, 6)
    assert [node for _, node in door.place()] == ["n1", "n2", "n3"] * 2


@pytest.mark.remuda_rule("NOD-15", "NOD-16")
def test_binpacking_fills_one_node_before_the_next() -> None:
    door = Caller(leaf("a"), node_sort_policy="binpacking")
    for node_id in ("n3", "n1", "n2"):
        door.node(node_id, {"vcore": 2})
    door.app("app")
    door.ask("app", "k", {"vcore": 1}, 6)
    assert [node for _, node in door.place()] == ["n1", "n1", "n2", "n2", "n3", "n3"]


@pytest.mark.remuda_rule("NOD-14", "NOD-15")
@pytest.mark.parametrize("change", ["capacity", "occupied", "release", "drain"])
def test_every_change_moves_a_node(change: str) -> None:
    door = Caller(leaf("a"))
    for node_id in ("n1", "n2"):
        door.node(node_id, {"vcore": 10})
    door.app("app")
    door.existing("app", "old", "n2", {"vcore": 5})
    door.ask("app", "k", {"vcore": 1})
    if change == "capacity":
        door.node("n2", {"vcore": 100}, c.UPDATE)  # 5 %
        door.node("n1", action=c.UPDATE, occupied={"vcore": 1})  # 10 %
    elif change == "occupied":
        door.node("n1", action=c.UPDATE, occupied={"vcore": 6})
    elif change == "release":
        door.node("n1", action=c.UPDATE, occupied={"vcore": 1})
        door.release("app", "old")
    else:
        door.node("n1", action=c.DRAIN_NODE)
    assert door.place() == [("k-0", "n2")]


@pytest.mark.remuda_rule("NOD-9", "NODE-3", "NODE-7")
def test_a_negative_type_blocks_only_that_type() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10, "memory": 10})
    door.app("app")
    door.existing("app", "old", "n1", {"vcore": 5, "memory": 5})
    door.node("n1", {"vcore": 10, "memory": 2}, c.UPDATE)
    assert door.node_view("n1").available == {"vcore": 5, "memory": -3}
    door.node("n2", {"memory": 100}, c.CREATE_DRAIN)  # keeps the headroom of root open
    door.ask("app", "bytes", {"memory": 1})
    door.ask("app", "zero", {"memory": 0, "vcore": 1})
    door.ask("app", "cores", {"vcore": 1})
    assert door.order() == ["zero", "cores"]


@pytest.mark.remuda_rule("NOD-9", "NOD-10", "SI-41")
def test_a_reported_allocation_may_overfill_its_node() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 1})
    door.app("app")
    door.existing("app", "big", "n1", {"vcore": 3, "gpu": 1})
    assert door.node_view("n1").available == {"vcore": -2, "gpu": -1}
    assert door.queue("root.a").allocated == {"vcore": 3, "gpu": 1}
