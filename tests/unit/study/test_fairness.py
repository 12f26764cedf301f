"""What queues use and are owed, by hand."""

from __future__ import annotations

import pytest

from remuda.config.load import load_configuration
from remuda.sim.queues import given_queues
from remuda.sim.simulator import Scenario, simulate
from remuda.sim.workload import VC, NodeSpec, Task, Workload
from remuda.study.fairness import Level, QueueShares, contended, course, means, owed, shortfall

S = 1_000_000_000


def leaf(name: str, entitled: float = 0.0, maximum: float | None = None) -> Level:
    return Level(name, entitled, maximum, ())


@pytest.mark.remuda_rule("EXT-58")
@pytest.mark.parametrize(
    "levels,wanted,due",
    [
        # Without guarantees all get equal parts, none more than it wants.
        ([leaf("a"), leaf("b")], {"a": 100, "b": 100}, {"a": 50, "b": 50}),
        ([leaf("a"), leaf("b")], {"a": 20, "b": 100}, {"a": 20, "b": 80}),
        ([leaf("a"), leaf("b"), leaf("c")], {"a": 10, "b": 90}, {"a": 10, "b": 90, "c": 0}),
        # First the guarantee, then equal parts of the rest.
        ([leaf("a", 60), leaf("b")], {"a": 100, "b": 100}, {"a": 80, "b": 20}),
        ([leaf("a", 60), leaf("b")], {"a": 30, "b": 100}, {"a": 30, "b": 70}),
        # Guarantees of more than there is are reduced in proportion.
        ([leaf("a", 150), leaf("b", 50)], {"a": 200, "b": 200}, {"a": 75, "b": 25}),
        # A maximum bounds what is owed.
        ([leaf("a", maximum=10), leaf("b")], {"a": 100, "b": 100}, {"a": 10, "b": 90}),
    ],
)
def test_what_leaves_are_owed(
    levels: list[Level], wanted: dict[str, float], due: dict[str, float]
) -> None:
    assert owed(Level("root", 0.0, None, tuple(levels)), 100.0, wanted) == pytest.approx(due)


@pytest.mark.remuda_rule("EXT-58")
def test_a_level_divides_what_its_parent_is_owed() -> None:
    inner = Level("p", 40.0, 60.0, (leaf("p.a"), leaf("p.b", 30)))
    top = Level("root", 40.0, None, (inner, leaf("c")))
    found = owed(top, 100.0, {"p.a": 100, "p.b": 100, "c": 100})
    # p: 40 by guarantee, of the other 60 half, but no more than 60. Of that p.b 30 and half of 30.
    assert found == pytest.approx({"p.a": 15, "p.b": 45, "c": 40})


def test_the_mean_of_a_step_function() -> None:
    assert means([(0, 4), (10, -4)], [0, 5, 10]) == [4.0, 4.0]
    assert means([(2, 10), (7, -6)], [0, 5, 10]) == [6.0, 6.4]
    assert means([], [0, 5, 10]) == [0.0, 0.0]


def test_only_what_is_lacking_counts() -> None:
    assert shortfall(QueueShares([0.5, 0.1], [0.2, 0.3])) == pytest.approx(0.1)
    assert shortfall(QueueShares([], [])) == 0.0


CONFIGURATION = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
          - name: b
            resources: {guaranteed: {gpu: 2}}
"""


@pytest.mark.remuda_rule("EXT-58")
def test_the_course_of_a_run_by_hand() -> None:
    # a takes the whole node for 120 s; b, which is owed half of it, waits from second 60 on.
    tasks = (
        Task("t1", 1, {"gpu": 4, "cpu": 1}, 0, 120 * S, "t1", {VC: "a"}),
        Task("t2", 2, {"gpu": 2, "cpu": 1}, 60 * S, 120 * S, "t2", {VC: "b"}),
    )
    workload = Workload("made up", "remuda", tasks, labels=(VC,))
    nodes = (NodeSpec("n", {"gpu": 4, "cpu": 100}),)
    plan = given_queues(workload, VC, load_configuration(CONFIGURATION), None)
    scenario = Scenario(nodes, workload, plan, "replay")
    assert contended(scenario) == "gpu"
    found = course(scenario, simulate(scenario, lambda done: None), "gpu")
    assert found.edges_ns == [number * 2 * S for number in range(121)]
    assert found.pending == [0.0] * 30 + [1.0] * 30 + [0.0] * 60
    assert found.used == [1.0] * 60 + [0.5] * 60
    a, b = found.queues["root.a"], found.queues["root.b"]
    assert a.used == [1.0] * 60 + [0.0] * 60
    assert b.used == [0.0] * 60 + [0.5] * 60
    assert a.owed == [1.0] * 30 + [0.5] * 30 + [0.0] * 60
    assert b.owed == [0.0] * 30 + [0.5] * 90
    assert shortfall(a) == 0.0
    assert shortfall(b) == pytest.approx(0.5 * 30 / 120)


@pytest.mark.remuda_rule("EXT-58")
def test_a_run_in_which_nothing_is_ever_placed_is_owed_all() -> None:
    tasks = (Task("t1", 1, {"cpu": 9}, 0, 120 * S, "t1", {VC: "a"}),)
    workload = Workload("made up", "remuda", tasks, labels=(VC,))
    plan = given_queues(workload, VC, load_configuration(CONFIGURATION), None)
    scenario = Scenario((NodeSpec("n", {"cpu": 4}),), workload, plan, "replay")
    found = course(scenario, simulate(scenario, lambda done: None), "cpu")
    assert found.edges_ns == [0, 1]
    assert (found.pending, found.used) == ([1.0], [0.0])
    assert shortfall(found.queues["root.a"]) == 1.0
