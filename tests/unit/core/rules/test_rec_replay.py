"""The RM replays everything after a restart (chapter 80 section 4)."""

from __future__ import annotations

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.scheduler import Scheduler
from tests.unit.core.door import DAY, MINUTE, SECOND, START, leaf, of, parent, partition, users
from tests.unit.core.rules.crowd import LATE
from tests.unit.core.rules.gang import (
    ONE,
    TIMEOUT,
    TWO,
    WAITING,
    Gang,
    existing,
    half,
    heard,
    pair,
)

FORCE = {"application.create.force": "true"}
SIZE = {"vcore": 10}


def actions(gang: Gang, action: int, *node_ids: str) -> list[str]:
    """One action on several nodes, in one request."""
    capacity = SIZE if action in (c.CREATE, c.CREATE_DRAIN) else None
    updates = tuple(c.NodeUpdate(node_id, action, capacity) for node_id in node_ids)
    return heard(gang.send(c.UpdateNodes(gang.rm, updates)))


def applications(gang: Gang) -> list[str]:
    """a1, and a2, which is a gang and forced, in one request."""
    new = (
        c.NewApplication("a1", "root.a", user="ann", groups=("staff",)),
        c.NewApplication(
            "a2", "root.a", user="ann", groups=("staff",), placeholder_ask=TWO, tags=FORCE
        ),
    )
    return heard(gang.send(c.UpdateApplications(gang.rm, new)))


X1 = existing("a1", "x1", "n1")
P1 = existing("a2", "p1", "n2", "g", placeholder=True)
R1 = existing("a2", "r1", "n2", "g", TWO)


@pytest.mark.remuda_rule("REC-2", "REC-3", "REC-7", "GANG-40", "SI-42")
def test_bulk() -> None:
    gang = Gang()
    assert actions(gang, c.CREATE_DRAIN, "n1", "n2") == ["accepted[n1, n2]"]
    assert applications(gang) == ["accepted[a1, a2]"]
    assert gang.recover(X1, P1) == [
        "updated[a1 Accepted]",
        "updated[a1 Starting]",
        "new[x1 n1]",
        "updated[a2 Accepted]",
        "new[p1 n2]",
    ]
    asks = (c.Ask("a2", "p2", ONE, placeholder=True, task_group="g"), c.Ask("a1", "k7", ONE))
    assert heard(gang.send(c.UpdateAllocations(gang.rm, asks=asks))) == []
    assert gang.run() == []
    assert actions(gang, c.DRAIN_TO_SCHEDULABLE, "n1", "n2") == []
    lines = gang.run()
    assert [line.split()[:2] for line in lines] == [
        ["updated[a1", "Running]"],
        ["new[k7-0", lines[1].split()[1]],
        ["updated[a2", "Starting]"],
        ["new[p2-0", lines[3].split()[1]],
    ]


@pytest.mark.remuda_rule("REC-2", "REC-3", "NODE-6")
def test_per_node() -> None:
    gang = Gang()
    assert gang.submit("a1") == ["accepted[a1]"]
    assert heard(gang.node("n1", SIZE, existing=(X1,))) == [
        "updated[a1 Accepted]",
        "updated[a1 Starting]",
        "accepted[n1]",
    ]


@pytest.mark.remuda_rule("REC-2", "NODE-6", "SI-40")
def test_refused() -> None:
    gang = Gang()
    unknown = existing("a9", "x1", "n1")
    assert heard(gang.node("n1", SIZE, existing=(unknown,))) == ["rejected[n1]"]
    assert gang.node_views() == {}
    assert gang.submit("a9") == ["accepted[a9]"]
    lines = heard(gang.node("n1", SIZE, existing=(unknown,)))
    assert lines[-1] == "accepted[n1]"
    assert gang.runs("a9") == ["x1"]


@pytest.mark.remuda_rule("REC-2", "SI-40")
def test_an_allocation_of_an_unknown_application_is_refused_alone() -> None:
    gang = Gang()
    actions(gang, c.CREATE, "n1", "n2")
    gang.submit("a1")
    assert gang.recover(existing("a9", "x9", "n1"), X1)[-1] == "refused[x9]"
    assert gang.runs("a1") == ["x1"]


def replayed(bulk: bool, times: int = 1, placeholders_first: bool = True) -> Gang:
    """The same world in one of the two ways, once or twice."""
    gang = Gang()
    ordered = (P1, R1) if placeholders_first else (R1, P1)
    for _ in range(times):
        if bulk:
            actions(gang, c.CREATE_DRAIN, "n1", "n2")
        applications(gang)
        if bulk:
            gang.recover(X1, *ordered)
        else:
            gang.node("n1", SIZE, existing=(X1,))
            gang.node("n2", SIZE, existing=ordered)
        gang.hold("p2", app="a2", size={"gpu": 1})
        gang.want("k7", app="a1", group="", size={"vcore": 50})
        if bulk:
            actions(gang, c.DRAIN_TO_SCHEDULABLE, "n1", "n2")
        gang.run()
    return gang


@pytest.mark.remuda_rule("REC-3", "REC-7", "REC-8")
@pytest.mark.parametrize("bulk", [True, False])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("placeholders_first", [True, False])
def test_both_ways_end_in_the_same_state(bulk: bool, times: int, placeholders_first: bool) -> None:
    gang = replayed(bulk, times, placeholders_first)
    assert gang.totals() == replayed(bulk=True).totals()
    assert gang.in_queue() == gang.of_user() == gang.of_group() == {"vcore": 4}
    assert (gang.on("n1"), gang.on("n2")) == (ONE, {"vcore": 3})
    assert (gang.state("a1"), gang.state("a2")) == ("Starting", "Starting")
    assert gang.data(app="a2") == (2, 0, 0)


@pytest.mark.remuda_rule("REC-8", "SI-43", "SI-34")
def test_a_replay_that_comes_twice_changes_nothing() -> None:
    gang = replayed(bulk=True)
    before = gang.totals()
    assert actions(gang, c.CREATE_DRAIN, "n1", "n2") == ["rejected[n1, n2]"]
    assert applications(gang) == ["rejected[a1, a2]"]
    assert gang.recover(X1, P1, R1) == ["new[x1 n1]", "new[p1 n2]", "new[r1 n2]"]
    assert gang.hold("p2", app="a2", size={"gpu": 1}) == []
    assert actions(gang, c.DRAIN_NODE, "n1") == []
    assert actions(gang, c.DRAIN_NODE, "n1") == []
    assert actions(gang, c.DRAIN_TO_SCHEDULABLE, "n1") == []
    gang.run()
    assert gang.totals() == before
    assert gang.home().applications.get("Rejected", 0) == 2  # SI-20: recorded, hiding nothing


@pytest.mark.remuda_rule("REC-7", "APP-6", "GANG-5")
@pytest.mark.parametrize(
    "reported, state",
    [
        ((), "New"),
        ((R1,), "Starting"),
        ((R1, existing("a2", "r2", "n1", "g")), "Running"),
        ((R1, existing("a2", "r2", "n1"), existing("a2", "r3", "n1")), "Running"),
        ((P1,), "Accepted"),
        ((P1, existing("a2", "p2", "n1", "g", placeholder=True)), "Starting"),
        ((P1, R1), "Starting"),
    ],
)
def test_the_state_after_a_replay(reported: tuple[c.ExistingAllocation, ...], state: str) -> None:
    gang = Gang()
    actions(gang, c.CREATE_DRAIN, "n1", "n2")
    applications(gang)
    gang.recover(*reported)
    assert gang.state("a2") == state
    if not reported:
        gang.want("k", app="a2")
        assert gang.state("a2") == "Accepted"


@pytest.mark.remuda_rule("REC-4", "SI-25")
def test_placement_decides_anew_where_an_application_goes() -> None:
    gang = Gang(leaf("new"))
    gang.nodes(n1=10)
    assert gang.submit("gone", queue="root.a") == ["rejected[gone]"]
    assert gang.submit("forced", queue="root.a", tags=FORCE) == ["accepted[forced]"]
    assert gang.application("forced").queue == "root.@recovery@"
    gang.recover(existing("forced", "x", "n1"))
    assert (gang.state("forced"), gang.in_queue("root.@recovery@")) == ("Starting", ONE)


@pytest.mark.remuda_rule("REC-5", "SI-41", "LIM-7")
def test_what_runs_may_be_above_every_limit_and_new_work_waits() -> None:
    limits = (users("ann", {"vcore": 2}),)
    gang = Gang(parent("p", leaf("a", {"vcore": 3}, limits=limits), maximum={"vcore": 4}))
    gang.nodes(n1=5, n2=100)
    gang.submit("app", queue="root.p.a")
    gang.recover(existing("app", "x", "n1", size={"vcore": 6}), existing("app", "y", "n2"))
    assert gang.in_queue("root.p") == gang.of_user() == {"vcore": 7}
    assert gang.on("n1") == {"vcore": 6}
    gang.want("k", group="")
    assert gang.run() == []
    assert gang.run(DAY) == []
    assert gang.runs() == ["x", "y"]
    gang.release("app", "x")
    assert gang.run() == ["new[k-0 n1]"]


@pytest.mark.remuda_rule("REC-6", "APP-21", "QUE-40")
def test_asks_are_served_in_the_order_of_the_replay() -> None:
    gang = Gang()
    actions(gang, c.CREATE_DRAIN, "n1")
    for app in ("late", "early"):
        gang.submit(app)
    for app in ("late", "early"):
        age = 100 if app == "early" else 50
        created = {"creationTime": str(START // SECOND - age)}
        for number in (1, 2):
            gang.want(f"{app}{number}", app=app, group="", tags=created)
    actions(gang, c.DRAIN_TO_SCHEDULABLE, "n1")
    placed = [line for line in gang.run() if line.startswith("new")]
    assert placed == [
        "new[early1-0 n1]",
        "new[early2-0 n1]",
        "new[late1-0 n1]",
        "new[late2-0 n1]",
    ]


def register_again(gang: Gang) -> None:
    """The RM, or its partner under the same name, registers once more."""
    effects = gang.send(c.RegisterResourceManager(gang.rm, Configuration((partition(leaf("a")),))))
    assert heard(effects) == []
    (answer,) = of(effects, e.RegistrationAnswered)
    assert answer.reason == ""


@pytest.mark.remuda_rule("REC-1", "REC-9", "REC-12", "REC-13", "RM-9")
def test_who_registers_again_starts_with_nothing() -> None:
    gang = pair()
    gang.want("r1")
    gang.run()
    gang.submit("refused", queue="root.nowhere")
    gang.submit("done")
    gang.want("k", app="done", group="")
    gang.release_ask("done", "k")
    gang.run(WAITING)
    found = gang.home().applications
    assert (found.get("Completed"), found.get("Rejected")) == (1, 1)
    register_again(gang)
    assert (gang.apps(), gang.node_views(), gang.usage()) == ({}, {}, {})
    assert not any(gang.home().applications.values())
    assert (gang.home().total_containers, gang.home().placeholders) == (0, 0)
    # Nothing of the former life is due any more, and nothing of it can be confirmed.
    assert gang.confirm("p1-0") == []
    assert gang.run(30 * DAY) == []
    gang.nodes(n1=10)
    assert gang.submit("app", TWO) == ["accepted[app]"]
    gang.recover(existing("app", "p1-0", "n1", "g", placeholder=True))
    gang.hold("p2")
    assert gang.run() == ["updated[app Starting]", "new[p2-0 n1]"]


@pytest.mark.remuda_rule("REC-1", "REC-12")
def test_a_core_that_restarted_knows_nobody() -> None:
    gang = pair()
    gang.scheduler = Scheduler()
    (answer,) = gang.node("n1", SIZE)
    assert isinstance(answer, e.RequestRefused)
    assert "not registered" in answer.reason
    for lines in (gang.submit("app"), gang.hold("p1"), gang.confirm("p1-0"), gang.run()):
        assert lines == []
    register_again(gang)
    assert heard(gang.node("n1", SIZE)) == ["accepted[n1]"]


@pytest.mark.remuda_rule("REC-10", "APP-16", "GANG-43")
def test_timers_begin_with_the_replay() -> None:
    gang = Gang()
    gang.nodes(n1=10, n2=10)
    applications(gang)
    old = {"creationTime": str(START // SECOND - 240)}
    gang.recover(existing("a1", "x1", "n1", tags=old))
    assert gang.run(5 * MINUTE - 1) == []
    assert gang.run(1) == ["updated[a1 Running]"]
    gang.release("a1")
    assert gang.run(WAITING - 1) == []
    assert gang.run(1) == ["updated[a1 Completed]"]


@pytest.mark.remuda_rule("REC-11", "RSV-1")
def test_reservations_are_made_anew() -> None:
    gang = Gang()
    for _ in range(2):
        gang.nodes(n1=10)
        gang.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
        gang.submit("old")
        gang.recover(existing("old", "x", "n1", size={"vcore": 6}))
        gang.submit("app")
        gang.want("big", group="", size={"vcore": 8})
        assert gang.run() == []
        assert gang.home().reservations == 0
        gang.run(LATE)
        assert gang.home().reservations == 1
        register_again(gang)


@pytest.mark.remuda_rule("REC-12", "RM-15")
def test_a_connection_that_comes_back_finds_everything_as_it_was() -> None:
    gang = half()
    before = (gang.totals(), gang.pending())
    gang.send(c.PauseResourceManager(gang.rm))
    assert gang.run(4 * MINUTE) == []  # less than RM-18 allows
    gang.send(c.ResumeResourceManager(gang.rm))
    assert (gang.totals(), gang.pending()) == before
    assert gang.run(TIMEOUT - 1) == []
    assert gang.run(1)[0] == "updated[app Resuming ResourceReservationTimeout]"


@pytest.mark.remuda_rule("REC-14", "REC-3")
def test_with_schedulable_nodes_asks_are_placed_before_all_nodes_are_known() -> None:
    gang = Gang()
    gang.submit("app")
    gang.want("k", group="", size={"vcore": 6})
    assert gang.run() == []
    gang.nodes(n1=10)
    assert gang.run() == ["updated[app Starting]", "new[k-0 n1]"]
    assert gang.recover(existing("app", "x", "n1", size={"vcore": 6})) == [
        "updated[app Running]",
        "new[x n1]",
    ]
    assert gang.on("n1") == {"vcore": 12}
