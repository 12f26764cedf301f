"""Which pass serves what, and what ends a turn (chapter 50 section B.1, CYC-19, edge cases 13 and
19)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import events as ev
from remuda.core.model import states
from tests.unit.core.door import DAY, Caller, events, leaf, partition, users
from tests.unit.core.door import states as told_states
from tests.unit.core.rules.crowd import LATE, Crowd, reserved, went

BIG = {"vcore": 8}
ONE = {"vcore": 1}


@pytest.mark.remuda_rule("CYC-5", "SI-11")
def test_reservations_are_served_before_anything_else() -> None:
    crowd = Crowd(leaf("a"), leaf("b"))
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG, priority=-5)
    crowd.run(LATE)
    crowd.app("other", "root.b")
    crowd.ask("other", "urgent", ONE, priority=99)
    crowd.clear("n1")
    crowd.node("n2", ONE)
    assert went(crowd.run()) == [("big-0", "n1"), ("urgent-0", "n2")]


@pytest.mark.remuda_rule("CYC-5", "CYC-7")
def test_a_reservation_that_finds_no_room_holds_up_nobody() -> None:
    crowd = Crowd(leaf("a"), leaf("b"))
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    crowd.run(LATE)
    crowd.app("other", "root.b")
    crowd.ask("other", "small", ONE, 3)
    crowd.node("n2", {"vcore": 3})
    assert went(crowd.run()) == [("small-0", "n2"), ("small-1", "n2"), ("small-2", "n2")]


@pytest.mark.remuda_rule("CYC-7", "CYC-6")
def test_a_reservation_does_not_end_the_turn() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=5)
    crowd.app("other")
    crowd.ask("app", "big", BIG)
    crowd.ask("app", "too", BIG)
    crowd.run()
    crowd.now += LATE
    crowd.node("n3", ONE)
    crowd.ask("other", "small", ONE)
    # One call, at one moment: both reserve, and the next application is served.
    found = crowd.run()
    assert reserved(found) == [("+", "n2", "big"), ("+", "n1", "too")]
    assert went(found) == [("small-0", "n3")]


@pytest.mark.remuda_rule("CYC-7", "CYC-1", "CYC-25")
def test_nothing_is_left_to_do_after_reserving() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    crowd.run()
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    assert not crowd.scheduler.has_work()
    assert events(crowd.run(DAY)) == [(ev.APP, "old", ev.SET, ev.APP_RUNNING)]


@pytest.mark.remuda_rule("CYC-6", "CYC-18", "CYC-17")
def test_an_allocation_by_reservation_is_like_any_other() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG, 2)
    crowd.run(LATE)
    crowd.clear("n1")
    found = crowd.run()
    assert went(found) == [("big-0", "n1")]
    assert told_states(found) == [("app", "Starting")]
    told = events(found)
    assert (ev.NODE, "n1", ev.ADD, ev.NODE_ALLOC) in told
    assert (ev.APP, "app", ev.ADD, ev.APP_ALLOC) in told
    assert crowd.queue("root.a").allocated == BIG
    assert crowd.queue("root.a").pending == BIG
    assert crowd.request("big").pending_count == 1
    (allocation,) = crowd.apps()["app"].allocations
    assert (allocation.node_id, allocation.allocation_id) == ("n1", "big-0")


@pytest.mark.remuda_rule("CYC-4", "CYC-3")
def test_of_three_partitions_the_one_with_nodes_that_runs_is_served() -> None:
    homes = ("empty", "stopped", "default")
    door = Caller(partitions=[partition(leaf("a"), name=name) for name in homes])
    for home in homes:
        door.app(home, partition=home)
        door.ask(home, home, ONE, partition=home)
        if home != "empty":
            door.node(f"n-{home}", ONE, home=home)
    stopped = door.scheduler._cluster.partition(door.rm, "stopped")
    assert stopped is not None
    stopped.state = "Stopped"
    assert went(door.step()) == [("default-0", "n-default")]
    assert not door.scheduler.has_work()
    stopped.state = states.ACTIVE
    assert went(door.step()) == [("stopped-0", "n-stopped")]
    door.node("n-empty", ONE, home="empty")
    assert went(door.step()) == [("empty-0", "n-empty")]


@pytest.mark.remuda_rule("CYC-4", "RSV-10")
def test_a_partition_without_schedulable_nodes_places_nothing_and_loses_nothing() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    crowd.run(LATE)
    for node_id in ("n1", "spare"):
        crowd.node(node_id, action=c.DECOMISSION)
    assert crowd.queue("root").maximum is None
    assert went(crowd.run() + crowd.run(DAY)) == []
    crowd.node("n2", BIG)
    assert went(crowd.run()) == [("big-0", "n2")]


@pytest.mark.remuda_rule("CYC-19", "QUE-41")
def test_whose_turn_it_is_does_not_matter_for_reservations() -> None:
    crowd = Crowd(leaf("a", properties={"application.sort.policy": "stateaware"}))
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    crowd.app("rival")
    crowd.node("n2", ONE)
    crowd.existing("rival", "x", "n2", ONE)  # Starting: no Accepted one may begin
    assert (crowd.state("app"), crowd.state("rival")) == ("Accepted", "Starting")
    crowd.ask("app", "small", ONE)
    crowd.node("n3", ONE)
    assert went(crowd.run()) == []
    crowd.clear("n1")
    # The reservation is used; with it the application is Starting, and goes on.
    assert went(crowd.run()) == [("big-0", "n1"), ("small-0", "n3")]


@pytest.mark.remuda_rule("CYC-19", "CYC-11", "QUE-25")
def test_an_application_that_may_not_start_does_not_use_its_reservation() -> None:
    crowd = Crowd(leaf("a", limits=(users("ann", None, 1),)))
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    crowd.app("rival")
    crowd.node("n2", ONE)
    crowd.existing("rival", "x", "n2", ONE)  # counts for ann now
    crowd.clear("n1")
    assert went(crowd.run()) == []
    assert crowd.held() == {"n1": ["app|big"]}
    crowd.remove("rival")
    assert went(crowd.run()) == [("big-0", "n1")]


@pytest.mark.remuda_rule("CYC-19", "CYC-33")
def test_back_off_does_not_concern_reservations() -> None:
    backoff = {
        "application.unschedasks.backoff": "2",
        "application.unschedasks.backoff.delay": "1h",
    }
    crowd = Crowd(leaf("a", properties=backoff))
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    crowd.ask("app", "bigger", {"vcore": 9})
    crowd.ask("app", "biggest", {"vcore": 10})
    crowd.run()
    assert crowd.apps()["app"].backoff_deadline_ns > crowd.now
    crowd.ask("app", "small", ONE)
    crowd.node("n2", ONE)
    crowd.clear("n1")
    assert went(crowd.run()) == [("big-0", "n1")]


@pytest.mark.remuda_rule("CYC-9", "SI-7")
def test_what_is_told_is_done_and_told_in_order() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=2)
    crowd.ask("app", "k", ONE, 5)
    told: list[tuple[str, str]] = []
    while crowd.scheduler.has_work():
        told += went(crowd.step(1))
        running = {
            (each.allocation_id, node.node_id)
            for node in crowd.node_views().values()
            for each in node.allocations
            if each.application_id == "app"
        }
        assert running == set(told)
        assert sum(crowd.queue("root.a").allocated.values()) == len(told)
    assert [identity for identity, _ in told] == [f"k-{number}" for number in range(5)]
