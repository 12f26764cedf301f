"""What a reload renews, and what it leaves alone (chapter 10, section 12)."""

from __future__ import annotations

import pytest

from remuda.config.schema import LimitConfig, QueueConfig
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from tests.unit.core.door import Caller, leaf, parent
from tests.unit.core.reloading import ONE, caller, change, start
from tests.unit.core.rules.gang import FAIR, Gang

TWO, NINE = {"vcore": 2}, {"vcore": 9}


def looks(door: Caller, application: str) -> list[int]:
    """How often the asks of an application were looked at in vain."""
    found = door.scheduler.view(q.ApplicationsQuery("default", "", door.rm))
    assert isinstance(found, tuple)
    (own,) = [
        each
        for each in found
        if isinstance(each, ApplicationView) and each.application_id == application
    ]
    return [sum(entry.count for entry in each.log) for each in own.requests if each.pending_count]


def waiting() -> Caller:
    """Two leaves with a maximum of two cores each; one ask waits in either."""
    door = caller(leaf("a", TWO), leaf("b", TWO))
    for name in "ab":
        start(door, name, f"root.{name}", count=2)
        door.ask(name, f"{name}.more", ONE)
    assert door.place() == []
    return door


@pytest.mark.remuda_rule("CYC-24", "CYC-25", "RLD-21")
def test_asks_are_looked_at_again_where_something_changed_and_nowhere_else() -> None:
    door = waiting()
    assert (looks(door, "a"), looks(door, "b")) == ([1], [1])
    change(door, leaf("a", TWO, max_applications=5), leaf("b", TWO))
    assert door.place() == []
    assert (looks(door, "a"), looks(door, "b")) == ([2], [1])
    change(door, leaf("a", TWO, max_applications=5), leaf("b", NINE))
    assert door.order() == ["b.more"]
    assert looks(door, "a") == [2]


@pytest.mark.remuda_rule("CYC-25", "RLD-21")
def test_the_maximum_of_a_parent_concerns_all_below() -> None:
    def tree(maximum: dict[str, int]) -> QueueConfig:
        return parent("p", leaf("a"), leaf("b"), maximum=maximum)

    door = caller(tree({"vcore": 4}))
    for name in "ab":
        start(door, name, f"root.p.{name}", count=2)
        door.ask(name, f"{name}.more", ONE)
    assert door.place() == []
    change(door, tree({"vcore": 5}))
    assert door.order() == ["a.more"]
    change(door, tree({"vcore": 6}))
    assert door.order() == ["b.more"]


def limited(cores: int, *, name: str = "ann", applications: int = 0) -> QueueConfig:
    """A leaf in which somebody has so many cores."""
    limit = LimitConfig(users=(name,), maximum={"vcore": cores}, max_applications=applications)
    return leaf("a", limits=(limit,))


@pytest.mark.remuda_rule("LIM-53", "LIM-63")
def test_only_the_numbers_of_a_limit_change() -> None:
    door = caller(limited(2))
    start(door, "1", count=2)
    door.ask("1", "more", ONE, 3)
    assert door.place() == []
    change(door, limited(3))
    assert door.order() == ["more"]
    change(door, limited(1))
    assert door.place() == []
    change(door, limited(9))
    assert door.order() == ["more", "more"]


@pytest.mark.remuda_rule("LIM-61", "LIM-63")
def test_only_the_number_of_applications_of_a_limit_changes() -> None:
    door = caller(limited(9, applications=1))
    start(door, "1")
    for name in "23":
        door.app(name, "root.a")
        door.ask(name, name, ONE)
    assert door.place() == []
    change(door, limited(9, applications=2))
    assert door.order() == ["2"]
    change(door, limited(9))
    assert door.order() == ["3"]


@pytest.mark.remuda_rule("LIM-63", "LIM-64")
def test_what_a_cut_link_frees_above_is_for_other_leaves() -> None:
    # The group has two cores below p; the application in a counts for another one now.
    def tree(*names: str) -> list[QueueConfig]:
        own = tuple(LimitConfig(groups=(name,), maximum=NINE) for name in names)
        return [parent("p", leaf("a", limits=own), leaf("b"), limits=above)]

    above = (LimitConfig(groups=("staff",), maximum=TWO),)
    door = caller(*tree("staff"))
    door.app("1", "root.p.a", groups=("staff", "others"))
    door.ask("1", "one", ONE, 2)
    assert len(door.place()) == 2
    door.app("2", "root.p.b", user="bob")
    door.ask("2", "two", ONE)
    assert door.place() == []
    change(door, *tree("others"))
    assert door.order() == ["two"]


@pytest.mark.remuda_rule("RLD-23", "QUE-39", "GANG-10")
def test_the_order_changes_while_placeholders_are_about_to_be_replaced() -> None:
    gang = Gang(leaf("a"))
    gang.nodes(n1=9)
    for app in ("x", "y"):
        gang.submit(app, ONE)
        gang.hold(f"{app}.p", app=app)
        gang.run()
    for app in ("x", "y"):
        gang.want(f"{app}.r", app=app)
    change(gang, leaf("a", properties=FAIR))
    gang.run()
    orders = {app: gang.confirm(f"{app}.p-0", app=app) for app in ("x", "y")}
    assert {app: lines[0] for app, lines in orders.items()} == {
        "x": "new[x.r-0 n1]",
        "y": "new[y.r-0 n1]",
    }


@pytest.mark.remuda_rule("RLD-23", "QUE-40", "LIM-53")
def test_the_order_changes_while_users_wait_for_room() -> None:
    # Both wait at their limits, 2 with less of its share; by the new policy it is first.
    def settings(cores: int, policy: dict[str, str]) -> QueueConfig:
        limit = LimitConfig(users=("ann", "bob"), maximum={"vcore": cores})
        return leaf("a", {"vcore": 4}, limits=(limit,), properties=policy)

    door = caller(settings(2, {}))
    for name, user in (("1", "ann"), ("2", "bob")):
        door.app(name, user=user)
        door.ask(name, f"{name}.k", ONE, 4)
    assert len(door.place()) == 4
    change(door, settings(3, FAIR))
    assert door.place() == []
    door.release("2", "2.k-0")
    assert door.order() == ["2.k"]


@pytest.mark.remuda_rule("RLD-23", "PRP-3", "QUE-29")
def test_a_property_of_a_parent_is_inherited_by_what_did_not_change() -> None:
    def tree(policy: str) -> QueueConfig:
        properties = {"application.sort.policy": policy}
        return parent("p", leaf("a"), properties=properties)

    door = caller(tree("fifo"))
    start(door, "1", "root.p.a", count=2)
    door.app("2", "root.p.a")
    for name in "12":
        door.ask(name, f"{name}.more", ONE)
    change(door, tree("fair"))
    assert door.order() == ["2.more", "1.more"]


@pytest.mark.remuda_rule("RLD-28", "RLD-29", "LIM-63")
def test_a_queue_left_out_and_back_has_all_its_settings_again() -> None:
    own = leaf("a", TWO, properties=FAIR, limits=limited(1).limits)
    door = caller(own, leaf("b"))
    start(door, "1")
    door.ask("1", "more", ONE)
    assert door.place() == []
    change(door, leaf("b"))
    assert door.order() == ["more"]
    change(door, own, leaf("b"))
    door.ask("1", "most", ONE)
    assert door.place() == []
