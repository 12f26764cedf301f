"""Why an ask waits: what is in the way, and how much is left (CYC-12, REST-120)."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import gates
from remuda.core.messages.ask_views import NodeSummaryView
from tests.unit.core.door import (
    DAY,
    REQUIRED_NODE,
    SECOND,
    START,
    groups,
    leaf,
    parent,
    users,
)
from tests.unit.core.rules.crowd import LATE, Crowd, Reluctant, went

ONE = {"vcore": 1}
FIVE = {"vcore": 5}


@pytest.mark.remuda_rule("CYC-12", "REST-120")
def test_before_anybody_looked_there_is_no_finding() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "k", FIVE)
    assert crowd.request("k").finding is None
    crowd.run()
    assert crowd.request("k").finding is not None


@pytest.mark.remuda_rule("CYC-4", "REST-120")
def test_without_nodes_nobody_looks() -> None:
    crowd = Crowd()
    crowd.node("spare", action=c.DECOMISSION)
    crowd.ask("app", "k", ONE)
    crowd.run(DAY)
    assert crowd.request("k").finding is None


# Limits, who asks where; subject, and what is left: 10 less the 7 that run.
USER_GATES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "user": ({}, {"limits": (users("ann", {"vcore": 10}),)}, "user ann at root.p.a"),
    "user above": ({"limits": (users("ann", {"vcore": 10}),)}, {}, "user ann at root.p"),
    "any user": ({}, {"limits": (users("*", {"vcore": 10}),)}, "user ann at root.p.a"),
    "group": ({}, {"limits": (groups("staff", {"vcore": 10}),)}, "group staff at root.p.a"),
    "group above": ({"limits": (groups("staff", {"vcore": 10}),)}, {}, "group staff at root.p"),
}


@pytest.mark.remuda_rule("CYC-12", "REST-120", "LIM-54")
@pytest.mark.parametrize("kind", USER_GATES)
def test_the_finding_names_the_limit_of_a_user_or_group(kind: str) -> None:
    above, own, subject = USER_GATES[kind]
    crowd = Crowd(parent("p", leaf("a", **own), **above))
    crowd.full(n1=10)
    crowd.app("mine", "root.p.a")
    crowd.existing("mine", "x", "n1", {"vcore": 7, "memory": 3})
    crowd.ask("mine", "k", {"vcore": 5, "memory": 1})
    crowd.run(SECOND)
    found = crowd.finding("k", "mine")
    assert (found.gate, found.subject) == (gates.USER_QUOTA, subject)
    assert found.requested == {"vcore": 5, "memory": 1}
    assert found.available == {"vcore": 3}
    assert found.nodes is None
    assert (found.since_ns, found.last_ns, found.looks) == (START + SECOND, START + SECOND, 1)


@pytest.mark.remuda_rule("CYC-12", "REST-120", "QUE-13")
@pytest.mark.parametrize("subject", ["root.p.a", "root.p"])
def test_the_finding_names_the_queue_that_is_full(subject: str) -> None:
    limit = {"vcore": 10, "gpu": 4}
    own, above = (limit, {"vcore": 90}) if subject == "root.p.a" else ({"vcore": 90}, limit)
    crowd = Crowd(parent("p", leaf("a", own), maximum=above))
    crowd.full(n1=10)
    crowd.app("mine", "root.p.a")
    crowd.existing("mine", "x", "n1", {"vcore": 7, "memory": 3})
    crowd.ask("mine", "k", FIVE)
    crowd.run()
    found = crowd.finding("k", "mine")
    assert (found.gate, found.subject) == (gates.QUEUE_QUOTA, subject)
    assert (found.requested, found.available) == (FIVE, {"vcore": 3, "gpu": 4})
    assert (found.nodes, found.looks) == (None, 1)


@pytest.mark.remuda_rule("CYC-12", "REST-120", "QUE-6")
def test_the_finding_names_root_when_the_cluster_is_full() -> None:
    crowd = Crowd()
    crowd.node("spare", {"vcore": 2, "memory": 9}, c.UPDATE)
    crowd.full(n1=2)
    crowd.ask("app", "k", FIVE)
    crowd.run()
    found = crowd.finding("k")
    assert (found.gate, found.subject) == (gates.QUEUE_QUOTA, "root")
    assert found.available == {"vcore": 4, "memory": 9}  # 12 less 8


@pytest.mark.remuda_rule("CYC-11", "REST-120", "QUE-22", "LIM-61")
@pytest.mark.parametrize(
    "own, above, subject",
    [
        ({"max_applications": 1}, {}, "root.p.a"),
        ({}, {"max_applications": 1}, "root.p"),
        ({"limits": (users("ann", None, 1),)}, {}, "user ann at root.p.a"),
        ({}, {"limits": (groups("staff", None, 1),)}, "group staff at root.p"),
    ],
)
def test_the_finding_says_that_too_many_applications_run(
    own: dict[str, Any], above: dict[str, Any], subject: str
) -> None:
    crowd = Crowd(parent("p", leaf("a", **own), **above))
    crowd.full(n1=10)
    for name in ("runs", "waits"):
        crowd.app(name, "root.p.a")
        crowd.ask(name, name, ONE)
    assert went(crowd.run()) == [("runs-0", "n1")]
    found = crowd.finding("waits", "waits")
    assert (found.gate, found.subject) == (gates.MAX_APPLICATIONS, subject)
    assert (found.requested, found.nodes) == (ONE, None)
    crowd.remove("runs")
    assert went(crowd.run()) == [("waits-0", "n1")]


@pytest.mark.remuda_rule("QUE-41", "REST-120")
def test_the_finding_says_whose_turn_it_is() -> None:
    crowd = Crowd(leaf("a", properties={"application.sort.policy": "stateaware"}))
    crowd.full(n1=10)
    crowd.app("later")
    crowd.ask("app", "first", ONE)
    crowd.ask("later", "second", ONE)
    assert went(crowd.run()) == [("first-0", "n1")]
    assert crowd.state("app") == "Starting"
    found = crowd.finding("second", "later")
    assert (found.gate, found.requested) == (gates.TURN, ONE)


@pytest.mark.remuda_rule("CYC-33", "REST-120")
def test_the_finding_says_when_a_pause_ends() -> None:
    pause = {
        "application.unschedasks.backoff": "1",
        "application.unschedasks.backoff.delay": "7s",
    }
    crowd = Crowd(leaf("a", properties=pause))
    crowd.full(n1=4)
    crowd.ask("app", "large", FIVE, priority=1)
    crowd.ask("app", "small", ONE)
    crowd.run()
    found = crowd.finding("small")
    assert (found.gate, found.requested) == (gates.BACKOFF, ONE)
    assert found.until_ns == START + 7 * SECOND == crowd.apps()["app"].backoff_deadline_ns


@pytest.mark.remuda_rule("CYC-14", "REST-120")
def test_the_finding_names_the_required_node_without_room() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=10)
    crowd.ask("app", "k", FIVE, tags={REQUIRED_NODE: "n1"})
    crowd.run()
    found = crowd.finding("k")
    assert (found.gate, found.subject, found.requested) == (gates.REQUIRED_NODE, "n1", FIVE)
    assert crowd.request("k").reservations == ("n1",)


@pytest.mark.remuda_rule("CYC-15", "REST-120", "NOD-8", "NOD-9")
def test_every_node_is_counted_under_the_first_reason() -> None:
    gone = {("k", f"r{n}", True): "taint" if n < 3 else "no gpu" for n in range(4)}
    crowd = Crowd(predicates=Reluctant(gone))
    crowd.full(held=4)
    crowd.ask("app", "big", {"vcore": 8})
    crowd.run(LATE)
    assert crowd.held() == {"held": ["app|big"]}
    crowd.full(full=4, fuller=0, r0=5, r1=6, r2=7, r3=5)
    crowd.node("small", {"vcore": 4})
    crowd.node("none", {"memory": 100})
    crowd.node("drained", {"vcore": 1}, c.CREATE_DRAIN)
    crowd.node("drained too", {"vcore": 100}, c.CREATE_DRAIN)
    crowd.app("other")
    crowd.ask("other", "k", FIVE)
    crowd.run()
    found = crowd.finding("k", "other")
    assert (found.gate, found.requested) == (gates.NODES, FIVE)
    assert found.nodes == NodeSummaryView(
        total=12,
        draining=3,
        reserved=1,
        too_small=2,
        no_room=2,
        refused=4,
        reasons=(("no gpu", 1), ("taint", 3)),
    )


@pytest.mark.remuda_rule("CYC-15", "REST-120", "RSV-7")
def test_a_node_counts_as_reserved_before_it_counts_as_small_or_full() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=4)
    crowd.ask("app", "big", {"vcore": 8})
    crowd.run(LATE)
    (closed,) = crowd.held()
    crowd.ask("app", "k", {"vcore": 9})
    crowd.run()
    summary = crowd.finding("k").nodes
    assert summary == NodeSummaryView(3, draining=1, reserved=1, too_small=0, no_room=1, refused=0)
    crowd.node(closed, action=c.DRAIN_NODE)
    crowd.ask("app", "new", {"vcore": 9, "memory": 0})
    crowd.run()
    summary = crowd.finding("new").nodes
    assert summary == NodeSummaryView(3, draining=2, reserved=0, too_small=0, no_room=1, refused=0)


@pytest.mark.remuda_rule("CYC-20", "REST-120")
def test_an_ask_with_a_reservation_has_a_finding_too() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    crowd.run(LATE)
    assert crowd.request("big").reservations == ("n1",)
    assert crowd.finding("big").gate == gates.NODES
    crowd.reload(leaf("a", {"vcore": 7}), leaf("old"))
    crowd.run()
    found = crowd.finding("big")
    assert (found.gate, found.subject) == (gates.QUEUE_QUOTA, "root.a")
    assert found.available == {"vcore": 7}


@pytest.mark.remuda_rule("CYC-12", "REST-120", "CYC-24")
def test_the_finding_follows_from_gate_to_gate() -> None:
    crowd = Crowd(leaf("a", {"vcore": 4}, limits=(users("ann", {"vcore": 3}),)))
    crowd.full(n1=4)
    crowd.ask("app", "k", FIVE)
    crowd.run()
    assert crowd.finding("k").gate == gates.USER_QUOTA
    crowd.now += SECOND
    crowd.reload(leaf("a", {"vcore": 4}), leaf("old"))
    crowd.run()
    found = crowd.finding("k")
    assert (found.gate, found.looks) == (gates.QUEUE_QUOTA, 1)
    assert (found.since_ns, found.last_ns) == (START, START + SECOND)
    crowd.now += SECOND
    crowd.reload(leaf("a"), leaf("old"))
    crowd.run()
    found = crowd.finding("k")
    assert (found.gate, found.looks) == (gates.NODES, 1)
    assert (found.since_ns, found.last_ns) == (START, START + 2 * SECOND)
    crowd.clear("n1")
    assert went(crowd.run()) == [("k-0", "n1")]


@pytest.mark.remuda_rule("CYC-24", "REST-120", "CYC-25")
def test_asks_that_wait_together_wait_for_the_same() -> None:
    crowd = Crowd(leaf("a", {"vcore": 4}))
    crowd.full(n1=4)
    crowd.app("other", user="bob")
    for number in range(3):
        crowd.ask("app", f"k{number}", FIVE)
    crowd.run()
    crowd.now += SECOND
    crowd.ask("other", "late", FIVE)
    crowd.run()
    found = [crowd.finding(f"k{n}") for n in range(3)] + [crowd.finding("late", "other")]
    assert {(each.gate, each.subject) for each in found} == {(gates.QUEUE_QUOTA, "root.a")}
    assert all(each.available == {"vcore": 4} for each in found)


@pytest.mark.remuda_rule("REST-120", "NOD-13", "CYC-16")
def test_what_was_answered_for_an_equal_ask_is_in_the_finding() -> None:
    moods = Reluctant({("*", "n1", True): "taint", ("*", "n2", True): "no gpu"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=5, n2=5)
    crowd.ask("app", "k1", ONE, equivalence="class")
    crowd.run()
    crowd.ask("app", "k2", {"vcore": 2}, equivalence="class")
    crowd.run()
    assert [key for key, _, _ in moods.asked] == ["k1", "k1"]
    summary = crowd.finding("k2").nodes
    assert summary is not None
    assert (summary.refused, summary.no_room) == (2, 0)
    assert summary.reasons == (("no gpu", 1), ("taint", 1))
    assert crowd.log("k2") == {}


@pytest.mark.remuda_rule("REST-120", "CYC-24")
def test_looks_are_counted_in_a_row() -> None:
    crowd = Crowd(parent("p", leaf("a", {"vcore": 4})))
    crowd.full(n1=10)
    crowd.app("mine", "root.p.a")
    crowd.ask("mine", "k0", FIVE)
    for number in (1, 2):
        crowd.run()
        crowd.now += SECOND // 10
        crowd.ask("mine", f"k{number}", FIVE)  # new, so those who wait are looked at, too
    crowd.run()
    found = crowd.finding("k0", "mine")
    assert (found.subject, found.looks) == ("root.p.a", 3)
    assert (found.since_ns, found.last_ns) == (START, START + SECOND // 5)
    crowd.reload(parent("p", leaf("a"), maximum={"vcore": 3}), leaf("old"))
    crowd.run()
    found = crowd.finding("k0", "mine")
    assert (found.subject, found.available, found.looks) == ("root.p", {"vcore": 3}, 1)


@pytest.mark.remuda_rule("CYC-14", "REST-120", "NOD-8")
@pytest.mark.parametrize(
    "node_id, cores, summary",
    [
        ("n1", 5, NodeSummaryView(1, 0, 0, 0, 1, 0)),
        ("n1", 11, NodeSummaryView(1, 0, 0, 1, 0, 0)),
        ("n2", 5, NodeSummaryView(1, 0, 0, 0, 0, 1, (("taint", 1),))),
        ("nowhere", 5, NodeSummaryView(0, 0, 0, 0, 0, 0)),
    ],
)
def test_only_the_required_node_is_counted(
    node_id: str, cores: int, summary: NodeSummaryView
) -> None:
    crowd = Crowd(predicates=Reluctant({("*", "n2", True): "taint"}))
    crowd.full(n1=4, n2=10, n3=10)
    crowd.ask("app", "k", {"vcore": cores}, tags={REQUIRED_NODE: node_id})
    assert went(crowd.run()) == []
    found = crowd.finding("k")
    assert (found.gate, found.subject) == (gates.REQUIRED_NODE, node_id)
    assert found.nodes == summary
