"""The gates of an ask in their order, and that none blocks the asks behind (CYC-11, CYC-12)."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import gates
from tests.unit.core.door import (
    DAY,
    REQUIRED_NODE,
    START,
    Caller,
    groups,
    leaf,
    parent,
    users,
)
from tests.unit.core.rules.crowd import Crowd, Reluctant, went

ONE = {"vcore": 1}


@pytest.mark.remuda_rule("CYC-12", "CYC-11", "LIM-54")
def test_the_first_gate_that_is_shut_is_the_reason() -> None:
    # 6 cores pass nothing, 4 the user, 3 the queue as well; 2 have a node.
    limits = (users("ann", {"vcore": 5}),)
    crowd = Crowd(leaf("a", {"vcore": 3}, limits=limits))
    crowd.full(n1=2)
    pinned = {REQUIRED_NODE: "nowhere"}
    for size in (6, 4, 3, 2):
        crowd.ask("app", f"k{size}", {"vcore": size}, priority=size)
        crowd.ask("app", f"p{size}", {"vcore": size}, priority=-size, tags=pinned)
    assert went(crowd.run()) == [("k2-0", "n1")]
    crowd.release("app", "k2-0")
    crowd.run()
    found = {key: crowd.finding(key).gate for key in ("k6", "k4", "k3", "p6", "p4", "p3", "p2")}
    assert found == {
        "k6": gates.USER_QUOTA,
        "k4": gates.QUEUE_QUOTA,
        "k3": gates.NODES,
        "p6": gates.USER_QUOTA,
        "p4": gates.QUEUE_QUOTA,
        "p3": gates.REQUIRED_NODE,
        "p2": gates.REQUIRED_NODE,
    }


@pytest.mark.remuda_rule("REST-134", "CYC-12")
@pytest.mark.parametrize("size, attempted", [(6, False), (5, True), (4, True), (3, True)])
def test_scheduling_is_attempted_once_the_user_has_room(size: int, attempted: bool) -> None:
    limits = (users("ann", {"vcore": 5}),)
    crowd = Crowd(leaf("a", {"vcore": 3}, limits=limits))
    crowd.full(n1=2)
    crowd.ask("app", "k", {"vcore": size})
    assert not crowd.request("k").scheduling_attempted
    crowd.run()
    view = crowd.request("k")
    assert view.scheduling_attempted is attempted
    assert not view.triggered_scale_up


@pytest.mark.remuda_rule("REST-134", "CYC-12", "CYC-14")
def test_scheduling_is_attempted_for_a_required_node_that_is_not_there() -> None:
    crowd = Crowd()
    crowd.ask("app", "k", ONE, tags={REQUIRED_NODE: "nowhere"})
    crowd.run()
    assert crowd.request("k").scheduling_attempted


@pytest.mark.remuda_rule("REST-134", "CYC-11")
def test_scheduling_is_not_attempted_for_an_application_that_may_not_start() -> None:
    crowd = Crowd(leaf("a", max_applications=1))
    crowd.full(n1=5)
    crowd.app("next")
    crowd.ask("app", "runs", ONE)
    crowd.ask("next", "waits", ONE)
    assert went(crowd.run()) == [("runs-0", "n1")]
    assert not crowd.request("waits", "next").scheduling_attempted


SHUT: dict[str, dict[str, Any]] = {
    "user": {"limits": (users("ann", {"vcore": 3}),)},
    "group": {"limits": (groups("staff", {"vcore": 3}),)},
    "queue": {"maximum": {"vcore": 3}},
    "nodes": {},
    "predicates": {},
}


@pytest.mark.remuda_rule("CYC-12", "QUE-44", "CYC-25")
@pytest.mark.parametrize("kind", SHUT)
def test_an_ask_that_waits_lets_others_pass_and_stays_before_them(kind: str) -> None:
    moods = Reluctant()
    crowd = Crowd(leaf("a", **SHUT[kind]), predicates=moods)
    crowd.full(n1=3)
    if kind == "predicates":
        moods.refused = {("first", "n1", True): "no"}
    first = {"vcore": 4} if kind != "predicates" else {"vcore": 2}
    crowd.ask("app", "first", first, priority=5)
    crowd.ask("app", "second", ONE, priority=4)
    crowd.ask("app", "third", {"vcore": 5}, priority=3)
    assert went(crowd.run()) == [("second-0", "n1")]
    crowd.ask("app", "fourth", {"vcore": 3}, priority=6)
    moods.refused.clear()
    crowd.clear("n1")
    crowd.reload(leaf("a"), leaf("old"))
    crowd.release("app", "second-0")
    placed = [identity for identity, _ in went(crowd.run())]
    # 10 cores: what is before goes first, in the order of the asks.
    assert placed == {
        "predicates": ["fourth-0", "first-0", "third-0"],
    }.get(kind, ["fourth-0", "first-0"])


@pytest.mark.remuda_rule("CYC-11", "CYC-12")
def test_an_application_that_waits_lets_others_pass() -> None:
    crowd = Crowd(leaf("a", {"vcore": 5}, limits=(users("ann", {"vcore": 2}),)))
    crowd.full(n1=3)
    crowd.app("bobs", user="bob")
    crowd.ask("app", "beyond ann", {"vcore": 3}, priority=9)
    crowd.ask("bobs", "beyond node", {"vcore": 4}, priority=8)
    crowd.ask("bobs", "good", {"vcore": 3})
    assert went(crowd.run()) == [("good-0", "n1")]


@pytest.mark.remuda_rule("CYC-10")
@pytest.mark.parametrize(
    "queue", [leaf("a", {"vcore": 1}), leaf("a", limits=(users("ann", {"vcore": 1}),))]
)
def test_a_queue_where_nothing_can_be_placed_lets_the_next_pass(queue: QueueConfig) -> None:
    door = Caller(parent("p", queue, leaf("b")), leaf("q"))
    door.node("n1", {"vcore": 4})
    for name, path in (("a", "root.p.a"), ("b", "root.p.b"), ("q", "root.q")):
        door.app(name, path)
    door.ask("a", "a", {"vcore": 2}, priority=9)
    door.ask("b", "b", {"vcore": 2}, priority=8)
    door.ask("q", "q", {"vcore": 2}, priority=7)
    assert door.order() == ["b", "q"]


@pytest.mark.remuda_rule("CYC-24")
def test_the_log_counts_what_quotas_refuse() -> None:
    crowd = Crowd()
    crowd.again(None, leaf("a", {"vcore": 4}, limits=(users("ann", {"vcore": 5}),)))
    crowd.full(n1=10)
    crowd.ask("app", "user", {"vcore": 6})
    crowd.ask("app", "queue", {"vcore": 5})
    crowd.run()
    assert crowd.log("user") == {"Not enough user quota": (1, START)}
    assert crowd.log("queue") == {"Not enough queue quota": (1, START)}
    # What nobody changed is not looked at again.
    crowd.run(DAY)
    assert crowd.log("user") == {"Not enough user quota": (1, START)}
    assert crowd.log("queue") == {"Not enough queue quota": (1, START)}
    # The ask may have become smaller; then it meets the next gate.
    crowd.ask("app", "user", {"vcore": 5})
    crowd.run()
    assert crowd.log("user")["Not enough queue quota"] == (1, START + DAY)


@pytest.mark.remuda_rule("CYC-24", "SI-80")
def test_the_log_has_refusals_of_allocations_and_not_of_reservations() -> None:
    moods = Reluctant({("k", "n1", True): "no gpu", ("k", "n1", False): "no reserving"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    crowd.ask("app", "k", {"vcore": 4})
    crowd.run()
    assert crowd.log("k") == {"no gpu": (1, START)}
    crowd.existing("app", "x", "n1", ONE)  # now there is no room, and reserving is refused
    crowd.run(DAY)
    assert moods.asked == [("k", "n1", True), ("k", "n1", False)]
    assert crowd.log("k") == {"no gpu": (1, START)}
    moods.refused[("k", "n1", True)] = "too hot"
    crowd.release("app", "x")
    crowd.run()
    assert crowd.log("k") == {"no gpu": (1, START), "too hot": (1, START + DAY)}
    crowd.send_nothing()
    crowd.run(1)
    assert crowd.log("k") == {"no gpu": (1, START), "too hot": (2, START + DAY + 1)}


@pytest.mark.remuda_rule("CYC-24")
def test_the_log_is_silent_about_nodes_without_room() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "k", {"vcore": 5})
    crowd.run()
    assert crowd.finding("k").gate == gates.NODES
    assert crowd.log("k") == {}


@pytest.mark.remuda_rule("REST-134", "CYC-12")
def test_scheduling_is_attempted_once_something_was_placed() -> None:
    crowd = Crowd()
    crowd.full(n1=10)
    crowd.ask("app", "k", ONE, 2)
    assert went(crowd.step(1)) == [("k-0", "n1")]
    assert crowd.request("k").scheduling_attempted


@pytest.mark.remuda_rule("REST-134", "CYC-12", "CYC-24")
@pytest.mark.parametrize("kind", ["queue", "nodes"])
def test_each_new_ask_meets_the_limits_of_its_own_user_first(kind: str) -> None:
    maximum = {"vcore": 4} if kind == "queue" else None
    crowd = Crowd(leaf("a", maximum, limits=(users("bob", ONE),)))
    crowd.full(n1=4)
    crowd.app("bobs", user="bob")
    crowd.ask("app", "anns", {"vcore": 5})
    crowd.ask("bobs", "bobs", {"vcore": 5})
    crowd.run()
    assert crowd.request("anns").scheduling_attempted
    assert not crowd.request("bobs", "bobs").scheduling_attempted
    assert crowd.log("bobs", "bobs").keys() == {"Not enough user quota"}
    assert crowd.finding("bobs", "bobs").gate == gates.USER_QUOTA
