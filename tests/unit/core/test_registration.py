"""Resource managers and their partitions (chapter 70, sections 2 and 3)."""

from __future__ import annotations

import pytest

from remuda.config.schema import Configuration, built_in
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.scheduler import Scheduler
from tests.unit.core.door import DAY, START, Caller, answers, leaf, of, partition

ONE = {"vcore": 1}
CONFIGURATION = Configuration((partition(leaf("a")),))


def registered(rm_id: str) -> str:
    """The reason of a registration's answer."""
    found = Scheduler().handle(c.RegisterResourceManager(rm_id, CONFIGURATION), START)
    (answer,) = of(found, e.RegistrationAnswered)
    assert answer.rm_id == rm_id
    return answer.reason


@pytest.mark.remuda_rule("RM-1", "RM-2")
@pytest.mark.parametrize("rm_id", ["", "[", "a]b", "a\nb", "x" * 257, "\x00"])
def test_a_bad_name_is_refused(rm_id: str) -> None:
    assert registered(rm_id)


@pytest.mark.remuda_rule("RM-1", "RM-2")
@pytest.mark.parametrize("rm_id", ["rm", "x" * 256, "a b", "ü", "rm:123"])
def test_other_names_are_fine(rm_id: str) -> None:
    assert registered(rm_id) == ""


@pytest.mark.remuda_rule("SI-1", "RM-2")
@pytest.mark.parametrize(
    "command",
    [
        c.UpdateApplications("rm", (c.NewApplication("app", user="ann"),)),
        c.UpdateAllocations("rm", asks=(c.Ask("app", "k", ONE),)),
        c.UpdateNodes("rm", (c.NodeUpdate("n", c.CREATE, ONE),)),
    ],
)
def test_a_stranger_is_refused_and_changes_nothing(command: c.Command) -> None:
    scheduler = Scheduler()
    found = scheduler.handle(command, START)
    assert [type(x).__name__ for x in found] == ["RequestRefused"]
    assert scheduler.view(q.PartitionsQuery()) == ()
    assert scheduler.next_deadline() is None


@pytest.mark.remuda_rule("SI-5")
@pytest.mark.parametrize(
    "command", [c.UpdateApplications("rm"), c.UpdateAllocations("rm"), c.UpdateNodes("rm")]
)
def test_an_empty_request_does_nothing(command: c.Command) -> None:
    assert Caller(leaf("a")).send(command) == []


@pytest.mark.remuda_rule("RM-9")
def test_registering_again_wipes_everything_silently() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 4})
    door.app("app")
    door.ask("app", "k", ONE, 2)
    door.place()
    found = door.send(c.RegisterResourceManager("rm", CONFIGURATION))
    assert answers(found) == [e.RegistrationAnswered("rm", "")]
    assert door.node_views() == {}
    assert door.apps() == {}
    assert door.queue("root").maximum is None
    assert not any(door.queue("root").allocated.values())
    assert [answers(door.wait(time)) for time in (31 * 10**9, 4 * DAY)] == [[], []]
    door.scheduler.check()
    door.node("n1", {"vcore": 4})
    door.app("app")
    door.ask("app", "k", ONE)
    assert door.place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("RM-10", "SI-12")
def test_two_managers_do_not_meet() -> None:
    door = Caller(leaf("a"))
    door.send(c.RegisterResourceManager("other", CONFIGURATION))
    for door.rm in ("rm", "other"):
        door.node("n1", {"vcore": 2})
        door.app("app")
        door.ask("app", "k", ONE)
    found = of(door.step(), e.AllocationNew)
    assert sorted((new.rm_id, new.allocation_id) for new in found) == [
        ("other", "k-0"),
        ("rm", "k-0"),
    ]
    door.rm = "other"
    (answer,) = of(door.release("app"), e.AllocationsReleased)
    assert answer.rm_id == "other"
    remaining = door.scheduler.view(q.NodesQuery("default", "rm"))
    assert isinstance(remaining, tuple)
    (node,) = remaining
    assert isinstance(node, q.NodeView)
    assert [a.allocation_id for a in node.allocations] == ["k-0"]
    door.scheduler.check()


@pytest.mark.remuda_rule("RM-22", "RM-21")
def test_a_foreign_prefix_is_an_unknown_partition() -> None:
    door = Caller(leaf("a"))
    door.send(c.RegisterResourceManager("b", CONFIGURATION))
    (verdict,) = of(door.app("app", partition="[b]default"), e.ApplicationsAnswered)
    assert [bad.subject for bad in verdict.rejected] == ["app"]
    (nodes,) = of(door.node("n1", ONE, home="[b]default"), e.NodesAnswered)
    assert [bad.subject for bad in nodes.rejected] == ["n1"]
    door.app("app", partition="[rm]default")
    found = door.ask("app", "k", ONE, partition="[b]default")
    assert [bad.subject for x in of(found, e.AsksRejected) for bad in x.rejected] == ["k"]
    assert answers(door.remove("app", "[b]default")) == []
    assert door.state("app") == "New"


@pytest.mark.remuda_rule("RM-21", "RM-24")
def test_partition_names_are_case_sensitive_and_default_when_empty() -> None:
    door = Caller(partitions=[partition(leaf("a")), partition(leaf("a"), name="Gpu")])
    for home, accepted in (("", True), ("Gpu", True), ("gpu", False)):
        (verdict,) = of(door.app(f"app{home}", partition=home), e.ApplicationsAnswered)
        assert bool(verdict.accepted) is accepted


@pytest.mark.remuda_rule("RM-19", "RM-17")
def test_an_unregistered_manager_leaves_nothing() -> None:
    door = Caller(leaf("a"))
    door.node("n1", ONE)
    door.app("app")
    door.ask("app", "k", ONE)
    assert answers(door.send(c.UnregisterResourceManager("rm"))) == []
    assert door.scheduler.view(q.PartitionsQuery()) == ()
    assert not door.scheduler.has_work()
    assert answers(door.wait(4 * DAY)) == []
    assert [type(x).__name__ for x in door.app("app")] == ["RequestRefused"]


@pytest.mark.remuda_rule("RM-5")
def test_the_built_in_configuration_places_by_namespace() -> None:
    door = Caller()
    door.send(c.RegisterResourceManager("rm", built_in()))
    door.app("app", "", tags={"namespace": "dev"})
    assert door.apps()["app"].queue == "root.dev"
