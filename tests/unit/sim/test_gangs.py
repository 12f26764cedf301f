"""Tasks as gangs, in front of the production core and on traces small enough to do by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from remuda.base.errors import UsageError
from remuda.config.load import load_configuration
from remuda.core.messages import commands as c
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsReleased,
    ApplicationUpdated,
    Effect,
    ReleasedAllocation,
)
from remuda.core.messages.queries import Query, View
from remuda.core.scheduler import Scheduler
from remuda.sim.gangs import MEMBERS_LIMIT, Gangs, Style, as_gangs
from remuda.sim.queues import given_queues, own_queues
from remuda.sim.simulator import Mode, Outcome, Scenario, play, simulate
from remuda.sim.singles import Begun
from remuda.sim.timeline import Timeline
from remuda.sim.workload import NodeSpec, Task, Workload

S = 1_000_000_000
TIMEOUT = 15 * 60
TWO_NODES = (NodeSpec("n1", {"gpu": 4}), NodeSpec("n2", {"gpu": 4}))

# Two queues that nothing limits, so that gangs take room member by member.
UNLIMITED = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - {name: a, properties: {application.sort.policy: fifo}}
          - {name: b, properties: {application.sort.policy: fifo}}
"""


def task(name: str, submit: float, run: float | None, members: int, **more: Any) -> Task:
    """A task of members with one GPU each."""
    run_ns = None if run is None else int(run * S)
    resource = more.pop("resource", {"gpu": members})
    return Task(name, 2, resource, int(submit * S), run_ns, members=members, **more)


def scenario(
    tasks: Sequence[Task],
    nodes: tuple[NodeSpec, ...] = TWO_NODES,
    *,
    style: Style = "Soft",
    mode: Mode = "replay",
    config: str = "",
) -> Scenario:
    workload = as_gangs(Workload("w.csv", "remuda", tuple(tasks), labels=("vc",)))
    if config:
        plan = given_queues(workload, "vc", load_configuration(config), "fair")
    else:
        plan = own_queues(workload, "none", nodes, "fair", gangs=True)
    return Scenario(nodes, workload, plan, mode, gangs=style)


class Checked:
    """The production core, which checks itself after everything it did."""

    def __init__(self) -> None:
        self._core = Scheduler()
        self.next_deadline = self._core.next_deadline
        self.has_work = self._core.has_work
        self.check = self._core.check

    def handle(self, command: c.Command, now_ns: int) -> list[Effect]:
        effects = self._core.handle(command, now_ns)
        self._core.check()
        return effects

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        effects = self._core.step(now_ns, limit)
        self._core.check()
        return effects

    def view(self, query: Query) -> View:
        return self._core.view(query)


def played(found: Scenario) -> Outcome:
    """The outcome of a scenario, in which no gang started with part of its members."""
    outcome = play(found, Checked(), lambda done: None)
    assert outcome.gangs is not None
    assert outcome.gangs.started_in_part == 0
    return outcome


def starts(outcome: Outcome, found: Scenario) -> list[tuple[str, float]]:
    tasks = found.workload.tasks
    return [(tasks[each.task].task_id, each.start_ns / S) for each in outcome.placements]


@pytest.mark.remuda_rule("GANG-4", "GANG-5", "GANG-14", "GANG-17")
def test_a_gang_starts_on_several_nodes_when_there_is_room_for_all_its_members() -> None:
    found = scenario([task("a", 0, 10, 6), task("b", 1, 10, 4), task("c", 2, 3, 2)])
    outcome = played(found)
    assert starts(outcome, found) == [("a", 0), ("c", 2), ("b", 10)]
    first = outcome.placements[0]
    assert sorted(first.node_ids) == ["n1", "n1", "n1", "n2", "n2", "n2"]
    assert (first.submit_ns, first.end_ns) == (0, 10 * S)
    assert outcome.gangs is not None
    assert (outcome.gangs.gangs, outcome.gangs.of_several, outcome.gangs.members) == (3, 3, 12)
    assert outcome.timeline.peaks() == (1.0,)
    assert [sample.used for sample in outcome.timeline.samples] == [
        (6,),
        (6,),
        (8,),
        (6,),
        (4,),
        (0,),
    ]


def test_a_gang_of_one_starts_when_it_comes_and_ends_in_its_instant_if_it_lasts_none() -> None:
    found = scenario([task("a", 3, 0, 1), task("b", 3, 5, 8)])
    outcome = played(found)
    assert starts(outcome, found) == [("a", 3), ("b", 3)]
    assert [sample.pending for sample in outcome.timeline.samples] == [0, 0]


def test_members_may_be_larger_than_one() -> None:
    size = {"gpu": 6, "cpu": 3}
    nodes = tuple(NodeSpec(f"n{n}", {"gpu": 3, "cpu": 2}) for n in range(3))
    outcome = played(scenario([task("a", 0, 10, 3, resource=size)], nodes))
    assert sorted(outcome.placements[0].node_ids) == ["n0", "n1", "n2"]


def test_in_a_fill_gangs_come_whole_or_not_at_all() -> None:
    found = scenario([task("a", 9, 1, 5), task("b", 0, None, 4), task("c", 0, 1, 3)], mode="fill")
    outcome = played(found)
    assert starts(outcome, found) == [("a", 0), ("c", 0)]
    assert outcome.timeline.finals() == (1.0,)
    (obstacle,) = outcome.obstacles
    assert (obstacle.gate, obstacle.tasks) == ("gang", 1)
    assert obstacle.example.startswith("b/")


def test_what_no_queue_could_hold_stays_behind_and_is_counted() -> None:
    found = scenario([task("a", 0, 1, 9), task("b", 0, 1, 8)])
    outcome = played(found)
    assert starts(outcome, found) == [("b", 0)]
    assert outcome.gangs is not None
    assert outcome.gangs.too_large == 1


def interleaved(style: Style) -> Scenario:
    """Two gangs of five for eight GPUs, each of which gets four; and one that comes later."""
    late = task("late", 5_000, 10, 8, labels={"vc": "a"})
    tasks = [task(name, 0, 10, 5, labels={"vc": name}) for name in ("a", "b")]
    return scenario([*tasks, late], style=style, config=UNLIMITED)


@pytest.mark.remuda_rule("GANG-23", "GANG-25", "GANG-26")
def test_a_hard_gang_without_room_for_all_fails_in_time_and_frees_what_it_held() -> None:
    found = interleaved("Hard")
    outcome = played(found)
    assert starts(outcome, found) == [("late", 5_000)]
    assert outcome.gangs is not None
    assert (outcome.gangs.timed_out, outcome.gangs.failed) == (2, 2)
    used = {sample.at / S: sample.used for sample in outcome.timeline.samples}
    assert used == {0: (8,), TIMEOUT: (0,), 5_000: (8,), 5_010: (0,)}
    assert outcome.timeline.samples[-1].pending == 0


@pytest.mark.remuda_rule("GANG-23", "GANG-25", "GANG-26")
def test_a_soft_gang_without_room_for_all_goes_on_as_an_ordinary_application() -> None:
    """Its members take what there is, and it starts when the last one has something."""
    tasks = [
        task("a", 0, 2_000, 6, labels={"vc": "a"}),
        task("b", 1, 10, 4, labels={"vc": "b"}),
    ]
    found = scenario(tasks, config=UNLIMITED)
    outcome = played(found)
    assert starts(outcome, found) == [("a", 0), ("b", 2_000)]
    assert outcome.gangs is not None
    assert (outcome.gangs.timed_out, outcome.gangs.failed) == (1, 0)
    used = {sample.at / S: sample.used for sample in outcome.timeline.samples}
    assert used[1] == (8,), "two placeholders of b"
    assert used[TIMEOUT + 1] == (8,), "two members of b in their place"
    assert used[2_000] == (4,)


def test_a_member_that_starts_without_the_others_is_counted() -> None:
    whole = task("a", 0, 10, 3)
    gangs = Gangs("Soft", (whole,), Timeline([{"gpu": 4}]))
    gangs.application(whole, "root.a")
    asks = list(gangs.asks(whole))
    assert [ask.placeholder for ask in asks] == [True] * 3 + [False] * 3
    assert [ask.resource for ask in asks] == [{"gpu": 1}] * 6
    placeholders, members = asks[:3], asks[3:]

    def place(ask: c.Ask) -> Begun | None:
        return gangs.placed(AllocationNew("sim", "", f"{ask.allocation_key}-0", "n1", ask))

    assert place(placeholders[0]) is None
    assert place(members[0]) is None
    assert gangs.counts().started_in_part == 1, "the third has nothing"
    assert place(members[1]) is None
    assert gangs.counts().started_in_part == 1, "each has something now"
    assert place(members[2]) == Begun(("n1", "n1", "n1"), "")


def test_orders_are_confirmed_once_and_with_their_type() -> None:
    whole = task("a", 0, 10, 2)
    timeline = Timeline([{"gpu": 4}])
    gangs = Gangs("Soft", (whole,), timeline)
    gangs.application(whole, "root.a")
    for ask in list(gangs.asks(whole))[:2]:
        gangs.placed(AllocationNew("sim", "", f"{ask.allocation_key}-0", "n1", ask))
    first, second = "a/placeholder-0-0", "a/placeholder-1-0"
    kinds = {first: c.PLACEHOLDER_REPLACED, second: c.TIMEOUT, "r": c.STOPPED_BY_RM}
    told = tuple(ReleasedAllocation("", "a", name, name, kind, "") for name, kind in kinds.items())
    gangs.released(AllocationsReleased("sim", told))
    assert [(each.allocation_id, each.termination_type) for each in gangs.confirmations()] == [
        (first, c.PLACEHOLDER_REPLACED),
        (second, c.TIMEOUT),
    ]
    assert gangs.confirmations() == ()
    timeline.settle(1)
    assert timeline.samples[-1].used == (1,), "a swap keeps its room"
    gangs.ended(whole)
    assert gangs.updated(ApplicationUpdated("sim", "a", "Failed", 1, "")) is False


def test_node_models_hold_for_placeholders_and_members() -> None:
    nodes = (NodeSpec("n1", {"gpu": 8}, "T4"), NodeSpec("n2", {"gpu": 8}, "P100"))
    found = scenario([task("a", 0, 10, 4, models="P100")], nodes)
    outcome = simulate(found, lambda done: None)
    assert outcome.placements[0].node_ids == ("n2",) * 4


@pytest.mark.parametrize(
    "members, resource, told",
    [
        (3, {"gpu": 8}, "w.csv:2: task 'a': 8 of gpu are not 3 equal parts"),
        (
            MEMBERS_LIMIT,
            {"gpu": MEMBERS_LIMIT},
            (
                "w.csv:2: task 'b': this and the tasks before it have 1,000,001 members,"
                " at most 1,000,000; say --to"
            ),
        ),
    ],
)
def test_what_cannot_be_a_gang_is_refused_with_its_line(
    members: int, resource: dict[str, int], told: str
) -> None:
    tasks = (task("a", 0, 1, members, resource=resource), task("b", 0, 1, 1))
    with pytest.raises(UsageError) as refused:
        as_gangs(Workload("w.csv", "remuda", tasks))
    assert str(refused.value) == f"--gangs: {told}"


def test_each_gang_is_an_application_of_its_own() -> None:
    tasks = (task("a", 0, 1, 1, application_id="x"), task("b", 0, 1, 1, application_id="x"))
    workload = as_gangs(Workload("w.csv", "remuda", tasks))
    assert [each.application_id for each in workload.tasks] == ["a", "b"]
