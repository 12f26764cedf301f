"""When an ask reserves a node, and which (chapter 50 part D)."""

from __future__ import annotations

import pytest

from remuda.config.schema import LimitConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import DAY, SECOND, START, groups, leaf, of, parent, users
from tests.unit.core.rules.crowd import (
    DELAY,
    LATE,
    Crowd,
    Reluctant,
    reserved,
    told,
    two_nodes,
    went,
)

BIG = {"vcore": 8}


@pytest.fixture
def crowd() -> Crowd:
    """Two nodes with 4 and 5 cores free."""
    return two_nodes()


@pytest.mark.remuda_rule("RSV-3", "CYC-32")
def test_an_ask_reserves_when_it_is_older_than_two_seconds(crowd: Crowd) -> None:
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run()) == []
    assert reserved(crowd.run(DELAY)) == []
    assert crowd.held() == {}
    assert reserved(crowd.run(1)) == [("+", "n2", "big")]
    assert crowd.held() == {"n2": ["app|big"]}


@pytest.mark.remuda_rule("RSV-3", "CYC-32")
def test_the_scheduler_asks_to_be_called_when_an_ask_may_reserve(crowd: Crowd) -> None:
    crowd.ask("app", "big", BIG)
    crowd.run()
    made: list[int] = []
    while not made:
        deadline = crowd.scheduler.next_deadline()
        assert deadline is not None
        assert deadline <= START + LATE
        crowd.now = deadline
        if reserved(crowd.run()):
            made.append(crowd.now)
    assert made == [START + LATE]


@pytest.mark.remuda_rule("RSV-3")
@pytest.mark.parametrize("delay", [0, SECOND, 60 * SECOND])
def test_the_delay_is_that_of_the_scheduler(crowd: Crowd, delay: int) -> None:
    crowd.again(delay)
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run()) == []
    assert reserved(crowd.run(delay)) == []
    assert reserved(crowd.run(1)) == [("+", "n1", "big")]


@pytest.mark.remuda_rule("RSV-3", "KV-4")
def test_without_a_delay_nothing_is_ever_reserved(crowd: Crowd) -> None:
    crowd.again(None)
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run() + crowd.run(LATE) + crowd.run(30 * DAY)) == []
    assert crowd.held() == {}


@pytest.mark.remuda_rule("RSV-3", "QUE-44")
def test_the_age_counts_from_the_creation_time(crowd: Crowd) -> None:
    created = {"creationTime": str(START // SECOND - 2)}
    crowd.ask("app", "big", BIG, tags=created)
    assert reserved(crowd.run()) == []
    assert reserved(crowd.run(1)) == [("+", "n2", "big")]
    # A time that is still to come is that of arrival.
    later = {"creationTime": str(START // SECOND + 10)}
    crowd.ask("app", "late", BIG, tags=later)
    assert reserved(crowd.run(DELAY)) == []
    assert reserved(crowd.run(1)) == [("+", "n1", "late")]


@pytest.mark.remuda_rule("RSV-3", "SI-33")
def test_an_ask_that_is_sent_again_keeps_its_age(crowd: Crowd) -> None:
    crowd.ask("app", "big", {"vcore": 7})
    crowd.run(DELAY)
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run()) == []
    assert reserved(crowd.run(1)) == [("+", "n2", "big")]


@pytest.mark.remuda_rule("RSV-3", "CYC-15")
def test_an_ask_that_finds_room_never_reserves(crowd: Crowd) -> None:
    crowd.ask("app", "late", {"vcore": 5}, tags={"creationTime": "0"})
    found = crowd.run(DAY)
    assert went(found) == [("late-0", "n2")]
    assert reserved(found) == []


QUOTAS: dict[str, tuple[tuple[LimitConfig, ...], dict[str, int] | None]] = {
    "queue": ((), {"vcore": 7}),
    "user": ((users("ann", {"vcore": 7}),), None),
    "group": ((groups("staff", {"vcore": 7}),), None),
}


@pytest.mark.remuda_rule("RSV-3", "CYC-12")
@pytest.mark.parametrize("kind", QUOTAS)
def test_an_ask_beyond_a_headroom_never_reserves(kind: str) -> None:
    limits, maximum = QUOTAS[kind]
    crowd = Crowd(leaf("a", maximum, limits=limits))
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run() + crowd.run(LATE) + crowd.run(DAY)) == []
    # With the limit out of the way it is old enough at once.
    crowd.reload(leaf("a"), leaf("old"))
    assert reserved(crowd.run()) == [("+", "n1", "big")]


@pytest.mark.remuda_rule("RSV-3", "QUE-13")
def test_the_headroom_of_the_queue_above_counts_too() -> None:
    crowd = Crowd(parent("a", leaf("b"), maximum={"vcore": 7}))
    crowd.full(n1=4)
    crowd.app("below", "root.a.b")
    crowd.ask("below", "big", BIG)
    assert reserved(crowd.run(LATE)) == []
    crowd.ask("below", "less", {"vcore": 7})
    crowd.run()
    assert reserved(crowd.run(LATE)) == [("+", "n1", "less")]


@pytest.mark.remuda_rule("RSV-3", "NOD-8", "QUE-6")
def test_what_the_cluster_has_left_bounds_reservations() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.node("spare", action=c.DECOMISSION)
    crowd.ask("app", "big", BIG)  # root has 10 and uses 6
    assert reserved(crowd.run(LATE)) == []
    crowd.node("spare", {"vcore": 4}, c.CREATE_DRAIN)  # now 8 are left
    assert reserved(crowd.run()) == [("+", "n1", "big")]


@pytest.mark.remuda_rule("RSV-3", "RSV-6", "CYC-7")
@pytest.mark.parametrize("count, wanted", [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_an_ask_reserves_as_many_nodes_as_it_wants_allocations(count: int, wanted: int) -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=5, n3=3)
    crowd.ask("app", "big", BIG, count)
    crowd.run()
    nodes = ["n2", "n1", "n3"][:wanted]  # most room first
    assert reserved(crowd.run(LATE)) == [("+", node, "big") for node in nodes]
    assert crowd.request("big").reservations == tuple(nodes)
    assert crowd.counted() == wanted


@pytest.mark.remuda_rule("RSV-6", "RSV-5")
def test_a_node_has_one_reservation(crowd: Crowd) -> None:
    crowd.node("n1", action=c.DECOMISSION)
    crowd.app("second")
    crowd.ask("app", "big", BIG)
    crowd.ask("app", "other", {"vcore": 7})
    crowd.ask("second", "rival", BIG)
    assert reserved(crowd.run(LATE)) == [("+", "n2", "big")]
    assert reserved(crowd.run(DAY)) == []
    assert crowd.held() == {"n2": ["app|big"]}


@pytest.mark.remuda_rule("RSV-6")
def test_applications_and_queues_reserve_without_limit() -> None:
    crowd = Crowd(leaf("a"), leaf("b"))
    crowd.full(n1=4, n2=4, n3=4, n4=4)
    crowd.app("other", "root.b")
    for app, key in (("app", "1"), ("app", "2"), ("other", "3"), ("other", "4")):
        crowd.ask(app, key, BIG)
    crowd.run(LATE)
    whole = crowd.held()
    assert sorted(whole) == ["n1", "n2", "n3", "n4"]
    owners = sorted(who for held in whole.values() for who in held)
    assert owners == ["app|1", "app|2", "other|3", "other|4"]


@pytest.mark.remuda_rule("RSV-1", "RSV-2")
def test_nothing_is_charged_for_a_reservation() -> None:
    crowd = Crowd(leaf("a", limits=(users("ann", {"vcore": 50}),)))
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    crowd.run()
    before = crowd.node_view("n1")
    usage = crowd.usage()
    tree = crowd.queue("root")
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    after = crowd.node_view("n1")
    assert (after.allocated, after.available) == (before.allocated, before.available)
    assert after.available == {"vcore": 4}
    assert crowd.usage() == usage
    assert (crowd.queue("root").allocated, crowd.queue("root").pending) == (
        tree.allocated,
        tree.pending,
    )
    assert crowd.queue("root.a").headroom == {"memory": 1000, "vcore": 1004}


@pytest.mark.remuda_rule("EVT-55", "RSV-5")
def test_a_reservation_is_told_once() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8, "memory": 0}, 2)
    crowd.run()
    found = crowd.run(LATE)
    (record,) = [each for each in of(found, e.EventRecord) if each.detail == ev.NODE_RESERVATION]
    assert (record.kind, record.change) == (ev.NODE, ev.ADD)
    assert (record.object_id, record.reference_id) == ("n1", "big")
    assert {t: v for t, v in (record.resource or {}).items() if v} == BIG
    assert (record.timestamp_ns, record.message) == (START + LATE, "")
    assert reserved(crowd.run(DAY)) == []


@pytest.mark.remuda_rule("RSV-1", "RSV-11")
@pytest.mark.parametrize(
    "first, second",
    [
        (("app", "11"), ("app", "1")),
        (("app", "1"), ("app", "11")),
        (("app", "x|1"), ("app", "1")),
        (("a|b", "c"), ("a", "b|c")),
        (("n1|a", "k"), ("a", "n1|k")),
    ],
)
def test_keys_that_end_alike_are_different(
    crowd: Crowd, first: tuple[str, str], second: tuple[str, str]
) -> None:
    for app, key in (first, second):
        if app not in crowd.apps():
            crowd.app(app)
        crowd.ask(app, key, BIG)
    crowd.run(LATE)
    assert crowd.held() == {"n2": ["|".join(first)], "n1": ["|".join(second)]}
    crowd.release_ask(*second)
    assert crowd.held() == {"n2": ["|".join(first)]}
    found = crowd.clear("n2") + crowd.run()
    assert went(found) == [(f"{first[1]}-0", "n2")]
    assert crowd.held() == {}


@pytest.mark.remuda_rule("CYC-15", "RSV-5", "NOD-9", "NODE-11")
def test_nodes_that_are_draining_or_too_small_are_not_reserved() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=5, n3=6)
    crowd.node("n3", action=c.DRAIN_NODE)
    crowd.node("n2", {"vcore": 7}, c.UPDATE)
    crowd.ask("app", "big", BIG)
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    crowd.ask("app", "more", BIG)
    assert reserved(crowd.run(LATE)) == []
    crowd.node("n2", {"vcore": 8}, c.UPDATE)
    assert reserved(crowd.run()) == [("+", "n2", "more")]
    crowd.ask("app", "most", BIG)
    assert reserved(crowd.run(LATE)) == []
    crowd.node("n3", action=c.DRAIN_TO_SCHEDULABLE)
    assert reserved(crowd.run()) == [("+", "n3", "most")]


@pytest.mark.remuda_rule("RSV-4", "CYC-15", "NOD-13", "SI-80")
@pytest.mark.parametrize("kind", ["", "class"])
def test_if_the_best_node_is_refused_no_other_is_tried_until_something_changes(
    kind: str,
) -> None:
    moods = Reluctant({("big", "n2", False): "not there"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=4, n2=5)
    crowd.ask("app", "big", BIG, equivalence=kind)
    assert reserved(crowd.run(LATE) + crowd.run(DAY)) == []
    assert moods.asked == [("big", "n2", False)] * 2  # once more when time has passed
    crowd.release("old", "on-n1")
    crowd.existing("old", "less", "n1", {"vcore": 3})  # 7 cores are free there
    assert reserved(crowd.run()) == [("+", "n1", "big")]
    assert moods.asked[-1] == ("big", "n1", False)


@pytest.mark.remuda_rule("CYC-15", "CYC-16", "CYC-24", "REST-134", "EVT-44")
def test_a_node_that_refuses_the_ask_for_now_may_be_reserved() -> None:
    moods = Reluctant({("k", "n1", True): "not now"})
    crowd = Crowd(predicates=moods)
    crowd.full(n1=9)
    crowd.ask("app", "k", BIG)
    found = crowd.run(LATE)
    assert (went(found), reserved(found)) == ([], [("+", "n1", "k")])
    assert told(found) == ["Unschedulable request 'k': not now (1x); "]
    assert moods.asked[:2] == [("k", "n1", True), ("k", "n1", False)]
    # The answer is known, so the RM is not asked a second time for its own node.
    assert moods.asked[2:] == []
    assert crowd.log("k") == {"not now": (1, START + LATE)}
    assert crowd.request("k").scheduling_attempted


@pytest.mark.remuda_rule("RSV-3", "CYC-12", "QUE-44")
@pytest.mark.parametrize("count", [3, 300, 1100, 3000])
def test_of_many_the_first_in_order_reserves(count: int) -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    asks = [
        c.Ask("app", f"k{number}", BIG, priority=9 if number == count - 1 else 0)
        for number in range(count)
    ]
    crowd.send(c.UpdateAllocations(crowd.rm, asks=tuple(asks)))
    crowd.step(count + 10)
    crowd.now += LATE
    assert reserved(crowd.step(count + 10)) == [("+", "n1", f"k{count - 1}")]


@pytest.mark.remuda_rule("RSV-3", "CYC-32")
def test_many_at_once_reserve_in_portions() -> None:
    crowd = Crowd()
    nodes = [
        c.NodeUpdate(f"n{number}", c.CREATE, {"vcore": 10}, occupied={"vcore": 6})
        for number in range(262)
    ]
    crowd.send(c.UpdateNodes(crowd.rm, tuple(nodes)))
    asks = [c.Ask("app", f"k{number}", BIG) for number in range(262)]
    crowd.send(c.UpdateAllocations(crowd.rm, asks=tuple(asks)))
    crowd.step(10_000)
    crowd.now += LATE
    crowd.ask("app", "younger", BIG)  # so the others cannot move together
    assert len(reserved(crowd.step(10_000))) == 256
    crowd.now += SECOND // 1000
    assert len(reserved(crowd.step(10_000))) == 6
    assert crowd.counted() == 262


@pytest.mark.remuda_rule("RSV-3", "CYC-32", "QUE-44")
def test_an_older_ask_that_arrives_later_reserves_in_time() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.run(SECOND)
    crowd.ask("app", "young", BIG)  # old enough a second later than the next one
    crowd.run()
    crowd.ask("app", "older", BIG, tags={"creationTime": str(START // SECOND)})
    crowd.run()
    while not crowd.held():
        deadline = crowd.scheduler.next_deadline()
        assert deadline is not None
        assert deadline <= START + LATE
        crowd.run(deadline - crowd.now)
    assert crowd.now == START + LATE
    assert crowd.held() == {"n1": ["app|older"]}


@pytest.mark.remuda_rule("RSV-3", "QUE-44")
def test_an_ask_from_the_future_is_as_old_as_its_arrival() -> None:
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG, tags={"creationTime": str(START // SECOND + 3600)})
    assert reserved(crowd.run(LATE - 1)) == []
    assert reserved(crowd.run(1)) == [("+", "n1", "big")]


@pytest.mark.remuda_rule("RSV-3", "CYC-32")
def test_asks_from_the_future_leave_nothing_behind() -> None:
    # No view shows what is kept of asks that are gone, so the test looks inside.
    crowd = Crowd()
    crowd.full(n1=4)
    (partition,) = crowd.scheduler._cluster.partitions()
    timers = crowd.scheduler._cluster.deadlines
    sizes = []
    for number in range(40):
        crowd.ask("app", "big", BIG, tags={"creationTime": str(START // SECOND + 10**6)})
        crowd.run(SECOND)
        crowd.ask("app", f"next-{number}", {"vcore": 9})
        crowd.run(SECOND)
        crowd.release_ask("app")
        crowd.run(3 * SECOND)
        sizes.append((len(partition.reserving.ages._waiting), len(timers._heap)))
    assert sizes[9:] == [sizes[9]] * 31
    assert sizes[9][0] == 0


@pytest.mark.remuda_rule("RSV-3", "CYC-32")
def test_only_a_full_portion_makes_the_next_asks_wait() -> None:
    # None of the three may move together with another: each time a younger one is left.
    crowd = Crowd()
    crowd.full(n1=4, n2=5)
    for key, pause_ns in (("first", 1), ("second", SECOND), ("third", 0)):
        crowd.ask("app", key, BIG)
        crowd.run(pause_ns)
    assert reserved(crowd.run(START + LATE - crowd.now)) == [("+", "n2", "first")]
    assert reserved(crowd.run(1)) == [("+", "n1", "second")]


@pytest.mark.remuda_rule("RSV-3", "CYC-32")
def test_one_timer_is_enough_while_asks_grow_old() -> None:
    # No view counts timers, so the test looks inside.
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    crowd.run()
    timers = crowd.scheduler._cluster.deadlines._heap
    before = len(timers)
    for _ in range(20):
        crowd.send_nothing()
        crowd.run(1)
    assert len(timers) == before
