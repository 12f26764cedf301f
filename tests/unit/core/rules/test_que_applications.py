"""The order of applications in a leaf (QUE-39, QUE-40, QUE-43)."""

from __future__ import annotations

import itertools

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages.effects import ApplicationsAnswered
from tests.unit.core.door import Caller, leaf, of, parent

POLICY, PRIORITY = "application.sort.policy", "application.sort.priority"
ONE = {"vcore": 1}


def sorting(policy: str, priority: str = "enabled") -> dict[str, str]:
    """The properties that choose an order."""
    return {POLICY: policy, PRIORITY: priority}


def caller(*queues: QueueConfig) -> Caller:
    """These queues and a large node."""
    door = Caller(*queues)
    door.node("n1", {"vcore": 1000, "memory": 1000})
    return door


def letters(door: Caller) -> str:
    """The first letters of everything that is placed, in order."""
    return "".join(key[0] for key in door.order())


# ------------------------------------------------------------------------------ candidates


@pytest.mark.remuda_rule("QUE-39")
def test_only_applications_that_want_something_take_part() -> None:
    door = caller(leaf("a"))
    for name in ("idle", "full", "wants"):
        door.now += 1
        door.app(name)
    door.existing("full", "run", "n1", ONE)
    door.ask("wants", "w", {"vcore": 1, "memory": 0}, 2)
    assert letters(door) == "ww"
    door.ask("idle", "i", ONE)
    door.ask("full", "f", ONE)
    assert letters(door) == "if"


# ----------------------------------------------------------------------------- comparators

# By name when it was submitted, its priority, and how many cores it uses.
THREE = {"x": (1, 0, 9), "y": (2, 5, 6), "z": (3, 5, 3)}


@pytest.mark.remuda_rule("QUE-40")
@pytest.mark.parametrize(
    "policy, priority, order",
    [
        ("fifo", "enabled", "yzx"),
        ("fifo", "disabled", "xyz"),
        ("fair", "enabled", "zyx"),
        ("fair", "disabled", "zyx"),
    ],
)
@pytest.mark.parametrize("names", list(itertools.permutations("xyz")))
def test_each_pair_of_keys_whatever_comes_first(
    policy: str, priority: str, order: str, names: tuple[str, ...]
) -> None:
    door = caller(leaf("a", properties=sorting(policy, priority)))
    for name in "xyz":
        submitted, _, _ = THREE[name]
        door.now += submitted
        door.app(name)
    for name in names:
        _, wanted, used = THREE[name]
        door.existing(name, f"old-{name}", "n1", {"vcore": used})
        door.ask(name, name, {"memory": 1}, priority=wanted)
    assert letters(door) == order


@pytest.mark.remuda_rule("QUE-40")
@pytest.mark.parametrize(
    "policy, priority, order",
    [
        # p and q are equal in the first key of each order but for what the second one says.
        ("fifo", "enabled", "pq"),  # priorities equal, p is older
        ("fifo", "disabled", "pq"),  # p is older
        ("fair", "enabled", "qp"),  # priorities equal, q uses less
        ("fair", "disabled", "qp"),  # q uses less
    ],
)
def test_the_second_key_decides_among_equals_in_the_first(
    policy: str, priority: str, order: str
) -> None:
    door = caller(leaf("a", properties=sorting(policy, priority)))
    for name, used in (("p", 7), ("q", 2)):
        door.app(name)
        door.now += 1
        door.existing(name, f"old-{name}", "n1", {"vcore": used})
        door.ask(name, name, {"memory": 1}, priority=3)
    assert letters(door) == order


@pytest.mark.remuda_rule("QUE-40")
@pytest.mark.parametrize("policy", ["fifo", "fair"])
@pytest.mark.parametrize("priority", ["enabled", "disabled"])
def test_what_is_equal_in_both_keys_is_served_as_it_was_submitted(
    policy: str, priority: str
) -> None:
    door = caller(leaf("a", properties=sorting(policy, priority)))
    new = tuple(c.NewApplication(name, "root.a", user="ann") for name in "zxy")
    door.send(c.UpdateApplications(door.rm, new))
    asks = tuple(c.Ask(name, name, ONE) for name in "yxz")
    door.send(c.UpdateAllocations(door.rm, asks=asks))
    assert letters(door) == "zxy"
    asks = tuple(c.Ask(name, f"{name}2", ONE, priority=ord(name)) for name in "yxz")
    door.send(c.UpdateAllocations(door.rm, asks=asks))
    assert letters(door) == "zyx"


@pytest.mark.remuda_rule("QUE-40", "QUE-27")
def test_the_priority_of_an_application_is_that_of_what_is_left_of_it() -> None:
    # x has 9 and 1, y has 5 twice: after x's 9 it is y's turn, then x's 1.
    door = caller(leaf("a"))
    for name, key, priority in (("x", "x1", 9), ("x", "x2", 1), ("y", "y1", 5), ("y", "y2", 5)):
        if name not in door.apps():
            door.app(name)
        door.ask(name, key, ONE, priority=priority)
    assert door.order() == ["x1", "y1", "y2", "x2"]


@pytest.mark.remuda_rule("QUE-40")
def test_fair_measures_usage_after_every_allocation() -> None:
    # What x, y and z use before each choice; equal usage leaves it to the submission:
    # 000 x, 300 y, 320 z, 321 z, 322 y, 342 z, 343 x, 643 z, 644 y, 664 z, 665 z, 666 x, 966 y,
    # 986 z.
    door = caller(leaf("a", properties=sorting("fair")))
    for name, size, count in (("x", 3, 3), ("y", 2, 4), ("z", 1, 7)):
        door.now += 1
        door.app(name)
        door.ask(name, name, {"vcore": size}, count)
    assert letters(door) == "xyzzyzxzyzzxyz"


@pytest.mark.remuda_rule("QUE-40")
def test_fair_sees_released_usage_at_once() -> None:
    door = caller(leaf("a", properties=sorting("fair")))
    for name, used in (("x", 5), ("y", 3)):
        door.app(name)
        for number in range(used):
            door.existing(name, f"{name}{number}", "n1", ONE)
        door.ask(name, name, {"memory": 1}, 2)
    assert [identity for identity, _ in door.place(1)] == ["y-0"]
    for number in range(3):
        door.release("x", f"x{number}")
    assert [identity for identity, _ in door.place(1)] == ["x-0"]


@pytest.mark.remuda_rule("QUE-40", "RES-48")
def test_usage_is_relative_to_the_guarantee_of_the_leaf_and_no_other() -> None:
    # The parent guarantees the other way round: 6 of 100 bytes are less than 5 of 10 cores.
    inner = leaf("a", guaranteed={"vcore": 10, "memory": 100}, properties=sorting("fair"))
    door = caller(parent("p", inner, guaranteed={"vcore": 1000, "memory": 100}))
    for name, used in (("c", {"vcore": 5}), ("m", {"memory": 6})):
        door.app(name, "root.p.a")
        door.existing(name, f"old-{name}", "n1", used)
        door.ask(name, name, ONE)
    assert letters(door) == "mc"


@pytest.mark.remuda_rule("QUE-40", "RES-46")
@pytest.mark.parametrize("guaranteed", [None, {"vcore": 0}, {"gpu": 5}])
def test_without_a_guarantee_of_that_type_raw_amounts_are_compared(
    guaranteed: dict[str, int] | None,
) -> None:
    door = caller(leaf("a", guaranteed=guaranteed, properties=sorting("fair")))
    for name, used in (("m", {"memory": 6}), ("c", {"vcore": 5})):
        door.app(name)
        door.existing(name, f"old-{name}", "n1", used)
        door.ask(name, name, ONE)
    assert letters(door) == "cm"


@pytest.mark.remuda_rule("QUE-40", "RLD-23")
def test_each_leaf_changes_its_order_for_itself_and_at_once() -> None:
    # In both leaves x is older and uses more, y is more urgent.
    def tree(left: dict[str, str], right: dict[str, str]) -> tuple[QueueConfig, ...]:
        return leaf("l", properties=left), leaf("r", properties=right)

    fifo, urgent = sorting("fifo", "disabled"), sorting("fifo")
    fair = sorting("fair", "disabled")
    door = caller(*tree(fifo, fifo))
    for path in "lr":
        for name, used, wanted in (("x", 6, 0), ("y", 1, 4)):
            door.now += 1
            door.app(f"{name}{path}", f"root.{path}")
            door.existing(f"{name}{path}", f"old-{name}{path}", "n1", {"vcore": used})
            door.ask(f"{name}{path}", f"{name}{path}", {"memory": 1}, 50, priority=wanted)
    for left, right, expected in (
        (fifo, fifo, {"xl", "xr"}),
        (fair, fifo, {"yl", "xr"}),
        (urgent, fair, {"yl", "yr"}),
        (fifo, urgent, {"xl", "yr"}),
        (fifo, fifo, {"xl", "xr"}),
    ):
        door.reload(*tree(left, right), properties={PRIORITY: "disabled"})
        placed = {identity.rpartition("-")[0] for identity, _ in door.place(6)}
        assert placed == expected
    door.scheduler.check()


# ----------------------------------------------------------------------------------- gangs


def unsupported(door: Caller, queue: str) -> bool:
    """Whether a gang is refused because of the order of the queue."""
    gang = c.NewApplication(f"gang-{queue}", queue, user="ann", placeholder_ask=ONE)
    (answer,) = of(door.send(c.UpdateApplications(door.rm, (gang,))), ApplicationsAnswered)
    return any("unsupported sort type" in bad.reason for bad in answer.rejected)


@pytest.mark.remuda_rule("QUE-43", "GANG-2")
def test_a_fair_leaf_takes_no_gang() -> None:
    door = caller(
        parent("p", leaf("inherits"), leaf("own", properties={POLICY: "fifo"}),
               properties={POLICY: "fair"}),
        leaf("plain"),
        leaf("odd", properties={POLICY: "FAIR"}),
    )  # fmt: skip
    found = {
        queue: unsupported(door, f"root.{queue}")
        for queue in ("p.inherits", "p.own", "plain", "odd")
    }
    assert found == {"p.inherits": True, "p.own": False, "plain": False, "odd": False}
