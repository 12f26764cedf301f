"""What a seed changes in a scenario."""

from __future__ import annotations

from itertools import pairwise

import pytest

from remuda.sim.queues import own_queues
from remuda.sim.simulator import Scenario
from remuda.sim.workload import NodeSpec, Task, Workload
from remuda.study.plan import Failures, Variation
from remuda.study.variation import fraction, varied

S = 1_000_000_000
NODES = tuple(NodeSpec(f"n{number}", {"gpu": 4}) for number in range(20))


def scenario(count: int = 200) -> Scenario:
    tasks = tuple(
        Task(f"t{number}", 1, {"gpu": 1}, number * 10 * S, 100 * S, f"t{number}")
        for number in range(count)
    )
    workload = Workload("made up", "remuda", tasks)
    return Scenario(NODES, workload, own_queues(workload, "none", NODES, "fair"), "replay")


@pytest.mark.remuda_rule("EXT-57")
def test_the_numbers_are_the_same_on_every_machine_and_version() -> None:
    # Worked out once: BLAKE2b of "7\tarrival\tt1", its first 53 bits.
    assert fraction(7, "arrival", "t1") == 0.8362933666288561
    assert fraction(7, "arrival", "t1") != fraction(8, "arrival", "t1")
    assert fraction(7, "arrival", "t1") != fraction(7, "run time", "t1")


@pytest.mark.remuda_rule("EXT-57")
def test_arrivals_move_in_both_directions_within_the_jitter_and_not_before_0() -> None:
    base = scenario().workload.tasks
    found = varied(scenario(), Variation(jitter_ns=30 * S), 1).workload.tasks
    moves = [new.submit_ns - old.submit_ns for old, new in zip(base, found, strict=True)]
    assert all(-30 * S <= move <= 30 * S for move in moves)
    assert min(moves) < -20 * S
    assert max(moves) > 20 * S
    assert all(task.submit_ns >= 0 for task in found)
    assert all(task.duration_ns == 100 * S for task in found)


@pytest.mark.remuda_rule("EXT-57")
def test_run_times_change_by_up_to_a_part_of_themselves() -> None:
    found = varied(scenario(), Variation(noise=0.25), 1).workload.tasks
    times = [task.duration_ns or 0 for task in found]
    assert all(75 * S <= time <= 125 * S for time in times)
    assert min(times) < 80 * S
    assert max(times) > 120 * S


@pytest.mark.remuda_rule("EXT-57")
def test_a_task_gets_the_same_numbers_whatever_else_is_in_the_trace() -> None:
    variation = Variation(jitter_ns=30 * S, noise=0.5)
    few = varied(scenario(10), variation, 3).workload.tasks
    many = varied(scenario(200), variation, 3).workload.tasks
    assert few == many[:10]


@pytest.mark.remuda_rule("EXT-57")
def test_nodes_fail_as_often_as_they_should_and_never_twice_at_a_time() -> None:
    # The last task would end after 2,090 s, so nodes fail until 4,180 s.
    outages = varied(scenario(), Variation(failures=Failures(200, 50)), 1).outages
    assert all(each.from_ns < 4_180 * S for each in outages)
    assert all(each.to_ns - each.from_ns == 50 * S for each in outages)
    for place in range(len(NODES)):
        own = [each for each in outages if each.node == place]
        assert all(b.from_ns > a.to_ns for a, b in pairwise(own))
    # 20 nodes x 4,180 s / 250 s is 334; the deviation of such a count is about 15.
    assert 270 < len(outages) < 400


def test_without_variation_a_scenario_stays_as_it_is() -> None:
    assert varied(scenario(), Variation(), 5) == scenario()
