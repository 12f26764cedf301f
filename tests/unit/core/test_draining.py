"""Queues that drain: what goes on, what is refused, how they end (OBJ-2, OBJ-3, QUE-4)."""

from __future__ import annotations

import pytest

from remuda.config.schema import PlacementRuleConfig
from remuda.core.messages import effects as e
from remuda.core.messages.events import DETAILS_NONE, QUEUE, QUEUE_DYNAMIC, REMOVE
from tests.unit.core.door import CREATING, PROVIDED, SECOND, Caller, events, leaf, of, parent
from tests.unit.core.reloading import NODE, ONE, caller, change, start, statuses, verdict

SPARE = PlacementRuleConfig("fixed", value="root.spare")


def draining(*rules: PlacementRuleConfig) -> Caller:
    """root.a and root.p.x drain while an application runs in each; root.spare is Active."""
    door = caller(leaf("spare"), leaf("a"), parent("p", leaf("x")))
    start(door, "1", "root.a")
    start(door, "2", "root.p.x")
    change(door, leaf("spare"), placement_rules=rules or (PROVIDED,))
    assert statuses(door) == {
        "root": "Active",
        "root.spare": "Active",
        "root.a": "Draining",
        "root.p": "Draining",
        "root.p.x": "Draining",
    }
    return door


@pytest.mark.remuda_rule("QUE-4", "OBJ-3", "QLC-2", "RLD-28")
def test_applications_go_on_asking_and_are_scheduled() -> None:
    door = draining()
    door.ask("1", "more", ONE, 2)
    door.ask("2", "other", ONE)
    assert sorted(door.order()) == ["more", "more", "other"]
    door.existing("2", "reported", "n1", ONE)
    assert door.queue("root.p.x").allocated == {"vcore": 3}
    door.release("1", "1.k-0")
    assert door.queue("root.a").allocated == {"vcore": 2}


@pytest.mark.remuda_rule("QUE-4", "QLC-2")
def test_asks_from_before_are_scheduled_later() -> None:
    door = caller(leaf("spare"), leaf("a"))
    start(door, "1")
    door.ask("1", "large", {"vcore": 100})
    assert door.place() == []
    change(door, leaf("spare"))
    door.node("n2", NODE)
    assert door.order() == ["large"]


@pytest.mark.remuda_rule("QUE-4", "QLC-2")
def test_an_application_without_asks_may_start_in_a_draining_queue() -> None:
    door = caller(leaf("spare"), leaf("a"))
    door.app("1")
    change(door, leaf("spare"))
    door.ask("1", "k", ONE)
    assert door.order() == ["k"]


@pytest.mark.remuda_rule("OBJ-3", "QUE-4", "D-C23", "SI-20", "PLC-61", "QLC-2")
@pytest.mark.parametrize("queue", ["root.a", "root.p.x"])
def test_a_draining_leaf_takes_no_new_application(queue: str) -> None:
    door = draining()
    assert verdict(door.app("3", queue))
    assert set(door.apps()) == {"1", "2"}


@pytest.mark.remuda_rule("PLC-61", "OBJ-3")
def test_placement_tries_the_next_rule() -> None:
    door = draining(PROVIDED, SPARE)
    assert verdict(door.app("3", "root.a")) == ""
    assert door.apps()["3"].queue == "root.spare"


@pytest.mark.remuda_rule("PLC-67", "OBJ-3", "QUE-3", "QLC-2")
@pytest.mark.parametrize("queue", ["root.p.new", "root.p.deep.er"])
def test_a_draining_parent_takes_no_new_queue(queue: str) -> None:
    door = draining(CREATING)
    assert verdict(door.app("3", queue))
    assert set(statuses(door)) == {"root", "root.spare", "root.a", "root.p", "root.p.x"}


@pytest.mark.remuda_rule("QUE-4", "QLC-3", "OBJ-5", "EVT-64", "EVT-72")
def test_empty_draining_queues_are_removed_children_first() -> None:
    door = draining()
    for app in ("1", "2"):
        door.remove(app)
    gone = events(door.wait(10 * SECOND))
    assert sorted(gone) == sorted(
        (QUEUE, path, REMOVE, DETAILS_NONE) for path in ("root.a", "root.p", "root.p.x")
    )
    assert gone.index((QUEUE, "root.p.x", REMOVE, DETAILS_NONE)) < gone.index(
        (QUEUE, "root.p", REMOVE, DETAILS_NONE)
    )
    assert set(statuses(door)) == {"root", "root.spare"}
    door.scheduler.check()


@pytest.mark.remuda_rule("QLC-4", "QUE-4")
def test_draining_has_no_time_limit() -> None:
    door = draining()
    door.wait(365 * 24 * 3600 * SECOND)
    assert statuses(door)["root.a"] == "Draining"
    assert door.state("1") == "Running"
    assert door.queue("root.a").allocated == ONE


@pytest.mark.remuda_rule("QLC-3", "OBJ-5", "OBJ-2")
def test_a_draining_parent_waits_for_its_dynamic_child() -> None:
    door = caller(leaf("spare"), parent("p"), placement_rules=(CREATING,))
    start(door, "1", "root.p.dyn")
    change(door, leaf("spare"), placement_rules=(CREATING,))
    assert (statuses(door)["root.p"], statuses(door)["root.p.dyn"]) == ("Draining", "Active")
    door.wait(20 * SECOND)
    assert "root.p.dyn" in statuses(door)
    door.remove("1")
    assert events(door.wait(10 * SECOND)) == [
        (QUEUE, "root.p.dyn", REMOVE, QUEUE_DYNAMIC),
        (QUEUE, "root.p", REMOVE, DETAILS_NONE),
    ]


@pytest.mark.remuda_rule("QLC-3", "OBJ-5")
def test_a_chain_of_draining_parents_goes_in_one_pass() -> None:
    door = caller(leaf("spare"), parent("p", parent("q", parent("r", leaf("x")))))
    start(door, "1", "root.p.q.r.x")
    change(door, leaf("spare"))
    door.remove("1")
    paths = ["root.p.q.r.x", "root.p.q.r", "root.p.q", "root.p"]
    assert events(door.wait(10 * SECOND)) == [(QUEUE, path, REMOVE, DETAILS_NONE) for path in paths]


@pytest.mark.remuda_rule("QUE-4", "OBJ-2")
def test_a_removed_queue_can_be_configured_anew() -> None:
    door = draining()
    door.remove("1")
    door.wait(10 * SECOND)
    change(door, leaf("spare"), leaf("a"))
    assert statuses(door)["root.a"] == "Active"
    start(door, "3", "root.a")


@pytest.mark.remuda_rule("OBJ-2", "QUE-4", "D-C22")
def test_a_draining_queue_takes_applications_again_when_it_is_back() -> None:
    door = draining()
    change(door, leaf("spare"), leaf("a"), parent("p", leaf("x")))
    assert set(statuses(door).values()) == {"Active"}
    start(door, "3", "root.a")
    start(door, "4", "root.p.x")
    for app in ("1", "2", "3", "4"):
        door.remove(app)
    door.wait(30 * SECOND)
    assert set(statuses(door)) == {"root", "root.spare", "root.a", "root.p", "root.p.x"}


@pytest.mark.remuda_rule("OBJ-5", "QUE-4")
def test_an_ended_application_no_longer_holds_the_queue() -> None:
    door = draining()
    door.release("1")
    door.wait(29 * SECOND)
    assert "root.a" in statuses(door)  # Completing: it may come back
    door.wait(SECOND)
    door.wait(10 * SECOND)
    assert "root.a" not in statuses(door)
    assert of(door.app("3", "root.spare"), e.ApplicationsAnswered)[0].accepted == ("3",)
