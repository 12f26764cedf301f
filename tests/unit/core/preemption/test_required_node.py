"""Room for asks that may run on just one node (chapter 60 part B)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.events import REQUEST
from tests.unit.core.door import MINUTE, REQUIRED_NODE, SECOND, leaf, of
from tests.unit.core.preemption.arena import DISABLED, FENCED, ONE, PAUSE, Arena, cores

SELF = {"allow_preempt_self": False}
DOES_NOT_HELP = "No fit on required node, preemption does not help"


def host(size: Mapping[str, int], parity: bool = False) -> Arena:
    """Node n1 of this size, and room elsewhere that nobody gets; leaves ``a`` and ``b``."""
    arena = Arena(leaf("a"), leaf("b"), nodes={"n1": size}, parity=parity)
    arena.node("spare", {"vcore": 1000, "memory": 1000, "gpu": 100}, c.CREATE_DRAIN)
    arena.apps_in(a="a", b="b")
    return arena


@pytest.mark.remuda_rule("PRE-40", "CYC-20", "PRE-47", "PRE-44")
@pytest.mark.parametrize("parity", [False, True])
def test_a_daemon_gets_its_room_without_delay_or_guarantee(parity: bool) -> None:
    arena = host(cores(2), parity)
    arena.runs("b", "n1", cores(2), "v", **SELF)
    arena.requires("a", "daemon", "n1", ONE)
    effects = arena.step()
    (order,) = of(effects, e.AllocationsReleased)
    text = "preempting allocations to free up resources to run daemon set ask: daemon"
    assert [(g.allocation_id, g.termination_type, g.message) for g in order.released] == [
        ("v", c.PREEMPTED_BY_SCHEDULER, text)
    ]
    assert arena.reserved() == [("n1", "daemon")]
    assert arena.preempting("root.b") == cores(2)
    assert arena.confirm("v") == [("daemon-0", "n1")]
    assert arena.reserved() == []
    assert [(r.kind, r.outcome) for r in arena.records()] == [("required node", "placed")]


@pytest.mark.remuda_rule("PRE-40")
def test_neither_policies_nor_guarantees_nor_the_own_queue_protect_from_a_daemon() -> None:
    queues = (
        leaf("a", properties=FENCED),
        leaf("b", guaranteed=cores(9), properties=DISABLED),
    )
    arena = Arena(*queues, nodes={"n1": cores(2)})
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", ONE, "v", **SELF)
    arena.runs("a", "n1", ONE, "own")
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.ordered() == ["own", "v"]


@pytest.mark.remuda_rule("PRE-40", "CYC-20")
def test_a_daemon_without_headroom_takes_nothing() -> None:
    arena = Arena(leaf("a", cores(1)), leaf("b"), nodes={"n1": cores(2)})
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(2), "v")
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-41", "PRE-13")
@pytest.mark.parametrize(
    "fields, taken",
    [
        ({}, True),
        ({"priority": 5}, True),
        ({"priority": 6}, False),
        ({"tags": {REQUIRED_NODE: "n1"}}, False),
    ],
)
def test_who_may_go_for_a_daemon(fields: dict[str, Any], taken: bool) -> None:
    arena = host(ONE)
    arena.runs("b", "n1", ONE, "v", **fields)
    arena.requires("a", "daemon", "n1", ONE, priority=5)
    assert arena.after(MINUTE) == ["v"] * taken


@pytest.mark.remuda_rule("PRE-41")
def test_raw_priorities_count_for_a_daemon() -> None:
    queues = leaf("a", properties={"priority.offset": "100"}), leaf("b")
    arena = Arena(*queues, nodes={"n1": ONE})
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", ONE, "v", priority=6)
    arena.requires("a", "daemon", "n1", ONE, priority=5)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-41")
def test_what_others_run_or_what_shares_no_type_stays() -> None:
    arena = host(cores(2, memory=5))
    reported = c.ExistingAllocation(c.Ask("", "other", ONE, tags={"foreign": "default"}), "", "n1")
    arena.send(c.UpdateAllocations(arena.rm, allocations=(reported,)))
    arena.runs("b", "n1", {"memory": 5}, "memory")
    arena.runs("b", "n1", ONE, "v", age=100)
    arena.requires("a", "daemon", "n1", ONE)
    assert arena.ordered() == ["v"]


# Name -> priority, age, size, further fields. The example of PRE-42.
EXAMPLE: dict[str, tuple[int, int, int, dict[str, bool]]] = {
    "ask1": (10, 10, 10, {}),
    "ask2": (10, 20, 8, {}),
    "ask3": (15, 20, 10, {}),
    "ask4": (10, 20, 5, {}),
    "ask5": (5, 20, 10, {}),
    "ask6": (10, 10, 10, SELF),
    "ask7": (10, 20, 10, SELF),
    "ask8": (15, 20, 10, SELF),
    "ask9": (10, 20, 10, {"originator": True}),
    "ask10": (5, 20, 10, {"originator": True, **SELF}),
}
EXPECTED = ["ask5", "ask1", "ask4", "ask2", "ask3", "ask6", "ask7", "ask8", "ask10", "ask9"]


@pytest.mark.remuda_rule("PRE-42")
@pytest.mark.parametrize("parity", [False, True])
def test_the_order_of_the_worked_example(parity: bool) -> None:
    total = sum(size for _, _, size, _ in EXAMPLE.values())
    arena = host(cores(total), parity)
    for name, (priority, age, size, fields) in EXAMPLE.items():
        arena.runs("b", "n1", cores(size), name, priority=priority, age=age, **fields)
    arena.requires("a", "daemon", "n1", cores(total), priority=20)
    assert arena.ordered() == EXPECTED


@pytest.mark.remuda_rule("PRE-42")
def test_identical_allocations_go_by_key() -> None:
    # Edge case 40.
    arena = host(cores(3))
    arena.runs("b", "n1", ONE, "y", "z", "x", age=5)
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.ordered() == ["x", "y"]


@pytest.mark.remuda_rule("PRE-42")
def test_identical_allocations_of_two_applications_go_by_application_first() -> None:
    arena = host(cores(3))
    arena.apps_in(late="b", early="b")
    arena.runs("late", "n1", ONE, "a", age=5)
    arena.runs("early", "n1", ONE, "y", "z", age=5)
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.ordered() == ["y", "z"]


@pytest.mark.remuda_rule("PRE-42")
def test_of_sizes_that_cannot_be_compared_the_smaller_share_of_the_node_goes() -> None:
    arena = host(cores(10, memory=10))
    arena.runs("b", "n1", cores(3, memory=8), "a-large", age=5)
    arena.runs("b", "n1", cores(7, memory=2), "b-small", age=5)
    arena.requires("a", "daemon", "n1", ONE)
    assert arena.ordered() == ["b-small"]


@pytest.mark.remuda_rule("PRE-43")
@pytest.mark.parametrize("parity", [False, True])
def test_room_that_is_free_counts(parity: bool) -> None:
    # Edge case 39: node 20, available 8, ask 10, victims of 2.
    arena = host(cores(20), parity)
    arena.runs("b", "n1", cores(2), *(f"v{number}" for number in range(6)), age=5)
    arena.requires("a", "daemon", "n1", cores(10))
    assert arena.ordered() == ["v0"]


@pytest.mark.remuda_rule("PRE-43")
def test_a_type_of_which_enough_is_free_asks_for_nobody() -> None:
    arena = host(cores(4, gpu=1))
    arena.runs("b", "n1", cores(2), "v", "w", age=5)
    arena.requires("a", "daemon", "n1", cores(1, gpu=1))
    assert arena.ordered() == ["v"]


@pytest.mark.remuda_rule("PRE-43")
def test_victims_that_turn_out_unnecessary_stay() -> None:
    arena = host(cores(5, memory=5))
    arena.runs("b", "n1", cores(1), "first", priority=1)
    arena.runs("b", "n1", {"memory": 5, "vcore": 4}, "second", priority=2)
    arena.requires("a", "daemon", "n1", cores(3, memory=1), priority=9)
    assert arena.ordered() == ["second"]


@pytest.mark.remuda_rule("PRE-41", "PRE-43")
def test_a_large_allocation_of_higher_priority_stays() -> None:
    # Edge case 41.
    arena = host(cores(10))
    arena.runs("b", "n1", cores(7), "large", priority=9)
    arena.runs("b", "n1", ONE, "v1", "v2", "v3", priority=1, age=5)
    arena.requires("a", "daemon", "n1", cores(2), priority=5)
    assert arena.ordered() == ["v1", "v2"]
    arena.confirm("v1", "v2")
    arena.requires("a", "more", "n1", cores(4), priority=5)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-45", "EVT-46", "PRE-58")
def test_a_daemon_without_victims_waits_and_says_so() -> None:
    # Edge case 42: no victim, then one appears.
    arena = host(cores(2))
    arena.runs("b", "n1", cores(2), "high", priority=9)
    arena.requires("a", "daemon", "n1", ONE)
    effects = arena.step()
    text = "Unschedulable request 'daemon' with required node 'n1', no preemption victim found"
    told = [r for r in of(effects, e.EventRecord) if r.kind == REQUEST and r.message == text]
    assert [(r.object_id, r.reference_id) for r in told] == [("daemon", "a")]
    assert DOES_NOT_HELP in arena.log("a", "daemon")
    assert arena.reserved() == [("n1", "daemon")]
    arena.now += SECOND
    arena.release("b", "high")
    arena.runs("b", "n1", cores(2), "low", priority=0)
    assert arena.ordered() == ["low"]


@pytest.mark.remuda_rule("PRE-40", "PRE-45", "PRE-90")
def test_a_daemon_whose_node_has_nobody_of_ours_waits_until_the_node_changes() -> None:
    arena = host(cores(2))
    foreign = c.Ask("", "others", ONE, tags={"foreign": "static"})
    reported = c.ExistingAllocation(foreign, "others", "n1")
    arena.send(c.UpdateAllocations(arena.rm, allocations=(reported,)))
    arena.requires("a", "daemon", "n1", cores(2))
    told = [r.message for r in of(arena.step(20), e.EventRecord) if r.object_id == "daemon"]
    assert sum("no preemption victim found" in message for message in told) == 1
    assert not arena.scheduler.has_work()
    assert arena.log("a", "daemon") == [DOES_NOT_HELP]
    release = c.AllocationRelease("", "others", "others")
    arena.send(c.UpdateAllocations(arena.rm, releases=(release,)))
    assert arena.placed() == [("daemon-0", "n1")]


@pytest.mark.remuda_rule("EVT-46", "PRE-45")
def test_that_there_is_no_victim_is_told_once_in_a_while() -> None:
    arena = host(cores(2))
    arena.runs("b", "n1", cores(2), "high", priority=9)
    arena.requires("a", "daemon", "n1", ONE)
    effects = arena.step()
    for _ in range(5):
        arena.now += SECOND
        # The node changes each time, so it is tried again.
        arena.node("n1", {"vcore": 2, "memory": arena.now // SECOND % 100}, c.UPDATE)
        effects += arena.step()
    arena.now += PAUSE
    arena.node("n1", {"vcore": 2, "memory": 1000}, c.UPDATE)
    later = arena.step()

    def told(found: list[e.Effect]) -> int:
        records = of(found, e.EventRecord)
        return sum(r.message.startswith("Unschedulable request 'daemon'") for r in records)

    assert (told(effects), told(later)) == (1, 1)


@pytest.mark.remuda_rule("PRE-46", "RSV-12")
def test_two_daemons_on_one_node_take_room_for_both() -> None:
    # Edge case 43.
    arena = host(cores(4))
    arena.runs("b", "n1", ONE, "v1", "v2", "v3", "v4", age=5)
    arena.requires("a", "d1", "n1", ONE)
    arena.requires("b", "d2", "n1", cores(2))
    taken = arena.ordered()
    assert sorted(taken) == ["v1", "v2", "v3"]
    placed = arena.confirm(*taken)
    assert sorted(placed) == [("d1-0", "n1"), ("d2-0", "n1")]


@pytest.mark.remuda_rule("PRE-46")
def test_room_that_victims_left_for_a_daemon_is_closed_to_others() -> None:
    arena = host(cores(2))
    arena.runs("b", "n1", ONE, "v", "w", age=5)
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.ordered() == ["v", "w"]
    arena.ask("b", "back", ONE, priority=99)
    assert arena.confirm("v") == []
    assert arena.confirm("w") == [("daemon-0", "n1")]


@pytest.mark.remuda_rule("PRE-48")
def test_victims_of_a_daemon_that_is_gone_stay_victims() -> None:
    arena = host(cores(2))
    arena.runs("b", "n1", cores(2), "v")
    arena.requires("a", "daemon", "n1", ONE)
    assert arena.ordered() == ["v"]
    arena.release_ask("a", "daemon")
    assert arena.preempting("root.b") == cores(2)
    arena.requires("a", "next", "n1", ONE)
    assert arena.after(MINUTE) == []
    assert arena.confirm("v") == [("next-0", "n1")]


@pytest.mark.remuda_rule("PRE-49", "PRE-6")
def test_a_daemon_whose_reservation_was_lost_takes_room_again() -> None:
    arena = host(cores(2))
    arena.runs("b", "n1", cores(2), "v")
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.ordered() == ["v"]
    arena.node("n1", action=c.DECOMISSION)
    arena.node("n1", cores(2))
    arena.runs("b", "n1", cores(2), "again")
    assert [*arena.ordered(), *arena.after(PAUSE)] == ["again"]
    assert arena.confirm("again") == [("daemon-0", "n1")]
    assert [record.outcome for record in arena.records()] == ["lost", "placed"]


@pytest.mark.remuda_rule("PRE-40", "PRE-89")
def test_a_daemon_that_has_chosen_takes_no_more() -> None:
    arena = host(cores(4))
    arena.runs("b", "n1", cores(2), "v", "w", age=5)
    arena.requires("a", "daemon", "n1", ONE)
    assert arena.ordered() == ["v"]
    for _ in range(3):
        assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-40", "CYC-22")
def test_a_daemon_takes_room_on_a_node_that_drains() -> None:
    arena = host(cores(2))
    arena.runs("b", "n1", cores(2), "v")
    arena.node("n1", action=c.DRAIN_NODE)
    arena.requires("a", "daemon", "n1", ONE)
    assert arena.ordered() == ["v"]
    assert arena.confirm("v") == [("daemon-0", "n1")]


@pytest.mark.remuda_rule("PRE-42")
def test_a_type_that_the_node_does_not_have_makes_no_share_of_it() -> None:
    """Both were reported with a device that the node does not have; the smaller share goes."""
    arena = host(cores(6))
    arena.runs("b", "n1", {"vcore": 4, "gpu": 9}, "large")
    arena.runs("b", "n1", {"vcore": 2, "gpu": 1}, "small")
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.ordered() == ["small"]
