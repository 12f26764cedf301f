"""What users are told about asks that wait (CYC-13, CYC-16, chapter 90 section 2.2)."""

from __future__ import annotations

import pytest

from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages.effects import Effect, EventRecord
from tests.unit.core.door import DAY, SECOND, START, groups, leaf, of, parent, users
from tests.unit.core.rules.crowd import LATE, Crowd, Reluctant, told, went

FIVE = {"vcore": 5}
TICK = 15 * SECOND


def only(effects: list[Effect]) -> EventRecord:
    """The one event about an ask."""
    (record,) = [each for each in of(effects, e.EventRecord) if each.kind == ev.REQUEST]
    return record


@pytest.mark.remuda_rule("CYC-13", "EVT-36", "EVT-42", "QUE-13", "RES-12")
@pytest.mark.parametrize("limited", ["root.p.a", "root.p"])
def test_an_ask_beyond_the_queue_is_told(limited: str) -> None:
    ten = {"vcore": 10}
    own, above = (ten, None) if limited == "root.p.a" else (None, ten)
    crowd = Crowd(parent("p", leaf("a", own), maximum=above))
    crowd.full(n1=10)
    crowd.app("mine", "root.p.a")
    crowd.existing("mine", "x", "n1", {"vcore": 8})
    crowd.ask("mine", "k", FIVE)
    record = only(crowd.run(SECOND))
    # The path is the leaf's, and what is left is the least of all levels.
    assert record.message == (
        "Request 'k' does not fit in queue 'root.p.a' "
        "(requested map[vcore:5], available map[memory:1000 vcore:2])"
    )
    assert (record.object_id, record.reference_id) == ("k", "mine")
    assert (record.change, record.detail) == (ev.NONE, ev.DETAILS_NONE)
    assert (record.resource, record.timestamp_ns) == (FIVE, START + SECOND)
    assert told(crowd.run(DAY)) == []


@pytest.mark.remuda_rule("CYC-13", "EVT-37", "EVT-42")
def test_an_ask_that_fits_the_queue_again_is_told() -> None:
    crowd = Crowd(leaf("a", {"vcore": 10}))
    crowd.full(n1=10)
    crowd.existing("app", "x", "n1", {"vcore": 8})
    crowd.existing("app", "y", "n1", {"vcore": 1})
    crowd.ask("app", "k", FIVE)
    assert len(told(crowd.run())) == 1
    found = crowd.release("app", "y") + crowd.run()
    assert told(found) == []  # 2 are not enough either; nothing new
    found = crowd.release("app", "x") + crowd.run()
    assert told(found) == ["Request 'k' has become schedulable in queue 'root.a'"]
    assert only(found).resource == FIVE
    assert went(found) == [("k-0", "n1")]


@pytest.mark.remuda_rule("EVT-42", "EVT-36", "EVT-37")
def test_every_edge_is_told() -> None:
    crowd = Crowd(leaf("a", {"vcore": 4}))
    crowd.full(n1=1)
    crowd.ask("app", "k", FIVE)
    assert [text[12:20] for text in told(crowd.run())] == ["does not"]
    crowd.reload(leaf("a", {"vcore": 9}), leaf("old"))
    assert [text[12:20] for text in told(crowd.run())] == ["has beco"]
    crowd.reload(leaf("a", {"vcore": 3}), leaf("old"))
    crowd.clear("n1")  # it waits for a node no more, and is looked at
    assert [text[12:20] for text in told(crowd.run())] == ["does not"]
    crowd.reload(leaf("a", {"vcore": 8}), leaf("old"))
    found = crowd.run()
    assert [text[12:20] for text in told(found)] == ["has beco"]
    assert went(found) == [("k-0", "n1")]


@pytest.mark.remuda_rule("CYC-13", "EVT-38", "EVT-42", "LIM-52")
def test_an_ask_beyond_the_limits_of_its_user_is_told() -> None:
    limits = (users("ann", {"vcore": 4, "memory": 90}), groups("staff", {"vcore": 9, "memory": 7}))
    crowd = Crowd(parent("p", leaf("a", limits=limits), limits=(users("ann", {"gpu": 2}),)))
    crowd.full(n1=10)
    crowd.app("mine", "root.p.a")
    crowd.existing("mine", "x", "n1", {"vcore": 3})
    crowd.ask("mine", "k", FIVE)
    record = only(crowd.run())
    assert record.message == (
        "Request 'k' exceeds the available user quota "
        "(requested map[vcore:5], available map[gpu:2 memory:7 vcore:1])"
    )
    assert (record.object_id, record.reference_id, record.resource) == ("k", "mine", FIVE)
    assert told(crowd.run(DAY)) == []


@pytest.mark.remuda_rule("CYC-13", "EVT-39", "EVT-42")
def test_an_ask_that_fits_the_limits_of_its_user_again_is_told() -> None:
    crowd = Crowd(leaf("a", limits=(users("ann", {"vcore": 6}),)))
    crowd.full(n1=10)
    crowd.existing("app", "x", "n1", {"vcore": 2})
    crowd.ask("app", "k", FIVE)
    assert len(told(crowd.run())) == 1
    found = crowd.release("app", "x") + crowd.run()
    assert told(found) == ["Request 'k' fits in the available user quota"]
    assert went(found) == [("k-0", "n1")]


@pytest.mark.remuda_rule("EVT-42", "CYC-12")
def test_while_the_user_check_fails_the_queue_is_not_looked_at() -> None:
    crowd = Crowd(leaf("a", {"vcore": 4}, limits=(users("ann", {"vcore": 4}),)))
    crowd.full(n1=1)
    crowd.ask("app", "k", FIVE)
    (first,) = told(crowd.run())
    assert first.startswith("Request 'k' exceeds the available user quota")
    crowd.reload(leaf("a", {"vcore": 4}), leaf("old"))
    assert [text[12:21] for text in told(crowd.run())] == ["fits in t", "does not "]
    # Now the queue flag is set. It stays while the user's is down again, although the queue fits.
    crowd.reload(leaf("a", limits=(users("ann", {"vcore": 4}),)), leaf("old"))
    assert [text[12:21] for text in told(crowd.run())] == ["exceeds t"]
    crowd.reload(leaf("a"), leaf("old"))
    assert [text[12:21] for text in told(crowd.run())] == ["fits in t", "has becom"]


@pytest.mark.remuda_rule("EVT-42", "EVT-36")
def test_each_ask_has_flags_of_its_own() -> None:
    crowd = Crowd(leaf("a", {"vcore": 4}))
    crowd.full(n1=10)
    crowd.ask("app", "one", FIVE)
    crowd.ask("app", "two", {"vcore": 6})
    texts = told(crowd.run())
    assert [text.partition(" does")[0] for text in texts] == ["Request 'one'", "Request 'two'"]
    crowd.ask("app", "equal", FIVE)  # new in its class queue: looked at once
    assert [text.partition(" does")[0] for text in told(crowd.run())] == ["Request 'equal'"]


@pytest.mark.remuda_rule("EVT-42", "EVT-37")
def test_an_ask_behind_an_equal_one_is_told_when_it_is_the_first() -> None:
    crowd = Crowd(leaf("a", {"vcore": 4}))
    crowd.full(n1=10)
    for key in ("k1", "k2"):
        crowd.ask("app", key, FIVE)
    assert len(told(crowd.run())) == 2
    crowd.reload(leaf("a", {"vcore": 9}), leaf("old"))
    found = crowd.run()
    assert told(found) == ["Request 'k1' has become schedulable in queue 'root.a'"]
    assert went(found) == [("k1-0", "n1")]
    crowd.release("app", "k1-0")
    found = crowd.run()
    assert told(found) == ["Request 'k2' has become schedulable in queue 'root.a'"]
    assert went(found) == [("k2-0", "n1")]


@pytest.mark.remuda_rule("EVT-42", "CYC-24")
def test_an_ask_that_was_served_before_is_not_new() -> None:
    crowd = Crowd(leaf("a", FIVE))
    crowd.full(n1=10)
    crowd.ask("app", "behind", FIVE, 2)
    assert went(crowd.step(1)) == [("behind-0", "n1")]
    crowd.ask("app", "first", FIVE, priority=9)
    (text,) = told(crowd.run())
    assert text.startswith("Request 'first' does not fit")
    assert crowd.log("behind") == {}
    assert crowd.log("first") == {"Not enough queue quota": (1, START)}


@pytest.mark.remuda_rule("EVT-37", "EVT-39", "CYC-12")
def test_an_ask_that_may_reserve_at_last_is_told_that_it_fits() -> None:
    seven = {"vcore": 7}
    crowd = Crowd(leaf("a", seven, limits=(users("ann", seven),)))
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    crowd.run(LATE)
    crowd.reload(leaf("a", seven), leaf("old"))
    crowd.run()
    crowd.reload(leaf("a"), leaf("old"))
    found = crowd.run()
    assert told(found) == ["Request 'big' has become schedulable in queue 'root.a'"]
    assert crowd.held() == {"n1": ["app|big"]}


@pytest.mark.remuda_rule("EVT-42", "RSV-8")
def test_reservations_tell_nothing_of_quotas() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["app|big"]}
    crowd.reload(leaf("a", {"vcore": 7}), leaf("old"))
    assert told(crowd.run()) == []
    crowd.reload(leaf("a", limits=(users("ann", {"vcore": 7}),)), leaf("old"))
    assert told(crowd.run()) == []
    crowd.reload(leaf("a"), leaf("old"))
    crowd.clear("n1")
    found = crowd.run()
    assert (told(found), went(found)) == ([], [("big-0", "n1")])


# -------------------------------------------------------------------------- predicates


def refusing(**texts: str) -> tuple[Crowd, Reluctant]:
    """Nodes with 5 cores free that are refused for these reasons; nothing ever reserves."""
    moods = Reluctant({("*", node_id, True): text for node_id, text in texts.items()})
    crowd = Crowd()
    crowd.again(None, predicates=moods)
    crowd.full(**dict.fromkeys(texts, 5))
    return crowd, moods


@pytest.mark.remuda_rule("CYC-16", "EVT-40", "EVT-44")
def test_refusals_are_told_once_per_search() -> None:
    crowd, moods = refusing(n1="taint", n2="no gpu", n3="taint")
    crowd.ask("app", "k", FIVE)
    record = only(crowd.run())
    assert record.message == "Unschedulable request 'k': no gpu (1x); taint (2x); "
    assert (record.object_id, record.reference_id, record.resource) == ("k", "app", FIVE)
    assert (record.change, record.detail) == (ev.NONE, ev.DETAILS_NONE)
    assert sorted(moods.asked) == [("k", node, True) for node in ("n1", "n2", "n3")]


@pytest.mark.remuda_rule("CYC-16", "NOD-13", "SI-80")
def test_an_ask_that_finds_a_node_is_told_nothing() -> None:
    crowd, _ = refusing(n1="taint", n2="no gpu")
    crowd.full(n3=5)
    crowd.ask("app", "k", FIVE, 2)
    found = crowd.step(1)
    assert went(found) == [("k-0", "n3")]
    assert told(found) == []
    assert crowd.log("k") == {"taint": (1, START), "no gpu": (1, START)}
    assert told(crowd.run()) == ["Unschedulable request 'k': no gpu (1x); taint (1x); "]


@pytest.mark.remuda_rule("EVT-44", "NOD-13", "SI-80", "CYC-32")
def test_one_such_event_per_fifteen_seconds_and_ask() -> None:
    crowd, moods = refusing(n1="taint")
    crowd.ask("app", "k", FIVE)
    moments: list[int] = []
    for _ in range(31):
        if told(crowd.run()):
            moments.append(crowd.now - START)
        crowd.now += SECOND
        crowd.send_nothing()
    assert moments == [0, TICK, 2 * TICK]
    assert moods.asked == [("k", "n1", True)] * 31


@pytest.mark.remuda_rule("EVT-44")
def test_suppressed_events_are_not_made_up_for() -> None:
    crowd, moods = refusing(n1="taint")
    crowd.ask("app", "k", FIVE)
    assert len(told(crowd.run())) == 1
    moods.refused[("*", "n1", True)] = "other"
    crowd.now += TICK - 1
    crowd.send_nothing()
    assert told(crowd.run()) == []
    assert told(crowd.run(DAY)) == []
    # However long it was silent, one event is all there is.
    for _ in range(3):
        crowd.send_nothing()
    assert told(crowd.run()) == ["Unschedulable request 'k': other (1x); "]
    crowd.send_nothing()
    assert told(crowd.run(TICK - 1)) == []


@pytest.mark.remuda_rule("EVT-44")
def test_each_ask_has_events_of_its_own() -> None:
    crowd, _ = refusing(n1="taint")
    crowd.ask("app", "k", FIVE)
    assert len(told(crowd.run())) == 1
    crowd.now += 1
    crowd.ask("app", "other", {"vcore": 4})
    assert "Unschedulable request 'other': taint (1x); " in told(crowd.run())


@pytest.mark.remuda_rule("EVT-40", "EVT-44", "NOD-13", "SI-80")
def test_a_refused_reservation_is_told() -> None:
    moods = Reluctant({("big", "n1", False): "no reserving"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    record = only(crowd.run(LATE))
    assert record.message == "Predicate failed for request 'big' with message: 'no reserving'"
    assert (record.object_id, record.reference_id) == ("big", "app")
    assert record.resource == {"vcore": 8}
    crowd.send_nothing()
    assert told(crowd.run(TICK - 1)) == []
    crowd.send_nothing()
    assert told(crowd.run(1)) == [record.message]


@pytest.mark.remuda_rule("EVT-44", "CYC-16")
def test_both_kinds_of_refusals_share_the_limit() -> None:
    moods = Reluctant({("k", "n1", True): "taint", ("k", "n1", False): "no reserving"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=5)
    crowd.ask("app", "k", FIVE)
    assert told(crowd.run()) == ["Unschedulable request 'k': taint (1x); "]
    crowd.existing("old", "x", "n1", {"vcore": 1})
    assert told(crowd.run(LATE)) == []
    assert moods.asked[-1] == ("k", "n1", False)
