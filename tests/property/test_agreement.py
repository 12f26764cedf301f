"""The scheduler and the reference model take the same decisions in the same order.

The reference was written from the specification alone and shares no code with the scheduler,
so a difference is an error of one of them. Random workloads, each a few dozen commands: work of
many users, under limits, in a configuration that changes while it runs; most of them on a few nodes
that are full in pieces, so that asks reserve.
"""

from __future__ import annotations

from collections import Counter

import pytest

from remuda.core.pending import changes
from tests.long_runs import ALL_ARE_PLAYED, rotated, usual
from tests.package import replaces_functions
from tests.reference.driver import difference
from tests.reference.manners import PATIENT
from tests.reference.workloads import record

BLOCK = 25
SLICE = usual(range(0, 500, BLOCK))
COUNTED: dict[int, Counter[str]] = {}

# How often each has to happen in 500 workloads: reservations, and ways in which they end.
OFTEN = {
    "reserved": 1500,
    "required": 200,
    "own node": 250,
    "other node": 300,
    "other node, drained": 15,
    "evicted": 90,
    "limit": 80,
    "shrunk": 25,
    "sent again": 60,
    "ask released": 150,
    "reported": 30,
    "application removed": 80,
    "node removed": 80,
}


def first_difference(seeds: range, length: int = 50, crowd: int = 1) -> str:
    """The first workload on which the two differ, "" if there is none."""
    for seed in seeds:
        moody = bool(seed % 2)
        run = record(seed, length, crowd, moody=moody)
        COUNTED[seed] = run.reference.counts
        if fault := difference(run):
            return f"record({seed}, {length}, {crowd}, moody={moody}): {fault}"
    return ""


@pytest.mark.remuda_rule(
    "SEED-210", "CYC-5", "CYC-10", "CYC-12", "CYC-15", "CYC-17", "QUE-33", "QUE-36"
)
@pytest.mark.remuda_rule("QUE-2", "QUE-13", "QUE-38", "QUE-40", "NOD-15", "NOD-16", "SI-3", "SI-4")
@pytest.mark.remuda_rule(
    "PLC-55", "PLC-58", "PLC-59", "PLC-61", "PLC-62", "PLC-71", "TPL-4", "TPL-5"
)
@pytest.mark.remuda_rule(
    "LIM-3", "LIM-21", "LIM-50", "LIM-52", "LIM-61", "LIM-64", "QUE-22", "QUE-26"
)
@pytest.mark.remuda_rule(
    "RLD-3", "RLD-20", "RLD-21", "RLD-25", "RLD-27", "RLD-28", "OBJ-5", "OBJ-9"
)
@pytest.mark.remuda_rule("RSV-1", "RSV-3", "RSV-4", "RSV-6", "RSV-7", "RSV-8", "RSV-9", "RSV-10")
@pytest.mark.remuda_rule("RSV-12", "CYC-7", "CYC-14", "CYC-19", "CYC-20", "CYC-21", "CYC-22")
@pytest.mark.remuda_rule("QUE-24", "QUE-41", "QUE-42", "QUE-44", "NOD-23", "NODE-16", "SI-33")
@pytest.mark.remuda_rule("CYC-28", "CYC-29", "NODE-17", "SI-44", "KV-5", "EVT-55", "EVT-56")
@pytest.mark.remuda_rule(
    "PLC-81", "PLC-85", "EVT-78", "EVT-79", "EVT-64", "CYC-11", "LIM-71", "D-U1"
)
@pytest.mark.parametrize("first", SLICE)
def test_workloads_are_decided_as_the_reference_decides_them(first: int) -> None:
    assert first_difference(range(first, first + BLOCK)) == ""


@ALL_ARE_PLAYED
@pytest.mark.remuda_rule("RSV-2", "RSV-8", "RSV-9")
def test_the_workloads_make_reservations_that_end_in_every_way() -> None:
    seeds = range(len(SLICE) * BLOCK)
    counts = [COUNTED.get(seed) or record(seed).reference.counts for seed in seeds]
    total = sum(counts, Counter[str]())
    assert sum(bool(one["reserved"] + one["required"]) for one in counts) >= len(seeds) // 2
    often = {what: count * len(seeds) // 500 for what, count in OFTEN.items()}
    assert {what: total[what] for what in often if total[what] < often[what]} == {}


@pytest.mark.remuda_rule("CYC-33", "CYC-11", "CYC-32")
@pytest.mark.parametrize("first", usual(range(0, 150, BLOCK)))
def test_applications_pause_as_in_the_reference(first: int) -> None:
    runs = {seed: record(seed, manner=PATIENT) for seed in range(first, first + BLOCK)}
    assert {seed: fault for seed, run in runs.items() if (fault := difference(run))} == {}
    partitions = [one for run in runs.values() for one in run.reference.partitions.values()]
    assert any(app.paused_until for one in partitions for app in one.applications.values())


@pytest.mark.remuda_rule("NOD-15", "NOD-16", "CYC-15")
@pytest.mark.parametrize("seed", usual(range(900, 908)))
def test_a_hundred_nodes_are_tried_in_the_same_order(seed: int) -> None:
    assert first_difference(range(seed, seed + 1), 30, 50) == ""


@pytest.mark.remuda_rule("LIM-20", "LIM-64", "CYC-28", "SI-43")
@pytest.mark.parametrize("seed, length", [(771_451, 300), (771_720, 50)])
def test_what_the_reference_once_took_for_a_difference(seed: int, length: int) -> None:
    """An application whose link was cut, and what holds nothing being reported once more."""
    assert first_difference(range(seed, seed + 1), length) == ""


@pytest.mark.remuda_rule("RSV-4", "NOD-21", "CYC-25")
def test_what_the_scheduler_once_decided_otherwise() -> None:
    """A reload changed the order of the nodes, and by it the best node to reserve."""
    assert first_difference(range(124_692_012_918, 124_692_012_919)) == ""


@replaces_functions
@pytest.mark.remuda_rule("CYC-25", "CYC-10", "NOD-14")
@pytest.mark.parametrize("first", range(0, 50, BLOCK))
def test_waking_each_in_its_turn_decides_the_same(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "FEW", 0)  # else only where more than a few wait
    assert first_difference(range(first, first + BLOCK)) == ""


@pytest.mark.long
@pytest.mark.parametrize("first", rotated(range(10_000, 15_000, 100)))
def test_thousands_of_workloads_are_decided_alike(first: int) -> None:
    assert first_difference(range(first, first + 100)) == ""


@pytest.mark.long
@pytest.mark.parametrize("seed", rotated(range(20_000, 20_100)))
def test_long_workloads_are_decided_alike(seed: int) -> None:
    assert first_difference(range(seed, seed + 1), 300) == ""


@pytest.mark.long
@pytest.mark.parametrize("seed", rotated(range(21_000, 21_060)))
def test_many_nodes_are_tried_alike(seed: int) -> None:
    assert first_difference(range(seed, seed + 1), 60, 100) == ""


@pytest.mark.long
@pytest.mark.parametrize("seed", rotated(range(22_002, 22_003)))
def test_more_than_a_thousand_nodes_are_tried_alike(seed: int) -> None:
    assert first_difference(range(seed, seed + 1), 40, 600) == ""
