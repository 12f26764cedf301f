"""The walk-through of a changing configuration (chapter 10, section 12), as remuda has it."""

from __future__ import annotations

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import effects as e
from tests.unit.core.door import SECOND, Caller, answers, leaf, parent, refusal, users
from tests.unit.core.reloading import (
    NODE,
    OFFSET,
    ONE,
    caller,
    change,
    configuration,
    start,
    statuses,
    verdict,
    views,
)

P = parent("p", leaf("c"))
LIMITS = (users("ann", {"vcore": 50}),)


def at_start() -> Caller:
    """t = 0 and 1: the first configuration, and A1 runs in root.a."""
    first = leaf("a", None, None, {OFFSET: "7"}, max_applications=5)
    door = caller(first, P)
    assert statuses(door) == {
        "root": "Active",
        "root.a": "Active",
        "root.p": "Active",
        "root.p.c": "Active",
    }
    start(door, "A1")
    return door


def second(door: Caller) -> None:
    """t = 2: nine applications, no properties."""
    change(door, leaf("a", max_applications=9), P)


@pytest.mark.remuda_rule("RLD-22", "RLD-23", "D-C20", "D-C10")
def test_step_2_number_and_properties_follow() -> None:
    door = at_start()
    assert (door.queue("root.a").max_applications, door.queue("root.a").priority_offset) == (5, 7)
    second(door)
    assert (door.queue("root.a").max_applications, door.queue("root.a").priority_offset) == (9, 0)


@pytest.mark.remuda_rule("RLD-28", "QLC-2", "D-C23", "CHK-5")
def test_steps_3_and_4_a_drains_and_the_same_text_does_nothing() -> None:
    door = at_start()
    second(door)
    change(door, P, checksum="THREE")
    assert statuses(door)["root.a"] == "Draining"
    door.ask("A1", "more", ONE)
    assert door.order() == ["more"]
    assert verdict(door.app("A2", "root.a"))
    before = views(door)
    assert answers(door.reload(P, checksum="THREE")) == [e.ConfigurationAnswered("rm", "")]
    assert views(door) == before


@pytest.mark.remuda_rule("RLD-29", "D-C22", "QLC-4")
def test_steps_5_and_6_a_comes_back_and_stays() -> None:
    door = at_start()
    change(door, P)
    change(door, leaf("a", max_applications=9), P)
    assert statuses(door)["root.a"] == "Active"
    door.remove("A1")
    door.wait(10 * SECOND)
    assert statuses(door)["root.a"] == "Active"
    assert door.queue("root.a").max_applications == 9


def at_seven() -> Caller:
    """t = 7: p is a leaf, with limits; B1 runs in it."""
    door = at_start()
    change(door, leaf("a"), leaf("p", limits=LIMITS), checksum="SEVEN")
    return door


@pytest.mark.remuda_rule("RLD-27", "QLC-3")
def test_step_7_p_becomes_a_leaf() -> None:
    door = at_seven()
    assert (door.queue("root.p").leaf, statuses(door)["root.p"]) == (True, "Active")
    assert statuses(door)["root.p.c"] == "Draining"
    door.wait(10 * SECOND)
    assert set(statuses(door)) == {"root", "root.a", "root.p"}
    start(door, "B1", "root.p")


@pytest.mark.remuda_rule("RLD-5", "RLD-6", "RLD-7", "D-C15", "D-C16", "SI-86")
@pytest.mark.parametrize("bad", [parent("a"), parent("a", leaf("x"))])
def test_steps_8_and_9_a_bad_change_does_nothing(bad: QueueConfig) -> None:
    door = at_seven()
    door.wait(10 * SECOND)
    start(door, "B1", "root.p")
    before = views(door)
    assert refusal(door.reload(bad, leaf("p", limits=(users("ann", ONE),)), checksum="EIGHT"))
    assert views(door) == before
    assert answers(door.reload(leaf("a"), leaf("p", limits=LIMITS), checksum="SEVEN")) == [
        e.ConfigurationAnswered("rm", "")
    ]
    assert views(door) == before
    assert configuration(door).checksum == "SEVEN"
    door.ask("B1", "more", ONE, 99)
    assert len(door.place()) == 49  # the limit of step 7
    assert door.node_view("n1").capacity == NODE
