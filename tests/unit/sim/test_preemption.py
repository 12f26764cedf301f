"""Preempted tasks, as the simulator's resource manager handles them, small enough to do by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remuda.base.errors import UsageError
from remuda.config.load import load_configuration
from remuda.core.messages import commands as c
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsReleased,
    Effect,
    ReleasedAllocation,
)
from remuda.core.messages.queries import Query, View
from remuda.core.scheduler import Scheduler
from remuda.sim.evictions import Preemption, Victim
from remuda.sim.experiment import Options, prepare
from remuda.sim.gangs import Style, as_gangs
from remuda.sim.losses import Lost, QueueLosses, measure_losses
from remuda.sim.metrics import measure
from remuda.sim.queues import given_queues, own_queues
from remuda.sim.results import allocations_text
from remuda.sim.series import losses, roles, victims
from remuda.sim.simulator import EPOCH_NS, Outcome, Scenario, play, simulate
from remuda.sim.timeline import Timeline
from remuda.sim.wording import tables
from remuda.sim.workload import NodeSpec, Task, Workload

S = 1_000_000_000
ONE_NODE = (NodeSpec("n1", {"gpu": 4}),)


class Preemptor:
    """A scheduler that orders allocations out when it is told to, whatever the core thinks.

    ``orders``: (second, for which task, allocation IDs); each once.
    """

    def __init__(self, *orders: tuple[float, str, tuple[str, ...]]) -> None:
        self.core = Scheduler()
        self.orders = [(int(at * S) + EPOCH_NS, key, names) for at, key, names in orders]
        self.commands: list[tuple[float, Command]] = []
        self.live: dict[str, AllocationNew] = {}

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        self.commands.append(((now_ns - EPOCH_NS) / S, command))
        return self._seen(self.core.handle(command, now_ns))

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        effects = self._seen(self.core.step(now_ns, limit))
        while self.orders and self.orders[0][0] <= now_ns:
            _, wanted, names = self.orders.pop(0)
            told = [self._order(self.live[name], wanted) for name in names]
            effects.append(AllocationsReleased("sim", tuple(told)))
        return effects

    def _seen(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, AllocationNew):
                self.live[effect.allocation_id] = effect
        return effects

    def _order(self, new: AllocationNew, wanted: str) -> ReleasedAllocation:
        text = f"preempting allocations to free up resources to run ask: {wanted}"
        ask = new.ask
        return ReleasedAllocation(
            new.partition,
            ask.application_id,
            new.allocation_id,
            ask.allocation_key,
            c.PREEMPTED_BY_SCHEDULER,
            text,
        )

    def next_deadline(self) -> int | None:
        deadlines = [self.core.next_deadline(), *(at for at, _, _ in self.orders)]
        return min((each for each in deadlines if each is not None), default=None)

    def has_work(self) -> bool:
        return self.core.has_work()

    def view(self, query: Query) -> View:
        return self.core.view(query)

    def check(self) -> None:
        self.core.check()

    def confirmed(self) -> list[tuple[float, str, int]]:
        """Second, allocation ID and type of every release that confirms an order."""
        return [
            (at, each.allocation_id, each.termination_type)
            for at, command in self.commands
            if isinstance(command, c.UpdateAllocations)
            for each in command.releases
            if not each.by_rm()
        ]

    def asked(self, key: str) -> list[tuple[float, int]]:
        """Second and total of every ask of a key."""
        return [
            (at, each.max_allocations)
            for at, command in self.commands
            if isinstance(command, c.UpdateAllocations)
            for each in command.asks
            if each.allocation_key == key
        ]


def task(name: str, submit: float, run: float, gpu: int, **more: Any) -> Task:
    more.setdefault("application_id", name)
    return Task(name, 2, {"gpu": gpu}, int(submit * S), int(run * S), **more)


def scenario(
    tasks: Sequence[Task], nodes: tuple[NodeSpec, ...] = ONE_NODE, *, style: Style | None = None
) -> Scenario:
    workload = Workload("w.csv", "remuda", tuple(tasks), labels=("vc",))
    if style is not None:
        workload = as_gangs(workload)
    by = "vc" if all("vc" in each.labels for each in tasks) else "none"
    gangs = style is not None
    queues = own_queues(workload, by, nodes, "fair", gangs=gangs, preemption=True)
    return Scenario(nodes, workload, queues, "replay", gangs=style, preemption=True)


def runs(played: Scenario, outcome: Outcome) -> list[tuple[str, float, float, bool]]:
    """Task, start, end, whether it was cut short; in the order of the decisions."""
    tasks = played.workload.tasks
    return [
        (tasks[each.task].task_id, each.start_ns / S, (each.end_ns or 0) / S, each.preempted)
        for each in outcome.placements
    ]


def two_queues() -> Scenario:
    a, b = {"vc": "a"}, {"vc": "b"}
    return scenario([task("x", 0, 100, 4, labels=a), task("y", 10, 20, 1, labels=b, priority=5)])


def test_a_victim_ends_a_second_after_the_order_and_begins_anew() -> None:
    played = two_queues()
    door = Preemptor((40, "y", ("x-0",)))
    outcome = play(played, door, lambda done: None)
    assert runs(played, outcome) == [
        ("x", 0, 41, True),
        ("y", 41, 61, False),
        ("x", 61, 161, False),
    ]
    assert outcome.preemptions == (Preemption(40 * S, 1, (Victim(0, "x"),)),)


@pytest.mark.remuda_rule("SI-33", "SI-34", "SI-69")
def test_it_is_confirmed_and_asked_for_once_more_under_its_key() -> None:
    door = Preemptor((40, "y", ("x-0",)))
    play(two_queues(), door, lambda done: None)
    assert door.confirmed() == [(41, "x-0", c.PREEMPTED_BY_SCHEDULER)]
    assert door.asked("x") == [(0, 1), (41, 2)]
    assert {"x-0", "x-1", "y-0"} == set(door.live)


def test_a_victim_that_ends_by_itself_in_time_has_finished() -> None:
    played = two_queues()
    door = Preemptor((99.5, "y", ("x-0",)))
    outcome = play(played, door, lambda done: None)
    assert runs(played, outcome) == [("x", 0, 100, False), ("y", 100, 120, False)]
    assert door.confirmed() == []
    figures = measure_losses(played, outcome)
    assert figures is not None
    assert (figures.victims, figures.tasks_cut_short) == (1, 0)
    assert figures.lost_work == {"gpu": Lost(0.0, 0.0)}


def test_an_order_that_is_repeated_is_no_second_preemption() -> None:
    played = two_queues()
    door = Preemptor((40, "y", ("x-0",)), (40.5, "y", ("x-0",)))
    outcome = play(played, door, lambda done: None)
    assert len(outcome.preemptions or ()) == 1
    assert door.confirmed() == [(41, "x-0", c.PREEMPTED_BY_SCHEDULER)]


def test_what_was_lost_adds_up() -> None:
    """x is cut short after 31 s and after 10 s more; y gets its GPU at 31, z at 61."""
    a, b = {"vc": "a"}, {"vc": "b"}
    tasks = [
        task("x", 0, 100, 3, labels=a),
        task("y", 10, 20, 2, labels=b, priority=5),
        task("z", 55, 10, 2, labels=b, priority=5),
    ]
    played = scenario(tasks)
    outcome = play(played, Preemptor((30, "y", ("x-0",)), (60, "z", ("x-1",))), lambda done: None)
    assert runs(played, outcome) == [
        ("x", 0, 31, True),
        ("y", 31, 51, False),
        ("x", 51, 61, True),
        ("z", 61, 71, False),
        ("x", 71, 171, False),
    ]
    figures = measure(played, outcome)
    losses = figures.preemption
    assert losses is not None
    assert (losses.preemptions, losses.victims, losses.tasks_cut_short) == (2, 2, 1)
    assert (losses.asks_evicted_repeatedly, losses.evictions_of_one_ask) == (1, 2)
    lost, given = 3 * 41.0, 3 * 141.0 + 2 * 30.0
    assert losses.lost_work == {"gpu": Lost(lost, lost / given)}
    assert losses.queues == {
        "root.a": QueueLosses(0, 2, {"gpu": lost}),
        "root.b": QueueLosses(2, 0, {"gpu": 0.0}),
    }
    assert (figures.tasks_placed, figures.tasks_finished, figures.tasks_pending) == (3, 3, 0)
    assert figures.wait_seconds.max == 71, "from its submission to the start that lasted"
    assert figures.queues["root.a"].placed == 1
    assert figures.queues["root.a"].share == {"gpu": 3 * 141 / given}
    assert [sample.pending for sample in outcome.timeline.samples][-1] == 0


def test_the_results_tell_of_it() -> None:
    played = two_queues()
    outcome = play(played, Preemptor((40, "y", ("x-0",))), lambda done: None)
    assert allocations_text(played, outcome).splitlines() == [
        "task,queue,application,node,submit,start,end,preempted",
        "x,root.a,x,n1,0,0,41,yes",
        "y,root.b,y,n1,10,41,61,no",
        "x,root.a,x,n1,0,61,161,no",
    ]
    found = {table.title: table for table in tables(measure(played, outcome), 20)}
    assert found["Preemption"].rows == [
        ("preemptions", "1"),
        ("victims", "1"),
        ("tasks that begin anew", "1"),
        ("asks evicted repeatedly", "0"),
        ("most evictions of one ask", "1"),
        ("lost gpu", "2.7 unit min, 28.1 % of all use"),
    ]
    assert found["Preemption by queue"].rows == [
        ("root.a", "0", "1", "2.7 unit min"),
        ("root.b", "1", "0", "0.0 unit min"),
    ]
    assert found["Preemption by queue"].header[-1] == "lost gpu"


def test_the_charts_show_the_same() -> None:
    played = two_queues()
    outcome = play(played, Preemptor((40, "y", ("x-0",))), lambda done: None)
    past = victims(played, outcome)
    at_the_end = dict(zip(past.axis, past.pending, strict=False))
    assert past.pending[-1] == 1
    assert at_the_end[past.axis[0]] == 0
    figures = measure_losses(played, outcome)
    assert figures is not None
    bars = roles(figures.queues, 12)
    assert (bars.names, bars.values) == (["root.a", "root.b"], [[0, 1], [1, 0]])
    assert losses(figures, 1).values == [[164 / 584]]


def test_what_was_preempted_so_far_is_a_count_in_every_piece_of_a_long_run() -> None:
    """A piece of time has the count at its end, and the last one has all."""
    played = two_queues()
    outcome = play(played, Preemptor((40, "y", ("x-0",))), lambda done: None)
    timeline = Timeline([{"gpu": 10}])
    for second in range(4_001):
        timeline.arrived(1)
        timeline.settle(second * S)
    victim = outcome.preemptions[0].victims[0] if outcome.preemptions else None
    assert victim is not None
    times = [5 * S, 1_234 * S + 1, 4_000 * S]
    preemptions = (
        tuple(replace(outcome.preemptions[0], at_ns=at, victims=(victim,) * 3) for at in times)
        if outcome.preemptions
        else ()
    )
    past = victims(played, replace(outcome, timeline=timeline, preemptions=preemptions))
    assert len(past.pending) == 400
    assert set(past.pending) == {3.0, 6.0, 9.0}
    assert past.pending == sorted(past.pending)
    assert past.pending[0] == 3
    assert (past.pending[122], past.pending[123]) == (3, 6)
    assert past.pending[-1] == 9


def test_without_preemption_there_is_nothing_to_tell() -> None:
    workload = Workload("w.csv", "remuda", (task("x", 0, 1, 1),))
    played = Scenario(ONE_NODE, workload, own_queues(workload, "none", ONE_NODE, "fair"), "replay")
    outcome = play(played, Scheduler(), lambda done: None)
    assert outcome.preemptions is None
    figures = measure(played, outcome)
    assert figures.preemption is None
    assert [table.title for table in tables(figures, 20)] == ["Tasks", "Utilisation", "Queues"]
    assert allocations_text(played, outcome).splitlines()[0].endswith(",end")


@pytest.mark.remuda_rule("PRE-5", "PRE-85", "PRE-86")
def test_in_front_of_the_core_a_queue_gets_its_share_after_half_a_minute() -> None:
    """a runs on all four GPUs when b, which is guaranteed two of them, asks for three."""
    tasks = [task(f"a{n}", 0, 100, 1, labels={"vc": "a"}) for n in range(4)]
    tasks += [task(f"b{n}", 10, 50, 1, labels={"vc": "b"}) for n in range(3)]
    played = scenario(tasks)
    outcome = simulate(played, lambda done: None)
    found = runs(played, outcome)
    cut = [run for run in found if run[3]]
    # One after the other: the node is reserved for the first until that is placed (PRE-5, PRE-18).
    assert [(start, end) for _, start, end, _ in cut] == [(0, 41), (0, 42)]
    first = [(start, end) for name, start, end, _ in found if name.startswith("b")]
    assert first == [(41, 91), (42, 92), (91, 141)]
    again = [run for run in found if run[0] in {name for name, _, _, _ in cut} and not run[3]]
    assert len(again) == 2
    assert all(end - start == 100 for _, start, end, _ in again)
    figures = measure_losses(played, outcome)
    assert figures is not None
    assert (figures.preemptions, figures.victims) == (2, 2)
    assert figures.lost_work["gpu"].unit_seconds == 41 + 42
    assert outcome.timeline.finals() == (0.0,)


def test_in_front_of_the_core_nobody_preempts_unless_told_to() -> None:
    tasks = [task("a", 0, 100, 4, labels={"vc": "a"}), task("b", 10, 50, 1, labels={"vc": "b"})]
    played = replace(scenario(tasks), preemption=False)
    outcome = simulate(played, lambda done: None)
    assert runs(played, outcome) == [("a", 0, 100, False), ("b", 100, 150, False)]


# --------------------------------------------------------------------------------- gangs


def test_a_gang_that_loses_a_member_stops_and_begins_anew_when_it_has_it_again() -> None:
    nodes = (NodeSpec("n1", {"gpu": 2}), NodeSpec("n2", {"gpu": 2}))
    tasks = [task("g", 0, 100, 4, members=4), task("y", 10, 20, 1, priority=5)]
    played = scenario(tasks, nodes, style="Soft")
    door = Preemptor((40, "y/placeholder-0", ("g/member-2-0",)))
    outcome = play(played, door, lambda done: None)
    assert runs(played, outcome) == [
        ("g", 0, 41, True),
        ("y", 41, 61, False),
        ("g", 61, 161, False),
    ]
    assert door.asked("g/member-2") == [(0, 1), (41, 2)]
    assert door.asked("g/member-1") == [(0, 1)]
    losses = measure_losses(played, outcome)
    assert losses is not None
    assert losses.lost_work["gpu"].unit_seconds == 4 * 41, "the work of all members is lost"
    assert outcome.gangs is not None
    assert outcome.gangs.started_in_part == 0
    assert outcome.timeline.finals() == (0.0,)


@pytest.mark.remuda_rule("PRE-38", "GANG-35")
def test_a_placeholder_is_asked_for_again_under_another_key() -> None:
    """g holds two of three when w, which cannot be waited for, takes one of them."""
    nodes = (NodeSpec("n1", {"gpu": 2}), NodeSpec("n2", {"gpu": 1}))
    config = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - {name: a, properties: {application.sort.policy: fifo}}
          - {name: b, properties: {application.sort.policy: fifo}}
"""
    tasks = [
        task("w", 0, 50, 1, members=1, labels={"vc": "b"}),
        task("g", 1, 100, 3, members=3, labels={"vc": "a"}),
        task("y", 10, 5, 1, members=1, labels={"vc": "b"}, priority=5),
    ]
    workload = as_gangs(Workload("w.csv", "remuda", tuple(tasks), labels=("vc",)))
    queues = given_queues(workload, "vc", load_configuration(config), None)
    played = Scenario(nodes, workload, queues, "replay", gangs="Soft", preemption=True)
    door = Preemptor((20, "y/placeholder-0", ("g/placeholder-1-0",)))
    outcome = play(played, door, lambda done: None)
    assert door.asked("g/placeholder-1") == [(1, 1)]
    assert door.asked("g/placeholder-3") == [(21, 1)]
    assert runs(played, outcome) == [
        ("w", 0, 50, False),
        ("y", 21, 26, False),
        ("g", 50, 150, False),
    ]
    losses = measure_losses(played, outcome)
    assert losses is not None
    assert (losses.victims, losses.tasks_cut_short) == (1, 0)
    assert losses.lost_work["gpu"].unit_seconds == 0, "a placeholder has done nothing"
    assert outcome.timeline.finals() == (0.0,)


# --------------------------------------------------------------------------------- options


def test_each_queue_is_guaranteed_an_equal_share_of_the_cluster() -> None:
    tasks = [task("x", 0, 1, 1, labels={"vc": "a"}), task("y", 0, 1, 1, labels={"vc": "b"})]
    workload = Workload("w.csv", "remuda", tuple(tasks), labels=("vc",))
    nodes = (NodeSpec("n1", {"gpu": 4, "vcore": 1}), NodeSpec("n2", {"gpu": 5}))
    plan = own_queues(workload, "vc", nodes, "fair", preemption=True)
    queues = plan.configuration.partitions[0].root.queues
    assert [queue.guaranteed for queue in queues] == [{"gpu": 4, "vcore": 0}] * 2
    without = own_queues(workload, "vc", nodes, "fair").configuration.partitions[0].root.queues
    assert [queue.guaranteed for queue in without] == [None, None]


@pytest.mark.parametrize(
    "more, fault",
    [
        ("", "--preemption on: no queue of --config has anything guaranteed"),
        (
            "    preemption: {enabled: false}\n",
            "--preemption on: --config says 'preemption: {enabled: false}'",
        ),
    ],
)
def test_a_configuration_in_which_nothing_can_preempt_is_refused(more: str, fault: str) -> None:
    config = "partitions:\n  - name: default\n" + more
    config += '    queues: [{name: root, submitacl: "*", queues: [{name: a}]}]\n'
    workload = Workload("w.csv", "remuda", (task("x", 0, 1, 1),))
    with pytest.raises(UsageError) as raised:
        given_queues(workload, "none", load_configuration(config), None, preemption=True)
    assert str(raised.value) == fault


def test_a_fill_has_no_time_to_preempt() -> None:
    with pytest.raises(UsageError, match="--preemption on: no time passes in a fill"):
        prepare(Options(Path("w.csv"), mode="fill", preemption=True))
