"""One queue, one node: the simulator must do what twenty lines of greedy code do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.sim.queues import own_queues
from remuda.sim.simulator import Scenario, simulate
from remuda.sim.workload import NodeSpec, Task, Workload

Row = tuple[int, int, int, int]

ROWS = st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(1, 6), st.integers(0, 4))
CPUS, DISKS = 6, 4


def greedy(rows: list[Row]) -> dict[int, int]:
    """Start every pending row that fits, oldest first, whenever anything changes."""
    starts: dict[int, int] = {}
    running: list[tuple[int, int]] = []
    pending: list[int] = []
    waiting = sorted(range(len(rows)), key=lambda row: (rows[row][0], row))
    free = [CPUS, DISKS]
    while waiting or running:
        now = min([rows[row][0] for row in waiting] + [end for end, _ in running])
        for end, row in list(running):
            if end == now:
                running.remove((end, row))
                free = [free[0] + rows[row][2], free[1] + rows[row][3]]
        pending += [row for row in waiting if rows[row][0] == now]
        waiting = [row for row in waiting if rows[row][0] != now]
        for row in list(pending):
            _, run, cpus, disks = rows[row]
            if cpus <= free[0] and disks <= free[1]:
                pending.remove(row)
                free = [free[0] - cpus, free[1] - disks]
                running.append((now + run, row))
                starts[row] = now
    return starts


def simulated(rows: list[Row]) -> dict[int, float]:
    tasks = []
    for number, (submit, run, cpus, disks) in enumerate(rows):
        wish = {"cpu": cpus, "disk": disks} if disks else {"cpu": cpus}
        name = f"t{number}"
        tasks.append(Task(name, 1, wish, submit * 10**9, run * 10**9, application_id=name))
    workload = Workload("w", "remuda", tuple(tasks))
    nodes = (NodeSpec("n", {"cpu": CPUS, "disk": DISKS}),)
    plan = own_queues(workload, "none", nodes, "fair")
    outcome = simulate(Scenario(nodes, workload, plan, "replay"), lambda done: None)
    return {placement.task: placement.start_ns / 10**9 for placement in outcome.placements}


@given(st.lists(ROWS, max_size=25))
@settings(max_examples=150)
def test_starts_are_those_of_the_greedy_program(rows: list[Row]) -> None:
    assert simulated(rows) == greedy(rows)


@pytest.mark.long
@given(st.lists(ROWS, min_size=10, max_size=80))
@settings(max_examples=2_000)
def test_starts_are_those_of_the_greedy_program_on_long_traces(rows: list[Row]) -> None:
    assert simulated(rows) == greedy(rows)
