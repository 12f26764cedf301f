"""Priorities of asks, applications and queues (chapter 50 section A.6)."""

from __future__ import annotations

from typing import TypeAlias

import pytest

from remuda.config.schema import QueueConfig
from tests.unit.core.door import Caller, leaf, parent, refusal

LOWEST, HIGHEST = -(2**31), 2**31 - 1
OFFSET, POLICY = "priority.offset", "priority.policy"
FENCE = {POLICY: "fence"}
ONE = {"vcore": 1}


def current(door: Caller, *paths: str) -> list[int]:
    """The current priorities of these queues."""
    return [door.queue(path).current_priority for path in paths]


def highest(door: Caller, app: str) -> int:
    """The priority of an application."""
    return door.apps()[app].max_request_priority


# ------------------------------------------------------------------ asks and applications


@pytest.mark.remuda_rule("QUE-27")
@pytest.mark.parametrize("priority", [LOWEST, -1, 0, 1, HIGHEST])
def test_any_32_bit_number_is_a_priority(priority: int) -> None:
    door = Caller(leaf("a"))
    door.app("app")
    assert highest(door, "app") == LOWEST
    door.ask("app", "k", ONE, priority=priority)
    assert highest(door, "app") == priority
    assert current(door, "root", "root.a") == [priority] * 2


@pytest.mark.remuda_rule("QUE-27")
def test_only_asks_with_something_to_come_count() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    for key, count, priority in (("high", 2, 9), ("middle", 1, 5), ("low", 1, -3)):
        door.ask("app", key, ONE, count, priority=priority)
    seen = [highest(door, "app")]
    for _ in range(4):
        door.place(1)
        seen.append(highest(door, "app"))
    assert seen == [9, 9, 5, -3, LOWEST]
    door.ask("app", "high", ONE, 3, priority=9)  # one more than were made
    assert (highest(door, "app"), current(door, "root.a")) == (9, [9])


@pytest.mark.remuda_rule("QUE-27", "QUE-46")
def test_a_changed_and_a_removed_ask_change_the_priority() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    door.ask("app", "x", ONE, priority=4)
    door.ask("app", "y", ONE, priority=4)
    door.ask("app", "x", ONE, priority=8)
    assert highest(door, "app") == 8
    door.ask("app", "x", ONE, priority=1)
    assert highest(door, "app") == 4
    door.release_ask("app", "y")
    assert highest(door, "app") == 1
    door.release_ask("app")
    assert (highest(door, "app"), current(door, "root")) == (LOWEST, [LOWEST])


# ---------------------------------------------------------------------------------- queues


@pytest.mark.remuda_rule("QUE-28")
def test_a_leaf_has_the_highest_of_its_applications_and_a_parent_of_its_children() -> None:
    door = Caller(parent("p", leaf("a"), leaf("b", properties={OFFSET: "-2"})), leaf("c"))
    paths = ("root", "root.p", "root.p.a", "root.p.b", "root.c")
    assert current(door, *paths) == [LOWEST] * 5
    for app, path, priority in (
        ("a1", "root.p.a", 3),
        ("a2", "root.p.a", 6),
        ("b1", "root.p.b", 7),
        ("c1", "root.c", 4),
    ):
        door.app(app, path)
        door.ask(app, app, ONE, priority=priority)
    # p sees 6 of a and 7 - 2 of b.
    assert current(door, *paths) == [6, 6, 6, 7, 4]
    door.remove("a2")
    assert current(door, *paths) == [5, 5, 3, 7, 4]
    door.remove("b1")
    assert current(door, *paths) == [4, 3, 3, LOWEST, 4]
    door.remove("c1")
    door.remove("a1")
    assert current(door, *paths) == [LOWEST] * 5


@pytest.mark.remuda_rule("QUE-29")
@pytest.mark.parametrize(
    "own, offset, policy, visible",
    [
        (LOWEST, 5, "default", LOWEST),
        (LOWEST, 5, "fence", LOWEST),
        (100, 5, "fence", 5),
        (5, HIGHEST, "default", HIGHEST),
        (-5, LOWEST, "default", LOWEST),
        (7, 0, "default", 7),
        (7, -9, "default", -2),
        (HIGHEST, 1, "default", HIGHEST),
        (HIGHEST, LOWEST, "default", -1),
        (LOWEST + 1, -1, "default", LOWEST),
        (-100, -7, "fence", -7),
        (0, HIGHEST, "fence", HIGHEST),
        (3, LOWEST, "fence", LOWEST),
    ],
)
def test_what_a_parent_sees(own: int, offset: int, policy: str, visible: int) -> None:
    properties = {OFFSET: str(offset), POLICY: policy}
    door = Caller(parent("p", leaf("a", properties=properties)))
    door.app("app", "root.p.a")
    door.ask("app", "k", ONE, priority=own)
    assert current(door, "root.p.a", "root.p", "root") == [own, visible, visible]
    # Worked out anew it is the same, and so it is for a queue that has nothing.
    door.reload(parent("p", leaf("a", properties=properties), leaf("b", properties=properties)))
    assert current(door, "root.p.a", "root.p", "root") == [own, visible, visible]
    door.remove("app")
    assert current(door, "root.p.a", "root.p", "root") == [LOWEST] * 3


# ---------------------------------------------------------------------- changes at run time


@pytest.mark.remuda_rule("QUE-30")
def test_every_change_is_seen_at_root_before_the_next_decision() -> None:
    # b is served next because of what came for it a moment ago, three levels below.
    door = Caller(leaf("a"), parent("b", parent("c", leaf("d"))))
    door.node("n1", {"vcore": 100})
    for app, path in (("one", "root.a"), ("two", "root.b.c.d")):
        door.app(app, path)
        door.ask(app, app, ONE, 50)
    assert door.place(1) == [("one-0", "n1")]
    door.ask("two", "urgent", ONE, priority=1)
    assert door.place(1) == [("urgent-0", "n1")]
    door.ask("one", "first", ONE, priority=2)
    door.ask("two", "urgent", ONE, 3, priority=1)
    assert [identity for identity, _ in door.place(3)] == ["first-0", "urgent-1", "urgent-2"]


Plain: TypeAlias = tuple[tuple[str, dict[str, str]], ...]

SYSTEM: Plain = (("normal", {}), ("high", {OFFSET: "1000"}), ("low", {OFFSET: "-1000"}))


def tenants(
    tenant_a: dict[str, str],
    tenant_b: dict[str, str],
    above: dict[str, str],
    system: Plain = SYSTEM,
) -> tuple[QueueConfig, ...]:
    """The tree of QUE-31 with these properties of tenant-a, tenant-b and tenants."""
    a = parent("tenant-a", leaf("a1"), leaf("a2"), properties=tenant_a)
    b = parent("tenant-b", leaf("b1"), leaf("b2"), properties=tenant_b)
    plain = [leaf(name, properties=properties) for name, properties in system]
    return parent("system", *plain), parent("tenants", a, b, properties=above)


EXAMPLE = ({**FENCE, OFFSET: "10"}, FENCE, FENCE)


def example() -> Caller:
    """The tree and the asks of QUE-31."""
    door = Caller(*tenants(*EXAMPLE))
    door.node("n1", {"vcore": 100})
    for path, priorities in {
        "root.system.normal": (10, 2),
        "root.system.high": (1,),
        "root.system.low": (3,),
        "root.tenants.tenant-a.a1": (8, 5),
        "root.tenants.tenant-a.a2": (6, 4),
        "root.tenants.tenant-b.b1": (9, 7),
        "root.tenants.tenant-b.b2": (8,),
    }.items():
        name = path.rpartition(".")[2]
        door.app(name, path)
        for priority in priorities:
            door.ask(name, f"{name}:{priority}", ONE, priority=priority)
    return door


def served(door: Caller, count: int) -> list[str]:
    """The next so many, as application:priority."""
    return [identity.removesuffix("-0") for identity, _ in door.place(count)]


@pytest.mark.remuda_rule("QUE-31", "QUE-29")
def test_the_priorities_of_the_worked_example() -> None:
    door = example()
    inner = ("root.tenants.tenant-a", "root.tenants.tenant-b", "root.tenants", "root.system")
    # tenant-a shows its 10 to tenants, tenants shows 0 to root; system has 1 + 1000 of high.
    assert current(door, *inner, "root") == [8, 9, 10, 1001, 1001]
    assert served(door, 1) == ["high:1"]
    assert current(door, "root.system", "root") == [10, 10]
    assert served(door, 2) == ["normal:10", "normal:2"]
    assert current(door, "root.system", "root") == [-997, 0]


@pytest.mark.remuda_rule("QUE-30", "QUE-31", "RLD-23")
def test_fences_that_fall_in_the_middle_of_the_example() -> None:
    door = example()
    assert served(door, 3) == ["high:1", "normal:10", "normal:2"]
    # Without fences and offsets tenant-a shows 8 and tenant-b 9; after b1:9 both show 8, and
    # tenant-b has used a core; then 6 against 8 and 7, and so on.
    assert refusal(door.reload(*tenants({}, {}, {}))) == ""
    assert current(door, "root.tenants", "root") == [9, 9]
    assert served(door, 9) == [
        "b1:9", "a1:8", "b2:8", "b1:7", "a2:6", "a1:5", "a2:4", "low:3"
    ]  # fmt: skip
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-30", "QUE-31", "RLD-23")
def test_offsets_that_change_in_the_middle_of_the_example() -> None:
    door = example()
    assert served(door, 4) == ["high:1", "normal:10", "normal:2", "a1:8"]
    # low shows 3 + 1; tenants no longer hides the 10 of tenant-a and the 11 of tenant-b.
    system: Plain = (("normal", {}), ("high", {}), ("low", {OFFSET: "1"}))
    queues = tenants({**FENCE, OFFSET: "10"}, {**FENCE, OFFSET: "11"}, {}, system)
    assert refusal(door.reload(*queues)) == ""
    assert current(door, "root.system", "root.tenants", "root") == [4, 11, 11]
    assert served(door, 3) == ["b1:9", "b2:8", "b1:7"]
    # Only tenant-a is left there: 10 against 4 of system until tenants becomes a fence of 3.
    assert served(door, 1) == ["a2:6"]
    queues = tenants({}, {}, {**FENCE, OFFSET: "3"}, system)
    assert refusal(door.reload(*queues)) == ""
    assert current(door, "root.system", "root.tenants", "root") == [4, 5, 4]
    assert served(door, 9) == ["low:3", "a1:5", "a2:4"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-30", "QUE-20")
def test_an_offset_above_does_not_reach_the_queues_below() -> None:
    # A changed offset of p moves p among its siblings, its children keep their order.
    door = Caller(parent("p", leaf("a"), leaf("b")), leaf("q"))
    door.node("n1", {"vcore": 100})
    for app, path, priority in (("a", "root.p.a", 1), ("b", "root.p.b", 2), ("q", "root.q", 5)):
        door.app(app, path)
        door.ask(app, app, ONE, 2, priority=priority)
    assert served(door, 1) == ["q"]
    door.reload(parent("p", leaf("a"), leaf("b"), properties={OFFSET: "4"}), leaf("q"))
    assert current(door, "root.p.a", "root.p.b", "root.p", "root") == [1, 2, 2, 6]
    assert [identity for identity, _ in door.place()] == ["b-0", "b-1", "q-1", "a-0", "a-1"]
