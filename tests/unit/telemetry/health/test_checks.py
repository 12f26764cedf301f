"""Each check finds the fault it is for, and says so in the words of chapter 97."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.measures import TotalsQuery, TotalsView
from remuda.telemetry.health.findings import NAMED, listed, quoted
from tests.unit.core.door import Caller, existing_allocation, partition
from tests.unit.core.rules.gang import moving
from tests.unit.telemetry.health.ward import CORES, NAMES, Ward, ward

K0 = "applicationID=app, allocationID=k-0, allocationKey=k, Node=n1, result=Allocated"

# What a sound scheduler with one partition of two nodes says: description and diagnosis (chapter
# 97); that of number 5 is ours (HLT-15).
SOUND = (
    (
        "Check for scheduling error entries in metrics",
        "There were 0 scheduling errors logged in the metrics",
    ),
    (
        "Check for failed nodes entries in metrics",
        "There were 0 failed nodes logged in the metrics",
    ),
    (
        "Check for negative resources in the partitions",
        "Partitions with negative resources: []",
    ),
    ("Check for negative resources in the nodes", "Nodes with negative resources: []"),
    (
        (
            "Check if total allocated resource == sum of the allocated resources of the nodes from"
            " the partition"
        ),
        "Partitions with inconsistent data: []",
    ),
    (
        "Check if total partition resource == sum of the node resources from the partition",
        "Partitions with inconsistent data: []",
    ),
    (
        (
            "Check if node total resource = allocated resource + occupied resource + available"
            " resource"
        ),
        "Nodes with inconsistent data: []",
    ),
    (
        "Check if node capacity >= allocated resources on the node",
        "Nodes with inconsistent data: []",
    ),
    (
        "Check the reservation nr compared to the number of nodes",
        "Reservation/node nr ratio: [0.000000]",
    ),
    ("Check if there are orphan allocations on the nodes", "Orphan allocations: []"),
    ("Check if there are orphan allocations on the applications", "OrphanAllocations: []"),
)


@pytest.mark.remuda_rule("HLT-1", "HLT-15", "HLT-20")
def test_a_sound_scheduler_has_eleven_entries_in_their_order() -> None:
    health = ward().run()
    assert health.healthy
    assert [each.name for each in health.findings] == list(NAMES)
    assert [(each.description, each.diagnosis) for each in health.findings] == list(SOUND)


@pytest.mark.remuda_rule("HLT-1", "HLT-12")
def test_before_any_registration_everything_succeeds() -> None:
    found = ward()
    found.caller.send(c.UnregisterResourceManager("rm"))
    assert found.failed() == []
    assert found.diagnosis(9) == "Reservation/node nr ratio: []"


@pytest.mark.remuda_rule("HLT-4", "HLT-17")
def test_an_allocation_that_cannot_be_restored_fails_the_first_check_once() -> None:
    found = ward()
    reported = [existing_allocation("nobody", x, "n1", {"vcore": 1}) for x in ("x-0", "y-0")]
    found.caller.send(c.UpdateAllocations("rm", allocations=tuple(reported)))
    assert found.failed() == [1]
    assert found.diagnosis(1) == "There were 2 scheduling errors logged in the metrics"
    assert found.failed() == []
    assert found.diagnosis(1) == "There were 2 scheduling errors logged in the metrics"


@pytest.mark.remuda_rule("HLT-5", "HLT-17")
def test_a_node_of_an_unknown_partition_fails_the_second_check_once() -> None:
    found = ward()
    found.caller.node("lost", CORES, home="nowhere")
    assert found.failed() == [2]
    assert found.diagnosis(2) == "There were 1 failed nodes logged in the metrics"
    assert found.failed() == []


@pytest.mark.remuda_rule("HLT-5", "HLT-4")
def test_a_node_with_something_nobody_knows_fails_both() -> None:
    found = ward()
    alien = existing_allocation("nobody", "x-0", "n3", {"vcore": 1})
    found.caller.node("n3", CORES, existing=(alien,))
    assert found.failed() == [1, 2]


@pytest.mark.remuda_rule("HLT-5")
def test_a_node_that_is_refused_for_itself_is_no_failed_node() -> None:
    found = ward()
    found.caller.node("n1", CORES)  # it exists
    found.caller.node("n4", {"vcore": -1})
    found.caller.node("n5", action=c.DRAIN_NODE)  # unknown
    found.caller.node("", CORES)
    assert found.failed() == []
    assert found.diagnosis(2) == "There were 0 failed nodes logged in the metrics"


@pytest.mark.remuda_rule("HLT-4", "HLT-5")
def test_the_first_two_checks_tell_what_the_metrics_count() -> None:
    found = ward()
    alien = existing_allocation("nobody", "x-0", "n3", {"vcore": 1})
    found.caller.node("n3", CORES, existing=(alien,))
    found.caller.node("lost", CORES, home="nowhere")
    found.caller.node("lost", action=c.DRAIN_NODE, home="nowhere")  # none that failed to come
    totals = found.caller.scheduler.view(TotalsQuery())
    assert isinstance(totals, TotalsView)
    assert (totals.errors, totals.bad_nodes) == (1, 2)
    found.run()
    assert found.diagnosis(1) == "There were 1 scheduling errors logged in the metrics"
    assert found.diagnosis(2) == "There were 2 failed nodes logged in the metrics"


@pytest.mark.remuda_rule("HLT-6", "HLT-16")
def test_a_partition_with_something_negative() -> None:
    found = ward()
    found.partition().root.allocated.amounts[0] = -1
    assert found.failed() == [3, 5]  # no node is negative, so the sums differ, too
    assert found.diagnosis(3) == 'Partitions with negative resources: ["[rm]default"]'


@pytest.mark.remuda_rule("HLT-6")
def test_a_partition_with_a_negative_total() -> None:
    found = ward()
    found.partition().pool.capacity.amounts[0] = -20
    assert found.failed() == [3, 6]


@pytest.mark.remuda_rule("HLT-7", "HLT-16")
def test_a_node_with_something_negative_is_named_once_for_each_kind() -> None:
    found = ward()
    found.caller.node("n2", occupied={"vcore": 11}, action=c.UPDATE)
    assert found.failed() == [4]
    assert found.diagnosis(4) == 'Nodes with negative resources: ["n2"]'
    node = found.node("n1")
    node.available.amounts[0], node.occupied.amounts = -1, [-2]
    node.allocated.amounts[0] = 13
    assert found.failed() == [4, 5, 8]
    assert found.diagnosis(4) == 'Nodes with negative resources: ["n1" "n1" "n2"]'


@pytest.mark.remuda_rule("HLT-8")
def test_usage_of_root_that_is_not_the_one_of_the_nodes() -> None:
    found = ward()
    found.partition().root.allocated.amounts[0] += 1
    assert found.failed() == [5]
    assert found.diagnosis(5) == 'Partitions with inconsistent data: ["[rm]default"]'


@pytest.mark.remuda_rule("HLT-9")
def test_a_total_that_is_not_the_one_of_the_nodes() -> None:
    found = ward()
    found.partition().pool.capacity.amounts[0] += 1
    assert found.failed() == [6]
    assert found.diagnosis(6) == 'Partitions with inconsistent data: ["[rm]default"]'


@pytest.mark.remuda_rule("HLT-9")
def test_no_total_equals_nodes_without_anything() -> None:
    found = Ward(Caller())
    assert found.failed() == []
    found.caller.node("n1", {"vcore": 0})
    assert found.failed() == []
    found.caller.node("n1", action=c.DECOMISSION)
    assert found.failed() == []


@pytest.mark.remuda_rule("HLT-10")
def test_a_node_that_does_not_add_up() -> None:
    found = ward()
    found.node("n2").available.amounts[0] += 1
    assert found.failed() == [7]
    assert found.diagnosis(7) == 'Nodes with inconsistent data: ["n2"]'


@pytest.mark.remuda_rule("HLT-11", "HLT-19")
def test_an_overcommitted_node_fails_two_checks() -> None:
    found = ward()
    found.caller.node("n1", {"vcore": 2}, action=c.UPDATE)
    assert found.failed() == [4, 8]
    assert found.diagnosis(4) == 'Nodes with negative resources: ["n1"]'
    assert found.diagnosis(8) == 'Nodes with inconsistent data: ["n1"]'


@pytest.mark.remuda_rule("HLT-11")
def test_a_type_that_a_node_does_not_have_must_not_be_allocated() -> None:
    found = ward()
    found.caller.existing("app", "x-0", "n2", {"gpu": 1})
    assert found.failed() == [4, 8]
    assert found.diagnosis(8) == 'Nodes with inconsistent data: ["n2"]'


@pytest.mark.remuda_rule("HLT-19")
def test_drained_and_unready_nodes_are_sound() -> None:
    found = ward()
    found.caller.node("n1", action=c.DRAIN_NODE)
    found.caller.node("n2", action=c.UPDATE, attributes={"ready": "false"})
    assert not found.caller.node_view("n2").ready
    assert found.failed() == []


@pytest.mark.remuda_rule("HLT-12")
def test_reservations_are_compared_with_nodes_and_never_fail() -> None:
    found = ward()
    found.caller.node("n2", occupied={"vcore": 5}, action=c.UPDATE)
    found.caller.ask("app", "large", {"vcore": 8})
    found.caller.step()
    found.caller.now += 3_000_000_000
    found.caller.step()
    assert len(found.partition().reserving.reservations) == 1
    assert found.failed() == []
    assert found.diagnosis(9) == "Reservation/node nr ratio: [0.500000]"


@pytest.mark.remuda_rule("HLT-12", "HLT-16")
def test_ratios_come_partition_by_partition_and_are_no_number_without_nodes() -> None:
    found = Ward(Caller(partitions=(partition(name="default"), partition(name="gpu"))))
    found.caller.node("n1", CORES, home="gpu")
    assert found.failed() == []
    assert found.diagnosis(9) == "Reservation/node nr ratio: [NaN 0.000000]"


def _forget_allocation(found: Ward) -> None:
    del found.application("app").allocations["k-0"]


def _forget_application(found: Ward) -> None:
    del found.partition().applications["app"]


@pytest.mark.remuda_rule("HLT-13", "HLT-16")
@pytest.mark.parametrize("forget", [_forget_allocation, _forget_application])
def test_an_allocation_of_a_node_that_its_application_does_not_have(
    forget: Callable[[Ward], None],
) -> None:
    found = ward()
    forget(found)
    assert found.failed() == [10]
    assert found.diagnosis(10) == f"Orphan allocations: [{K0}]"


@pytest.mark.remuda_rule("HLT-14", "HLT-16")
def test_an_allocation_of_an_application_that_its_node_does_not_have() -> None:
    found = ward()
    found.node("n1").allocations.clear()
    assert found.failed() == [11]
    assert found.diagnosis(11) == f"OrphanAllocations: [{K0}]"


@pytest.mark.remuda_rule("HLT-14")
def test_an_allocation_of_an_application_on_a_node_that_is_unknown() -> None:
    found = ward()
    del found.partition().nodes["n1"]
    assert found.failed() == [5, 6, 11]
    assert found.diagnosis(11) == f"OrphanAllocations: [{K0}]"


@pytest.mark.remuda_rule("HLT-18", "HLT-16")
def test_a_replacement_under_way_on_another_node_is_no_fault() -> None:
    gang = moving()
    assert (gang.on("n1"), gang.on("n2")) == ({"vcore": 1}, {"vcore": 1})
    found = Ward(gang)
    assert found.failed() == []
    gang.confirm("p1-0")
    assert found.failed() == []
    del found.node("n2").allocations[next(iter(found.node("n2").allocations))]
    assert found.failed() == [11]
    assert found.diagnosis(11).endswith("allocationKey=r1, Node=n2, result=Replaced]")


@pytest.mark.remuda_rule("HLT-16")
def test_names_are_quoted_and_sorted_and_separated_by_a_blank() -> None:
    assert quoted(["b", "a"]) == '["a" "b"]'
    assert listed([]) == "[]"
    many = listed(f"{number:05d}" for number in range(NAMED + 7))
    assert many.endswith("00999] and 7 more")


@pytest.mark.remuda_rule("HLT-3")
def test_each_failed_check_is_a_warning_in_each_run(caplog: pytest.LogCaptureFixture) -> None:
    found = ward()
    found.caller.node("n1", {"vcore": 2}, action=c.UPDATE)
    with caplog.at_level(logging.DEBUG, "remuda.runtime.health"):
        found.run()
        found.run()
    told = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert told == 2 * [
        (
            "WARNING",
            'health check failed: Negative resources: Nodes with negative resources: ["n1"]',
        ),
        (
            "WARNING",
            'health check failed: Consistency of data: Nodes with inconsistent data: ["n1"]',
        ),
    ]


@pytest.mark.remuda_rule("HLT-3")
def test_a_run_without_a_fault_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "remuda"):
        assert ward().failed() == []
    assert caplog.records == []
