"""What belonged to a resource manager, or to a partition, is freed when that goes.

Nothing of it waits for a collector, whatever was going on in it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from remuda.config.schema import Configuration, PartitionConfig
from remuda.core.messages import commands as c
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.rows import ApplicationRowsQuery, Rows
from remuda.core.ports import NodesAnswer, NodesQuestion
from tests.garbage import collector_off, garbage
from tests.port import one_by_one
from tests.unit.core.door import (
    DAY,
    MINUTE,
    REQUIRED_NODE,
    SECOND,
    Caller,
    groups,
    leaf,
    partition,
    users,
)
from tests.unit.core.preemption.arena import full
from tests.unit.core.rules.gang import Gang

ONE = {"vcore": 1}
OTHER = PartitionConfig("other", partition(leaf("a")).root)


def gangs() -> Caller:
    """A replacement in flight, a gang that waits, placeholders that ran out of time."""
    gang = Gang(extra_config={"rm.confirmTimeout": "10s"})
    gang.nodes(n1=6, n2=6)
    gang.submit("one", {"vcore": 2})
    gang.hold("p1", "p2", app="one")
    gang.run()
    gang.want("k1", "k2", app="one")
    gang.want("k3", app="one", size={"vcore": 9})
    gang.submit("two", {"vcore": 30})
    gang.hold(*(f"q{number}" for number in range(4)), app="two", size={"vcore": 4})
    gang.run()
    gang.run(16 * MINUTE)
    return gang


def preemption() -> Caller:
    """A preemption that stands, with victims that were ordered out, and one that was fruitless."""
    arena = full(4)
    arena.wants("a", "k", {"vcore": 2})
    arena.wants("a", "vain", {"vcore": 40})
    assert arena.after() != []
    return arena


def quota() -> Caller:
    """A queue above its changed maximum, victims ordered out."""
    caller = Caller(leaf("a"))
    caller.node("n1", {"vcore": 9})
    caller.app("app")
    caller.ask("app", "k", ONE, 6)
    caller.place()
    caller.reload(leaf("a", {"vcore": 2}, properties={"quota.preemption.delay": "1s"}))
    caller.wait(2 * SECOND)
    return caller


def limits() -> Caller:
    """Applications that may not start, asks without room: in a queue, for a user, for a group."""
    caller = Caller(
        leaf("a", {"vcore": 3}, max_applications=1),
        leaf("b", limits=(users("ann", {"vcore": 2}, 1), groups("*", {"vcore": 5}, 2))),
        leaf("c", properties={"application.sort.policy": "stateaware"}),
        leaf("d", properties={"application.unschedasks.backoff": "1"}),
    )
    caller.node("n1", {"vcore": 20})
    for path in "abcd":
        for number in range(3):
            caller.app(f"{path}{number}", f"root.{path}")
            caller.ask(f"{path}{number}", "k", ONE, 2)
            caller.ask(f"{path}{number}", "large", {"vcore": 19})
            caller.ask(f"{path}{number}", "r", {"vcore": 9}, tags={REQUIRED_NODE: "n1"})
    caller.place()
    return caller


def reservations() -> Caller:
    """Nodes that are reserved, by asks of several kinds, and asks that wait for more nodes."""
    caller = Caller(leaf("a", {"vcore": 90}), extra_config={"scheduler.reservationLimit": "1h"})
    for number in range(3):
        caller.node(f"n{number}", {"vcore": 4})
    caller.app("app")
    caller.ask("app", "small", {"vcore": 3}, 3, execution_timeout_ms=86_400_000)
    caller.place()
    caller.ask("app", "large", {"vcore": 4}, 5)
    caller.ask("app", "bound", {"vcore": 4}, tags={REQUIRED_NODE: "n1"})
    caller.place()
    caller.wait(10 * SECOND)
    caller.place()
    caller.wait(2 * SECOND)
    return caller


def questions() -> Caller:
    """Questions that the RM has not answered, and refusals."""
    tickets = [0]

    def later(question: NodesQuestion) -> NodesAnswer:
        tickets[0] += 1
        return NodesAnswer(-1, ticket=tickets[0], asked=1)

    caller = Caller(leaf("a"), predicates=later)
    caller.node("n1", {"vcore": 9})
    caller.node("n2", {"vcore": 9})
    caller.app("app")
    for number in range(4):
        caller.ask("app", f"k{number}", {"vcore": number + 1})
    caller.step()
    caller.send(c.PredicateVerdicts(caller.rm, (c.PredicateVerdict(1, unknown=True),)))
    caller.step()
    return caller


def refusals() -> Caller:
    """Nodes that predicates refused, with reasons."""
    caller = Caller(leaf("a"), predicates=one_by_one(lambda *_: "never"))
    caller.node("n1", {"vcore": 9})
    caller.app("app")
    caller.ask("app", "k", ONE, equivalence="class")
    caller.ask("app", "j", ONE)
    caller.wait(10 * SECOND)
    caller.place()
    return caller


def ends() -> Caller:
    """Applications that ended or were rejected, foreign allocations, a node that drains."""
    caller = Caller(leaf("a", submit_acl=partition().root.submit_acl), partitions=())
    caller.node("n1", {"vcore": 9})
    caller.node("n2", {"vcore": 9}, c.CREATE_DRAIN)
    for number in range(4):
        caller.app(f"app-{number}")
        caller.ask(f"app-{number}", "k", ONE, 2)
    caller.app("bad", "root.missing")
    caller.place()
    caller.remove("app-0")
    caller.release("app-1")
    caller.wait(MINUTE)
    caller.existing("", "f", "n1", ONE, tags={"foreign": "default"})
    return caller


SCENES: list[Callable[[], Caller]] = [
    gangs,
    preemption,
    quota,
    limits,
    reservations,
    questions,
    refusals,
    ends,
]


def register_again(caller: Caller) -> None:
    """Its RM registers anew, with another queue."""
    config = Configuration((partition(leaf("z")),))
    caller.send(c.RegisterResourceManager(caller.rm, config))


def unregister(caller: Caller) -> None:
    """Its RM goes."""
    caller.send(c.UnregisterResourceManager(caller.rm))


def be_lost(caller: Caller) -> None:
    """Its RM was lost and is given up."""
    caller.send(c.PauseResourceManager(caller.rm))
    caller.wait(DAY)
    assert caller.scheduler.view(q.PartitionsQuery()) == ()


def go_by_reload(caller: Caller) -> None:
    """The partition is configured no more, and has ended."""
    caller.reload(partitions=(OTHER,))
    for _ in range(10):
        caller.wait(SECOND)
    views = caller.scheduler.view(q.PartitionsQuery())
    assert isinstance(views, tuple)
    assert len(views) == 1


@pytest.mark.remuda_rule("RM-9", "RM-19", "OBJ-9")
@pytest.mark.parametrize("leave", [register_again, unregister, be_lost, go_by_reload])
@pytest.mark.parametrize("scene", SCENES)
def test_nothing_of_what_went_waits_for_a_collector(
    scene: Callable[[], Caller], leave: Callable[[Caller], None]
) -> None:
    with collector_off():
        caller = scene()
        assert not garbage()
        leave(caller)
        assert not garbage()
        caller.scheduler.check()


@pytest.mark.remuda_rule("RM-9")
def test_registrations_leave_no_object_behind() -> None:
    with collector_off():
        caller = reservations()
        counts: list[int] = []
        for _ in range(4):
            register_again(caller)
            counts.append(len(gc.get_objects()))
            caller.app("app", "root.z")
            caller.node("n1", {"vcore": 100})
            for number in range(200):
                caller.ask("app", f"k{number}", ONE)
            caller.place()
    assert max(counts[1:]) - min(counts[1:]) < 50


@pytest.mark.remuda_rule("DMP-15", "REST-77")
@pytest.mark.parametrize("leave", [register_again, go_by_reload])
def test_an_answer_is_read_as_it_was_noted_though_its_partition_went(
    leave: Callable[[Caller], None],
) -> None:
    caller = limits()
    asked = caller.scheduler.view(ApplicationRowsQuery("default", "", caller.rm))
    expected = caller.apps()
    assert isinstance(asked, Rows)
    leave(caller)
    found = {view.application_id: view for view in asked if isinstance(view, ApplicationView)}
    assert sorted(found) == sorted(expected)
    for name, view in found.items():
        assert view.queue == expected[name].queue
        assert tuple(view.allocations) == tuple(expected[name].allocations)
        assert tuple(view.requests) == tuple(expected[name].requests)
