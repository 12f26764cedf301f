"""The self-audit finds each planted fault in one round, and none where there is none.

The worlds and corruptions are those of the tests of the complete check. The audit covers amounts,
counts and lists of objects, not the orders and queues of asks, which only that check knows.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.base.errors import InvariantViolation
from remuda.core.messages.self_audit import PARTS, Violation
from remuda.core.messages.self_audit import QUEUES as QUEUE_PART
from remuda.core.scheduler import Scheduler
from remuda.core.views.self_audit import comparison
from tests.audited import slices, violations
from tests.long_runs import usual
from tests.package import replaces_functions
from tests.property import test_corrupted_gangs as gangs
from tests.property import test_corrupted_quotas as quotas
from tests.property import test_corruption as plain
from tests.property.test_corruption import CORRUPTIONS, more
from tests.reference.driver import Comparison, answer
from tests.reference.workloads import record
from tests.unit.core.rules.crowd import LATE, Crowd

# What the audit has to find, with the value that it names; by the names of the other tests.
FOUND = {
    "application allocated": "allocated",
    "application pending": "pending",
    "node allocated": "allocated",
    "node available": "available",
    "leaf allocated": "allocated",
    "leaf pending": "pending",
    "parent allocated": "allocated",
    "parent pending": "pending",
    "root allocated": "allocated",
    "root pending": "pending",
    "user allocated": "allocated in root.c",
    "group allocated": "allocated in root.c",
    "capacity": "capacity",
    "forget allocation": "listed allocations",
    "forget allocation of node": "allocations on nodes",
    "resize on node only": "allocation kb-1",
    "forget foreign of node": "occupied",
    "occupy more": "occupied",
    "forget node": "capacity",
    "leave queue": "queue",
    "change pending count": "wanted",
    "go below zero": "wanted",
    "count allocation twice": "allocations of the partition",
    "count runner twice": "running applications",
    "forget identity": "listed allocations",
    "do not count": "counted",
    "count a member twice": "running in root.c",
    "lose limit set": "limit set",
    "miscount limit set": "applications in root.c",
}

FOUND_IN_GANGS = {
    "a placeholder is forgotten": "placeholders",
    "usage of placeholders": "allocated to placeholders",
    "placeholders asked for": "pending placeholders",
    "placeholders of the partition": "placeholders of the partition",
    "a link is cut": "allocation move-0",
    "the target is not charged": "allocated on all nodes",
    "an application counted early is not counted": "early applications",
    "a gang waits though it fits": "allocated",
}


def whats(found: list[Violation]) -> list[str]:
    """The values that are wrong."""
    return [each.what for each in found]


@pytest.mark.remuda_rule("HLT-21")
@pytest.mark.parametrize("what", FOUND)
def test_a_wrong_value_is_found_in_one_round(what: str) -> None:
    world = plain.World()
    assert violations(world.door.scheduler) == []
    CORRUPTIONS[what](world)
    assert FOUND[what] in whats(violations(world.door.scheduler))


@pytest.mark.remuda_rule("HLT-21", "GANG-7")
@pytest.mark.parametrize("what", FOUND_IN_GANGS)
def test_a_wrong_value_of_a_gang_is_found_in_one_round(what: str) -> None:
    world = gangs.World()
    assert violations(world.door.scheduler) == []
    gangs.CORRUPTIONS[what](world)
    assert FOUND_IN_GANGS[what] in whats(violations(world.door.scheduler))


def _lose_a_victim(world: quotas.World) -> None:
    next(iter(world.run.victims.values())).confirmed = True


def _miscount_victims_above(world: quotas.World) -> None:
    more(world.queue("root.p").preempting)


def _miscount_victims_of_leaf(world: quotas.World) -> None:
    more(world.queue("root.p.a").preempting)


@pytest.mark.remuda_rule("HLT-21", "PRE-34")
@pytest.mark.parametrize(
    "corrupt, what",
    [
        (_lose_a_victim, "preempting"),
        (_miscount_victims_above, "preempting"),
        (_miscount_victims_of_leaf, "preempting"),
    ],
)
def test_a_wrong_sum_of_victims_is_found_in_one_round(
    corrupt: Callable[[quotas.World], None], what: str
) -> None:
    world = quotas.World()
    assert violations(world.door.scheduler) == []
    corrupt(world)
    assert what in whats(violations(world.door.scheduler))


class Reserved:
    """A node of which 4 of 10 cores are free, reserved for an ask for 8."""

    def __init__(self) -> None:
        self.crowd = Crowd()
        self.crowd.full(n1=4)
        self.crowd.ask("app", "big", {"vcore": 8})
        self.crowd.run(LATE)
        (self.partition,) = self.scheduler._cluster.partitions()
        (self.reservation,) = self.partition.reserving.reservations.values()
        assert violations(self.scheduler) == []

    @property
    def scheduler(self) -> Scheduler:
        return self.crowd.scheduler


def _forget(reserved: Reserved) -> None:
    reserved.partition.reserving.reservations.clear()


def _forget_at_node(reserved: Reserved) -> None:
    reserved.reservation.node.reservations.clear()


def _forget_at_ask(reserved: Reserved) -> None:
    reserved.reservation.request.reservations.clear()


def _forget_at_application(reserved: Reserved) -> None:
    reserved.reservation.request.application.reservations.clear()


def _open_node(reserved: Reserved) -> None:
    reserved.reservation.node.held = False


def _share_node(reserved: Reserved) -> None:
    reserved.reservation.node.reservations[0] = reserved.reservation


@pytest.mark.remuda_rule("HLT-21", "RSV-1", "RSV-6")
@pytest.mark.parametrize(
    "corrupt", [_forget, _forget_at_node, _forget_at_ask, _forget_at_application, _share_node]
)
def test_a_reservation_that_is_not_listed_everywhere_is_found(
    corrupt: Callable[[Reserved], None],
) -> None:
    reserved = Reserved()
    corrupt(reserved)
    found = whats(violations(reserved.scheduler))
    assert any("reservation" in each for each in found)


@pytest.mark.remuda_rule("HLT-21", "RSV-7")
def test_a_node_that_a_reservation_does_not_close_is_found() -> None:
    reserved = Reserved()
    _open_node(reserved)
    assert whats(violations(reserved.scheduler)) == ["held"]


@pytest.mark.remuda_rule("HLT-21", "QUE-1")
def test_a_queue_that_its_path_does_not_lead_to_is_found() -> None:
    world = plain.World()
    tree = world.queue("root.p").children
    tree["a"].parent = world.queue("root.c")
    assert whats(violations(world.door.scheduler)) == ["parent"]
    tree["a"].parent = world.queue("root.p")
    tree["a"], tree["b"] = tree["b"], tree["a"]
    assert "path" in whats(violations(world.door.scheduler))


@pytest.mark.remuda_rule("HLT-21")
def test_a_message_has_the_value_and_what_it_should_be() -> None:
    world = plain.World()
    more(world.queue("root.p.a").pending)
    leaf, parent = violations(world.door.scheduler)
    assert (leaf.name, parent.name) == ("root.p", "root.p.a")
    assert parent.text == "pending: vcore is 3, not 2"


# ------------------------------------------------------------------------- no false alarms

SEEDS = usual(range(72))


@pytest.mark.remuda_rule("HLT-21", "HLT-18")
@pytest.mark.parametrize("first", range(0, len(SEEDS), 8))
def test_no_round_finds_a_fault_in_any_history(first: int) -> None:
    for seed in SEEDS[first : first + 8]:
        run = record(seed, moody=bool(seed % 2))
        played = Comparison(run)
        for number, given in enumerate(run.inputs):
            if number in run.moods:
                played.taste.change(*run.moods[number])
            answer(played.scheduler, given)
            assert violations(played.scheduler) == [], f"seed {seed}, input {number}"


@replaces_functions
@pytest.mark.remuda_rule("HLT-21", "HLT-18")
@pytest.mark.parametrize("per_input", [1, 5])
def test_no_slice_finds_a_fault_while_everything_changes_between_two(
    per_input: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "LOOKS", 12)
    looked = dict.fromkeys(PARTS, 0)
    for seed in SEEDS:
        run = record(seed, moody=bool(seed % 2))
        played = Comparison(run)
        following = slices(played.scheduler)
        for number, given in enumerate(run.inputs):
            if number in run.moods:
                played.taste.change(*run.moods[number])
            answer(played.scheduler, given)
            for _ in range(per_input):
                part, view = next(following, ("", None))
                if view is None:
                    following = slices(played.scheduler)
                    continue
                looked[part] += 1
                assert view.violations == (), f"seed {seed}, input {number}"
    assert min(looked.values()) > 0
    assert looked[QUEUE_PART] > 20


@replaces_functions
@pytest.mark.remuda_rule("HLT-21")
@pytest.mark.parametrize("what", FOUND)
def test_slices_of_any_size_find_the_same(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = plain.World()
    CORRUPTIONS[what](world)
    whole = violations(world.door.scheduler)
    monkeypatch.setattr(comparison, "LOOKS", 1)
    assert sorted_by_text(violations(world.door.scheduler)) == sorted_by_text(whole)
    assert count(world.door.scheduler) > 2 * len(PARTS)


def sorted_by_text(found: list[Violation]) -> list[tuple[str, str]]:
    """Violations in an order that does not depend on slices."""
    return sorted((each.name, each.text) for each in found)


def count(scheduler: Scheduler) -> int:
    """How many slices a round has."""
    return sum(1 for _ in slices(scheduler))


@pytest.mark.remuda_rule("HLT-21")
def test_the_worlds_are_wrong_for_the_complete_check_too() -> None:
    for what in FOUND:
        world = plain.World()
        CORRUPTIONS[what](world)
        with pytest.raises(InvariantViolation):
            world.door.scheduler.check()
