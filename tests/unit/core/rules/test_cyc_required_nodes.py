"""Asks that may go to one node only (CYC-14, RSV-12)."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import gates
from tests.unit.core.door import DAY, REQUIRED_NODE, START, leaf, users
from tests.unit.core.rules.crowd import DELAY, LATE, Crowd, Reluctant, reserved, two_nodes, went

ONE = {"vcore": 1}
BIG = {"vcore": 8}


def pin(crowd: Crowd, key: str, node_id: str, cores: int, *args: Any, **other: Any) -> None:
    """An ask of ``app`` for one node."""
    crowd.ask("app", key, {"vcore": cores}, *args, tags={REQUIRED_NODE: node_id}, **other)


@pytest.fixture
def crowd() -> Crowd:
    """Two nodes with 4 and 5 cores free."""
    return two_nodes()


@pytest.mark.remuda_rule("CYC-14")
@pytest.mark.parametrize(
    "node_id, cores, text",
    [
        ("nowhere", 1, "required node 'nowhere' is not known"),
        ("n1", 11, "required node 'n1' is too small"),
    ],
)
def test_a_node_that_cannot_be_had_blocks_nobody(
    crowd: Crowd, node_id: str, cores: int, text: str
) -> None:
    crowd.app("other")
    pin(crowd, "pinned", node_id, cores, priority=9)
    crowd.ask("app", "next", ONE)
    crowd.ask("other", "third", ONE)
    found = crowd.run()
    assert [key for key, _ in went(found)] == ["next-0", "third-0"]
    assert reserved(found + crowd.run(LATE) + crowd.run(DAY)) == []
    assert crowd.log("pinned") == {text: (1, START)}
    finding = crowd.finding("pinned")
    assert (finding.gate, finding.subject) == (gates.REQUIRED_NODE, node_id)
    assert (finding.requested, finding.looks) == ({"vcore": cores}, 1)
    assert finding.since_ns == finding.last_ns == START


@pytest.mark.remuda_rule("CYC-14")
def test_a_node_that_comes_or_grows_is_taken_at_once(crowd: Crowd) -> None:
    pin(crowd, "later", "n3", 2)
    pin(crowd, "large", "n1", 11)
    assert went(crowd.run(DAY)) == []
    crowd.node("n3", {"vcore": 2})
    assert went(crowd.run()) == [("later-0", "n3")]
    crowd.node("n1", {"vcore": 17}, c.UPDATE)
    assert went(crowd.run()) == [("large-0", "n1")]


@pytest.mark.remuda_rule("CYC-14", "RSV-12", "RSV-3")
def test_a_full_node_is_reserved_at_once(crowd: Crowd) -> None:
    pin(crowd, "pinned", "n1", 8)
    assert reserved(crowd.run()) == [("+", "n1", "pinned")]
    assert crowd.held() == {"n1": ["app|pinned"]}
    found = crowd.clear("n1") + crowd.run()
    assert (went(found), reserved(found)) == ([("pinned-0", "n1")], [("-", "n1", "pinned")])


@pytest.mark.remuda_rule("RSV-12", "CYC-14")
def test_the_delay_of_other_reservations_does_not_concern_them(crowd: Crowd) -> None:
    crowd.again(None)
    crowd.full(n1=4)
    pin(crowd, "pinned", "n1", 8)
    assert reserved(crowd.run()) == [("+", "n1", "pinned")]


@pytest.mark.remuda_rule("CYC-14", "NOD-8")
def test_a_draining_node_is_reserved_and_used(crowd: Crowd) -> None:
    crowd.node("n1", action=c.DRAIN_NODE)
    pin(crowd, "pinned", "n1", 8)
    assert reserved(crowd.run()) == [("+", "n1", "pinned")]
    assert went(crowd.clear("n1") + crowd.run()) == [("pinned-0", "n1")]


@pytest.mark.remuda_rule("CYC-21", "CYC-14")
def test_no_other_node_is_tried(crowd: Crowd) -> None:
    pin(crowd, "pinned", "n1", 8)
    crowd.run()
    crowd.node("n3", {"vcore": 100})
    assert went(crowd.run() + crowd.run(DAY)) == []
    assert crowd.held() == {"n1": ["app|pinned"]}


@pytest.mark.remuda_rule("RSV-12", "CYC-14", "NOD-13")
def test_no_predicate_is_asked_before_reserving() -> None:
    moods = Reluctant({("pinned", "n1", True): "no", ("pinned", "n1", False): "never"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    pin(crowd, "pinned", "n1", 8)
    assert reserved(crowd.run()) == [("+", "n1", "pinned")]
    assert moods.asked == []
    crowd.clear("n1")
    assert went(crowd.run()) == []
    assert moods.asked == [("pinned", "n1", True)]
    moods.refused.clear()
    crowd.send(c.UpdateNodes(crowd.rm))
    assert went(crowd.run()) == [("pinned-0", "n1")]


@pytest.mark.remuda_rule("CYC-14", "NOD-13")
def test_a_node_that_the_manager_refuses_is_reserved_too() -> None:
    moods = Reluctant({("pinned", "n1", True): "no"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    pin(crowd, "pinned", "n1", 2)
    found = crowd.run()
    assert (went(found), reserved(found)) == ([], [("+", "n1", "pinned")])


@pytest.mark.remuda_rule("CYC-14", "RSV-12", "RSV-9", "RSV-11")
@pytest.mark.parametrize("cores, outcome", [(4, "placed"), (5, "reserved")])
def test_a_normal_reservation_gives_way(crowd: Crowd, cores: int, outcome: str) -> None:
    crowd.node("n2", action=c.DECOMISSION)
    crowd.app("other")
    crowd.ask("other", "normal", BIG)
    assert reserved(crowd.run(LATE)) == [("+", "n1", "normal")]
    pin(crowd, "pinned", "n1", cores)
    found = crowd.run()
    if outcome == "placed":
        assert went(found) == [("pinned-0", "n1")]
        # The other one waits on, and nobody else has reserved the node now.
        assert reserved(found) == [("-", "n1", "normal"), ("+", "n1", "normal")]
        assert crowd.held() == {"n1": ["other|normal"]}
    else:
        assert went(found) == []
        assert reserved(found) == [("-", "n1", "normal"), ("+", "n1", "pinned")]
        assert crowd.held() == {"n1": ["app|pinned"]}


@pytest.mark.remuda_rule("RSV-12", "RSV-5", "RSV-6", "CYC-14")
def test_several_of_them_may_reserve_one_node_and_no_other_ask(crowd: Crowd) -> None:
    crowd.node("n2", action=c.DECOMISSION)
    pin(crowd, "first", "n1", 8)
    pin(crowd, "second", "n1", 7)
    crowd.app("other")
    crowd.ask("other", "normal", BIG)
    pin(crowd, "third", "n1", 6)
    crowd.run()
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["app|first", "app|second", "app|third"]}
    assert crowd.counted() == 3
    # 10 cores: the first gets 8 of them, then nobody fits, then the second.
    assert went(crowd.clear("n1") + crowd.run()) == [("first-0", "n1")]
    assert went(crowd.release("app", "first-0") + crowd.run()) == [("second-0", "n1")]
    assert crowd.held() == {"n1": ["app|third"]}


@pytest.mark.remuda_rule("RSV-12", "CYC-14", "CYC-20")
def test_one_that_joins_goes_at_once_if_it_has_room(crowd: Crowd) -> None:
    pin(crowd, "large", "n1", 8)
    crowd.run()
    pin(crowd, "small", "n1", 3)
    found = crowd.run()
    assert went(found) == [("small-0", "n1")]
    assert reserved(found) == [("+", "n1", "small"), ("-", "n1", "small")]
    assert crowd.held() == {"n1": ["app|large"]}


@pytest.mark.remuda_rule("RSV-12", "RSV-6", "RSV-3")
def test_one_ask_reserves_its_node_once(crowd: Crowd) -> None:
    pin(crowd, "pinned", "n1", 8, 3)
    assert reserved(crowd.run() + crowd.run(LATE)) == [("+", "n1", "pinned")]
    assert crowd.held() == {"n1": ["app|pinned"]}
    found = crowd.clear("n1") + crowd.run()
    assert went(found) == [("pinned-0", "n1")]
    # It wants two more, and the node is full again.
    assert reserved(found) == [("-", "n1", "pinned"), ("+", "n1", "pinned")]
    assert crowd.held() == {"n1": ["app|pinned"]}


@pytest.mark.remuda_rule("CYC-14", "CYC-12", "RSV-3")
@pytest.mark.parametrize("kind", ["queue", "user"])
def test_beyond_a_headroom_they_do_not_reserve(kind: str) -> None:
    seven = {"vcore": 7}
    limited = leaf("a", seven) if kind == "queue" else leaf("a", limits=(users("ann", seven),))
    crowd = Crowd(limited)
    crowd.full(n1=4)
    pin(crowd, "pinned", "n1", 8)
    assert reserved(crowd.run() + crowd.run(LATE)) == []
    gate = {"queue": gates.QUEUE_QUOTA, "user": gates.USER_QUOTA}[kind]
    assert crowd.finding("pinned").gate == gate


@pytest.mark.remuda_rule("NODE-16", "RSV-9", "CYC-14")
def test_a_required_node_that_gets_too_small_is_reserved_no_more(crowd: Crowd) -> None:
    pin(crowd, "pinned", "n1", 8)
    crowd.run()
    found = crowd.node("n1", {"vcore": 7}, c.UPDATE) + crowd.run() + crowd.run(DELAY)
    assert reserved(found) == [("-", "n1", "pinned")]
    assert crowd.log("pinned").keys() == {"required node 'n1' is too small"}
    assert crowd.finding("pinned").gate == gates.REQUIRED_NODE
    crowd.node("n1", {"vcore": 8}, c.UPDATE)
    assert reserved(crowd.run()) == [("+", "n1", "pinned")]


@pytest.mark.remuda_rule("CYC-14", "RSV-9")
def test_a_required_node_that_goes_is_waited_for(crowd: Crowd) -> None:
    pin(crowd, "pinned", "n1", 8)
    crowd.run()
    found = crowd.node("n1", action=c.DECOMISSION) + crowd.run()
    assert reserved(found) == [("-", "n1", "pinned")]
    assert crowd.log("pinned").keys() == {"required node 'n1' is not known"}
    crowd.node("n1", {"vcore": 8})
    assert went(crowd.run()) == [("pinned-0", "n1")]


@pytest.mark.remuda_rule("RSV-10", "RSV-7", "RSV-12")
@pytest.mark.parametrize("a, b, closed", [(8, 8, True), (7, 8, True), (8, 7, True), (7, 7, False)])
def test_one_that_fits_its_headroom_keeps_the_node_closed(a: int, b: int, closed: bool) -> None:
    crowd = Crowd(leaf("a"), leaf("b"))
    crowd.full(n1=4)
    crowd.app("other", "root.b")
    pin(crowd, "first", "n1", 8, priority=-1)
    crowd.ask("other", "second", BIG, priority=-1, tags={REQUIRED_NODE: "n1"})
    crowd.run()
    assert crowd.held() == {"n1": ["app|first", "other|second"]}
    crowd.reload(leaf("a", {"vcore": a}), leaf("b", {"vcore": b}), leaf("old"))
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == ([] if closed else [("small-0", "n1")])
    assert crowd.counted() == 2


@pytest.mark.remuda_rule("CYC-14", "SI-33", "RSV-9")
def test_an_ask_that_is_sent_again_for_another_node_leaves_the_first(crowd: Crowd) -> None:
    pin(crowd, "pinned", "n1", 8)
    crowd.run()
    pin(crowd, "pinned", "n2", 8)
    crowd.run()
    assert crowd.held() == {"n2": ["app|pinned"]}


@pytest.mark.remuda_rule("CYC-14", "RSV-12")
def test_as_many_as_fit_are_placed_and_one_reservation_is_made_for_the_rest(crowd: Crowd) -> None:
    pin(crowd, "pinned", "n1", 2, 5)
    found = crowd.run()
    assert went(found) == [("pinned-0", "n1"), ("pinned-1", "n1")]
    assert reserved(found) == [("+", "n1", "pinned")]
    assert crowd.request("pinned").pending_count == 3
