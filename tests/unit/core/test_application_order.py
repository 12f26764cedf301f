"""The order of applications in a leaf and of asks in an application (A.8 and A.9)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import Caller, leaf

PRIORITY, POLICY = "application.sort.priority", "application.sort.policy"


def three_applications(policy: str, priority: str) -> list[str]:
    """old: low priority, much used; mid: high priority, some; new: high priority, little."""
    door = Caller(leaf("a", properties={POLICY: policy, PRIORITY: priority}))
    door.node("n1", {"vcore": 1000, "memory": 1000})
    for name, used, wanted in (("old", 30, 1), ("mid", 20, 5), ("new", 10, 5)):
        door.now += 1
        door.app(name)
        door.existing(name, f"used-{name}", "n1", {"vcore": used})
        door.ask(name, name, {"vcore": 1}, priority=wanted)
    return door.order()


@pytest.mark.remuda_rule("QUE-40", "QUE-39")
@pytest.mark.parametrize(
    "policy, priority, order",
    [
        ("fifo", "enabled", "mid new old"),
        ("fifo", "disabled", "old mid new"),
        ("fair", "enabled", "new mid old"),
        ("fair", "disabled", "new mid old"),
        ("stateaware", "enabled", "mid new old"),
    ],
)
def test_the_four_comparators(policy: str, priority: str, order: str) -> None:
    assert three_applications(policy, priority) == order.split()


@pytest.mark.remuda_rule("QUE-40")
def test_fair_compares_usage_before_priority_when_priority_is_disabled() -> None:
    door = Caller(leaf("a", properties={POLICY: "fair", PRIORITY: "disabled"}))
    door.node("n1", {"vcore": 1000})
    for name, used, wanted in (("much", 20, 9), ("little", 10, 1), ("equal", 10, 2)):
        door.app(name)
        door.existing(name, f"used-{name}", "n1", {"vcore": used})
        door.ask(name, name, {"vcore": 1}, priority=wanted)
    assert door.order() == ["equal", "little", "much"]


@pytest.mark.remuda_rule("QUE-40")
def test_applications_of_one_instant_are_ordered_by_priority_then_by_arrival() -> None:
    door = Caller(leaf("a", properties={PRIORITY: "disabled"}))
    door.node("n1", {"vcore": 10})
    new = tuple(c.NewApplication(name, "root.a", user="ann") for name in ("z", "y", "x"))
    door.send(c.UpdateApplications(door.rm, new))
    for name, wanted in (("z", 0), ("y", 0), ("x", 1)):
        door.ask(name, name, {"vcore": 1}, priority=wanted)
    assert door.order() == ["x", "z", "y"]


@pytest.mark.remuda_rule("QUE-40", "RES-46", "RES-48")
@pytest.mark.parametrize(
    "guaranteed, first",
    [
        ({"vcore": 10, "memory": 1000}, "bytes"),  # 500 of 1000 against 8 of 10
        (None, "cores"),  # raw amounts: 500 against 8
    ],
)
def test_fair_usage_is_relative_to_the_guarantee_of_the_leaf(
    guaranteed: dict[str, int] | None, first: str
) -> None:
    door = Caller(leaf("a", guaranteed=guaranteed, properties={POLICY: "fair"}))
    door.node("n1", {"vcore": 100, "memory": 10000})
    for name, used in (("bytes", {"memory": 500}), ("cores", {"vcore": 8})):
        door.app(name)
        door.existing(name, f"used-{name}", "n1", used)
        door.ask(name, name, {"vcore": 1, "memory": 1})
    assert door.order()[0] == first


@pytest.mark.remuda_rule("RES-47", "RES-48")
@pytest.mark.parametrize(
    "earlier, later, first",
    [
        ({"m": 4, "c": 6}, {"m": 5, "c": 2}, "later"),  # [0.2, 0.5] is less than [0.4, 0.6]
        ({"m": 5, "c": 1}, {"m": 5}, "later"),  # a rest above zero is more
        ({"m": 5, "c": 0}, {"m": 5}, "earlier"),  # zeros are skipped: equal
        ({"m": 5, "c": 2}, {"m": 2, "c": 5}, "earlier"),  # names of types play no role
        ({"m": 6, "c": 6}, {"m": 6, "c": 5}, "later"),
    ],
)
def test_fair_usage_compares_the_largest_shares_first_then_the_next(
    earlier: dict[str, int], later: dict[str, int], first: str
) -> None:
    door = Caller(leaf("a", guaranteed={"m": 10, "c": 10}, properties={POLICY: "fair"}))
    door.node("n1", {"m": 100, "c": 100})
    for name, used in (("earlier", earlier), ("later", later)):
        door.app(name)
        door.existing(name, f"used-{name}", "n1", used)
        door.ask(name, name, {"m": 1})
    assert door.order()[0] == first


@pytest.mark.remuda_rule("QUE-40")
def test_fair_takes_turns() -> None:
    door = Caller(leaf("a", properties={POLICY: "fair"}))
    door.node("n1", {"vcore": 6})
    for name in ("x", "y"):
        door.app(name)
        door.ask(name, name, {"vcore": 1}, 4)
    assert door.order() == ["x", "y", "x", "y", "x", "y"]


@pytest.mark.remuda_rule("QUE-40", "QUE-27")
def test_fifo_serves_the_first_completely_unless_priority_says_otherwise() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    for name in ("x", "y"):
        door.now += 1
        door.app(name)
        door.ask(name, name, {"vcore": 1}, 2)
    door.ask("y", "urgent", {"vcore": 1}, priority=1)
    assert door.order() == ["urgent", "x", "x", "y", "y"]


@pytest.mark.remuda_rule("QUE-44", "SI-32")
def test_asks_are_ordered_by_priority_then_by_age() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    for key, priority in (("b", 0), ("a", 0), ("d", 5), ("c", 5), ("e", -1)):
        door.ask("app", key, {"vcore": 1}, priority=priority)
        door.now += 1
    assert door.order() == ["d", "c", "b", "a", "e"]


@pytest.mark.remuda_rule("QUE-44", "QUE-46")
def test_asks_of_one_instant_keep_their_order() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    asks = tuple(c.Ask("app", key, {"vcore": 1}) for key in ("c", "a", "b", "d"))
    door.send(c.UpdateAllocations(door.rm, asks=asks))
    door.release_ask("app", "a")
    assert door.order() == ["c", "b", "d"]


@pytest.mark.remuda_rule("QUE-46", "SI-33", "CYC-12")
def test_an_ask_sent_again_keeps_its_place_and_is_placed_once() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    for key in ("first", "second"):
        door.ask("app", key, {"vcore": 1})
        door.now += 1
    door.ask("app", "first", {"vcore": 2})
    assert door.queue("root").pending == {"vcore": 3}
    assert door.order() == ["first", "second"]
    assert door.queue("root").allocated == {"vcore": 3}
    assert not any(door.queue("root").pending.values())


@pytest.mark.remuda_rule("QUE-46")
def test_an_ask_that_was_replaced_and_released_is_never_placed() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    door.ask("app", "k", {"vcore": 1})
    door.ask("app", "k", {"vcore": 1}, priority=4)
    door.release_ask("app", "k")
    door.node("n1", {"vcore": 10})
    assert door.place() == []
    assert not any(door.queue("root").pending.values())
