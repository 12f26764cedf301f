"""The core is asked in slices, each of which takes it little time; nothing is left out."""

from __future__ import annotations

from time import process_time

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.effects import Effect
from remuda.core.messages.health_queries import (
    ApplicationAuditQuery,
    BalanceQuery,
    NodeAuditQuery,
    PartitionCountsQuery,
)
from remuda.core.views.audits import ALLOCATIONS, APPLICATIONS, NODES
from tests.unit.core.door import Caller, existing_allocation, partition
from tests.unit.telemetry.health.ward import CORES, Ward

# Milliseconds that the slowest question may take here: the machine is shared and may be slow.
SLOW_MS = 60.0


def crowd(nodes: int, applications: int, allocations: int) -> Ward:
    """So many nodes, and applications with so many allocations in all, spread evenly."""
    caller = Caller()
    room = {"vcore": 1_000_000, "memory": 2**40}
    updates = [c.NodeUpdate(f"n{number}", c.CREATE, room) for number in range(nodes)]
    caller.send(c.UpdateNodes("rm", tuple(updates)))
    apps = [c.NewApplication(f"a{number}", "root.a", user="ann") for number in range(applications)]
    caller.send(c.UpdateApplications("rm", tuple(apps)))
    reported = [
        existing_allocation(f"a{i % applications}", f"x{i}", f"n{i % nodes}", {"vcore": 1})
        for i in range(allocations)
    ]
    caller.send(c.UpdateAllocations("rm", allocations=tuple(reported)))
    return Ward(caller)


def starts(found: Ward, kind: type[NodeAuditQuery | ApplicationAuditQuery]) -> list[int]:
    """Where the slices of a run began."""
    found.direct.asked.clear()
    found.run()
    return [each.start for each in found.direct.asked if isinstance(each, kind)]


@pytest.mark.remuda_rule("HLT-18")
def test_nodes_and_applications_come_in_slices() -> None:
    found = crowd(2 * NODES + 1, APPLICATIONS + 1, 10)
    assert starts(found, NodeAuditQuery) == [0, NODES, 2 * NODES]
    assert starts(found, ApplicationAuditQuery) == [0, APPLICATIONS]
    exact = crowd(NODES, APPLICATIONS, 1)
    assert starts(exact, NodeAuditQuery) == [0]
    assert starts(exact, ApplicationAuditQuery) == [0]


@pytest.mark.remuda_rule("HLT-18", "HLT-14")
def test_one_application_may_have_many_slices_of_allocations() -> None:
    found = crowd(3, 2, 4 * ALLOCATIONS + 2)
    found.direct.asked.clear()
    assert found.failed() == []
    asked = [each for each in found.direct.asked if isinstance(each, ApplicationAuditQuery)]
    slices = [(each.start, each.within) for each in asked]
    assert slices == [
        (0, 0),
        (0, ALLOCATIONS),
        (0, 2 * ALLOCATIONS),
        (1, ALLOCATIONS - 1),
        (1, 2 * ALLOCATIONS - 1),
    ]
    assert starts(found, NodeAuditQuery) == [0, 1, 2]
    last = next(reversed(found.application("a1").allocations.values()))
    del last.node.allocations[last]
    assert found.failed() == [11]


@pytest.mark.remuda_rule("HLT-18")
def test_faults_in_the_last_slice_are_found() -> None:
    found = crowd(2 * NODES + 1, APPLICATIONS + 1, 0)
    found.node(f"n{2 * NODES}").available.amounts[0] += 1
    assert found.failed() == [7]
    found.caller.existing(f"a{APPLICATIONS}", "x", "n0", {"vcore": 1})
    found.node("n0").allocations.clear()
    assert found.failed() == [7, 11]


@pytest.mark.remuda_rule("HLT-18")
def test_a_partition_that_goes_during_a_run_is_left_out() -> None:
    caller = Caller()
    for query in (
        BalanceQuery("gone", "rm"),
        NodeAuditQuery("gone", "rm"),
        ApplicationAuditQuery("gone", "rm", caller.now),
    ):
        assert caller.scheduler.view(query) is None


@pytest.mark.remuda_rule("HLT-1", "OBJ-9")
def test_a_partition_that_is_leaving_is_looked_at() -> None:
    caller = Caller(partitions=(partition(name="default"), partition(name="old")))
    caller.node("n1", CORES, home="old")
    caller.reload(partitions=(partition(name="default"),))
    found = Ward(caller)
    (state,) = [each for each in found.caller.scheduler._cluster.partitions() if each.nodes]
    state.nodes["n1"].available.amounts[0] += 1
    assert found.failed() == [7]


@pytest.mark.remuda_rule("HLT-18")
def test_no_question_about_a_large_cluster_takes_the_core_long() -> None:
    found = crowd(10_000, 100, 20_000)
    slowest = 0.0
    for query in (
        PartitionCountsQuery(),
        BalanceQuery("default", "rm"),
        NodeAuditQuery("default", "rm", 9_500),
        ApplicationAuditQuery("default", "rm", found.caller.now, 80),
    ):
        best = 1e9
        for _ in range(5):
            began = process_time()
            assert found.caller.scheduler.view(query) is not None
            best = min(best, process_time() - began)
        slowest = max(slowest, best * 1_000)
    assert slowest < SLOW_MS


@pytest.mark.remuda_rule("HLT-18")
def test_looking_changes_no_decision() -> None:
    def effects(*, watched: bool) -> list[Effect]:
        """What comes of some work, with a run of the checks after every step."""
        caller = Caller()
        found = Ward(caller)
        told: list[Effect] = []
        for number in range(4):
            told += caller.node(f"n{number}", {"vcore": 3 + number})
        told += caller.app("app")
        for number in range(12):
            told += caller.ask("app", f"k{number}", {"vcore": 1 + number % 3})
            told += caller.step(1)
            if number % 4 == 3:
                told += caller.release("app", f"k{number - 3}-0")
            if watched:
                assert found.failed() == []
                caller.scheduler.check()
        return told

    assert effects(watched=True) == effects(watched=False)
