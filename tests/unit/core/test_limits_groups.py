"""Under which group an application is tracked (chapter 30, section 5)."""

from __future__ import annotations

import pytest

from remuda.config.schema import LimitConfig
from tests.unit.core.door import CREATING, PROVIDED, Caller, groups, leaf, parent, users
from tests.unit.core.tracking import caller, counted, has_room, memory, start, used

Limits = tuple[LimitConfig, ...]


def group_of(door: Caller, app: str, user: str = "ann") -> str:
    """The group an application is tracked under, "" for none."""
    return door.usage()[user].applications.get(app, "")


def started(door: Caller, app: str, queue: str, user: str, names: str) -> str:
    """Run an application of a user with these groups and return the group it is tracked under."""
    assert start(door, app, queue, memory(1), user=user, groups=tuple(names.split()))
    return group_of(door, app, user)


# Which group wins: groups named at root, at root.p, at root.p.a; the user's; the outcome.
CHOICES = [
    ("", "", "ops dev", "dev ops", "ops"),
    ("", "", "dev ops", "ops dev", "dev"),
    ("dev", "", "ops", "dev ops", "ops"),
    ("dev", "", "ops", "dev", "dev"),
    ("dev", "ops", "", "dev ops", "ops"),
    ("dev", "ops", "qa", "hr", ""),
    ("", "", "", "dev", ""),
    ("dev", "", "ops *", "dev", "*"),
    ("dev *", "", "ops", "hr", "*"),
    ("dev *", "", "ops", "hr dev", "dev"),
    ("dev *", "ops", "", "dev ops", "ops"),
]


@pytest.mark.remuda_rule("LIM-21")
@pytest.mark.parametrize("root, middle, own, names, expected", CHOICES)
def test_the_nearest_level_with_a_match_decides(
    root: str, middle: str, own: str, names: str, expected: str
) -> None:
    def limits(entry: str) -> Limits:
        return (groups(entry, memory(1000)),) if entry else ()

    inner = parent("p", leaf("a", limits=limits(own)), limits=limits(middle))
    door = caller(inner, limits=limits(root))
    assert started(door, "app", "root.p.a", "ann", names) == expected
    tracked = {name for name, view in door.usage(of_groups=True).items() if view.applications}
    assert tracked == ({expected} if expected else set())


@pytest.mark.remuda_rule("LIM-21")
def test_the_order_counts_across_the_entries_of_a_queue() -> None:
    limits = (groups("qa", memory(9)), groups("ops", memory(9)), groups("dev", memory(9)))
    door = caller(leaf("a", limits=limits))
    assert started(door, "app", "root.a", "k", "dev ops") == "ops"


@pytest.mark.remuda_rule("LIM-21", "LIM-25")
@pytest.mark.parametrize(
    "queue, expected",
    [("root.parent.leaf", "test_parent"), ("root.parent1.leaf", "test_root")],
)
def test_the_example_of_the_chapter(queue: str, expected: str) -> None:
    inner = parent("parent", limits=(groups("test_parent", memory(9)),))
    door = Caller(
        inner,
        parent("parent1"),
        root={"limits": (groups("test_root", memory(9)),)},
        placement_rules=(CREATING,),
    )
    door.node("n1", {"memory": 10})
    assert started(door, "app", queue, "ann", "test test_root test_parent") == expected


@pytest.mark.remuda_rule("LIM-25")
def test_a_dynamic_queue_is_bound_by_its_configured_ancestors() -> None:
    inner = parent("p", limits=(groups("dev", memory(20)), users("ann", memory(30))))
    door = Caller(inner, placement_rules=(CREATING,))
    door.node("n1", {"memory": 100, "vcore": 10})
    assert start(door, "1", "root.p.x.y", {"vcore": 1}, groups=("dev",))
    assert start(door, "2", "root.p.z", {"vcore": 1}, groups=("qa",))
    assert (group_of(door, "1"), group_of(door, "2")) == ("dev", "")
    assert has_room(door, "1", 20)
    assert has_room(door, "2", 30)


@pytest.mark.remuda_rule("LIM-20", "LIM-24")
def test_the_choice_is_kept_until_the_application_is_removed() -> None:
    def limits(names: str) -> Limits:
        return (groups(names, memory(1000)),)

    door = caller(leaf("a", limits=limits("dev")))
    assert started(door, "1", "root.a", "ann", "ops dev") == "dev"
    assert started(door, "none", "root.a", "ann", "qa") == ""
    door.reload(leaf("a", limits=limits("ops dev qa")))
    door.ask("1", "more", memory(1))
    door.ask("none", "more", memory(1))
    assert len(door.place()) == 2
    assert (group_of(door, "1"), group_of(door, "none")) == ("dev", "")
    assert started(door, "2", "root.a", "ann", "ops dev") == "ops"
    assert started(door, "3", "root.a", "ann", "qa") == "qa"
    for app in ("1", "none"):
        door.remove(app)
    assert started(door, "1", "root.a", "ann", "ops dev") == "ops"
    assert started(door, "none", "root.a", "ann", "qa") == "qa"


@pytest.mark.remuda_rule("LIM-20")
def test_one_application_counts_under_one_group_only() -> None:
    door = caller(leaf("a", limits=(groups("dev ops", memory(100)),)))
    assert started(door, "1", "root.a", "ann", "ops dev") == "dev"
    assert used(door, "dev", "root.a", of_groups=True) == memory(1)
    assert used(door, "ops", "root.a", of_groups=True) == {}
    assert counted(door, "ops", "root.a", of_groups=True) == ()


@pytest.mark.remuda_rule("LIM-22")
def test_a_low_wildcard_hides_a_named_group_above() -> None:
    inner = leaf("a", limits=(groups("ops", memory(9)), groups("*", memory(50))))
    door = caller(inner, limits=(groups("dev", memory(5)),))
    assert start(door, "1", "root.a", {"vcore": 1}, groups=("dev",))
    assert group_of(door, "1") == "*"
    assert has_room(door, "1", 50)


@pytest.mark.remuda_rule("LIM-22")
def test_only_the_limits_of_the_chosen_group_count_on_all_levels() -> None:
    inner = leaf("a", limits=(groups("ops", memory(50)),))
    limits = (groups("dev", memory(5)), groups("ops", memory(40)))
    door = caller(inner, limits=limits)
    assert start(door, "1", "root.a", {"vcore": 1}, groups=("dev", "ops"))
    assert group_of(door, "1") == "ops"
    assert has_room(door, "1", 40)


@pytest.mark.remuda_rule("LIM-23")
def test_users_without_a_group_are_under_no_group() -> None:
    limits = (groups("dev", memory(5)), groups("*", memory(5), 1))
    door = caller(leaf("a", limits=limits))
    for app in ("1", "2"):
        assert start(door, app, "root.a", memory(100), user="sid", groups=())
        assert group_of(door, app, "sid") == ""
    assert used(door, "*", "root", of_groups=True) == {}
    assert used(door, "sid", "root") == memory(200)


def parents_with_groups() -> Caller:
    """The configuration of example X6."""
    inner = leaf("c", limits=(groups("g2", memory(20)),))
    limits = (groups("g1", memory(100)), groups("*", memory(50)))
    return caller(parent("p", inner, limits=limits))


@pytest.mark.remuda_rule("LIM-21", "LIM-22")
@pytest.mark.parametrize(
    "names, group, room", [("g1", "g1", 100), ("g2 g1", "g2", 20), ("g1 g2", "g2", 20)]
)
def test_example_x6(names: str, group: str, room: int) -> None:
    door = parents_with_groups()
    assert start(door, "app", "root.p.c", {"vcore": 1}, groups=tuple(names.split()))
    assert group_of(door, "app") == group
    assert has_room(door, "app", room)


@pytest.mark.remuda_rule("LIM-5", "LIM-23", "LIM-61")
def test_example_x2() -> None:
    limits = (groups("dev", memory(100)), groups("*", memory(40), 2))
    door = caller(leaf("a"), limits=limits)
    assert start(door, "app1", "root.a", memory(10), user="x", groups=("qa",))
    assert start(door, "app2", "root.a", memory(20), user="y", groups=("ops",))
    assert has_room(door, "app1", 10)
    assert has_room(door, "app2", 10)
    assert not start(door, "app3", "root.a", memory(1), user="z", groups=("hr",))
    assert start(door, "app4", "root.a", memory(1000), user="w", groups=())


@pytest.mark.remuda_rule("LIM-21", "LIM-24")
def test_rules_of_placement_do_not_change_where_the_search_starts() -> None:
    # The final queue counts, not the requested one.
    limits = (groups("dev", memory(9)),)
    door = Caller(parent("p", leaf("a", limits=limits)), leaf("b"), placement_rules=(PROVIDED,))
    door.node("n1", {"memory": 10})
    assert started(door, "1", "root.p.A", "ann", "dev") == "dev"
    assert started(door, "2", "root.b", "ann", "dev") == ""
