"""How many resource types a partition learns, and that only what is accepted teaches any."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.model.vectors import TYPES_LIMIT
from tests.unit.core.door import Caller, existing_allocation, leaf, of

ONE = {"vcore": 1}


def many(prefix: str, count: int, amount: int = 1) -> dict[str, int]:
    """As many types of their own."""
    return {f"{prefix}-{number}": amount for number in range(count)}


MOST = many("useless", TYPES_LIMIT)
REFUSED: dict[str, Callable[[Caller], list[Effect]]] = {
    "ask of nobody": lambda door: door.ask("nobody", "k", MOST),
    "ask for nothing": lambda door: door.ask("app", "k", dict.fromkeys(MOST, 0)),
    "ask with a negative amount": lambda door: door.ask("app", "k", {**MOST, "useless-3": -1}),
    "ask for no allocation": lambda door: door.ask("app", "k", MOST, 0),
    "ask without key": lambda door: door.ask("app", "", MOST),
    "placeholder": lambda door: door.ask("app", "k", MOST, placeholder=True, task_group="g"),
    "ask with too many types": lambda door: door.ask("app", "k", {**MOST, "x": 1}),
    "allocation on no node": lambda door: door.existing("app", "x", "nowhere", MOST),
    "allocation of nobody": lambda door: door.existing("nobody", "x", "n1", MOST),
    "node that exists": lambda door: door.node("n1", MOST),
    "node without name": lambda door: door.node("", MOST),
    "node with a negative amount": lambda door: door.node("m", {**MOST, "useless-3": -1}),
    "node with a negative occupied amount": lambda door: door.node(
        "m", MOST, occupied={"useless-3": -1}
    ),
    "node with too many types": lambda door: door.node("m", MOST, occupied=many("other", 1)),
    "node with bad work": lambda door: door.node(
        "m", MOST, existing=(existing_allocation("nobody", "x", "", ONE),)
    ),
    "node with good and bad work": lambda door: door.node(
        "m",
        {},
        existing=(
            existing_allocation("app", "x", "", many("useless", TYPES_LIMIT - 1)),
            existing_allocation("nobody", "y", "", ONE),
        ),
    ),
    "update of no node": lambda door: door.node("m", MOST, c.UPDATE),
    "update with a negative amount": lambda door: door.node(
        "n1", MOST, c.UPDATE, occupied={"vcore": -1}
    ),
    "update with too many types": lambda door: door.node(
        "n1", MOST, c.UPDATE, occupied=many("other", 1)
    ),
}


def rejected(effects: list[Effect]) -> int:
    """How many elements were refused."""
    kinds = e.AsksRejected | e.AllocationsRejected | e.NodesAnswered
    return sum(len(found.rejected) for found in effects if isinstance(found, kinds))


@pytest.mark.remuda_rule("RES-1", "SI-31", "SI-40", "NODE-1", "NODE-7")
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_teaches_no_type(what: str) -> None:
    door = Caller(leaf("a"))
    door.node("n1", ONE)
    door.app("app")
    assert rejected(REFUSED[what](door)) == 1
    whole = {**ONE, **many("real", TYPES_LIMIT - 1)}
    (verdict,) = of(door.node("n2", whole), e.NodesAnswered)
    assert verdict.accepted == ("n2",)
    assert rejected(door.ask("app", "all", whole)) == 0
    assert door.place() == [("all-0", "n2")]
    assert rejected(door.ask("app", "more", many("new", 1))) == 1
    door.scheduler.check()


@pytest.mark.remuda_rule("RES-1", "NODE-1", "NODE-6")
@pytest.mark.parametrize("spare, accepted", [(0, ("m",)), (1, ())])
def test_all_amounts_of_a_node_count_together(spare: int, accepted: tuple[str, ...]) -> None:
    door = Caller(leaf("a"))
    door.app("app")
    third = TYPES_LIMIT // 3
    rest = TYPES_LIMIT - 2 * third + spare
    brought = existing_allocation("app", "x", "", many("c", rest))
    found = door.node("m", many("a", third), occupied=many("b", third), existing=(brought,))
    (verdict,) = of(found, e.NodesAnswered)
    assert verdict.accepted == accepted
    assert door.state("app") == ("Starting" if accepted else "New")
    door.scheduler.check()


@pytest.mark.remuda_rule("RES-1", "NODE-7")
def test_both_amounts_of_an_update_count_together() -> None:
    door = Caller(leaf("a"))
    door.node("n1", ONE)
    half = TYPES_LIMIT // 2
    before = door.node_views()
    found = door.node("n1", many("a", half), c.UPDATE, occupied=many("b", half))
    assert rejected(found) == 1
    assert len(found) == 1
    assert door.node_views() == before
    assert rejected(door.node("n1", many("a", half), c.UPDATE, occupied=many("b", half - 1))) == 0
    assert door.node_view("n1").occupied == dict(sorted(many("b", half - 1).items()))
