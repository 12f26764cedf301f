"""What nodes have and what goes there (chapter 50 part C)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import (
    REQUIRED_NODE,
    Caller,
    answers,
    events,
    existing_allocation,
    leaf,
    of,
    released,
)
from tests.unit.core.rules.crowd import Crowd, went

ONE = {"vcore": 1}


def some(amounts: dict[str, int]) -> dict[str, int]:
    """Amounts without zeros."""
    return {name: amount for name, amount in amounts.items() if amount}


@pytest.fixture
def door() -> Caller:
    """A leaf and an application."""
    found = Caller(leaf("a"))
    found.app("app")
    return found


@pytest.mark.remuda_rule("NOD-1", "NODE-2", "NODE-12")
@pytest.mark.parametrize(
    "value, ready",
    [(None, True), ("true", True), ("false", False), ("nonsense", True), ("", True), ("0", False)],
)
def test_a_node_that_is_not_ready_is_scheduled_all_the_same(
    door: Caller, value: str | None, ready: bool
) -> None:
    attributes = {} if value is None else {"ready": value}
    door.node("n1", {"vcore": 2}, attributes=attributes)
    assert door.node_view("n1").ready is ready
    assert door.queue("root").maximum == {"vcore": 2}
    door.ask("app", "k", ONE)
    assert door.place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("NOD-3", "NOD-2")
def test_one_formula_from_the_beginning(door: Caller) -> None:
    door.node("n1", {"vcore": 10}, occupied={"vcore": 15, "gpu": 1})
    assert door.node_view("n1").available == {"vcore": -5, "gpu": -1}
    door.node("n1", {"vcore": 11}, c.UPDATE)
    assert door.node_view("n1").available == {"vcore": -4, "gpu": -1}


@pytest.mark.remuda_rule("NOD-2", "NOD-5")
def test_available_is_what_is_left_after_every_change(door: Caller) -> None:
    door.node("n1", {"vcore": 10, "memory": 4}, occupied={"gpu": 2})

    def available() -> dict[str, int]:
        view = door.node_view("n1")
        names = {*view.capacity, *view.allocated, *view.occupied}
        left = {
            name: view.capacity.get(name, 0)
            - view.allocated.get(name, 0)
            - view.occupied.get(name, 0)
            for name in names
        }
        assert some(dict(view.available)) == some(left)
        return some(left)

    assert available() == {"vcore": 10, "memory": 4, "gpu": -2}
    door.ask("app", "k", {"vcore": 3, "memory": 4})
    door.place()
    assert available() == {"vcore": 7, "gpu": -2}
    door.existing("app", "x", "n1", {"vcore": 9, "disk": 5})
    assert available() == {"vcore": -2, "gpu": -2, "disk": -5}
    door.node("n1", {"gpu": 6, "vcore": 20}, c.UPDATE)
    assert available() == {"vcore": 8, "memory": -4, "gpu": 4, "disk": -5}
    door.node("n1", action=c.UPDATE, occupied={"vcore": 1})
    assert available() == {"vcore": 7, "memory": -4, "gpu": 6, "disk": -5}
    door.release("app")
    assert available() == {"vcore": 19, "gpu": 6}


@pytest.mark.remuda_rule("NOD-5", "RES-35", "EVT-53", "EVT-54")
def test_an_update_that_is_equal_but_for_a_zero_changes_nothing(door: Caller) -> None:
    door.node("n1", {"vcore": 10}, occupied={"memory": 1})
    before = (door.node_view("n1"), door.queue("root").maximum)
    update = {"capacity": {"vcore": 10, "gpu": 0}, "occupied": {"memory": 1, "gpu": 0}}
    for name, amounts in update.items():
        node = c.NodeUpdate("n1", c.UPDATE, **{name: amounts})  # type: ignore[arg-type]
        assert door.send(c.UpdateNodes(door.rm, (node,))) == []
    assert (door.node_view("n1"), door.queue("root").maximum) == before


@pytest.mark.remuda_rule("NOD-5", "QUE-6", "EVT-53")
def test_the_total_moves_by_the_difference_type_by_type(door: Caller) -> None:
    door.node("n1", {"vcore": 10, "memory": 4})
    door.node("n2", {"vcore": 1, "gpu": 2}, c.CREATE_DRAIN)
    found = door.node("n1", {"vcore": 3, "disk": 7}, c.UPDATE)
    assert some(dict(door.queue("root").maximum or {})) == {"vcore": 4, "gpu": 2, "disk": 7}
    (capacity,) = [r for r in of(found, e.EventRecord) if r.detail == ev.NODE_CAPACITY]
    assert some(dict(capacity.resource or {})) == {"vcore": 3, "disk": 7}
    found = door.node("n1", action=c.UPDATE, occupied={"vcore": 9})
    assert events(found) == [(ev.NODE, "n1", ev.SET, ev.NODE_OCCUPIED)]
    assert some(dict(door.queue("root").maximum or {})) == {"vcore": 4, "gpu": 2, "disk": 7}


@pytest.mark.remuda_rule("NOD-4", "NODE-10")
@pytest.mark.parametrize("action", [c.UPDATE, c.DRAIN_NODE, c.DRAIN_TO_SCHEDULABLE, c.DECOMISSION])
def test_an_action_on_a_node_nobody_knows_is_refused(door: Caller, action: int) -> None:
    for found in (
        door.node("n1", ONE, action),
        door.node("n1", ONE, action, home="nowhere"),
    ):
        (verdict,) = found
        assert isinstance(verdict, e.NodesAnswered)
        assert [bad.subject for bad in verdict.rejected] == ["n1"]
    assert door.node_views() == {}


@pytest.mark.remuda_rule("NOD-6", "NODE-13")
def test_a_removed_node_takes_its_allocations_and_capacity_along(door: Caller) -> None:
    door.node("n1", {"vcore": 4})
    door.node("n2", {"vcore": 1})
    door.ask("app", "k", {"vcore": 2}, 3)
    assert len(door.place()) == 2
    found = door.node("n1", action=c.DECOMISSION)
    assert [sorted(gone) for gone in released(found)] == [["k-0", "k-1"]]
    (answer,) = of(found, e.AllocationsReleased)
    assert [(gone.termination_type, gone.message) for gone in answer.released] == [
        (c.STOPPED_BY_RM, "Node n1 Removed")
    ] * 2
    assert door.queue("root").maximum == {"vcore": 1}
    assert some(dict(door.queue("root").allocated)) == {}
    assert door.queue("root.a").pending == {"vcore": 2}  # what was placed is not wanted again
    assert door.apps()["app"].allocations == ()


@pytest.mark.remuda_rule("NOD-7", "NODE-6")
def test_the_first_bad_allocation_refuses_the_node(door: Caller) -> None:
    brought = (
        existing_allocation("app", "x", "", ONE),
        existing_allocation("stranger", "y", "", ONE),
        existing_allocation("app", "z", "", ONE),
    )
    (verdict,) = of(door.node("n1", {"vcore": 9}, existing=brought), e.NodesAnswered)
    assert [bad.subject for bad in verdict.rejected] == ["n1"]
    assert door.node_views() == {}
    assert door.queue("root").maximum is None
    assert some(dict(door.queue("root").allocated)) == {}


@pytest.mark.remuda_rule("NOD-8", "NODE-11", "QUE-6")
def test_a_draining_node_takes_only_what_requires_it(door: Caller) -> None:
    door.node("n1", {"vcore": 4}, c.CREATE_DRAIN)
    door.ask("app", "free", ONE)
    door.ask("app", "pinned", ONE, tags={REQUIRED_NODE: "n1"})
    assert door.place() == [("pinned-0", "n1")]
    assert door.queue("root").maximum == {"vcore": 4}
    assert door.queue("root").headroom == {"vcore": 3}


@pytest.mark.remuda_rule("NOD-9", "RES-29", "RES-32")
@pytest.mark.parametrize(
    "ask, fits",
    [
        ({"vcore": 4}, True),
        ({"vcore": 4, "memory": 2}, True),
        ({"vcore": 5}, False),
        ({"vcore": 4, "memory": 3}, False),
        ({"vcore": 1, "gpu": 1}, False),
        ({"vcore": 1, "gpu": 0}, True),
        ({"memory": 0, "vcore": 1}, True),
    ],
)
def test_every_type_of_an_ask_must_fit(door: Caller, ask: dict[str, int], fits: bool) -> None:
    door.node("other", {"vcore": 99, "memory": 99, "gpu": 99}, c.CREATE_DRAIN)
    door.node("n1", {"vcore": 10, "memory": 2}, occupied={"vcore": 6})
    door.ask("app", "k", ask)
    assert door.place() == ([("k-0", "n1")] if fits else [])


@pytest.mark.remuda_rule("NOD-9")
@pytest.mark.parametrize("how", ["capacity", "occupied", "recovered"])
def test_a_type_below_zero_blocks_only_asks_for_it(door: Caller, how: str) -> None:
    door.node("other", {"vcore": 99, "memory": 99}, c.CREATE_DRAIN)
    door.node("n1", {"vcore": 10, "memory": 10})
    if how == "capacity":
        door.existing("app", "x", "n1", {"memory": 5})
        door.node("n1", {"vcore": 10, "memory": 2}, c.UPDATE)
    elif how == "occupied":
        door.node("n1", action=c.UPDATE, occupied={"memory": 13})
    else:
        door.existing("app", "x", "n1", {"memory": 13})
    assert door.node_view("n1").available == {"vcore": 10, "memory": -3}
    door.ask("app", "bytes", {"vcore": 1, "memory": 1})
    door.ask("app", "cores", {"vcore": 9, "memory": 0})
    assert door.place() == [("cores-0", "n1")]


@pytest.mark.remuda_rule("NOD-10", "SI-62")
def test_removing_what_is_not_there_changes_nothing(door: Caller) -> None:
    door.node("n1", {"vcore": 4})
    door.existing("app", "x", "n1", ONE)
    before = (door.node_views(), door.queue("root"), door.apps())
    assert answers(door.release("app", "unknown")) == []
    assert answers(door.release("stranger", "x")) == []
    assert (door.node_views(), door.queue("root"), door.apps()) == before
    door.release("app", "x")
    assert answers(door.release("app", "x")) == []
    assert door.node_view("n1").available == {"vcore": 4}


@pytest.mark.remuda_rule("NOD-10", "NOD-9")
def test_a_recovered_allocation_is_forced_onto_a_full_node(door: Caller) -> None:
    door.node("n1", {"vcore": 4})
    door.existing("app", "x", "n1", {"vcore": 4})
    door.existing("app", "y", "n1", {"vcore": 3})
    view = door.node_view("n1")
    assert (view.allocated, view.available) == ({"vcore": 7}, {"vcore": -3})
    assert door.queue("root.a").allocated == {"vcore": 7}
    assert door.apps()["app"].used == {"vcore": 7}


@pytest.mark.remuda_rule("NOD-12", "CYC-17", "QUE-45")
@pytest.mark.parametrize("size", [{}, {"vcore": 0}, {"vcore": -1}, {"vcore": 2, "memory": -1}])
def test_an_ask_for_nothing_or_less_waits_for_nothing(door: Caller, size: dict[str, int]) -> None:
    door.node("n1", {"vcore": 4, "memory": 4})
    (answer,) = answers(door.ask("app", "k", size))
    assert isinstance(answer, e.AsksRejected)
    assert [bad.subject for bad in answer.rejected] == ["k"]
    assert door.place() == []
    assert door.apps()["app"].requests == ()


@pytest.mark.remuda_rule("NOD-20", "NOD-15")
def test_nodes_that_come_and_go_between_two_decisions_are_seen() -> None:
    crowd = Crowd()
    crowd.full(n1=5, n2=4)
    crowd.ask("app", "k", ONE, 4)
    assert went(crowd.step(1)) == [("k-0", "n1")]
    crowd.node("n3", {"vcore": 10})
    assert went(crowd.step(1)) == [("k-1", "n3")]
    crowd.node("n3", action=c.DECOMISSION)
    assert went(crowd.step(1)) == [("k-2", "n1")]
    crowd.node("n1", action=c.DRAIN_NODE)
    assert went(crowd.step(1)) == [("k-3", "n2")]
