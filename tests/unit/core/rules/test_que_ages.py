"""How old asks and applications are (QUE-42, QUE-44)."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.effects import AsksRejected
from tests.unit.core.door import SECOND, START, Caller, leaf, of

ONE = {"vcore": 1}
BEGUN = START // SECOND


def caller(**properties: str) -> Caller:
    """A leaf with these properties and a large node."""
    named = {f"application.sort.{name}": value for name, value in properties.items()}
    door = Caller(leaf("a", properties=named))
    door.node("n1", {"vcore": 100, "memory": 100})
    return door


def created(seconds: int) -> dict[str, Any]:
    """Made so long before (or after) the tests begin."""
    return {"tags": {"creationTime": str(BEGUN + seconds)}}


def request_times(door: Caller, app: str = "app") -> dict[str, int]:
    """When each ask was made, in nanoseconds after the beginning."""
    return {r.allocation_key: r.request_time_ns - START for r in door.apps()[app].requests}


def submitted(door: Caller, app: str) -> int:
    """When an application was submitted, in nanoseconds after the beginning."""
    return door.apps()[app].submission_time_ns - START


# ----------------------------------------------------------------------------------- asks


@pytest.mark.remuda_rule("QUE-44")
def test_asks_are_served_by_the_time_they_were_made() -> None:
    door = caller()
    door.app("app")
    for key, seconds in (("c", -10), ("a", -30), ("d", 5), ("b", -20)):
        door.ask("app", key, ONE, **created(seconds))
        door.now += 1
    door.ask("app", "now", ONE)
    assert request_times(door) == {
        "a": -30 * SECOND,
        "b": -20 * SECOND,
        "c": -10 * SECOND,
        "d": 2,  # a time still to come is that of arrival
        "now": 4,
    }
    assert door.order() == ["a", "b", "c", "d", "now"]


@pytest.mark.remuda_rule("QUE-44")
def test_priority_comes_before_the_time() -> None:
    door = caller()
    door.app("app")
    door.ask("app", "old", ONE, **created(-100))
    door.ask("app", "urgent", ONE, priority=1)
    door.ask("app", "older", ONE, priority=-1, **created(-1000))
    assert door.order() == ["urgent", "old", "older"]


@pytest.mark.remuda_rule("QUE-44", "QUE-46")
def test_of_one_second_the_first_that_came_is_first() -> None:
    door = caller()
    door.app("app")
    for key in "cab":
        door.ask("app", key, ONE, **created(-7))
        door.now += 1
    door.release_ask("app", "a")
    assert door.order() == ["c", "b"]


@pytest.mark.remuda_rule("QUE-44")
@pytest.mark.parametrize(
    "text", ["", " ", "soon", "-5", "+5", "1.5", "1e9", " 7", "7s", "1_0", "9" * 12, "9" * 400]
)
def test_a_time_that_nobody_can_read_is_that_of_arrival(text: str) -> None:
    door = caller()
    door.app("app")
    door.now += 3
    door.ask("app", "k", ONE, tags={"creationTime": text})
    assert request_times(door) == {"k": 3}
    assert submitted(door, "app") == 0


@pytest.mark.remuda_rule("QUE-44")
@pytest.mark.parametrize("text, seconds", [("0", 0), ("7", 7), ("007", 7), ("00000000009", 9)])
def test_a_time_has_at_most_eleven_digits(text: str, seconds: int) -> None:
    door = caller()
    door.app("app")
    door.ask("app", "k", ONE, tags={"creationTime": text})
    assert request_times(door) == {"k": seconds * SECOND - START}
    assert door.order() == ["k"]


@pytest.mark.remuda_rule("QUE-44", "SI-33")
def test_an_ask_sent_again_keeps_the_time_of_the_first() -> None:
    door = caller()
    door.app("app")
    door.ask("app", "x", ONE)
    door.now += 1
    door.ask("app", "y", ONE)
    door.ask("app", "y", {"vcore": 2}, **created(-50))
    assert request_times(door) == {"x": 0, "y": 1}
    assert door.order() == ["x", "y"]


# --------------------------------------------------------------------------- applications


@pytest.mark.remuda_rule("QUE-42")
def test_an_application_was_submitted_when_the_core_received_it() -> None:
    door = caller()
    door.now += 5
    door.app("app")
    door.now += 5
    door.ask("app", "k", ONE)
    door.ask("app", "later", ONE, **created(60))
    assert submitted(door, "app") == 5


@pytest.mark.remuda_rule("QUE-42", "APP-21")
def test_the_submission_sinks_to_the_oldest_ask_and_never_rises() -> None:
    door = caller()
    door.app("app")
    seen = []
    for key, seconds in (("a", -10), ("b", -30), ("c", -20)):
        door.ask("app", key, ONE, **created(seconds))
        seen.append(submitted(door, "app") // SECOND)
    assert seen == [-10, -30, -30]
    door.release_ask("app", "b")
    assert submitted(door, "app") == -30 * SECOND
    assert door.order() == ["c", "a"]
    assert submitted(door, "app") == -30 * SECOND
    door.ask("app", "b", ONE, **created(-5))
    assert submitted(door, "app") == -30 * SECOND


@pytest.mark.remuda_rule("QUE-42", "QUE-40")
@pytest.mark.parametrize("priority", ["enabled", "disabled"])
def test_who_has_the_oldest_ask_is_first_of_all(priority: str) -> None:
    door = caller(priority=priority)
    for name in "xyz":
        door.app(name)
        door.ask(name, name, ONE, 2)
        door.now += SECOND
    assert [identity for identity, _ in door.place(1)] == ["x-0"]
    door.ask("z", "old", ONE, **created(-60))
    # z is first now with all it wants, in the order of its own asks; x and y follow.
    assert [identity for identity, _ in door.place(2)] == ["old-0", "z-0"]
    door.ask("y", "older", ONE, **created(-61))
    assert [identity for identity, _ in door.place()] == ["older-0", "y-0", "y-1", "z-1", "x-1"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-42", "QUE-40")
def test_an_old_ask_of_one_size_moves_those_of_other_sizes_too() -> None:
    door = caller()
    door.app("x")
    door.ask("x", "x", ONE)
    door.now += SECOND
    door.app("y")
    door.ask("y", "large", {"vcore": 2}, 2)
    door.ask("y", "bytes", {"memory": 2})
    door.ask("y", "old", {"vcore": 1000}, **created(-60))  # fits nowhere
    assert door.order() == ["large", "large", "bytes", "x"]


@pytest.mark.remuda_rule("QUE-42", "QUE-40")
def test_usage_comes_before_age_in_a_fair_leaf() -> None:
    door = caller(policy="fair")
    for name in "xy":
        door.app(name)
        door.ask(name, name, ONE, 2)
    door.existing("y", "run", "n1", {"vcore": 3})
    door.ask("y", "old", ONE, **created(-60))
    assert door.order() == ["x", "x", "old", "y", "y"]


@pytest.mark.remuda_rule("QUE-42", "QUE-45")
def test_a_refused_ask_makes_nobody_older() -> None:
    door = caller()
    door.app("app")
    assert of(door.ask("app", "k", {"vcore": 0}, **created(-60)), AsksRejected)
    assert submitted(door, "app") == 0


@pytest.mark.remuda_rule("APP-21", "SI-45")
def test_an_allocation_that_was_reported_makes_its_application_older() -> None:
    door = caller()
    for name in "xy":
        door.app(name)
        door.now += 1
    ask = c.Ask("y", "run", ONE, tags={"creationTime": str(BEGUN - 60)})
    door.send(c.UpdateAllocations(door.rm, allocations=(c.ExistingAllocation(ask, "run", "n1"),)))
    assert submitted(door, "y") == -60 * SECOND
    for name in "xy":
        door.ask(name, name, ONE)
    assert door.order() == ["y", "x"]
