"""How a reservation ends without its ask being placed (RSV-9, RSV-11, NODE-16)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import events as ev
from remuda.core.messages.effects import Effect
from tests.unit.core.door import REQUIRED_NODE, events, leaf, partition
from tests.unit.core.rules.crowd import LATE, Crowd, reserved, reserved_node, went

BIG = {"vcore": 8}
ONE = {"vcore": 1}


@pytest.fixture
def crowd() -> Crowd:
    """``big`` has reserved n1, of which 4 cores are free; ``small`` of another one waits for it."""
    found = reserved_node()
    found.app("waiting", "root.b")
    found.ask("waiting", "small", ONE)
    assert went(found.run()) == []
    return found


def release_the_ask(crowd: Crowd) -> list[Effect]:
    """The RM takes the ask back."""
    return crowd.release_ask("app", "big")


def release_all_asks(crowd: Crowd) -> list[Effect]:
    """The RM takes all asks of the application back."""
    return crowd.release_ask("app")


def remove_the_application(crowd: Crowd) -> list[Effect]:
    """The RM removes the application."""
    return crowd.remove("app")


def shrink_the_node(crowd: Crowd) -> list[Effect]:
    """The node gets smaller than the ask."""
    return crowd.node("n1", {"vcore": 7}, c.UPDATE)


def send_a_larger_ask(crowd: Crowd) -> list[Effect]:
    """The ask is sent again and does not fit the node."""
    return crowd.ask("app", "big", {"vcore": 11})


def report_it_as_running(crowd: Crowd) -> list[Effect]:
    """The RM reports an allocation of the key."""
    crowd.node("n5", BIG, c.CREATE_DRAIN)
    return crowd.existing("app", "mine", "n5", BIG, key="big")


WAYS = (
    release_the_ask,
    release_all_asks,
    remove_the_application,
    shrink_the_node,
    send_a_larger_ask,
    report_it_as_running,
)


@pytest.mark.remuda_rule("RSV-9", "RSV-11", "EVT-56", "NODE-16", "SI-33", "SI-44", "SI-51")
@pytest.mark.parametrize("way", WAYS)
def test_a_reservation_ends(crowd: Crowd, way: Callable[[Crowd], list[Effect]]) -> None:
    found = way(crowd) + crowd.run()
    assert reserved(found) == [("-", "n1", "big")]
    assert crowd.held() == {}
    assert went(found)[-1:] == [("small-0", "n1")]


@pytest.mark.remuda_rule("RSV-9", "NOD-6", "EVT-58", "EVT-56")
def test_a_removed_node_drops_its_reservation_before_its_allocations(crowd: Crowd) -> None:
    found = crowd.node("n1", action=c.DECOMISSION)
    order = [(obj, detail) for kind, obj, _, detail in events(found) if kind in (ev.NODE, ev.QUEUE)]
    assert order[:2] == [("n1", ev.NODE_SCHEDULABLE), ("n1", ev.NODE_RESERVATION)]
    assert order[2:] == [
        ("n1", ev.NODE_ALLOC),
        ("root", ev.QUEUE_MAX),
        ("n1", ev.NODE_DECOMISSION),
    ]
    assert reserved(found) == [("-", "n1", "big")]
    assert crowd.held() == {}
    assert crowd.request("big").pending_count == 1
    crowd.full(n2=4)  # old enough to reserve the next one at once
    assert reserved(crowd.run()) == [("+", "n2", "big")]


@pytest.mark.remuda_rule("RSV-9", "RSV-1")
def test_a_node_of_the_same_name_is_another_one(crowd: Crowd) -> None:
    crowd.node("n1", action=c.DECOMISSION)
    crowd.node("n1", {"vcore": 7})
    assert crowd.held() == {}
    assert went(crowd.run()) == [("small-0", "n1")]


@pytest.mark.remuda_rule("NODE-16", "RSV-9")
def test_a_node_may_shrink_as_long_as_it_holds_the_ask(crowd: Crowd) -> None:
    assert reserved(crowd.node("n1", {"vcore": 8}, c.UPDATE) + crowd.run()) == []
    assert crowd.held() == {"n1": ["app|big"]}
    assert reserved(crowd.node("n1", {"vcore": 7}, c.UPDATE) + crowd.run()) == [("-", "n1", "big")]
    assert crowd.held() == {}
    # The ask waits on, and may have another node.
    assert crowd.request("big").pending_count == 1
    crowd.full(n2=4)
    assert reserved(crowd.run()) == [("+", "n2", "big")]


@pytest.mark.remuda_rule("NODE-16", "RSV-9")
def test_a_type_that_a_node_loses_makes_it_too_small() -> None:
    crowd = Crowd()
    crowd.node("n1", {"vcore": 10, "memory": 5})
    crowd.existing("old", "x", "n1", {"vcore": 6})
    crowd.ask("app", "big", {"vcore": 8, "memory": 1})
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    found = crowd.node("n1", {"vcore": 100}, c.UPDATE) + crowd.run()
    assert (went(found), reserved(found)) == ([], [("-", "n1", "big")])


@pytest.mark.remuda_rule("RSV-9", "SI-33")
@pytest.mark.parametrize("size", [8, 9, 10])
def test_an_ask_that_is_sent_again_and_fits_keeps_its_reservation(crowd: Crowd, size: int) -> None:
    found = crowd.ask("app", "big", {"vcore": size}) + crowd.run()
    assert reserved(found) == []
    assert crowd.held() == {"n1": ["app|big"]}
    assert went(crowd.clear("n1") + crowd.run())[0] == ("big-0", "n1")


@pytest.mark.remuda_rule("RSV-9", "SI-33", "RSV-8")
def test_an_ask_that_is_sent_again_and_has_room_now_is_placed(crowd: Crowd) -> None:
    found = crowd.ask("app", "big", {"vcore": 3}) + crowd.run()
    assert went(found) == [("big-0", "n1"), ("small-0", "n1")]
    assert reserved(found) == [("-", "n1", "big")]
    assert crowd.held() == {}


@pytest.mark.remuda_rule("RSV-9", "RSV-12", "CYC-14")
def test_a_required_node_ask_takes_the_node(crowd: Crowd) -> None:
    crowd.app("daemons", "root.b")
    crowd.ask("daemons", "pinned", {"vcore": 4}, tags={REQUIRED_NODE: "n1"})
    found = crowd.run()
    assert went(found) == [("pinned-0", "n1")]
    assert reserved(found) == [("-", "n1", "big"), ("+", "n1", "big")]  # it waits on
    assert crowd.held() == {"n1": ["app|big"]}


@pytest.mark.remuda_rule("RSV-6", "SI-34", "SI-44")
@pytest.mark.parametrize("left", [2, 1])
def test_an_ask_never_has_more_reservations_than_it_wants_allocations(left: int) -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=5, n3=3)
    crowd.ask("app", "big", BIG, 3)
    crowd.run(LATE)
    assert len(crowd.held()) == 3
    found = crowd.ask("app", "big", BIG, left) + crowd.run()
    assert len(crowd.held()) == left
    assert len(reserved(found)) == 3 - left


@pytest.mark.remuda_rule("RSV-6", "SI-44", "RSV-9")
def test_a_reported_allocation_takes_one_reservation() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=5)
    crowd.ask("app", "big", BIG, 2)
    crowd.run(LATE)
    assert len(crowd.held()) == 2
    crowd.node("n5", BIG, c.CREATE_DRAIN)
    crowd.existing("app", "mine", "n5", BIG, key="big")
    crowd.run()
    assert crowd.request("big").pending_count == 1
    assert len(crowd.held()) == 1


@pytest.mark.remuda_rule("RSV-9", "RSV-11", "RM-9")
def test_nothing_is_left_when_the_manager_registers_again(crowd: Crowd) -> None:
    queues = (leaf("a"), leaf("b"), leaf("old"))
    config = Configuration((partition(*queues),))
    crowd.send(c.RegisterResourceManager(crowd.rm, config))
    assert crowd.held() == {}
    assert crowd.run(LATE) == []


@pytest.mark.remuda_rule("RSV-11", "CYC-5")
def test_the_count_is_right_over_many_changes() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=4, n3=4)
    for key in ("1", "2", "3", "4"):
        crowd.ask("app", key, BIG)
    crowd.run(LATE)
    assert crowd.counted() == 3
    crowd.release_ask("app", "2")
    crowd.run()
    assert crowd.counted() == 3  # the fourth takes the node
    crowd.release_ask("app", "1")
    assert crowd.counted() == 2
    crowd.node("n3", action=c.DECOMISSION)
    assert crowd.counted() == len(crowd.held())
    crowd.remove("app")
    assert crowd.counted() == 0
    assert crowd.held() == {}
    assert not crowd.scheduler.has_work()


@pytest.mark.remuda_rule("SI-44", "RSV-9")
def test_an_allocation_reported_on_a_reserved_node_ends_that_reservation() -> None:
    crowd = Crowd()
    crowd.full(n1=4, n2=5)
    crowd.ask("app", "big", BIG, 2)
    crowd.run(LATE)
    assert crowd.request("big").reservations == ("n2", "n1")
    crowd.existing("app", "mine", "n1", BIG, key="big")
    crowd.run()
    assert crowd.held() == {"n2": ["app|big"]}


@pytest.mark.remuda_rule("SI-33", "CYC-20", "RSV-9")
@pytest.mark.parametrize("sizes", [(9,), (9, 8), (10, 9), (9, 10)])
def test_an_ask_that_outgrows_the_room_waits(crowd: Crowd, sizes: tuple[int, ...]) -> None:
    crowd.clear("n1")
    crowd.existing("old", "less", "n1", {"vcore": 2})  # room for 8, before anybody decides
    for size in sizes:
        crowd.ask("app", "big", {"vcore": size})
    found = crowd.run()
    assert not crowd.scheduler.has_work()
    assert went(found) == ([("big-0", "n1")] if sizes[-1] == 8 else [])
    assert crowd.held() == ({} if sizes[-1] == 8 else {"n1": ["app|big"]})
    crowd.release("old", "less")
    assert len(crowd.apps()["app"].allocations) + len(went(crowd.run())) >= 1


@pytest.mark.remuda_rule("SI-44", "RSV-9", "CYC-15")
@pytest.mark.parametrize("reported, left", [("n1", ["n2"]), ("n2", ["n1"]), ("n5", ["n1"])])
def test_with_each_report_one_reservation_goes(reported: str, left: list[str]) -> None:
    """That on the reported node, else the oldest; what is still wanted may reserve again."""
    crowd = Crowd()
    crowd.full(n1=4, n2=5)
    crowd.node("n5", {"vcore": 7}, c.CREATE_DRAIN)
    crowd.ask("app", "big", BIG, 5)
    crowd.run(LATE)
    assert crowd.request("big").reservations == ("n2", "n1")
    found = crowd.existing("app", "mine", reported, BIG, key="big")
    assert len(reserved(found)) == 1
    assert list(crowd.held()) == left
    assert crowd.request("big").pending_count == 4
    assert sum(sign == "+" for sign, _, _ in reserved(crowd.run())) == 1
    assert sorted(crowd.held()) == ["n1", "n2"]
