"""The museum of the reference's defects: reservations that block nodes, or choose a bad one."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import MINUTE, SECOND, Caller, leaf, of
from tests.unit.core.preemption.arena import ONE, cores, full
from tests.unit.core.rules.crowd import LATE, Crowd

BIG = {"vcore": 8}


def reserving(key: str = "big") -> Crowd:
    """Node n1 has 4 of 10 cores free, and an ask for 8 cores has reserved it."""
    crowd = Crowd()
    crowd.full(n1=4)
    crowd.ask("app", key, BIG)
    crowd.run(LATE)
    assert crowd.held() == {"n1": [f"app|{key}"]}
    return crowd


def placed(crowd: Crowd, after_ns: int = 0) -> list[tuple[str, str]]:
    """What goes where next."""
    return [(new.allocation_id, new.node_id) for new in of(crowd.run(after_ns), e.AllocationNew)]


@pytest.mark.remuda_rule("RSV-1")
def test_ask_1_reserves_although_ask_11_did() -> None:
    """1.5.1 compares the ends of keys: ask 1 finds the reservation of 11, and gets none itself.

    remuda compares whole keys.
    """
    crowd = reserving("11")
    crowd.full(n2=4)
    crowd.ask("app", "1", BIG)
    crowd.run()
    crowd.run(LATE)
    assert crowd.held() == {"n1": ["app|11"], "n2": ["app|1"]}


@pytest.mark.remuda_rule("RSV-4")
def test_the_node_with_the_smallest_gap_is_reserved() -> None:
    """The reference swaps two arguments, so it reserves full nodes first.

    remuda reserves the node that lacks least.
    """
    door = Caller(leaf("a"))
    door.node("spare", {"vcore": 100, "memory": 100}, c.CREATE_DRAIN)
    door.app("app")
    for node_id, used in (("full", {"vcore": 9, "memory": 200}), ("near", {"vcore": 3})):
        door.node(node_id, {"vcore": 10, "memory": 200})
        door.existing("app", node_id, node_id, used)
    door.ask("app", "big", {"vcore": 8, "memory": 10})
    door.step()
    door.now += LATE
    door.step()
    held = {name: node.reservations for name, node in door.node_views().items()}
    assert held == {"full": (), "near": (("app", "big"),), "spare": ()}


@pytest.mark.remuda_rule("CYC-22", "NODE-11")
def test_a_reserved_node_that_is_drained_takes_nothing() -> None:
    """1.5.1 places the ask on its reserved node although the node drains.

    In remuda, the reservation stays, and the ask waits or goes elsewhere.
    """
    crowd = reserving()
    crowd.node("n1", action=c.DRAIN_NODE)
    crowd.clear("n1")
    assert placed(crowd) == []
    crowd.node("n2", {"vcore": 8})
    assert placed(crowd) == [("big-0", "n2")]


@pytest.mark.remuda_rule("NODE-16", "RSV-9")
def test_a_node_that_became_too_small_is_open_to_others() -> None:
    """Up to 1.7 the reservation of an ask that can never fit stays, and nobody can use the node.

    remuda cancels it.
    """
    crowd = reserving()
    crowd.node("n1", {"vcore": 7}, c.UPDATE)
    crowd.ask("app", "small", ONE)
    assert placed(crowd) == [("small-0", "n1")]
    assert crowd.held() == {}


@pytest.mark.remuda_rule("RSV-10")
def test_a_reservation_does_not_block_its_node_for_ever() -> None:
    """Up to 1.7 a large ask of low priority holds a node without end (YUNIKORN-3092).

    In remuda, an ask that may preempt takes the node over after an hour.
    """
    arena = full(2)
    arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.ask("b", "large", cores(2), priority=-1)
    arena.after(LATE)
    assert arena.reserved() == [("n1", "large")]
    arena.wants("a", "k", ONE)
    assert arena.after(59 * MINUTE) == []
    assert arena.after(2 * MINUTE) == ["v1"]
    assert arena.confirm("v1") == [("k-0", "n1")]


@pytest.mark.remuda_rule("CYC-7")
def test_an_ask_behind_one_that_reserves_does_not_wait() -> None:
    """1.5.1 ends its cycle with a reservation, and an idle scheduler looks again after 100 ms.

    remuda goes on with the next ask in the same step.
    """
    crowd = Crowd()
    crowd.full(n1=4, n2=2)
    crowd.ask("app", "big", BIG, priority=9)
    crowd.run()
    crowd.now += LATE
    crowd.ask("app", "small", ONE)
    effects = crowd.step()
    assert crowd.held() == {"n1": ["app|big"]}
    assert [new.allocation_id for new in of(effects, e.AllocationNew)] == ["small-0"]


@pytest.mark.remuda_rule("QUE-24")
def test_a_cancelled_reservation_gives_the_place_of_its_application_back() -> None:
    """In 1.5.1 an application that only had a reservation keeps its place in the queue's limit.

    remuda frees the place with the reservation.
    """
    crowd = Crowd(leaf("a", max_applications=1))
    crowd.full(n1=4)
    crowd.ask("app", "big", BIG)
    crowd.run(LATE)
    crowd.app("next")
    crowd.ask("next", "small", ONE)
    crowd.release_ask("app", "big")
    assert placed(crowd, SECOND) == [("small-0", "n1")]
