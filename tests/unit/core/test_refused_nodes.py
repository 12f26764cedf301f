"""A node that is refused, or a change to one, leaves everything as it was."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import Caller, answers, existing_allocation, leaf, of, released

ONE = {"vcore": 1}
BAD = existing_allocation("nobody", "x", "", ONE)


@pytest.fixture
def door() -> Caller:
    """A leaf and a new application, no node."""
    found = Caller(leaf("a"))
    found.app("app")
    return found


def good(identity: str, key: str, resource: Resource = ONE) -> c.ExistingAllocation:
    """An allocation of the application, brought by a node."""
    return existing_allocation("app", identity, "", resource, key=key)


def refuse(door: Caller, *brought: c.ExistingAllocation) -> None:
    """Create a node that brings something bad last; it is refused and nobody hears of the rest."""
    found = door.node("m", {"vcore": 9}, existing=(*brought, BAD))
    (verdict,) = of(found, e.NodesAnswered)
    assert ([bad.subject for bad in verdict.rejected], verdict.accepted) == (["m"], ())
    assert of(found, e.AllocationNew) == []
    assert released(found) == []
    door.scheduler.check()


@pytest.mark.remuda_rule("NODE-6")
def test_a_refused_node_leaves_a_pending_ask_pending(door: Caller) -> None:
    door.node("n", ONE)
    door.ask("app", "k", ONE)
    refuse(door, good("k-0", "k"))
    assert door.queue("root.a").pending == ONE
    assert [(r.allocation_key, r.pending_count) for r in door.apps()["app"].requests] == [("k", 1)]
    assert door.apps()["app"].allocations == ()
    assert door.state("app") != "Completing"
    assert door.place() == [("k-0", "n")]
    assert not any(door.queue("root.a").pending.values())
    assert door.place() == []


@pytest.mark.remuda_rule("NODE-6", "SI-44")
def test_an_ask_gets_back_all_that_a_refused_node_took_from_it(door: Caller) -> None:
    door.node("n", {"vcore": 9})
    door.ask("app", "k", ONE, 3)
    refuse(door, good("k-0", "k"), good("mine", "k", {"vcore": 5}), good("k-9", "k"))
    assert door.queue("root").pending == {"vcore": 3}
    assert len(door.place()) == 3
    assert door.queue("root").allocated == {"vcore": 3}


@pytest.mark.remuda_rule("NODE-6", "SI-34")
def test_a_refused_node_does_not_count_for_what_an_ask_made(door: Caller) -> None:
    door.node("n", {"vcore": 9})
    door.ask("app", "k", ONE)
    assert door.place() == [("k-0", "n")]
    refuse(door, good("mine", "k"))
    door.ask("app", "k", ONE, 2)
    assert [node for _, node in door.place()] == ["n"]
    assert door.queue("root").allocated == {"vcore": 2}


@pytest.mark.remuda_rule("NODE-6", "SI-41")
def test_an_ask_made_up_for_a_refused_node_is_gone_again(door: Caller) -> None:
    door.node("n", {"vcore": 9})
    refuse(door, good("mine", "k"), good("other", "k"))
    door.ask("app", "k", ONE)
    assert len(door.place()) == 1
    assert door.queue("root").allocated == ONE
    assert door.queue("root").pending == {"vcore": 0}


@pytest.mark.remuda_rule("NODE-6")
def test_a_refused_node_leaves_the_order_of_asks_alone(door: Caller) -> None:
    for key in ("first", "second", "third"):
        door.ask("app", key, ONE)
        door.now += 1
    refuse(door, good("a", "second"), good("b", "first"))
    door.node("n", {"vcore": 9})
    assert door.order() == ["first", "second", "third"]


@pytest.mark.remuda_rule("NODE-1", "NODE-3", "RES-3")
@pytest.mark.parametrize("action", [c.CREATE, c.CREATE_DRAIN])
@pytest.mark.parametrize(
    "capacity, occupied",
    [({"vcore": -1}, None), ({"vcore": 4}, {"vcore": -1}), ({"vcore": 4, "gpu": -1}, ONE)],
)
def test_a_node_with_a_negative_amount_is_refused(
    door: Caller, action: int, capacity: Resource, occupied: Resource | None
) -> None:
    brought = (good("mine", "k"),)
    found = door.node("m", capacity, action, occupied=occupied, existing=brought)
    (verdict,) = answers(found)
    assert isinstance(verdict, e.NodesAnswered)
    assert ([bad.subject for bad in verdict.rejected], verdict.accepted) == (["m"], ())
    assert found == [verdict]
    assert door.node_views() == {}
    assert door.queue("root").maximum is None
    assert door.state("app") == "New"


@pytest.mark.remuda_rule("NODE-7", "NODE-8", "NODE-3", "RES-3")
@pytest.mark.parametrize(
    "capacity, occupied",
    [
        ({"vcore": -1}, None),
        (None, {"vcore": -1}),
        ({"vcore": 9}, {"vcore": 0, "gpu": -1}),
        ({"vcore": 9, "gpu": -1}, {"vcore": 0}),
    ],
)
def test_an_update_with_a_negative_amount_changes_nothing(
    door: Caller, capacity: Resource | None, occupied: Resource | None
) -> None:
    door.node("m", {"vcore": 3}, occupied=ONE, attributes={"label": "old"})
    door.ask("app", "k", ONE, 5)
    assert len(door.place()) == 2
    before = (door.node_views(), door.queue("root"), door.apps())
    attributes = {"label": "new", "ready": "false"}
    found = door.node("m", capacity, c.UPDATE, occupied=occupied, attributes=attributes)
    (verdict,) = found
    assert isinstance(verdict, e.NodesAnswered)
    assert [bad.subject for bad in verdict.rejected] == ["m"]
    assert (door.node_views(), door.queue("root"), door.apps()) == before
    assert door.place() == []
    door.scheduler.check()


@pytest.mark.remuda_rule("NODE-1")
@pytest.mark.parametrize("action", [99, 7, -1])
@pytest.mark.parametrize("node_id", ["old", "new", ""])
def test_an_action_nobody_knows_is_ignored(door: Caller, action: int, node_id: str) -> None:
    door.node("old", ONE)
    before = (door.node_views(), door.queue("root"))
    assert door.node(node_id, {"vcore": 5}, action) == []
    assert (door.node_views(), door.queue("root")) == before
