"""How a reservation is fulfilled (RSV-8, chapter 50 section B.3)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import DAY, START, leaf, of, parent, users
from tests.unit.core.rules.crowd import LATE, Crowd, Reluctant, reserved, reserved_node, went

BIG = {"vcore": 8}
ONE = {"vcore": 1}


@pytest.fixture
def crowd() -> Crowd:
    """``big`` has reserved n1, of which 4 cores are free."""
    return reserved_node()


@pytest.mark.remuda_rule("RSV-8", "CYC-6", "CYC-20", "EVT-56", "CYC-5")
def test_the_reserved_node_is_used_when_it_has_room(crowd: Crowd) -> None:
    crowd.release("old", "on-n1")
    crowd.existing("old", "less", "n1", {"vcore": 2})
    found = crowd.run()
    assert went(found) == [("big-0", "n1")]
    assert reserved(found) == [("-", "n1", "big")]
    (record,) = [each for each in of(found, e.EventRecord) if each.detail == ev.NODE_RESERVATION]
    assert (record.kind, record.object_id, record.reference_id) == (ev.NODE, "n1", "big")
    assert (record.resource, record.message) == (BIG, "")
    assert record.timestamp_ns == START + LATE
    assert crowd.held() == {}
    assert crowd.node_view("n1").available == {"vcore": 0}


@pytest.mark.remuda_rule("RSV-8", "CYC-20")
def test_the_reserved_node_is_used_when_it_grows(crowd: Crowd) -> None:
    crowd.node("n1", {"vcore": 13}, c.UPDATE)
    assert went(crowd.run()) == []
    crowd.node("n1", {"vcore": 14}, c.UPDATE)
    assert went(crowd.run()) == [("big-0", "n1")]
    assert crowd.held() == {}


@pytest.mark.remuda_rule("RSV-8", "CYC-21", "CYC-6", "EVT-56", "CYC-8")
def test_another_node_is_used_and_the_reservation_goes(crowd: Crowd) -> None:
    before = crowd.node_view("n1")
    crowd.node("n2", {"vcore": 8})
    found = crowd.run()
    assert went(found) == [("big-0", "n2")]
    assert reserved(found) == [("-", "n1", "big")]
    assert crowd.held() == {}
    after = crowd.node_view("n1")
    assert (after.available, after.allocations) == (before.available, before.allocations)
    assert crowd.node_view("n2").available == {"vcore": 0}
    crowd.ask("app", "small", ONE)  # the first node is open again
    assert went(crowd.run()) == [("small-0", "n1")]


@pytest.mark.remuda_rule("CYC-21", "NOD-8")
def test_other_nodes_must_be_schedulable_free_and_unreserved(crowd: Crowd) -> None:
    crowd.ask("app", "rival", BIG)
    crowd.full(n2=7)
    assert reserved(crowd.run(LATE)) == [("+", "n2", "rival")]
    crowd.node("n3", BIG, c.CREATE_DRAIN)
    crowd.node("n4", {"vcore": 7})
    assert went(crowd.run()) == []
    crowd.clear("n2")  # the node of the rival
    assert went(crowd.run()) == [("rival-0", "n2")]
    assert crowd.held() == {"n1": ["app|big"]}
    crowd.node("n3", action=c.DRAIN_TO_SCHEDULABLE)
    assert went(crowd.run()) == [("big-0", "n3")]


@pytest.mark.remuda_rule("CYC-20", "CYC-21", "NOD-15")
def test_the_reserved_node_comes_before_better_ones(crowd: Crowd) -> None:
    crowd.ask("app", "first", {"vcore": 2}, priority=1)
    nodes = (
        c.NodeUpdate("n0", c.CREATE, {"vcore": 100}),
        c.NodeUpdate("n1", c.UPDATE, {"vcore": 14}),
    )
    crowd.send(c.UpdateNodes(crowd.rm, nodes))
    # The empty node n0 is the first in order; the regular ask goes there, later.
    assert went(crowd.run()) == [("big-0", "n1"), ("first-0", "n0")]


@pytest.mark.remuda_rule("CYC-21", "RSV-8")
def test_of_the_reservations_of_an_ask_that_goes_elsewhere_the_oldest_is_dropped() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=5, n3=3)
    crowd.ask("app", "big", BIG, 3)
    crowd.run()
    crowd.run(LATE)
    assert crowd.request("big").reservations == ("n2", "n1", "n3")
    crowd.node("n9", BIG)
    found = crowd.run()
    assert went(found) == [("big-0", "n9")]
    assert reserved(found) == [("-", "n2", "big")]
    assert crowd.request("big").reservations == ("n1", "n3")
    found = crowd.clear("n3") + crowd.run()
    assert (went(found), reserved(found)) == ([("big-1", "n3")], [("-", "n3", "big")])
    assert crowd.held() == {"n1": ["app|big"]}
    found = crowd.clear("n2") + crowd.run()
    assert (went(found), reserved(found)) == ([("big-2", "n2")], [("-", "n1", "big")])
    assert crowd.held() == {}


@pytest.mark.remuda_rule("CYC-22", "NODE-11", "NOD-8")
def test_a_draining_node_is_not_used_and_stays_reserved(crowd: Crowd) -> None:
    crowd.node("n1", action=c.DRAIN_NODE)
    crowd.clear("n1")
    found = crowd.run() + crowd.run(DAY)
    assert (went(found), reserved(found)) == ([], [])
    assert crowd.held() == {"n1": ["app|big"]}
    crowd.node("n1", action=c.DRAIN_TO_SCHEDULABLE)
    assert went(crowd.run()) == [("big-0", "n1")]


@pytest.mark.remuda_rule("CYC-22", "CYC-21")
def test_an_ask_whose_node_drains_may_go_elsewhere(crowd: Crowd) -> None:
    crowd.node("n1", action=c.DRAIN_NODE)
    crowd.clear("n1")
    assert went(crowd.run()) == []
    crowd.node("n2", BIG)
    found = crowd.run()
    assert (went(found), reserved(found)) == ([("big-0", "n2")], [("-", "n1", "big")])
    assert crowd.held() == {}


@pytest.mark.remuda_rule("CYC-20", "NOD-13")
def test_the_reserved_node_must_pass_the_predicates() -> None:
    moods = Reluctant({("big", "n1", True): "not yet"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    crowd.clear("n1")
    assert went(crowd.run()) == []
    assert crowd.held() == {"n1": ["app|big"]}
    assert moods.asked == [("big", "n1", False), ("big", "n1", True)]
    crowd.node("n2", BIG)  # the refusal does not concern other nodes, nor does the request last
    assert went(crowd.run()) == [("big-0", "n2")]
    assert crowd.held() == {}


@pytest.mark.remuda_rule("CYC-20", "CYC-21")
@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("kind", ["queue", "user"])
def test_an_ask_that_does_not_fit_its_headroom_waits(
    crowd: Crowd, kind: str, elsewhere: bool
) -> None:
    seven = {"vcore": 7}
    limited = leaf("a", seven) if kind == "queue" else leaf("a", limits=(users("ann", seven),))
    crowd.reload(limited, leaf("b"), leaf("old"))
    if elsewhere:
        crowd.node("n2", BIG)
    else:
        crowd.clear("n1")
    found = crowd.run()
    assert (went(found), reserved(found)) == ([], [])
    crowd.reload(leaf("a"), leaf("b"), leaf("old"))
    assert went(crowd.run()) == [("big-0", "n2" if elsewhere else "n1")]


@pytest.mark.remuda_rule("CYC-20")
def test_asks_of_one_application_go_in_their_order() -> None:
    crowd = Crowd()
    crowd.full(n1=5, n2=4)
    crowd.ask("app", "low", BIG)
    crowd.run(LATE)
    crowd.ask("app", "high", BIG, priority=5)
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["app|low"], "n2": ["app|high"]}
    crowd.clear("n1")
    crowd.clear("n2")
    assert went(crowd.run()) == [("high-0", "n2"), ("low-0", "n1")]


@pytest.mark.remuda_rule("CYC-20", "CYC-21")
def test_own_nodes_come_before_other_nodes() -> None:
    # Only n0 has room for the ask with the higher priority, and n1 for its owner.
    crowd = Crowd()
    crowd.full(n1=5, n2=4)
    crowd.ask("app", "low", BIG)
    crowd.run(LATE)
    crowd.ask("app", "high", BIG, priority=5)
    crowd.run(LATE)
    crowd.clear("n1")
    crowd.node("n0", BIG)
    assert went(crowd.run()) == [("low-0", "n1"), ("high-0", "n0")]


@pytest.mark.remuda_rule("CYC-19")
@pytest.mark.parametrize("priority, order", [(0, ["app", "later"]), (5, ["later", "app"])])
def test_applications_with_reservations_go_in_their_order(priority: int, order: list[str]) -> None:
    crowd = Crowd()
    crowd.full(n1=5, n2=4)
    crowd.now += 1
    crowd.app("later")
    crowd.ask("app", "app", BIG)
    crowd.run(LATE)
    crowd.ask("later", "later", BIG, priority=priority)
    crowd.run(LATE)
    crowd.clear("n1")
    crowd.clear("n2")
    assert [key for key, _ in went(crowd.run())] == [f"{name}-0" for name in order]


@pytest.mark.remuda_rule("CYC-19", "CYC-10")
def test_queues_with_reservations_go_in_their_order() -> None:
    crowd = Crowd(leaf("a"), leaf("b"))
    crowd.full(n1=5, n2=4)
    crowd.app("other", "root.b")
    crowd.ask("app", "a", BIG)
    crowd.run(LATE)
    crowd.ask("other", "b", BIG, priority=1)
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["app|a"], "n2": ["other|b"]}
    crowd.clear("n1")
    crowd.clear("n2")
    assert went(crowd.run()) == [("b-0", "n2"), ("a-0", "n1")]


@pytest.mark.remuda_rule("CYC-19", "CYC-21", "CYC-10")
@pytest.mark.parametrize("queue", ["root.p.a", "root.p.b"])
def test_another_node_for_the_first_comes_before_the_own_node_of_the_next(queue: str) -> None:
    # root.p may have 8 cores, so only one of the two asks is placed.
    crowd = Crowd(parent("p", leaf("a"), leaf("b"), maximum=BIG))
    crowd.full(n1=5, n2=4)
    crowd.app("first", "root.p.a")
    crowd.app("next", queue)
    crowd.ask("first", "first", BIG, priority=5)
    crowd.run(LATE)
    crowd.ask("next", "next", BIG)
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["first|first"], "n2": ["next|next"]}
    crowd.clear("n2")
    crowd.node("n0", BIG)
    assert went(crowd.run()) == [("first-0", "n0")]


@pytest.mark.remuda_rule("CYC-22", "CYC-20")
def test_a_node_that_drains_after_it_got_room_is_not_used(crowd: Crowd) -> None:
    crowd.clear("n1")
    crowd.node("n1", action=c.DRAIN_NODE)
    assert went(crowd.run()) == []
    assert crowd.held() == {"n1": ["app|big"]}


@pytest.mark.remuda_rule("CYC-20", "NOD-13")
def test_a_refused_own_node_does_not_hold_up_the_own_node_of_an_equal_ask() -> None:
    moods = Reluctant({("*", "n1", True): "no"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=5, n2=4)
    for key in ("k1", "k2"):
        crowd.ask("app", key, BIG, equivalence="class")
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["app|k1"], "n2": ["app|k2"]}
    crowd.clear("n1")
    crowd.clear("n2")
    assert went(crowd.run()) == [("k2-0", "n2")]
    assert crowd.held() == {"n1": ["app|k1"]}


@pytest.mark.remuda_rule("CYC-20", "RSV-8")
def test_of_an_asks_own_nodes_the_one_reserved_first_goes_first() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=5)
    crowd.ask("app", "big", BIG, 2)
    crowd.run(LATE)
    assert crowd.request("big").reservations == ("n2", "n1")
    crowd.clear("n1")
    crowd.clear("n2")
    found = crowd.run()
    assert went(found) == [("big-0", "n2"), ("big-1", "n1")]
    assert reserved(found) == [("-", "n2", "big"), ("-", "n1", "big")]


@pytest.mark.remuda_rule("CYC-20", "RSV-3", "RSV-6", "CYC-7")
def test_an_ask_with_a_reservation_takes_another_node_as_soon_as_there_is_one() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG, 2)
    crowd.ask("app", "rival", {"vcore": 9})
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    crowd.full(n2=4)
    # The reserved pass comes first, so the rival gets nothing again.
    assert reserved(crowd.run()) == [("+", "n2", "big")]
    crowd.full(n3=4)
    assert reserved(crowd.run()) == [("+", "n3", "rival")]
    # One of its nodes gives room, then another one does: it wants no more.
    crowd.clear("n1")
    assert went(crowd.run()) == [("big-0", "n1")]
    crowd.full(n4=4)
    assert reserved(crowd.run()) == []


@pytest.mark.remuda_rule("CYC-20", "CYC-21")
def test_an_equal_ask_uses_its_own_node_although_the_first_one_is_refused_on_its() -> None:
    judge = Reluctant()
    crowd = Crowd(predicates=judge)
    crowd.full(n1=4, n2=4)
    for key in ("k1", "k2"):
        crowd.ask("app", key, BIG, equivalence="7")
        crowd.run()
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["app|k1"], "n2": ["app|k2"]}
    # The RM takes no ask of this class on n1 any more. Both nodes become free before a decision.
    judge.refused["*", "n1", True] = "a label is missing"
    crowd.clear("n1")
    crowd.clear("n2")
    assert went(crowd.run()) == [("k2-0", "n2")]
