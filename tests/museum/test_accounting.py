"""The museum of the reference's defects: sums that drift away from what really runs."""

from __future__ import annotations

import pytest

from remuda.base import resources
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import SECOND, Caller, leaf, of, parent
from tests.unit.core.rules.crowd import LATE, Crowd
from tests.unit.core.rules.gang import GREEDY, TEN, Gang, amounts

ONE = {"vcore": 1}
FOUR = {"vcore": 4}
MOST = 2**63 - 1


def cluster(cores: int = 10) -> Caller:
    """One node, one leaf and one application."""
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": cores})
    door.app("app")
    return door


@pytest.mark.remuda_rule("SI-43")
def test_an_allocation_reported_twice_counts_once() -> None:
    """1.5.1 adds everything again when an RM reports a running allocation a second time.

    remuda changes nothing, and answers as it did the first time.
    """
    door = cluster()
    for _ in range(2):
        (answer,) = of(door.existing("app", "x", "n1", FOUR), e.AllocationNew)
        assert (answer.allocation_id, answer.node_id) == ("x", "n1")
    assert door.queue("root").allocated == FOUR
    assert door.node_view("n1").allocated == FOUR
    assert door.usage()["ann"].queues.used == FOUR


@pytest.mark.remuda_rule("LIM-38", "D-U10")
def test_a_user_uses_nothing_after_all_was_released_at_once() -> None:
    """Up to 1.9 a user keeps the usage for ever if all is released while an ask is pending.

    remuda takes each allocation from the user exactly once.
    """
    door = cluster()
    door.ask("app", "runs", ONE, 3)
    door.ask("app", "waits", {"vcore": 100})
    assert len(door.place()) == 3
    door.release("app")
    assert amounts(door.usage()["ann"].queues.used) == {}
    door.release_ask("app", "waits")
    assert door.usage() == {}


@pytest.mark.remuda_rule("SI-34", "SI-35")
def test_an_ask_sent_again_after_its_allocation_starts_nothing() -> None:
    """1.5.1 begins to count anew, and makes a second allocation with the same identity.

    remuda counts the total over the life of the key, so a repeated message has no effect.
    """
    door = cluster()
    door.ask("app", "k", ONE)
    assert door.place() == [("k-0", "n1")]
    door.ask("app", "k", ONE)
    assert door.place() == []
    assert door.node_view("n1").allocated == ONE


@pytest.mark.remuda_rule("SI-33", "QUE-46")
def test_a_replaced_ask_is_gone() -> None:
    """1.5.1 leaves a replaced ask in the order, places it after its removal, and pending is -1.

    remuda has one entry per key, so nothing is left after the removal.
    """
    door = cluster()
    door.ask("app", "k", ONE)
    door.ask("app", "k", ONE, 2)
    door.release_ask("app", "k")
    assert door.place() == []
    assert amounts(door.queue("root.a").pending) == {}
    assert amounts(door.queue("root.a").allocated) == {}


@pytest.mark.remuda_rule("SI-31")
@pytest.mark.parametrize("count, cores", [(-1, 1), (1, -1)])
def test_a_negative_ask_is_rejected(count: int, cores: int) -> None:
    """1.5.1 accepts an ask with a negative number or amount, and pending becomes negative.

    remuda rejects the ask.
    """
    door = cluster()
    (answer,) = of(door.ask("app", "k", {"vcore": cores}, count), e.AsksRejected)
    assert [bad.subject for bad in answer.rejected] == ["k"]
    assert amounts(door.queue("root").pending) == {}


@pytest.mark.remuda_rule("NOD-10", "SI-41")
def test_a_recovered_allocation_is_on_its_node_even_if_it_does_not_fit() -> None:
    """1.5.1 charges queue and application with a recovered allocation, but not a full node.

    remuda charges the node too, whose available amount may be negative.
    """
    door = cluster(cores=2)
    door.existing("app", "x", "n1", FOUR)
    node = door.node_view("n1")
    assert node.allocated == door.queue("root").allocated == FOUR
    assert node.available == {"vcore": -2}


@pytest.mark.remuda_rule("SI-44")
def test_a_pending_ask_that_is_reported_as_running_is_not_placed_again() -> None:
    """1.5.1 keeps the pending amount of such an ask and places it a second time.

    remuda turns the pending ask into the reported allocation.
    """
    door = cluster()
    door.ask("app", "k", ONE)
    door.existing("app", "k-real", "n1", ONE, key="k")
    assert door.place() == []
    assert amounts(door.queue("root.a").pending) == {}
    assert door.queue("root.a").allocated == ONE


@pytest.mark.remuda_rule("SI-60", "NODE-13")
def test_a_release_that_crosses_the_loss_of_its_node_counts_once() -> None:
    """In the reference both messages took effect (YUNIKORN-1993, and again YUNIKORN-3036).

    remuda ends it with the first message, and the second one finds nothing.
    """
    door = cluster()
    door.node("n2", {"vcore": 10})
    door.existing("app", "lost", "n1", FOUR)
    door.existing("app", "stays", "n2", ONE)
    door.node("n1", action=c.DECOMISSION)
    door.release("app", "lost")
    door.release("app", "lost")
    assert door.queue("root").allocated == ONE
    assert door.usage()["ann"].queues.used == ONE
    door.scheduler.check()


@pytest.mark.remuda_rule("CYC-8", "CYC-21")
def test_an_allocation_is_booked_where_the_manager_starts_it() -> None:
    """1.6.0 tells the host of the reserved node if the ask is placed elsewhere (YUNIKORN-2978).

    In remuda the answer, the node and the application name the same node.
    """
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["app|big"]}
    crowd.node("n2", {"vcore": 8})
    (new,) = of(crowd.run(), e.AllocationNew)
    (held,) = crowd.apps()["app"].allocations
    assert new.node_id == held.node_id == "n2"
    assert crowd.node_view("n2").allocated == {"vcore": 8}
    assert crowd.held() == {}


@pytest.mark.remuda_rule("APP-19", "QUE-24")
def test_a_gang_that_fails_early_gives_its_place_back_on_every_level() -> None:
    """In 1.5.1 a gang removed while Accepted takes one place of each parent's limit for ever.

    remuda gives the place back on every level.
    """
    queues = parent("p", leaf("a", properties=GREEDY), max_applications=1)
    gang = Gang(queues)
    gang.nodes(n1=1)
    gang.submit("lost", TEN, queue="root.p.a")
    gang.hold("p1", "p2", app="lost")
    gang.run()
    assert (gang.state("lost"), gang.holds("lost")) == ("Accepted", ["p1-0"])
    gang.remove("lost")
    gang.submit("next", queue="root.p.a")
    gang.want("k", app="next", group="")
    assert gang.run() == ["updated[next Starting]", "new[k-0 n1]"]


@pytest.mark.remuda_rule("RES-26", "RES-28")
def test_arithmetic_at_the_end_of_the_range_keeps_its_sign() -> None:
    """The reference computes 5 - MIN and MAX * 1.0 as large negative numbers.

    remuda stops at the largest number.
    """
    assert resources.subtract({"m": 5}, {"m": -MOST - 1}) == {"m": MOST}
    assert resources.multiply_by({"m": MOST}, 1.0) == {"m": MOST}


@pytest.mark.remuda_rule("RSV-11")
def test_the_number_of_reservations_returns_to_zero() -> None:
    """1.5.1 does not count down when an ask with a reservation is removed, so a pass never ends.

    remuda counts the reservations that exist.
    """
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    crowd.run(LATE)
    assert crowd.counted() == 1
    crowd.release_ask("app", "big")
    assert crowd.counted() == 0
    assert crowd.run(10 * SECOND) == []
