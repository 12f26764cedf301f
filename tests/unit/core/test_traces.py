"""The trace of a waiting ask (rules: EXT-44, EXT-45, EXT-46)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.trace_queries import AskTraceQuery, AskTraceView
from tests.unit.core.door import Caller, leaf, users


def trace(door: Caller, application_id: str, key: str) -> AskTraceView:
    found = door.scheduler.view(AskTraceQuery("default", application_id, key))
    assert isinstance(found, AskTraceView)
    return found


def full_cluster() -> Caller:
    """Queue a uses half of its guarantee, b all of it, and no node has room."""
    door = Caller(
        leaf("a", guaranteed={"vcore": 4}),
        leaf("b", {"vcore": 3}, {"vcore": 2}, limits=(users("ann", {"vcore": 2}),)),
    )
    door.node("n", {"vcore": 4})
    door.app("a1", "root.a")
    door.app("b1", "root.b", user="ann")
    door.ask("a1", "held", {"vcore": 2})
    door.ask("b1", "held", {"vcore": 2})
    door.place()
    return door


@pytest.mark.remuda_rule("EXT-44")
def test_gates_behind_the_first_that_stops_an_ask_are_checked_too() -> None:
    door = full_cluster()
    door.ask("b1", "more", {"vcore": 2})
    door.place()
    stops = [gate for gate in trace(door, "b1", "more").gates if not gate.passed]
    assert [(gate.gate, gate.subject) for gate in stops] == [
        ("user quota", "user ann at root.b"),
        ("queue quota", "root.b"),
        ("queue quota", "root"),
        ("nodes", ""),
    ]
    assert stops[0].requested == {"vcore": 2}
    assert stops[0].used == {"vcore": 2}
    assert stops[0].maximum == {"vcore": 2}
    assert stops[0].available == {"vcore": 0}
    assert stops[1].available == {"vcore": 1}


@pytest.mark.remuda_rule("EXT-45")
def test_each_level_says_what_is_served_before_and_why() -> None:
    door = full_cluster()
    door.app("a2", "root.a")
    door.app("b2", "root.b", user="bob")
    for app, key in (("a1", "x"), ("a2", "y"), ("b1", "z"), ("b2", "u"), ("b2", "v")):
        door.ask(app, key, {"vcore": 1})
    door.ask("b2", "w", {"vcore": 1}, priority=1)
    door.place()
    queues, applications, asks = trace(door, "b2", "v").levels
    assert (queues.path, queues.name, queues.place, queues.count) == ("root", "b", 1, 2)
    assert (applications.path, applications.place, applications.count) == ("root.b", 1, 2)
    assert applications.priority == 1
    assert (asks.path, asks.place, asks.count, asks.asks_ahead) == ("b2", 3, 3, 2)
    assert [rival.name for rival in asks.ahead] == ["u", "w"]

    door.release_ask("b2", "w")
    door.place()
    queues, applications, _ = trace(door, "b2", "v").levels
    assert (queues.place, queues.asks_ahead, queues.share) == (2, 2, 1.0)
    assert [(rival.name, rival.share, rival.asks) for rival in queues.ahead] == [("a", 0.5, 2)]
    assert [(term.resource, term.used, term.divisor) for term in queues.terms] == [("vcore", 2, 2)]
    assert (applications.place, applications.asks_ahead) == (2, 1)
    assert [rival.name for rival in applications.ahead] == ["b1"]


@pytest.mark.remuda_rule("EXT-46")
def test_nodes_are_counted_by_reason_and_the_nearest_come_first() -> None:
    door = full_cluster()
    door.node("big", {"vcore": 9}, c.CREATE_DRAIN)
    door.node("small", {"vcore": 1})
    door.ask("a1", "more", {"vcore": 2})
    door.place()
    found = trace(door, "a1", "more")
    counts = found.nodes
    assert (counts.total, counts.draining, counts.too_small, counts.no_room) == (3, 1, 1, 1)
    assert found.takes == 0
    assert [(node.node_id, node.verdict) for node in found.nearest] == [
        ("n", "no room"),
        ("big", "draining"),
        ("small", "too small"),
    ]
    assert found.nearest[0].lacking == {"vcore": 2}
    assert found.nearest[1].lacking == {}


@pytest.mark.remuda_rule("EXT-46")
def test_an_ask_that_does_not_wait_has_no_trace() -> None:
    door = full_cluster()
    for application_id, key in (("a1", "held"), ("a1", "none"), ("none", "held")):
        assert door.scheduler.view(AskTraceQuery("default", application_id, key)) is None
