"""Operators drain nodes beside their resource manager (EXT-176)."""

from __future__ import annotations

import random

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from tests.unit.core.door import Caller, leaf, of

pytestmark = pytest.mark.remuda_rule("EXT-176")

ONE = {"vcore": 1}


def change(door: Caller, action: int, node: str = "n1") -> tuple[str, str, str]:
    """Send one action of an operator; previous state, current state and reason of a refusal."""
    found = door.send(c.ChangeObjectState(door.rm, action=action, node=node))
    door.scheduler.check()
    (answer,) = of(found, e.ObjectStateAnswered)
    assert bool(answer.reason) is bool(answer.rule)
    return answer.previous, answer.current, answer.reason


def view(door: Caller) -> q.NodeView:
    """The node of the tests."""
    views = door.scheduler.view(q.NodesQuery("default"))
    assert isinstance(views, tuple)
    (found,) = [each for each in views if isinstance(each, q.NodeView)]
    return found


@pytest.fixture
def door() -> Caller:
    """A node that is in use, and an application that may ask."""
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    return door


def test_nothing_new_comes_to_a_node_that_an_operator_drains(door: Caller) -> None:
    door.ask("app", "k", ONE)
    assert len(door.place()) == 1
    assert change(door, c.STOP) == ("Schedulable", "Draining", "")
    assert (view(door).schedulable, view(door).drained_by_operator) == (False, True)
    door.ask("app", "later", ONE)
    assert door.place() == []
    assert [each.allocation_key for each in view(door).allocations] == ["k"]
    assert change(door, c.START) == ("Draining", "Schedulable", "")
    assert (view(door).schedulable, view(door).drained_by_operator) == (True, False)
    assert len(door.place()) == 1


def test_an_ask_that_requires_the_node_still_goes_there(door: Caller) -> None:
    change(door, c.STOP)
    door.ask("app", "k", ONE, tags={"yunikorn.apache.org/requiredNode": "n1"})
    assert len(door.place()) == 1


def test_the_resource_manager_does_not_end_what_an_operator_began(door: Caller) -> None:
    change(door, c.STOP)
    (answer,) = of(door.node("n1", action=c.DRAIN_TO_SCHEDULABLE), e.NodesAnswered)
    assert [each.reason for each in answer.rejected] == ["node 'n1' is not draining"]
    door.node("n1", action=c.DRAIN_NODE)
    door.node("n1", {"vcore": 20}, c.UPDATE)
    door.node("n1", action=c.DRAIN_TO_SCHEDULABLE)
    assert not view(door).schedulable
    assert change(door, c.START) == ("Draining", "Schedulable", "")


def test_an_operator_does_not_end_what_the_resource_manager_began(door: Caller) -> None:
    door.node("n1", action=c.DRAIN_NODE)
    reason = "no operator drains the node n1: its resource manager drains it"
    assert change(door, c.START) == ("Draining", "Draining", reason)
    assert change(door, c.STOP) == ("Draining", "Draining", "")
    assert change(door, c.START) == ("Draining", "Draining", "")
    assert not view(door).schedulable
    door.node("n1", action=c.DRAIN_TO_SCHEDULABLE)
    assert view(door).schedulable


def test_what_is_so_already_changes_nothing_and_what_is_not_there_is_refused(door: Caller) -> None:
    reason = "no operator drains the node n1: it is in use"
    assert change(door, c.START) == ("Schedulable", "Schedulable", reason)
    change(door, c.STOP)
    assert change(door, c.STOP) == ("Draining", "Draining", "")
    assert change(door, c.STOP, "n2") == ("", "", "node 'n2' doesn't exist in partition default")
    assert change(door, 7)[2] == "action 7 is none: 1 starts, 2 stops"


def test_the_drain_ends_with_the_node(door: Caller) -> None:
    change(door, c.STOP)
    door.node("n1", action=c.DECOMISSION)
    door.node("n1", {"vcore": 10})
    assert view(door).schedulable


def test_events_are_those_of_any_drain(door: Caller) -> None:
    found = door.send(c.ChangeObjectState(door.rm, action=c.STOP, node="n1"))
    found += door.send(c.ChangeObjectState(door.rm, action=c.STOP, node="n1"))
    found += door.send(c.ChangeObjectState(door.rm, action=c.START, node="n1"))
    records = [each.message for each in of(found, e.EventRecord) if each.object_id == "n1"]
    assert records == ["schedulable: false", "schedulable: true"]


@pytest.mark.parametrize("seed", range(20))
def test_a_node_is_in_use_while_neither_drains_it(seed: int) -> None:
    dice = random.Random(seed)
    door = Caller(leaf("a"))
    door.app("app")
    home = {"n1": (False, False)}
    door.node("n1", {"vcore": 4})
    for number in range(40):
        by_rm, by_operator = home["n1"]
        what = dice.randrange(6)
        if what == 0:
            door.node("n1", action=c.DRAIN_NODE)
            home["n1"] = (True, by_operator)
        elif what == 1:
            door.node("n1", action=c.DRAIN_TO_SCHEDULABLE)
            home["n1"] = (False, by_operator)
        elif what == 2:
            change(door, c.STOP)
            home["n1"] = (by_rm, True)
        elif what == 3:
            change(door, c.START)
            home["n1"] = (by_rm, False)
        elif what == 4:
            door.ask("app", f"k{number}", ONE)
        else:
            door.place()
        door.scheduler.check()
        assert view(door).schedulable is not any(home["n1"])
