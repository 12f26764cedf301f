"""Every cell of the table of application states, through the door (chapter 80 section 1)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from tests.unit.core.door import DAY, MINUTE, SECOND, leaf, of, partition
from tests.unit.core.rules.gang import (
    ONE,
    TIMEOUT,
    TWO,
    WAITING,
    Gang,
    existing,
    heard,
)

DEFAULT = partition(leaf("a"))
BATCH = partition(leaf("a"), name="batch")
APP_RESUMING = 211  # EVT-4
LARGE = {"vcore": 100}

Path = tuple[str, ...]
# How each state is reached, as the state log tells it.
PATHS: dict[str, Path] = {
    "New": (),
    "Accepted": ("Accepted",),
    "Starting": ("Accepted", "Starting"),
    "Running": ("Accepted", "Starting", "Running"),
    "Completing": ("Accepted", "Starting", "Completing"),
    "Resuming": ("Accepted", "Resuming"),
    "Failing": ("Accepted", "Failing"),
}


class Stage:
    """One application of a partition, brought to a state; ``home`` is the partition."""

    def __init__(self, state: str, style: str = "", home: str = "") -> None:
        self.gang = Gang(partitions=[DEFAULT, BATCH])
        self.other = {"partition": home} if home else {}
        self.home = home or "default"
        attributes = {"si/node-partition": home} if home else {}
        self.gang.node("n1", {"vcore": 10}, attributes=attributes)
        total = TWO if state in ("Resuming", "Failing") else {}
        chosen = "Hard" if state == "Failing" else style
        self.gang.submit("app", total, chosen, **self.other)
        self.reach(state)
        assert self.state() == state
        assert tuple(name for _, name in self.view().state_log) == PATHS[state]

    def reach(self, state: str) -> None:
        """Do what brings the application there."""
        gang = self.gang
        if state in ("Resuming", "Failing"):
            self.ask("p", placeholder=True, group="g")
            self.ask("q", placeholder=True, group="g", size=LARGE)
            gang.run()
            gang.run(TIMEOUT)
        elif state == "Accepted":
            self.ask("k", size=LARGE)
        elif state != "New":
            self.ask("k")
            gang.run()
            if state == "Running":
                self.ask("k2")
                gang.run()
            elif state == "Completing":
                self.end("k-0")

    def ask(self, key: str, group: str = "", **other: object) -> list[str]:
        """A real ask unless said otherwise."""
        return self.gang.want(key, group=group, **other, **self.other)  # type: ignore[arg-type]

    def end(self, identity: str = "", kind: int = c.STOPPED_BY_RM) -> list[str]:
        """End one allocation or all."""
        release = c.AllocationRelease("app", identity, partition=self.home, termination_type=kind)
        return heard(self.gang.send(c.UpdateAllocations(self.gang.rm, releases=(release,))))

    def drop(self, key: str = "") -> list[str]:
        """Drop one ask or all."""
        release = c.AskRelease("app", key, partition=self.home)
        return heard(self.gang.send(c.UpdateAllocations(self.gang.rm, ask_releases=(release,))))

    def recover(self, identity: str) -> list[str]:
        """A real allocation the RM has already."""
        ask = c.Ask("app", identity, ONE, partition=self.home)
        return self.gang.recover(c.ExistingAllocation(ask, identity, "n1"))

    def view(self) -> ApplicationView:
        """The application."""
        (found,) = self.views()
        return found

    def views(self) -> list[ApplicationView]:
        """The live applications of the partition."""
        found = self.gang.scheduler.view(q.ApplicationsQuery(self.home, "", self.gang.rm))
        assert isinstance(found, tuple)
        return [view for view in found if isinstance(view, ApplicationView)]

    def state(self) -> str:
        """Its state, "" if it is not live."""
        return next((view.state for view in self.views()), "")


def moved(lines: list[str]) -> list[str]:
    """The states entered, in order."""
    return [line[len("updated[app ") : -1].split()[0] for line in lines if "updated" in line]


def first_ask(stage: Stage) -> list[str]:
    return stage.ask("more", size=LARGE)


def placed_ask(stage: Stage) -> list[str]:
    return [*stage.ask("more"), *stage.gang.run()]


def recovered(stage: Stage) -> list[str]:
    return stage.recover("x")


def starting_timer(stage: Stage) -> list[str]:
    return stage.gang.run(5 * MINUTE)


def last_placeholder(stage: Stage) -> list[str]:
    return stage.end("p-0", c.TIMEOUT)


def last_ask(stage: Stage) -> list[str]:
    return stage.drop()


def all_allocations(stage: Stage) -> list[str]:
    return stage.end()


def completing_timer(stage: Stage) -> list[str]:
    return stage.gang.run(WAITING)


LEGAL: list[tuple[str, Callable[[Stage], list[str]], list[str]]] = [
    ("New", first_ask, ["Accepted"]),
    ("New", recovered, ["Accepted", "Starting"]),
    ("New", placed_ask, ["Accepted", "Starting"]),
    ("Accepted", recovered, ["Starting"]),
    ("Accepted", placed_ask, ["Starting"]),
    ("Accepted", last_ask, ["Completing"]),
    ("Starting", placed_ask, ["Running"]),
    ("Starting", recovered, ["Running"]),
    ("Starting", starting_timer, ["Running"]),
    ("Starting", all_allocations, ["Completing"]),
    ("Running", all_allocations, ["Completing"]),
    ("Completing", first_ask, ["Running"]),
    ("Completing", recovered, ["Running"]),
    ("Completing", completing_timer, ["Completed"]),
    ("Resuming", last_placeholder, ["Accepted"]),
    ("Failing", last_placeholder, ["Failed"]),
]
DETAILS = {
    "Accepted": ev.APP_ACCEPTED,
    "Starting": ev.APP_STARTING,
    "Running": ev.APP_RUNNING,
    "Completing": ev.APP_COMPLETING,
    "Completed": ev.APP_COMPLETED,
    "Resuming": APP_RESUMING,
    "Failing": ev.APP_FAILING,
    "Failed": ev.APP_FAILED,
}


@pytest.mark.remuda_rule("APP-1", "APP-3", "APP-4", "APP-8", "APP-11", "APP-13", "EVT-16")
@pytest.mark.parametrize("state, what, entered", LEGAL)
def test_legal_cells(state: str, what: Callable[[Stage], list[str]], entered: list[str]) -> None:
    stage = Stage(state)
    before = stage.view().state_log
    told: list[e.Effect] = []
    send, step = stage.gang.send, stage.gang.step

    def keep_command(command: c.Command) -> list[e.Effect]:
        told.extend(found := send(command))
        return found

    def keep_step(limit: int = 1000) -> list[e.Effect]:
        told.extend(found := step(limit))
        return found

    stage.gang.send = keep_command  # type: ignore[method-assign]
    stage.gang.step = keep_step  # type: ignore[method-assign]
    assert moved(what(stage)) == entered
    details = [r.detail for r in of(told, e.EventRecord) if r.detail in DETAILS.values()]
    assert details == [DETAILS[name] for name in entered]
    updates = of(told, e.ApplicationUpdated)
    assert [u.timestamp_ns for u in updates] == [stage.gang.now] * len(entered)
    if entered[-1] in ("Completed", "Failed"):
        assert stage.views() == []
        return
    now = stage.gang.now
    assert stage.view().state_log == (*before, *((now, name) for name in entered))


@pytest.mark.remuda_rule("APP-1", "APP-13", "APP-11", "EVT-16", "EVT-26")
@pytest.mark.parametrize("state, detail", [("Resuming", APP_RESUMING), ("Failing", ev.APP_FAILING)])
def test_the_cells_of_the_reservation_timeout(state: str, detail: int) -> None:
    stage = Stage(state)
    told = [r for r in of(stage.gang.last, e.EventRecord) if r.detail == detail]
    assert [(r.object_id, r.change, r.message) for r in told] == [
        ("app", ev.SET, "ResourceReservationTimeout")
    ]


def nothing_to_drop(stage: Stage) -> list[str]:
    return stage.drop("unheard-of") + stage.end("unheard-of") + stage.drop() + stage.end()


def further_ask(stage: Stage) -> list[str]:
    return stage.ask("more", size=LARGE)


def long_time(stage: Stage) -> list[str]:
    return stage.gang.run(10 * DAY)


def schedulable_ask(stage: Stage) -> list[str]:
    lines = stage.ask("more") + stage.gang.run()
    assert not [line for line in lines if line.startswith("new")]
    return lines


def gone_ask(stage: Stage) -> list[str]:
    return stage.ask("more", size=LARGE) + stage.drop("more")


def more_work(stage: Stage) -> list[str]:
    return placed_ask(stage) + stage.recover("y")


UNCHANGED: list[tuple[str, Callable[[Stage], list[str]]]] = [
    ("New", nothing_to_drop),
    ("New", long_time),
    ("Accepted", further_ask),
    ("Accepted", gone_ask),
    ("Accepted", long_time),
    ("Starting", further_ask),
    ("Starting", gone_ask),
    ("Running", further_ask),
    ("Running", gone_ask),
    ("Running", more_work),
    ("Running", long_time),
    ("Resuming", further_ask),
    ("Resuming", schedulable_ask),
    ("Resuming", gone_ask),
    ("Resuming", last_ask),
    ("Resuming", long_time),
    ("Failing", schedulable_ask),
    ("Failing", last_ask),
    ("Failing", long_time),
]


@pytest.mark.remuda_rule("APP-5", "APP-12", "APP-20", "APP-1", "APP-17")
@pytest.mark.parametrize("state, what", UNCHANGED)
def test_refused_cells_and_self_transitions_change_nothing(
    state: str, what: Callable[[Stage], list[str]]
) -> None:
    stage = Stage(state)
    before = stage.view().state_log
    assert moved(what(stage)) == []
    assert stage.state() == state
    assert stage.view().state_log == before


@pytest.mark.remuda_rule("GANG-22", "APP-13", "APP-11", "APP-17")
@pytest.mark.parametrize("style", ["Hard", "Soft"])
@pytest.mark.parametrize("state", ["Starting", "Running", "Completing"])
def test_the_reservation_timeout_changes_no_later_state(state: str, style: str) -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", TWO, style, execution_timeout_ms=1000)
    gang.hold("p1", "p2")
    gang.run()
    if state == "Running":
        gang.recover(existing("app", "x", "n1"))
    elif state == "Completing":
        gang.want("r1")
        gang.run()
        gang.confirm("p1-0")
        gang.confirm("r1-0", kind=c.STOPPED_BY_RM)
    assert gang.state("app") == state
    lines = gang.run(SECOND)
    assert moved(lines) == []
    assert lines[-1] == "released[p2-0 TIMEOUT]"
    assert gang.state("app") == state


@pytest.mark.remuda_rule("APP-11", "SI-78", "APP-14")
@pytest.mark.parametrize("state", list(PATHS))
def test_an_application_of_a_partition_that_goes_fails(state: str) -> None:
    stage = Stage(state, home="batch")
    gang = stage.gang
    runs = [a.allocation_id for a in stage.view().allocations]
    lines = heard(gang.reload(partitions=[DEFAULT]))
    for _ in range(10):
        deadline = gang.scheduler.next_deadline()
        if deadline is not None:
            gang.now = max(gang.now, deadline)
        lines += heard(gang.step(0))
    assert "updated[app Failed]" in lines
    failing = [line for line in lines if "Failing" in line]
    expected = [] if state == "Failing" else ["updated[app Failing PartitionRemoved]"]
    assert failing == expected
    gone = [f"released[{identity} STOPPED]" for identity in runs]
    assert sorted(line for line in lines if line.startswith("released[")) == sorted(gone)


@pytest.mark.remuda_rule("APP-15", "APP-18", "SI-62", "SI-31", "SI-40")
@pytest.mark.parametrize("state", ["Completed", "Failed"])
def test_nothing_reaches_an_application_that_has_ended(state: str) -> None:
    stage = Stage("Completing" if state == "Completed" else "Failing")
    if state == "Completed":
        completing_timer(stage)
    else:
        last_placeholder(stage)
    gang = stage.gang
    assert gang.home().applications.get(state) == 1
    before = gang.totals()
    assert stage.ask("more") == ["refused[more]"]
    assert stage.recover("x") == ["refused[x]"]
    assert stage.drop() + stage.end() + stage.end("p-0", c.TIMEOUT) == []
    assert heard(gang.remove("app")) == []
    assert gang.totals() == before
    assert gang.home().applications.get(state) == 1
    assert gang.run(3 * DAY - 1) == []
    assert gang.run(1) == ["updated[app Expired]"]
    assert gang.home().applications.get(state, 0) == 0
    assert gang.run(DAY) == []
    assert gang.home().applications.get("Expired", 0) == 0
