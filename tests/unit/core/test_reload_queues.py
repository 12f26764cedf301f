"""Queues that come, go and change their kind with the configuration (10.12 and 10.13)."""

from __future__ import annotations

import pytest

from remuda.config.schema import AccessList, QueueConfig, TemplateConfig
from tests.unit.core.door import (
    CREATING,
    DAY,
    SECOND,
    Caller,
    leaf,
    parent,
    refusal,
)
from tests.unit.core.reloading import (
    OFFSET,
    ONE,
    SORT,
    caller,
    change,
    home_view,
    start,
    statuses,
    verdict,
    views,
)

TWO, NINE = {"vcore": 2}, {"vcore": 9}


@pytest.mark.remuda_rule("RLD-20", "OBJ-1")
def test_a_new_queue_is_configured_and_active() -> None:
    door = caller(leaf("a"), parent("p", leaf("x")))
    change(
        door, leaf("a"), parent("p", leaf("x"), leaf("y", maximum=TWO)), parent("new", leaf("z"))
    )
    found = door.queue("root.p.y")
    assert (found.managed, found.leaf, found.status) == (True, True, "Active")
    assert (found.maximum, found.parent) == (TWO, "root.p")
    assert not door.queue("root.new").leaf
    for path in ("root.p.y", "root.new.z"):
        start(door, path, path)


@pytest.mark.remuda_rule("RLD-20", "PRP-3")
def test_a_new_queue_inherits_from_its_parent() -> None:
    inherited = {SORT: "fair", OFFSET: "7"}
    door = caller(parent("p", leaf("x"), properties=inherited))
    change(door, parent("p", leaf("x"), leaf("y"), properties=inherited))
    found = door.queue("root.p.y")
    assert (found.sort_policy, found.priority_offset) == ("fair", 0)


@pytest.mark.remuda_rule("RLD-20", "RLD-28", "RLD-29")
def test_a_new_queue_below_one_that_comes_back() -> None:
    door = caller(leaf("a"), parent("p", leaf("x")))
    change(door, leaf("a"))
    change(door, leaf("a"), parent("p", leaf("y")))
    states = {"root": "Active", "root.a": "Active", "root.p": "Active"}
    assert statuses(door) == {**states, "root.p.x": "Draining", "root.p.y": "Active"}
    start(door, "1", "root.p.y")


@pytest.mark.remuda_rule("RLD-25", "OBJ-7")
def test_a_dynamic_leaf_becomes_configured() -> None:
    template = TemplateConfig(2, {OFFSET: "3"}, NINE)
    door = caller(parent("p", template=template), placement_rules=(CREATING,))
    start(door, "1", "root.p.x", 3)
    own = AccessList(users=("bob",))
    configured = leaf("x", TWO, ONE, {SORT: "fair"}, submit_acl=own, max_applications=4)
    change(door, parent("p", configured), root={"submit_acl": AccessList()})
    found = door.queue("root.p.x")
    assert (found.managed, found.status, found.maximum) == (True, "Active", TWO)
    assert (found.guaranteed, found.max_applications) == (ONE, 4)
    assert (found.sort_policy, found.priority_offset) == ("fair", 0)
    assert found.allocated == {"vcore": 3}
    assert verdict(door.app("2", "root.p.x"))
    assert verdict(door.app("3", "root.p.x", user="bob")) == ""
    for app in ("1", "3"):
        door.remove(app)
    door.wait(20 * SECOND)
    assert "root.p.x" in statuses(door)  # a configured queue is not cleaned up


@pytest.mark.remuda_rule("RLD-25")
def test_a_dynamic_parent_becomes_configured_and_its_dynamic_child_stays() -> None:
    door = caller(leaf("a"), placement_rules=(CREATING,))
    start(door, "1", "root.x.y")
    change(door, leaf("a"), parent("x", leaf("z")), placement_rules=(CREATING,))
    assert (door.queue("root.x").managed, door.queue("root.x.y").managed) == (True, False)
    assert statuses(door)["root.x.y"] == "Active"
    door.remove("1")
    door.wait(10 * SECOND)
    assert set(statuses(door)) == {"root", "root.a", "root.x", "root.x.z"}


@pytest.mark.remuda_rule("RLD-26", "D-C21")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("new", [parent("a"), parent("a", leaf("x"))])
def test_a_leaf_with_applications_cannot_become_a_parent(
    *, new: QueueConfig, dynamic: bool
) -> None:
    door = caller(leaf("b"), *(() if dynamic else (leaf("a"),)), placement_rules=(CREATING,))
    door.app("1")
    before = views(door)
    assert "root.a" in refusal(door.reload(leaf("b"), new))
    assert views(door) == before
    door.remove("1")
    change(door, leaf("b"), new)
    assert not door.queue("root.a").leaf


@pytest.mark.remuda_rule("RLD-26", "EVT-69")
def test_an_empty_leaf_becomes_a_parent() -> None:
    door = caller(leaf("a", maximum=NINE))
    start(door, "1")
    door.release("1")
    door.wait(31 * SECOND)
    change(door, parent("a", leaf("x", maximum=TWO)))
    assert (door.queue("root.a").leaf, door.queue("root.a").maximum) == (False, None)
    assert verdict(door.app("2", "root.a"))
    start(door, "3", "root.a.x", 2)


@pytest.mark.remuda_rule("RLD-27")
def test_a_parent_becomes_a_leaf_and_takes_applications_at_once() -> None:
    door = caller(parent("p", leaf("c"), leaf("d")))
    start(door, "1", "root.p.c", 2)
    change(door, leaf("p"))
    assert door.queue("root.p").leaf
    assert statuses(door) == {
        "root": "Active",
        "root.p": "Active",
        "root.p.c": "Draining",
        "root.p.d": "Draining",
    }
    start(door, "2", "root.p")
    assert door.queue("root.p").allocated == {"vcore": 3}
    door.wait(10 * SECOND)
    assert set(statuses(door)) == {"root", "root.p", "root.p.c"}
    door.remove("1")
    door.wait(10 * SECOND)
    assert set(statuses(door)) == {"root", "root.p"}
    assert door.queue("root.p").allocated == {"vcore": 1}
    door.scheduler.check()


@pytest.mark.remuda_rule("RLD-27")
def test_former_children_are_scheduled_before_the_queue_itself() -> None:
    door = Caller(parent("p", leaf("c"), leaf("d")), leaf("q"))
    door.node("n1", TWO)
    start(door, "1", "root.p.c", 2)
    for app, path in (("1", ""), ("2", "root.p.d")):
        if path:
            door.app(app, path)
        door.ask(app, f"{app}.more", ONE, 2)
    assert door.place() == []
    change(door, leaf("p", maximum=NINE), leaf("q"))
    door.app("3", "root.p")
    door.ask("3", "own", ONE, 2, priority=99)
    door.node("n2", {"vcore": 6})
    order = door.order()
    assert sorted(order[:4]) == ["1.more", "1.more", "2.more", "2.more"]
    assert order[4:] == ["own", "own"]
    assert door.queue("root.p").allocated == {"vcore": 8}


@pytest.mark.remuda_rule("RLD-27", "RLD-29")
def test_a_leaf_that_was_a_parent_becomes_one_again() -> None:
    door = caller(parent("p", leaf("c")))
    start(door, "1", "root.p.c")
    change(door, leaf("p"))
    change(door, parent("p", leaf("c")))
    assert statuses(door) == {"root": "Active", "root.p": "Active", "root.p.c": "Active"}
    door.ask("1", "more", ONE)
    assert door.order() == ["more"]
    assert verdict(door.app("2", "root.p.c")) == ""


@pytest.mark.remuda_rule("RLD-28", "OBJ-2", "OBJ-1")
def test_a_queue_left_out_drains_with_its_configured_descendants() -> None:
    door = caller(leaf("a"), parent("p", parent("q", leaf("x"))), placement_rules=(CREATING,))
    start(door, "1", "root.p.q.x")
    start(door, "2", "root.p.q.dyn")
    change(door, leaf("a"))
    assert statuses(door) == {
        "root": "Active",
        "root.a": "Active",
        "root.p": "Draining",
        "root.p.q": "Draining",
        "root.p.q.x": "Draining",
        "root.p.q.dyn": "Active",
    }


@pytest.mark.remuda_rule("RLD-29", "D-C22", "OBJ-2", "QLC-1")
def test_a_queue_that_comes_back_is_active_and_stays() -> None:
    door = caller(leaf("a"), parent("p", leaf("x", maximum=NINE)))
    change(door, leaf("a"))
    door.wait(5 * SECOND)
    change(door, leaf("a"), parent("p", leaf("x", maximum=TWO), leaf("y")))
    door.wait(20 * SECOND)
    assert set(statuses(door).values()) == {"Active"}
    assert set(statuses(door)) == {"root", "root.a", "root.p", "root.p.x", "root.p.y"}
    assert door.queue("root.p.x").maximum == TWO
    start(door, "1", "root.p.x", 2)


@pytest.mark.remuda_rule("QLC-3", "QLC-4", "OBJ-5", "OBJ-6")
def test_active_configured_queues_are_never_removed() -> None:
    door = caller(leaf("a"), parent("p", leaf("x")), parent("empty"))
    change(door, leaf("a"), parent("p"), parent("empty"))
    door.wait(3600 * SECOND)
    assert set(statuses(door)) == {"root", "root.a", "root.p", "root.empty"}


@pytest.mark.remuda_rule("QLC-5", "APP-15")
def test_expired_applications_are_dropped_within_a_day() -> None:
    def kept() -> int:
        view = home_view(door)
        assert view is not None
        return sum(view.applications.values())

    door = caller(leaf("a"))
    start(door, "1")
    door.release("1")
    door.wait(30 * SECOND)
    door.wait(3 * DAY - SECOND)
    assert kept() == 1
    door.wait(SECOND)
    door.wait(DAY)
    assert kept() == 0


@pytest.mark.remuda_rule("RLD-27", "RLD-28", "QLC-4", "OBJ-5")
def test_a_former_parent_that_drains_waits_for_its_children() -> None:
    door = caller(leaf("a"), parent("p", leaf("c")))
    start(door, "1", "root.p.c")
    change(door, leaf("a"), leaf("p"))
    change(door, leaf("a"))
    door.wait(20 * SECOND)
    assert (statuses(door)["root.p"], statuses(door)["root.p.c"]) == ("Draining", "Draining")
    assert door.queue("root").allocated == ONE
    door.remove("1")
    door.wait(10 * SECOND)
    assert set(statuses(door)) == {"root", "root.a"}


@pytest.mark.remuda_rule("RLD-26", "RLD-27", "D-C21")
def test_a_former_parent_with_applications_cannot_become_one_again() -> None:
    door = caller(parent("p", leaf("c")))
    change(door, leaf("p"))
    start(door, "1", "root.p")
    assert "root.p" in refusal(door.reload(parent("p", leaf("c"))))
    door.remove("1")
    change(door, parent("p", leaf("c")))
    assert set(statuses(door).values()) == {"Active"}


@pytest.mark.remuda_rule("RLD-26", "D-C21", "RLD-28")
def test_a_draining_leaf_with_applications_cannot_come_back_as_a_parent() -> None:
    door = caller(leaf("a"), leaf("b"))
    start(door, "1")
    change(door, leaf("b"))
    assert "root.a" in refusal(door.reload(leaf("b"), parent("a")))
    assert statuses(door)["root.a"] == "Draining"


@pytest.mark.remuda_rule("RLD-25", "RLD-27", "OBJ-1")
def test_a_dynamic_parent_is_configured_as_a_leaf() -> None:
    door = caller(leaf("a"), placement_rules=(CREATING,))
    start(door, "1", "root.x.y")
    change(door, leaf("a"), leaf("x", maximum=NINE))
    found = door.queue("root.x")
    assert (found.managed, found.leaf, found.maximum) == (True, True, NINE)
    assert statuses(door)["root.x.y"] == "Active"  # dynamic queues are never marked
    door.ask("1", "more", ONE)
    assert door.order() == ["more"]
    start(door, "2", "root.x", 2)
    door.remove("1")
    door.wait(10 * SECOND)
    assert set(statuses(door)) == {"root", "root.a", "root.x"}
    assert door.queue("root.x").allocated == TWO
