"""The benchmark of preemption, with small numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from remuda.base.errors import RemudaError, UsageError
from remuda.bench.clusters.full_cluster import FullCluster, Obedient
from remuda.bench.preemption.attempts import AttemptResult, AttemptShape, measure_attempts
from remuda.bench.preemption.crowd import CrowdResult, CrowdShape, Moment, measure_crowd
from remuda.bench.preemption.repeats import RepeatResult, RepeatShape, measure_repeats
from remuda.bench.preemption.shapes import PREEMPTION
from remuda.bench.suites.catalogue import chosen
from remuda.bench.suites.session import as_json
from remuda.bench.throughput.idle import Reaction
from remuda.core.messages.queries import QueuesQuery, QueueView
from tests.unit.bench.sessions import session_of, shown

SMALL = FullCluster(nodes=20, per_node=4)


def small(name: str) -> AttemptShape:
    """The shape of a name on few nodes, with few attempts."""
    (shape,) = [each for each in PREEMPTION if each.name == name]
    assert isinstance(shape, AttemptShape)
    return replace(shape, cluster=replace(shape.cluster, nodes=20, per_node=4), attempts=6)


def test_a_cluster_is_full_and_a_part_of_it_is_guaranteed() -> None:
    manager = Obedient(FullCluster(leaves=4, nodes=10, per_node=4))
    manager.scheduler.check()
    root = manager.scheduler.view(QueuesQuery("default", "bench"))
    assert isinstance(root, QueueView)
    assert root.allocated == root.maximum == {"memory": 400, "vcore": 40_000}
    found = {queue.path: (dict(queue.allocated), queue.guaranteed) for queue in root.children}
    giver = ({"memory": 200, "vcore": 20_000}, {"memory": 100, "vcore": 10_000})
    assert found["root.giver-000"] == found["root.giver-001"] == giver
    assert found["root.taker-000"] == ({}, {"memory": 100_000, "vcore": 10_000_000})


@pytest.mark.remuda_rule("PRE-34", "PRE-85", "PRE-87")
@pytest.mark.parametrize("name", ["P1", "P2", "P3", "P4"])
def test_a_fruitful_attempt_takes_two_victims_for_an_ask_of_two(name: str) -> None:
    result = measure_attempts(small(name))
    assert (result.attempts, result.victims) == (6, 12)
    times = result.attempt_milliseconds
    assert 0 < times.p50 <= times.p99 <= times.max < 10_000


@pytest.mark.remuda_rule("PRE-9", "PRE-22", "PRE-85", "PRE-86")
@pytest.mark.parametrize("name", ["P5", "P6", "P7", "P8"])
def test_a_fruitless_attempt_takes_nobody(name: str) -> None:
    result = measure_attempts(small(name))
    assert (result.attempts, result.victims) == (6, 0)


def test_an_attempt_that_ends_otherwise_is_an_error() -> None:
    with pytest.raises(RemudaError, match="P1: ask new-0 preempted"):
        measure_attempts(replace(small("P1"), fruitful=False))
    with pytest.raises(RemudaError, match="P7: ask new-0 did not preempt"):
        measure_attempts(replace(small("P7"), fruitful=True))


@pytest.mark.remuda_rule("PRE-58", "PRE-90")
def test_a_fruitless_attempt_is_repeated_once_after_a_change_and_else_never() -> None:
    cluster = replace(SMALL, due=1.0)
    result = measure_repeats(RepeatShape("small", cluster, asks=12, hours=2))
    found = (result.first, result.quiet, result.unrelated, result.related)
    assert found == (12, 0, 0, 12)


@pytest.mark.remuda_rule("PRE-90", "PRE-93")
def test_a_crowd_that_is_owed_room_gets_it() -> None:
    result = measure_crowd(CrowdShape("small", SMALL, asks=8))
    assert (result.asks, result.victims) == (8, 2.0)
    assert 0 < result.half.wall_seconds <= result.all_placed.wall_seconds
    assert result.half.clock_seconds <= result.all_placed.clock_seconds


def test_the_shapes_go_by_name_or_all_together() -> None:
    assert [shape.name for shape in PREEMPTION] == [f"P{number}" for number in range(1, 11)]
    ((suite, name),) = chosen(["p3"])
    assert suite.task(name) == (measure_attempts, PREEMPTION[2])
    assert [name for _, name in chosen(["PREEMPTION"])] == [shape.name for shape in PREEMPTION]
    with pytest.raises(UsageError, match="there is no shape 'P11'"):
        chosen(["P11"])


ATTEMPT = AttemptResult(
    "P1", 10, 5_000, 100_000, 250, 500, Reaction(4.0, 9.5, 11.0), 2**20, "interpreted"
)
REPEAT = RepeatResult("P9", 100, 6, 100, 0, 0, 100, 0.02, 2**20, "interpreted")
CROWD = CrowdResult(
    "P10", 1_000, 100_000, Moment(3.1, 0.0), Moment(6.2, 0.1), 2.0, 2**20, "interpreted"
)


def test_the_figures_have_tables_and_are_json() -> None:
    lines = shown(session_of(ATTEMPT, REPEAT, CROWD))
    rows = [line.split() for line in lines if line.strip().startswith("P")]
    assert rows == [
        ["P1", "10", "250", "500", "4.00", "9.50", "11.00", "1"],
        ["P9", "100", "100", "6", "0", "0", "100", "0.02", "1"],
        ["P10", "1,000", "3.10", "6.20", "0.10", "2.00", "1"],
    ]
    found = json.loads(as_json(session_of(ATTEMPT, REPEAT, CROWD)))
    first, second, third = (each["median"] for each in found["shapes"])
    assert first["attempt_milliseconds"] == {"p50": 4.0, "p99": 9.5, "max": 11.0}
    assert second["related"] == 100
    assert third["half"] == {"wall_seconds": 3.1, "clock_seconds": 0.0}
