"""Figures, checked against sums done by hand."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.sim.metrics import digest, measure, percentile, waiting
from remuda.sim.queues import own_queues
from remuda.sim.running import Placement
from remuda.sim.series import history, shares, waits
from remuda.sim.simulator import Outcome, Scenario
from remuda.sim.timeline import Timeline
from remuda.sim.workload import NodeSpec, Task, Workload

S = 1_000_000_000


def test_percentiles_are_times_that_occurred() -> None:
    ordered = list(range(1, 101))
    assert [percentile(ordered, p) for p in (50, 95, 99)] == [50, 95, 99]
    assert percentile([7], 50) == percentile([7], 99) == 7
    assert percentile([1, 2], 50) == 1
    assert percentile([1, 2], 51) == 2
    assert percentile([0, 0, 0, 9], 75) == 0


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 100))
def test_a_percentile_is_the_smallest_time_that_so_many_do_not_exceed(
    values: list[int], percent: int
) -> None:
    found = percentile(sorted(values), percent)

    def covered(limit: int) -> bool:
        return 100 * sum(value <= limit for value in values) >= percent * len(values)

    assert covered(found)
    assert not any(covered(value) for value in values if value < found)


def test_waiting_without_placements_is_zero() -> None:
    assert waiting([]).mean == 0
    assert waiting([]).max == 0


def test_timeline_integrates_exactly() -> None:
    timeline = Timeline([{"gpu": 6}, {"gpu": 4, "disk": 0}])
    assert timeline.types == ("gpu",)
    timeline.arrived(2)
    timeline.started({"gpu": 8})
    timeline.settle(10)
    timeline.ended({"gpu": 8})
    timeline.started({"gpu": 5, "memory": 1})
    timeline.settle(13)
    timeline.ended({"gpu": 5})
    timeline.settle(20)
    assert timeline.means() == ((8 * 3 + 5 * 7) / (10 * 10),)
    assert timeline.peaks() == (0.8,)
    assert timeline.finals() == (0.0,)
    assert [sample.pending for sample in timeline.samples] == [1, 0, 0]


def test_the_last_word_of_an_instant_counts_and_peaks_see_the_others() -> None:
    timeline = Timeline([{"gpu": 2}])
    timeline.started({"gpu": 2})
    timeline.settle(5)
    timeline.ended({"gpu": 2})
    timeline.settle(5)
    assert [sample.used for sample in timeline.samples] == [(0,)]
    assert timeline.peaks() == (1.0,)


def replayed() -> tuple[Scenario, Outcome]:
    """Two queues on one node of 4 GPUs: a waits 0 s and runs 10 s, b waits 10 s and runs 5 s."""
    tasks = tuple(
        Task(name, 2, {"gpu": gpu}, duration_ns=run * S, application_id=name, labels={"vc": name})
        for name, gpu, run in (("a", 3, 10), ("b", 2, 5), ("c", 9, 5))
    )
    workload = Workload("w.csv", "philly", tasks, skipped=4, labels=("vc",))
    nodes = (NodeSpec("n1", {"gpu": 4}), NodeSpec("n2", {"cpu": 4}))
    plan = own_queues(workload, "vc", nodes, "fair")
    timeline = Timeline([node.capacity for node in nodes])
    timeline.arrived(3)
    timeline.started({"gpu": 3})
    timeline.settle(0)
    timeline.ended({"gpu": 3})
    timeline.started({"gpu": 2})
    timeline.settle(10 * S)
    timeline.ended({"gpu": 2})
    timeline.settle(15 * S)
    placements = (
        Placement(0, ("n1",), 0, 0, 10 * S),
        Placement(1, ("n1",), 0, 10 * S, 15 * S),
    )
    return Scenario(nodes, workload, plan, "replay"), Outcome(placements, timeline)


def test_figures_of_a_run() -> None:
    figures = measure(*replayed())
    assert (figures.tasks_total, figures.tasks_placed, figures.tasks_finished) == (3, 2, 2)
    assert (figures.tasks_pending, figures.tasks_skipped, figures.tasks_waited) == (1, 4, 1)
    wait = figures.wait_seconds
    assert (wait.mean, wait.p50, wait.p95, wait.max) == (5.0, 0.0, 10.0, 10.0)
    assert (figures.nodes_total, figures.nodes_used) == (2, 1)
    assert figures.makespan_seconds == 15
    gpu = figures.utilisation["gpu"]
    assert (gpu.mean, gpu.peak, gpu.final) == ((30 + 10) / 60, 0.75, 0.0)
    assert figures.utilisation["cpu"].mean == 0
    assert figures.queues["root.a"].share == {"cpu": 0.0, "gpu": 0.75}
    assert figures.queues["root.b"].share["gpu"] == 0.25
    assert figures.queues["root.b"].wait_mean == 10
    assert (figures.queues["root.c"].tasks, figures.queues["root.c"].placed) == (1, 0)


def test_the_digest_is_over_task_node_and_start() -> None:
    scenario, outcome = replayed()
    text = f"a\tn1\t0\nb\tn1\t{10 * S}\n"
    expected = hashlib.sha256(text.encode()).hexdigest()
    assert digest(outcome.placements, scenario.workload.tasks) == expected


def test_charts_show_the_same_run() -> None:
    scenario, outcome = replayed()
    past = history(scenario, outcome.timeline)
    assert past.axis == [0, 10, 15]
    assert past.pending == [2, 1]
    assert past.used["gpu"] == [0.75, 0.5]
    distribution = waits(scenario, outcome)
    assert distribution.names == ["not at all", "up to 1 s", "up to 10 s", "never placed"]
    assert distribution.values == [[1], [0], [1], [1]]
    bars = shares(measure(scenario, outcome), ["gpu"], 2)
    assert bars.names == ["root.a", "2 other queues"]
    assert bars.values == [[0.75], [0.25]]


def test_long_histories_are_drawn_as_means_of_equal_pieces() -> None:
    scenario, _ = replayed()
    timeline = Timeline([{"gpu": 10}])
    for second in range(4_001):
        timeline.started({"gpu": 1}) if second % 2 else timeline.ended({"gpu": second and 1})
        timeline.settle(second * S)
    past = history(scenario, timeline)
    assert len(past.used["gpu"]) == 400
    assert past.used["gpu"] == pytest.approx([0.05] * 400)
    assert past.axis[-1] == pytest.approx(4_000 / 60)
