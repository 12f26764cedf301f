"""What a limit means (chapter 30, sections 4 and 10)."""

from __future__ import annotations

import pytest

from remuda.config.schema import LimitConfig
from tests.unit.core.door import Caller, groups, leaf, parent, partition, users
from tests.unit.core.tracking import (
    NODE,
    caller,
    counted,
    fits,
    has_room,
    memory,
    node,
    start,
    used,
)

MANY = 99


def placed(door: Caller, app: str, queue: str, user: str, group: str = "staff") -> int:
    """How many allocations of 10 memory a new application gets."""
    door.app(app, queue, user=user, groups=(group,))
    door.ask(app, f"{app}.k", memory(10), MANY)
    return len(door.place())


@pytest.mark.remuda_rule("LIM-1")
def test_each_user_of_an_entry_gets_the_full_amount() -> None:
    door = caller(leaf("a", limits=(users("ann bob", memory(30)),)))
    assert placed(door, "1", "root.a", "ann") == 3
    assert placed(door, "2", "root.a", "bob") == 3
    assert placed(door, "3", "root.a", "bob") == 0


@pytest.mark.remuda_rule("LIM-1")
def test_the_members_of_a_group_share_one_amount() -> None:
    door = caller(leaf("a", limits=(groups("dev ops", memory(50)),)))
    assert placed(door, "1", "root.a", "ann", "ops") == 5
    door.app("2", "root.a", user="bob", groups=("dev",))
    door.ask("2", "k", memory(20))
    assert len(door.place()) == 1
    assert placed(door, "3", "root.a", "eve", "dev") == 3


@pytest.mark.remuda_rule("LIM-1")
def test_a_limit_bounds_the_queue_and_everything_below_it() -> None:
    inner = parent("q", leaf("a"), leaf("b"))
    door = caller(parent("p", inner, limits=(users("ann", memory(50)),)), leaf("c"))
    assert start(door, "1", "root.p.q.a", memory(30))
    assert placed(door, "2", "root.p.q.b", "ann") == 2
    assert placed(door, "3", "root.p.q.b", "bob") == MANY
    assert start(door, "4", "root.c", memory(1000))


@pytest.mark.remuda_rule("LIM-1")
@pytest.mark.parametrize("limit", [users("ann bob", None, 2), groups("staff", None, 2)])
def test_applications_are_bounded_for_the_queue_and_below(limit: LimitConfig) -> None:
    door = caller(parent("p", leaf("a"), leaf("b"), limits=(limit,)), leaf("c"))
    assert start(door, "1", "root.p.a", memory(1))
    assert start(door, "2", "root.p.b", memory(1))
    assert not start(door, "3", "root.p.a", memory(1))
    assert start(door, "4", "root.c", memory(1))
    # Another user of the entry has the full amount, another member of the group has not.
    assert start(door, "5", "root.p.a", memory(1), user="bob") is (limit.users != ())


@pytest.mark.remuda_rule("LIM-2")
def test_types_without_a_limit_are_not_limited_and_zero_forbids() -> None:
    limit = users("ann", {"memory": 0, "gpu": 5})
    door = caller(leaf("a", limits=(limit,)))
    assert start(door, "1", "root.a", {"vcore": 5000})
    assert not fits(door, "1", memory(1))
    assert not fits(door, "1", {"vcore": 1, "memory": 1})
    assert fits(door, "1", {"vcore": 1, "memory": 0})


@pytest.mark.remuda_rule("LIM-2")
def test_without_a_number_applications_are_not_limited() -> None:
    door = caller(leaf("a", limits=(users("ann", memory(MANY), 0),)))
    assert all(start(door, f"app-{n}", "root.a", memory(1)) for n in range(20))


@pytest.mark.remuda_rule("LIM-2")
def test_without_an_amount_resources_are_not_limited() -> None:
    door = caller(leaf("a", limits=(users("ann", None, 1), groups("staff", None, 1))))
    assert start(door, "1", "root.a", NODE)


@pytest.mark.remuda_rule("LIM-3")
@pytest.mark.parametrize(
    "root, middle, own, group, room",
    [
        (100, 60, 40, 90, 40),
        (100, 40, 60, 90, 40),
        (30, 40, 60, 90, 30),
        (100, 60, 40, 20, 20),
        (None, 60, None, 90, 60),
        (None, None, None, 90, 90),
    ],
)
def test_the_smallest_of_all_levels_and_of_user_and_group_wins(
    root: int | None, middle: int | None, own: int | None, group: int, room: int
) -> None:
    def limit(amount: int | None) -> tuple[LimitConfig, ...]:
        return () if amount is None else (users("ann", memory(amount)),)

    inner = leaf("a", limits=limit(own))
    middle_limits = (*limit(middle), groups("staff", memory(group)))
    door = caller(parent("p", inner, limits=middle_limits), limits=limit(root))
    assert start(door, "1", "root.p.a", {"vcore": 1})
    assert has_room(door, "1", room)


@pytest.mark.remuda_rule("LIM-3")
def test_the_smallest_number_of_applications_wins() -> None:
    inner = leaf("a", limits=(users("ann bob", None, 3), groups("staff", None, 2)))
    door = caller(inner, limits=(users("ann bob", None, 1),))
    assert start(door, "1", "root.a", memory(1))
    assert not start(door, "2", "root.a", memory(1))  # one per user at root
    assert start(door, "3", "root.a", memory(1), user="bob")
    # The group has its two; root names no eve.
    assert not start(door, "4", "root.a", memory(1), user="eve")


@pytest.mark.remuda_rule("LIM-4")
def test_the_user_wildcard_is_a_default_for_each_user() -> None:
    door = caller(leaf("a", limits=(users("bob", memory(50)), users("*", memory(20)))))
    assert placed(door, "1", "root.a", "ann") == 2
    assert placed(door, "2", "root.a", "eve") == 2
    assert placed(door, "3", "root.a", "bob") == 5


@pytest.mark.remuda_rule("LIM-4")
def test_a_named_entry_elsewhere_does_not_switch_the_wildcard_off() -> None:
    inner = leaf("a", limits=(users("*", memory(20)),))
    door = caller(inner, limits=(users("bob", memory(50)),))
    assert placed(door, "1", "root.a", "bob") == 2


@pytest.mark.remuda_rule("LIM-4")
def test_the_wildcard_counts_applications_for_each_user() -> None:
    door = caller(leaf("a", limits=(users("bob", None, 2), users("*", None, 1))))
    for user, most in (("ann", 1), ("eve", 1), ("bob", 2)):
        started = [start(door, f"{user}-{n}", "root.a", memory(1), user=user) for n in range(3)]
        assert sum(started) == most


@pytest.mark.remuda_rule("LIM-5")
def test_the_group_wildcard_is_one_shared_amount() -> None:
    limits = (groups("dev", memory(50)), groups("*", memory(40)))
    door = caller(leaf("a", limits=limits))
    assert placed(door, "1", "root.a", "ann", "qa") == 4
    assert placed(door, "2", "root.a", "bob", "hr") == 0
    assert placed(door, "3", "root.a", "eve", "dev") == 5
    assert used(door, "*", "root.a", of_groups=True) == memory(40)


@pytest.mark.remuda_rule("LIM-6", "D-U1", "PAR-5", "REST-64")
def test_each_partition_has_its_own_limits_and_usage() -> None:
    most = {"default": 3, "gpu": 5, "free": MANY}
    limits = {"default": (users("ann", memory(30)),), "gpu": (users("ann", memory(50)),)}
    door = Caller(
        partitions=[partition(leaf("a", limits=limits.get(name, ())), name=name) for name in most]
    )
    for home, expected in most.items():
        door.node(f"n-{home}", NODE, home=home)
        door.app("app", "root.a", partition=home)
        door.ask("app", "k", memory(10), MANY, partition=home)
        assert len(door.place()) == expected
    for home, expected in most.items():
        assert used(door, "ann", "root", home=home) == memory(10 * expected)


@pytest.mark.remuda_rule("LIM-6", "CFG-47")
def test_the_limits_of_a_partition_are_those_of_root() -> None:
    door = caller(leaf("a"), leaf("b"), limits=(users("*", memory(40)),))
    assert placed(door, "1", "root.a", "ann") == 4
    assert placed(door, "2", "root.b", "ann") == 0
    assert placed(door, "3", "root.b", "bob") == 4


@pytest.mark.remuda_rule("LIM-7")
def test_reported_allocations_may_exceed_a_limit_and_new_ones_are_refused() -> None:
    limits = (users("ann", memory(30), 1), groups("staff", memory(40)))
    door = caller(leaf("a", limits=limits))
    for app in ("1", "2"):
        door.app(app)
        door.existing(app, f"{app}.x", "n1", memory(50))
    assert used(door, "ann", "root.a") == memory(100)
    assert used(door, "staff", "root.a", of_groups=True) == memory(100)
    assert counted(door, "ann", "root.a") == ("1", "2")
    assert not fits(door, "1", memory(1))
    assert fits(door, "1", {"vcore": 1})
    assert not start(door, "3", "root.a", {"vcore": 1})  # two of one application run
    door.remove("3")
    door.release("1", "1.x")
    door.release("2", "2.x")
    assert start(door, "4", "root.a", memory(30))


@pytest.mark.remuda_rule("LIM-8", "D-U2", "LIM-55")
@pytest.mark.parametrize("requested", ["root.prod", "root.Prod", "root.PROD"])
def test_a_limit_holds_whatever_the_case_of_the_requested_queue(requested: str) -> None:
    door = caller(leaf("prod", limits=(users("ann", memory(20)),)))
    assert placed(door, "1", requested, "ann") == 2
    assert used(door, "ann", "root.prod") == memory(20)


@pytest.mark.remuda_rule("LIM-72", "CFG-60")
def test_the_queue_wins_where_a_limit_exceeds_its_maximum() -> None:
    inner = leaf("a", limits=(users("ann", memory(500)),))
    door = caller(parent("p", inner, maximum=memory(30)))
    assert placed(door, "1", "root.p.a", "ann") == 3
    found = node(door, "ann", "root.p.a")
    assert found is not None
    assert found.maximum == memory(500)
