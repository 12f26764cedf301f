"""Nodes that fail and come back, small enough to do by hand."""

from __future__ import annotations

from dataclasses import replace

from remuda.sim.gangs import as_gangs
from remuda.sim.outages import Outage
from remuda.sim.queues import own_queues
from remuda.sim.running import Placement
from remuda.sim.simulator import Outcome, Scenario, simulate
from remuda.sim.workload import NodeSpec, Task, Workload

S = 1_000_000_000
NODES = (NodeSpec("n1", {"gpu": 4}), NodeSpec("n2", {"gpu": 4}))


def task(name: str, submit: int, duration: int, gpu: int, members: int = 1) -> Task:
    return Task(name, 1, {"gpu": gpu}, submit * S, duration * S, name, members=members)


def played(tasks: list[Task], outages: list[Outage], *, nodes: int = 1, gangs: bool) -> Outcome:
    workload = Workload("made up", "remuda", tuple(tasks))
    workload = as_gangs(workload) if gangs else workload
    plan = own_queues(workload, "none", NODES[:nodes], "fair", gangs=gangs)
    scenario = Scenario(NODES[:nodes], workload, plan, "replay")
    scenario = replace(scenario, gangs="Soft" if gangs else None, outages=tuple(outages))
    return simulate(scenario, lambda done: None)


def spans(placements: tuple[Placement, ...]) -> list[tuple[int, int, int, bool]]:
    return [
        (each.task, each.start_ns // S, (each.end_ns or 0) // S, each.preempted)
        for each in placements
    ]


def test_a_task_begins_anew_when_its_node_is_repaired() -> None:
    outcome = played([task("a", 0, 100, 4)], [Outage(0, 50 * S, 80 * S)], gangs=False)
    assert spans(outcome.placements) == [(0, 0, 50, True), (0, 80, 180, False)]
    assert [(each.at // S, each.pending) for each in outcome.timeline.samples][1:3] == [
        (50, 1),
        (80, 0),
    ]


def test_a_task_begins_anew_at_once_where_there_is_room() -> None:
    tasks = [task("a", 0, 100, 4), task("b", 0, 10, 4)]
    outcome = played(tasks, [Outage(0, 50 * S, 80 * S)], nodes=2, gangs=False)
    starts = [each for each in spans(outcome.placements) if each[0] == 0]
    # Whichever of the two nodes it has: on the other one nothing runs by then.
    assert starts in ([(0, 0, 50, True), (0, 50, 150, False)], [(0, 0, 100, False)])


def test_a_node_without_tasks_may_fail_and_nothing_is_placed_there_meanwhile() -> None:
    outages = [Outage(0, 10 * S, 30 * S), Outage(0, 200 * S, 201 * S)]
    outcome = played([task("a", 20, 5, 4)], outages, gangs=False)
    assert spans(outcome.placements) == [(0, 30, 35, False)]


def test_a_task_that_ends_when_its_node_fails_is_done() -> None:
    outcome = played([task("a", 0, 50, 4)], [Outage(0, 50 * S, 80 * S)], gangs=False)
    assert spans(outcome.placements) == [(0, 0, 50, False)]


def test_a_gang_that_loses_members_begins_anew_when_all_run_again() -> None:
    gang = task("g", 0, 100, 8, members=8)
    outages = [Outage(0, 50 * S, 80 * S)]
    outcome = played([gang], outages, nodes=2, gangs=True)
    assert spans(outcome.placements) == [(0, 0, 50, True), (0, 80, 180, False)]
    assert outcome.timeline.samples[-1].used == (0,)


def test_a_task_waits_for_a_repair_while_many_other_nodes_fail() -> None:
    # Only n1 is large enough, and it is away for longer than n2 needs for 50 failures.
    nodes = (NodeSpec("n1", {"gpu": 4}), NodeSpec("n2", {"gpu": 1}))
    others = [Outage(1, number * 10 * S, (number * 10 + 5) * S) for number in range(6, 56)]
    workload = Workload("made up", "remuda", (task("a", 0, 100, 4),))
    plan = own_queues(workload, "none", nodes, "fair")
    scenario = Scenario(nodes, workload, plan, "replay")
    scenario = replace(scenario, outages=(Outage(0, 50 * S, 800 * S), *others))
    outcome = simulate(scenario, lambda done: None)
    assert spans(outcome.placements) == [(0, 0, 50, True), (0, 800, 900, False)]
