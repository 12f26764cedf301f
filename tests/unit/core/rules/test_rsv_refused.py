"""When an ask whose best node was refused may reserve again (RSV-4, decision 48)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import DAY, REQUIRED_NODE, leaf
from tests.unit.core.rules.crowd import LATE, Crowd, Reluctant, reserved, went

BIG = {"vcore": 8}
SOME = {"vcore": 3}

# Settings of a partition that order its nodes.
Settings: TypeAlias = dict[str, object]
SPREAD: Settings = {"node_sort_policy": "fair"}
PACK: Settings = {"node_sort_policy": "binpacking"}
BY_VCORE: Settings = {"node_sort_weights": {"vcore": 1.0}}
BY_DEFAULT: Settings = {"node_sort_weights": {"vcore": 1.0, "memory": 1.0}}


def refused(best: str = "n2", policy: str = "fair", **free: int) -> tuple[Crowd, Reluctant]:
    """``big`` lacks least on ``best``, which the RM refuses; two allocations use each node.

    It has a predicate class, so that what was refused is kept at the nodes (NOD-13).
    """
    moods = Reluctant({("big", best, False): "not there"})
    crowd = Crowd(predicates=moods, node_sort_policy=policy)
    for node_id, cores in free.items():
        crowd.node(node_id, {"vcore": 10, "memory": 10})
        crowd.existing("old", f"on-{node_id}", node_id, {"vcore": 7 - cores})
        crowd.existing("old", f"more-{node_id}", node_id, SOME)
    crowd.ask("app", "big", BIG, equivalence="class")
    assert reserved(crowd.run(LATE) + crowd.run(DAY)) == []
    assert moods.asked == [("big", best, False)] * 2  # once more when time has passed
    return crowd, moods


def reloaded(
    before: Settings, after: Settings, chosen: str = ""
) -> tuple[list[tuple[str, str, str]], Reluctant]:
    """Return what ``big`` may reserve after a reload. It lacks the same on n1 and on n2.

    n2 has less memory left. The RM refuses n1, which is the best before. ``chosen``: the node
    policy that the application of ``big`` chose.
    """
    moods = Reluctant({("big", "n1", False): "not there"})
    crowd = Crowd(predicates=moods, **before)
    for node_id, used in (("n1", 0), ("n2", 5)):
        occupied = {"vcore": 6, "memory": used}
        crowd.node(node_id, {"vcore": 10, "memory": 10}, occupied=occupied)
    crowd.app("own", tags={"node.sort.policy": chosen})
    crowd.ask("own", "big", BIG)
    assert reserved(crowd.run(LATE)) == []
    crowd.reload(leaf("a"), leaf("old"), **after)
    return reserved(crowd.run()), moods


def gain_room(crowd: Crowd) -> None:
    crowd.release("old", "more-n1")


def drain_the_best(crowd: Crowd) -> None:
    crowd.node("n2", action=c.DRAIN_NODE)


def remove_the_best(crowd: Crowd) -> None:
    crowd.node("n2", action=c.DECOMISSION)


def shrink_the_best(crowd: Crowd) -> None:
    crowd.node("n2", {"vcore": 7, "memory": 10}, c.UPDATE)


def occupy_the_best(crowd: Crowd) -> None:
    crowd.node("n2", action=c.UPDATE, occupied={"vcore": 2})


def use_the_best(crowd: Crowd) -> None:
    crowd.ask("app", "pinned", {"vcore": 2}, tags={REQUIRED_NODE: "n2"})
    assert went(crowd.step(1)) == [("pinned-0", "n2")]


CHANGES: tuple[Callable[[Crowd], None], ...] = (
    gain_room,
    drain_the_best,
    remove_the_best,
    shrink_the_best,
    occupy_the_best,
    use_the_best,
)


@pytest.mark.remuda_rule("RSV-4", "CYC-15", "NOD-13")
@pytest.mark.parametrize("change", CHANGES)
def test_another_node_is_reserved_when_it_is_the_best(change: Callable[[Crowd], None]) -> None:
    # 7 of 8 cores are free on n1 if it gains room; else 4, and n2 has less than its 5 or goes.
    crowd, moods = refused(n1=4, n2=5)
    change(crowd)
    assert reserved(crowd.run()) == [("+", "n1", "big")]
    assert moods.asked[-1] == ("big", "n1", False)


@pytest.mark.remuda_rule("RSV-4", "RSV-5", "CYC-15")
def test_the_next_best_is_reserved_when_another_ask_reserves_the_best() -> None:
    crowd, _ = refused(n1=4, n2=5)
    crowd.ask("app", "behind", BIG, priority=-1)
    found = reserved(crowd.run(LATE))
    assert found == [("+", "n2", "behind"), ("+", "n1", "big")]


@pytest.mark.remuda_rule("RSV-4", "RSV-9", "CYC-15")
def test_a_node_that_is_reserved_no_more_may_be_the_best() -> None:
    moods = Reluctant({("big", "n2", False): "not there"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4, n2=5, n3=6)
    crowd.ask("app", "before", BIG, priority=1)
    crowd.ask("app", "big", BIG, equivalence="class")
    assert reserved(crowd.run(LATE) + crowd.run(DAY)) == [("+", "n3", "before")]
    crowd.release_ask("app", "before")
    assert reserved(crowd.run()) == [("+", "n3", "big")]


@pytest.mark.remuda_rule("RSV-4", "NOD-16", "CYC-15")
@pytest.mark.parametrize("by_rm", [True, False])
def test_an_allocation_that_moves_an_equal_node_forward_makes_it_the_best(by_rm: bool) -> None:
    # Both lack half of the ask; of equal nodes the more used one is first under binpacking.
    crowd, moods = refused("n1", "binpacking", n1=4, n2=4)
    if by_rm:
        crowd.existing("old", "bytes", "n2", {"memory": 5})
    else:
        crowd.ask("app", "bytes", {"memory": 5}, tags={REQUIRED_NODE: "n2"})
    assert reserved(crowd.run()) == [("+", "n2", "big")]
    assert moods.asked[-1] == ("big", "n2", False)


@pytest.mark.remuda_rule("RSV-4", "CYC-15", "NOD-13")
def test_an_allocation_on_a_node_that_lacks_more_asks_nobody() -> None:
    crowd, moods = refused(n1=4, n2=5)
    crowd.existing("old", "small", "n1", {"vcore": 1})
    assert reserved(crowd.run()) == []
    assert moods.asked == [("big", "n2", False)] * 2


@pytest.mark.remuda_rule("RSV-4", "NOD-21", "NOD-23", "RLD-4")
@pytest.mark.parametrize(
    "before, after, chosen",
    [(SPREAD, PACK, ""), (PACK | BY_VCORE, PACK, ""), (SPREAD | BY_VCORE, SPREAD, "binpacking")],
)
def test_a_reload_that_moves_an_equal_node_forward_makes_it_the_best(
    before: Settings, after: Settings, chosen: str
) -> None:
    found, moods = reloaded(before, after, chosen)
    assert found == [("+", "n2", "big")]
    assert moods.asked == [("big", "n1", False), ("big", "n2", False)]


@pytest.mark.remuda_rule("RSV-4", "NOD-21", "NOD-23", "CYC-25")
@pytest.mark.parametrize(
    "after, chosen", [(SPREAD | BY_DEFAULT, ""), (PACK, "fair"), (PACK | BY_DEFAULT, "fair")]
)
def test_a_reload_that_leaves_the_order_of_an_ask_asks_nobody(after: Settings, chosen: str) -> None:
    found, moods = reloaded(SPREAD, after, chosen)
    assert found == []
    assert moods.asked == [("big", "n1", False)]
