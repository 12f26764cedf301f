"""The simulator in front of the production core, on traces small enough to do by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from remuda.base.errors import UsageError
from remuda.config.load import load_configuration
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect
from remuda.core.messages.queries import Query, View
from remuda.core.ports import NodesAnswer, NodesQuestion
from remuda.core.scheduler import Scheduler
from remuda.sim.predicates import ModelPredicates, equivalence, predicates_for
from remuda.sim.queues import given_queues, own_queues
from remuda.sim.simulator import EPOCH_NS, Mode, Scenario, play, simulate
from remuda.sim.workload import NodeSpec, Task, Workload, replayable, select

S = 1_000_000_000
ONE_NODE = (NodeSpec("n1", {"gpu": 4}),)


def task(name: str, submit: float, run: float | None, gpu: int, **more: Any) -> Task:
    more.setdefault("application_id", name)
    run_ns = None if run is None else int(run * S)
    return Task(name, 2, {"gpu": gpu}, int(submit * S), run_ns, **more)


def scenario(
    tasks: Sequence[Task],
    nodes: tuple[NodeSpec, ...] = ONE_NODE,
    mode: Mode = "replay",
    queue_by: str = "none",
    node_sort: str = "fair",
) -> Scenario:
    workload = Workload("w.csv", "remuda", tuple(tasks), labels=("user", "vc"))
    return Scenario(nodes, workload, own_queues(workload, queue_by, nodes, node_sort), mode)


def starts(played: Scenario) -> list[tuple[str, str, float]]:
    """Task, node, start in seconds, in the order of the decisions."""
    outcome = simulate(played, lambda done: None)
    tasks = played.workload.tasks
    return [
        (tasks[each.task].task_id, each.node_ids[0], each.start_ns / S)
        for each in outcome.placements
    ]


def test_a_task_waits_until_there_is_room_and_later_smaller_ones_pass_it() -> None:
    tasks = [task("a", 0, 10, 3), task("b", 1, 5, 2), task("c", 2, 4, 1), task("d", 3, 1, 2)]
    assert starts(scenario(tasks)) == [
        ("a", "n1", 0),
        ("c", "n1", 2),
        ("b", "n1", 10),
        ("d", "n1", 10),
    ]


@pytest.mark.parametrize("user", ["12", "ann smith", "ann", "", "\u00e9"])
def test_a_user_of_a_trace_may_have_any_name(user: str) -> None:
    assert starts(scenario([task("a", 0, 1, 1, labels={"user": user})])) == [("a", "n1", 0)]


def test_ends_come_before_arrivals_of_the_same_instant() -> None:
    assert starts(scenario([task("a", 0, 10, 4), task("b", 10, 1, 4)]))[1] == ("b", "n1", 10)


def test_what_waits_longer_comes_before_what_arrives_when_room_is_made() -> None:
    tasks = [task("a", 0, 10, 4), task("c", 10, 1, 4), task("b", 5, 1, 4)]
    assert [name for name, _, _ in starts(scenario(tasks))] == ["a", "b", "c"]


def test_rows_of_one_instant_go_in_file_order() -> None:
    tasks = [task(name, 5, 1, 4) for name in ("z", "a", "m")]
    assert starts(scenario(tasks)) == [("z", "n1", 5), ("a", "n1", 6), ("m", "n1", 7)]


def test_a_task_without_run_time_ends_right_after_its_instant_and_makes_room_in_it() -> None:
    tasks = [task("a", 3, 0, 4), task("b", 3, 0, 4), task("c", 3, 2, 4)]
    played = scenario(tasks)
    assert starts(played) == [("a", "n1", 3), ("b", "n1", 3), ("c", "n1", 3)]
    outcome = simulate(played, lambda done: None)
    assert outcome.timeline.peaks() == (1.0,)
    assert [sample.at for sample in outcome.timeline.samples] == [3 * S, 5 * S]


def test_fractions_of_a_second_are_kept() -> None:
    tasks = [task("a", 0.25, 0.5, 4), task("b", 0.3, 0.125, 4)]
    assert starts(scenario(tasks)) == [("a", "n1", 0.25), ("b", "n1", 0.75)]


def test_what_fits_nowhere_stays_pending_and_the_run_ends() -> None:
    outcome = simulate(scenario([task("a", 0, 1, 5), task("b", 1, 1, 4)]), lambda done: None)
    assert [placement.task for placement in outcome.placements] == [1]
    assert outcome.timeline.samples[-1].pending == 1


def test_waits_are_not_changed_by_timers_of_the_scheduler() -> None:
    """An application idles into its completing timeout while the next task is still waiting."""
    tasks = [task("a", 0, 1000, 3), task("b", 1, 10, 1), task("c", 2, 10, 2)]
    outcome = simulate(scenario(tasks), lambda done: None)
    assert [(each.task, each.start_ns // S) for each in outcome.placements] == [
        (0, 0),
        (1, 1),
        (2, 1000),
    ]


def test_fill_submits_everything_at_once_and_nothing_ends() -> None:
    tasks = [task("a", 50, 1, 3), task("b", 7, 1, 2), task("c", 9, None, 1)]
    played = scenario(tasks, mode="fill")
    assert starts(played) == [("a", "n1", 0), ("c", "n1", 0)]
    outcome = simulate(played, lambda done: None)
    assert {each.end_ns for each in outcome.placements} == {None}
    assert outcome.timeline.finals() == (1.0,)
    assert [sample.pending for sample in outcome.timeline.samples] == [3, 2, 1]


def test_node_orders() -> None:
    nodes = tuple(NodeSpec(f"n{number}", {"gpu": 4}) for number in range(3))
    tasks = [task(f"t{number}", 0, 1, 1) for number in range(4)]
    packed = starts(scenario(tasks, nodes, "fill", node_sort="binpacking"))
    spread = starts(scenario(tasks, nodes, "fill", node_sort="fair"))
    assert [node for _, node, _ in packed] == ["n0"] * 4
    assert [node for _, node, _ in spread] == ["n0", "n1", "n2", "n0"]


def test_queues_share_a_full_cluster_evenly() -> None:
    tasks = [task(f"a{n}", 0, 10, 1, labels={"user": "u", "vc": "a"}) for n in range(8)]
    tasks += [task(f"b{n}", 0, 10, 1, labels={"user": "u", "vc": "b"}) for n in range(2)]
    first = [name for name, _, start in starts(scenario(tasks, queue_by="vc")) if start == 0]
    assert sorted(first) == ["a0", "a1", "b0", "b1"]


def test_priority_goes_before_order_of_arrival() -> None:
    tasks = [task("a", 0, 10, 4), task("b", 1, 1, 4), task("c", 2, 1, 4, priority=7)]
    assert [name for name, _, _ in starts(scenario(tasks))] == ["a", "c", "b"]


def test_tasks_of_one_application_share_it_and_it_may_come_back() -> None:
    tasks = [
        task("a", 0, 10, 2, application_id="job"),
        task("b", 5, 10, 2, application_id="job"),
        task("c", 9000, 10, 2, application_id="job"),
    ]
    assert [start for _, _, start in starts(scenario(tasks))] == [0, 5, 9000]


@pytest.mark.remuda_rule("SI-80")
def test_models_a_task_does_not_accept_are_passed_over() -> None:
    nodes = (NodeSpec("n1", {"gpu": 4}, "T4"), NodeSpec("n2", {"gpu": 4}, "V100"))
    tasks = [
        task("a", 0, 1, 1, models="V100|P100"),
        task("b", 0, 1, 1),
        task("c", 0, 1, 4, models="T4"),
        task("d", 0, 1, 1, models="A10"),
    ]
    assert starts(scenario(tasks, nodes, "fill")) == [("a", "n2", 0), ("b", "n1", 0)]


def question(key: str, *node_ids: str) -> NodesQuestion:
    return NodesQuestion("sim", "app", key, True, node_ids)


def test_model_predicates_say_why_and_equal_wishes_are_equivalent() -> None:
    nodes = [NodeSpec("n1", {"gpu": 4}, "T4"), NodeSpec("n2", {"gpu": 4})]
    nodes.append(NodeSpec("n3", {"gpu": 4}, "V100"))
    tasks = [task("a", 0, 1, 1, models="V100|P100"), task("b", 0, 1, 1)]
    port = ModelPredicates(nodes, tasks[:1])
    reasons = ("node model 'T4' is not one of P100, V100", "node model '' is not one of P100, V100")
    assert port(question("a", "n1", "n2")) == NodesAnswer(-1, reasons)
    assert port(question("a", "n2", "n3", "n1")) == NodesAnswer(1, reasons[1:])
    assert port(question("b", "n1", "n2")) == NodesAnswer(0)
    assert equivalence(tasks[0]) == "V100|P100"
    assert equivalence(tasks[1]) == "any"
    assert predicates_for(nodes, tasks[1:])(question("b", "n1")) == NodesAnswer(0)


class Watched:
    """The production core, its clock watched and its invariants checked after every call."""

    def __init__(self) -> None:
        self.core = Scheduler()
        self.times: list[int] = []

    def _seen(self, now_ns: int, effects: list[Effect]) -> list[Effect]:
        self.times.append(now_ns)
        self.core.check()
        return effects

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        return self._seen(now_ns, self.core.handle(command, now_ns))

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        return self._seen(now_ns, self.core.step(now_ns, limit))

    def next_deadline(self) -> int | None:
        return self.core.next_deadline()

    def has_work(self) -> bool:
        return self.core.has_work()

    def view(self, query: Query) -> View:
        return self.core.view(query)

    def check(self) -> None:
        self.core.check()


def test_the_virtual_clock_never_goes_back_and_serves_the_timers() -> None:
    tasks = [task("a", 0, 1, 1), task("b", 100, 0, 4), task("c", 100, 3, 4), task("d", 101, 1, 1)]
    door = Watched()
    outcome = play(scenario(tasks), door, lambda done: None)
    assert len(outcome.placements) == 4
    assert door.times == sorted(door.times)
    assert door.times[0] == EPOCH_NS
    assert door.core.has_work() is False


class Hesitant(Watched):
    """Places nothing before second 50, and wants to be stepped then; or again and again."""

    def __init__(self, *, again: bool = False) -> None:
        super().__init__()
        self.again = again
        self.due_ns: int | None = EPOCH_NS + 50 * S

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        if self.again and self.due_ns == now_ns:
            self.due_ns = now_ns + S
        if self.again or now_ns < EPOCH_NS + 50 * S:
            self.times.append(now_ns)
            return []
        self.due_ns = None
        return super().step(now_ns, limit)

    def has_work(self) -> bool:
        return not self.again and self.due_ns is None and super().has_work()

    def next_deadline(self) -> int | None:
        return self.core.next_deadline() if self.due_ns is None else self.due_ns


@pytest.mark.remuda_rule("RSV-3", "RSV-7", "RSV-8")
@pytest.mark.parametrize(
    "delay_ns, expected",
    [
        # From second 3 on n1 is reserved for the big task: c goes to n2, and a makes room at 10.
        (2 * S, [("a", "n1", 0), ("b", "n2", 0), ("c", "n2", 5), ("big", "n1", 10)]),
        # Else c takes n1 until 35, and the big task has to wait for b.
        (None, [("a", "n1", 0), ("b", "n2", 0), ("c", "n1", 5), ("big", "n2", 20)]),
    ],
)
def test_a_node_is_reserved_for_a_task_that_waited_for_the_delay(
    delay_ns: int | None, expected: list[tuple[str, str, float]]
) -> None:
    nodes = (NodeSpec("n1", {"gpu": 4}), NodeSpec("n2", {"gpu": 4}))
    tasks = [task("a", 0, 10, 2), task("b", 0, 20, 2), task("big", 1, 5, 4), task("c", 5, 30, 2)]
    assert starts(replace(scenario(tasks, nodes), reservation_delay_ns=delay_ns)) == expected


@pytest.mark.remuda_rule("CYC-33")
@pytest.mark.parametrize("delay_ns", [2 * S, None])
def test_a_task_behind_a_pause_of_its_application_is_placed_though_nothing_else_happens(
    delay_ns: int | None,
) -> None:
    """The first ask that finds no node begins a pause of 30 s; then the second is tried."""
    text = """
    partitions:
    - name: default
      queues:
      - name: root
        submitacl: "*"
        queues: [{name: leaf, properties: {application.unschedasks.backoff: "1"}}]
    """
    tasks = [task("big", 0, 1, 5, application_id="job"), task("a", 0, 1, 4, application_id="job")]
    nodes = (*ONE_NODE, NodeSpec("n2", {"gpu": 4}))
    workload = Workload("w.csv", "remuda", tuple(tasks))
    plan = given_queues(workload, "none", load_configuration(text), None)
    assert starts(Scenario(nodes, workload, plan, "replay", delay_ns)) == [("a", "n1", 30)]


@pytest.mark.remuda_rule("CYC-32")
def test_what_the_scheduler_holds_back_is_waited_for_though_nothing_runs() -> None:
    outcome = play(
        scenario([task("a", 7, 2, 4), task("b", 7, 1, 4)]), Hesitant(), lambda done: None
    )
    assert [(each.task, each.start_ns // S) for each in outcome.placements] == [(0, 50), (1, 52)]
    assert [sample.at // S for sample in outcome.timeline.samples] == [7, 50, 52, 53]


def test_a_scheduler_that_always_wants_another_step_is_left_alone_at_last() -> None:
    door = Hesitant(again=True)
    outcome = play(scenario([task("a", 7, 2, 4)]), door, lambda done: None)
    assert outcome.placements == ()
    assert [sample.at // S for sample in outcome.timeline.samples] == [7]
    assert len(door.times) < 200


def test_progress_ends_at_the_number_of_tasks() -> None:
    seen: list[int] = []
    simulate(scenario([task("a", 0, 1, 4), task("b", 0, 1, 4)]), seen.append)
    assert seen[-1] == 2
    assert seen == sorted(seen)


def test_a_node_the_scheduler_refuses_ends_the_run_in_one_line() -> None:
    nodes = (NodeSpec("n1", {"gpu": 4}), NodeSpec("n1", {"gpu": 4}))
    with pytest.raises(UsageError, match="the scheduler refuses 'n1'"):
        simulate(scenario([task("a", 0, 1, 1)], nodes), lambda done: None)


def test_a_task_the_scheduler_refuses_is_named_with_its_row() -> None:
    with pytest.raises(UsageError, match=r"w\.csv:2: the scheduler refuses task 'a'"):
        simulate(scenario([task("a", 0, 1, -1)]), lambda done: None)


def test_rows_are_selected_by_their_submit_time() -> None:
    workload = scenario([task(str(n), n, 1, 1) for n in range(5)]).workload
    chosen = select(workload, 1 * S, 3 * S)
    assert [each.task_id for each in chosen.tasks] == ["1", "2"]
    assert select(workload, None, None) is workload
    with pytest.raises(UsageError, match="no task of"):
        select(workload, 5 * S, None)


def test_a_replay_leaves_out_tasks_of_unknown_run_time() -> None:
    workload = scenario([task("a", 0, None, 1), task("b", 0, 1, 1)]).workload
    chosen = replayable(workload)
    assert [each.task_id for each in chosen.tasks] == ["b"]
    assert chosen.skipped == 1
    with pytest.raises(UsageError, match="use --mode fill"):
        replayable(scenario([task("a", 0, None, 1)]).workload)


def test_a_trace_without_times_can_neither_be_replayed_nor_cut() -> None:
    untimed = Workload("w.csv", "alibaba-gpu", (task("a", 0, None, 1),), timed=False)
    with pytest.raises(UsageError, match="has no times; use --mode fill"):
        replayable(untimed)
    with pytest.raises(UsageError, match="has no submit times"):
        select(untimed, 0, None)
