"""Who uses what, and which applications count (chapter 30, section 6)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import queries as q
from tests.unit.core.door import (
    MINUTE,
    SECOND,
    Caller,
    groups,
    leaf,
    parent,
    partition,
    users,
)
from tests.unit.core.tracking import caller, counted, memory, node, start, used

PATHS = ("root", "root.p", "root.p.a")
DEV = (groups("dev", memory(1000)),)


def tree() -> Caller:
    """Group dev is named at root; queues root.p.a, root.p.b and root.c."""
    return caller(parent("p", leaf("a"), leaf("b")), leaf("c"), limits=DEV)


def running(door: Caller, app: str = "1", queue: str = "root.p.a", count: int = 2) -> None:
    """An application of ann and group dev that holds ``count`` allocations of 10."""
    door.app(app, queue, groups=("dev",))
    door.ask(app, f"{app}.k", memory(10), count)
    assert len(door.place()) == count


@pytest.mark.remuda_rule("LIM-30", "LIM-39", "REST-63")
def test_a_tracker_is_a_tree_from_root() -> None:
    door = caller(
        parent("p", leaf("a"), limits=(users("ann", memory(500), 7),)), leaf("c"), limits=DEV
    )
    running(door)
    running(door, "2", "root.c", 1)
    view = door.usage()["ann"]
    assert view.applications == {"1": "dev", "2": "dev"}
    root = view.queues
    assert (root.path, root.used, root.applications) == ("root", memory(30), ("1", "2"))
    assert (root.maximum, root.max_applications) == (None, 0)
    assert [child.path for child in root.children] == ["root.c", "root.p"]
    inner = root.children[1]
    assert (inner.used, inner.applications) == (memory(20), ("1",))
    assert (inner.maximum, inner.max_applications) == (memory(500), 7)
    (own,) = inner.children
    assert own == q.QueueUsageView("root.p.a", memory(20), ("1",), None, 0, ())


@pytest.mark.remuda_rule("LIM-39", "LIM-30")
def test_a_group_shows_its_applications() -> None:
    door = tree()
    running(door)
    view = door.usage(of_groups=True)["dev"]
    assert set(view.applications) == {"1"}
    assert (view.queues.maximum, view.queues.used) == (memory(1000), memory(20))


@pytest.mark.remuda_rule("LIM-39", "REST-64")
def test_the_usage_of_an_unknown_partition_is_unknown() -> None:
    door = tree()
    assert door.scheduler.view(q.UsageQuery("nowhere", rm_id=door.rm)) is None
    assert door.scheduler.view(q.UsageQuery("nowhere", groups=True, rm_id=door.rm)) is None


@pytest.mark.remuda_rule("LIM-31")
def test_users_are_tracked_without_a_limit_and_groups_are_not() -> None:
    door = caller(leaf("a"))
    running(door, queue="root.a")
    assert set(door.usage()) == {"ann"}
    assert door.usage(of_groups=True) == {}
    assert door.usage()["ann"].applications == {}


@pytest.mark.remuda_rule("LIM-31", "REST-65")
def test_a_group_is_tracked_when_a_limit_names_it() -> None:
    door = tree()
    view = door.usage(of_groups=True)["dev"]
    assert not any((view.queues.used or {}).values())
    assert (view.applications, view.queues.applications) == ({}, ())


@pytest.mark.remuda_rule("LIM-32", "LIM-33")
@pytest.mark.parametrize("reported", [False, True])
def test_an_allocation_counts_on_the_whole_path(reported: bool) -> None:
    door = tree()
    door.app("1", "root.p.a", groups=("dev",))
    if reported:
        door.existing("1", "x", "n1", memory(10))
    else:
        door.ask("1", "k", memory(10))
        assert len(door.place()) == 1
    for of_groups, name in ((False, "ann"), (True, "dev")):
        for path in PATHS:
            assert used(door, name, path, of_groups=of_groups) == memory(10)
            assert counted(door, name, path, of_groups=of_groups) == ("1",)
        for path in ("root.p.b", "root.c"):
            assert used(door, name, path, of_groups=of_groups) == {}


@pytest.mark.remuda_rule("LIM-33")
def test_allocations_reported_with_their_node_count() -> None:
    door = tree()
    door.app("1", "root.p.a", groups=("dev",))
    ask = c.Ask("1", "x", memory(70))
    door.node("n2", memory(100), existing=(c.ExistingAllocation(ask, "x", "n2"),))
    assert used(door, "ann", "root.p.a") == memory(70)
    assert used(door, "dev", "root", of_groups=True) == memory(70)


@pytest.mark.remuda_rule("LIM-33", "LIM-35")
def test_a_lost_node_takes_its_usage_along() -> None:
    door = tree()
    door.app("1", "root.p.a", groups=("dev",))
    ask = c.Ask("1", "x", memory(70))
    door.node("n2", memory(100), existing=(c.ExistingAllocation(ask, "x", "n2"),))
    door.node("n2", action=c.DECOMISSION)
    assert used(door, "ann", "root") == {}
    assert counted(door, "dev", "root", of_groups=True) == ()


@pytest.mark.remuda_rule("LIM-34", "LIM-35")
def test_a_release_is_taken_off_on_the_whole_path() -> None:
    door = tree()
    running(door, count=3)
    running(door, "2", "root.p.b", 1)
    door.release("1", "1.k-1")
    for of_groups, name in ((False, "ann"), (True, "dev")):
        amounts = [used(door, name, path, of_groups=of_groups) for path in (*PATHS, "root.p.b")]
        assert amounts == [memory(30), memory(30), memory(20), memory(10)]
        assert counted(door, name, "root", of_groups=of_groups) == ("1", "2")


@pytest.mark.remuda_rule("LIM-34")
def test_what_is_unknown_or_gone_is_not_taken_off() -> None:
    door = tree()
    running(door)
    door.release("1", "1.k-0")
    for identity in ("1.k-0", "nothing"):
        door.release("1", identity)
    door.release("nobody", "1.k-1")
    assert used(door, "ann", "root") == memory(10)
    assert used(door, "dev", "root.p.a", of_groups=True) == memory(10)


@pytest.mark.remuda_rule("LIM-36", "LIM-37")
def test_an_application_counts_while_it_holds_or_awaits_something() -> None:
    door = tree()
    door.app("1", "root.p.a", groups=("dev",))
    assert counted(door, "ann", "root") == ()
    door.ask("1", "k", memory(10))
    door.ask("1", "large", memory(5000))
    assert counted(door, "ann", "root") == ()  # nothing held yet
    assert len(door.place()) == 1
    assert counted(door, "ann", "root") == ("1",)
    door.release("1", "k-0")
    assert counted(door, "ann", "root") == ("1",)  # one ask is pending
    door.release_ask("1", "large")
    assert counted(door, "ann", "root") == ()
    assert counted(door, "dev", "root", of_groups=True) == ()


@pytest.mark.remuda_rule("LIM-36")
@pytest.mark.parametrize("pending", [False, True])
def test_a_removed_application_counts_no_more(pending: bool) -> None:
    door = tree()
    running(door)
    if pending:
        door.ask("1", "large", memory(5000))
    door.remove("1")
    assert door.usage() == {}
    assert counted(door, "dev", "root", of_groups=True) == ()
    assert used(door, "dev", "root", of_groups=True) == {}


@pytest.mark.remuda_rule("LIM-37")
def test_a_completing_application_comes_back_without_a_new_check() -> None:
    door = caller(leaf("a", limits=(users("ann", None, 1),)))
    assert start(door, "1", "root.a", memory(10))
    door.release("1", "1.k-0")
    assert (door.state("1"), counted(door, "ann", "root.a")) == ("Completing", ())
    assert start(door, "2", "root.a", memory(10))
    door.ask("1", "again", memory(10))
    assert len(door.place()) == 1
    assert counted(door, "ann", "root.a") == ("1", "2")
    assert not start(door, "3", "root.a", memory(10))


@pytest.mark.remuda_rule("LIM-38", "D-U10")
def test_releasing_all_with_asks_pending_returns_the_usage_once() -> None:
    door = tree()
    running(door, count=3)
    running(door, "2", "root.p.a", 1)
    door.ask("1", "large", memory(5000))
    door.release("1")
    for of_groups, name in ((False, "ann"), (True, "dev")):
        assert used(door, name, "root", of_groups=of_groups) == memory(10)
        assert counted(door, name, "root", of_groups=of_groups) == ("1", "2")
    door.release_ask("1", "large")
    assert counted(door, "ann", "root") == ("2",)
    door.release("2")
    assert door.usage() == {}


@pytest.mark.remuda_rule("LIM-45", "REST-65")
def test_queues_and_users_with_nothing_left_are_gone() -> None:
    door = tree()
    running(door)
    running(door, "2", "root.c", 1)
    door.release("1")
    assert node(door, "ann", "root.p") is None
    assert used(door, "ann", "root") == memory(10)
    door.release("2")
    assert door.usage() == {}
    assert set(door.usage(of_groups=True)) == {"dev"}  # a limit names it
    assert node(door, "dev", "root.p", of_groups=True) is None


@pytest.mark.remuda_rule("LIM-45", "LIM-46")
def test_queues_with_a_limit_of_the_user_stay() -> None:
    door = caller(parent("p", leaf("a", limits=(users("ann", memory(50)),))), leaf("c"))
    assert node(door, "ann", "root.p.a") is not None
    assert start(door, "1", "root.p.a", memory(10))
    assert start(door, "2", "root.c", memory(10))
    door.remove("1")
    door.remove("2")
    found = node(door, "ann", "root.p.a")
    assert found is not None
    assert found.maximum == memory(50)
    assert node(door, "ann", "root.c") is None


@pytest.mark.remuda_rule("LIM-46", "D-U3", "REST-65")
def test_checks_create_nothing() -> None:
    limits = (users("*", memory(5)), groups("dev", memory(5)))
    door = caller(leaf("a", limits=limits))
    assert not start(door, "1", "root.a", memory(10), groups=("dev",))
    assert door.usage() == {}
    view = door.usage(of_groups=True)["dev"]
    assert view.queues.applications == ()


@pytest.mark.remuda_rule("LIM-46", "D-U3")
def test_trackers_return_to_the_configured_ones_after_many_users() -> None:
    limits = (users("bob", memory(50)), users("*", memory(20), 2), groups("dev", memory(10**9)))
    door = caller(parent("p", leaf("a", limits=limits)), limits=(users("*", memory(30)),))
    for number in range(300):
        app, user = f"app-{number}", f"user-{number}"
        assert start(door, app, "root.p.a", memory(20), user=user, groups=("dev", user))
        if number % 3:
            door.release(app)
        if number % 3 != 1:
            door.remove(app)
    door.wait(31 * SECOND)
    door.wait(5 * MINUTE)
    assert set(door.usage()) == {"bob"}
    assert set(door.usage(of_groups=True)) == {"dev"}
    assert used(door, "dev", "root", of_groups=True) == {}
    door.scheduler.check()


@pytest.mark.remuda_rule("LIM-6", "D-U1")
def test_a_user_of_one_partition_is_unknown_in_the_other() -> None:
    door = Caller(partitions=[partition(leaf("a")), partition(leaf("a"), name="gpu")])
    door.node("n1", memory(100), home="gpu")
    door.app("1", partition="gpu")
    door.ask("1", "k", memory(10), partition="gpu")
    assert len(door.place()) == 1
    assert set(door.usage(home="gpu")) == {"ann"}
    assert door.usage() == {}


@pytest.mark.remuda_rule("LIM-32", "LIM-34", "LIM-36")
def test_two_applications_of_one_user_share_a_tree() -> None:
    door = tree()
    running(door)
    running(door, "2", "root.p.b", 3)
    assert used(door, "ann", "root.p") == memory(50)
    assert counted(door, "ann", "root.p") == ("1", "2")
    assert counted(door, "ann", "root.p.b") == ("2",)
    door.release("2")
    assert used(door, "ann", "root.p") == memory(20)
    assert counted(door, "ann", "root") == ("1",)
