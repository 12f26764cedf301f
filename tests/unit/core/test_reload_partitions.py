"""Partitions that come and go with the configuration (OBJ-9, RLD-9, RLD-10)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.effects import Effect
from remuda.core.messages.events import (
    ADD,
    APP,
    APP_FAILED,
    APP_FAILING,
    DETAILS_NONE,
    NODE,
    NODE_DECOMISSION,
    QUEUE,
    REMOVE,
    SET,
)
from tests.unit.core.door import (
    DAY,
    SECOND,
    Caller,
    answers,
    events,
    leaf,
    of,
    parent,
    partition,
    refusal,
    states,
    users,
)
from tests.unit.core.reloading import NODE as SIZE
from tests.unit.core.reloading import ONE, home_view, verdict

DEFAULT = partition(leaf("a"))
GPU = partition(leaf("a", limits=(users("*", {"vcore": 50}),)), name="gpu")


def both() -> Caller:
    """Two partitions; gpu has two nodes and applications in several states."""
    door = Caller(partitions=[DEFAULT, GPU])
    door.node("n0", SIZE)
    for name in ("n1", "n2"):
        door.node(name, SIZE, home="gpu")
    for app, count in (("new", 0), ("accepted", 0), ("running", 3), ("completing", 1)):
        door.app(app, partition="gpu")
        if count:
            door.ask(app, app, ONE, count, partition="gpu")
            assert len(door.place()) == count
    door.ask("accepted", "large", {"vcore": 1000}, partition="gpu")
    door.ask("running", "large", {"vcore": 1000}, partition="gpu")
    release = c.AllocationRelease("completing", partition="gpu")
    door.send(c.UpdateAllocations(door.rm, releases=(release,)))
    return door


def background(door: Caller) -> list[Effect]:
    """What happens in the second after a change."""
    return [*door.wait(SECOND), *door.step()]


def removed(door: Caller) -> list[Effect]:
    """Remove the partition gpu and let the work be done in the background."""
    found = door.reload(partitions=[DEFAULT])
    assert refusal(found) == ""
    return [*found, *background(door)]


@pytest.mark.remuda_rule("RLD-3", "SI-87", "OBJ-1")
def test_a_new_partition_appears_and_works() -> None:
    door = Caller(partitions=[DEFAULT])
    found = door.reload(partitions=[DEFAULT, GPU])
    assert refusal(found) == ""
    assert {
        (r.partition, *event)
        for r, event in zip(of(found, e.EventRecord), events(found), strict=True)
    } == {
        ("gpu", QUEUE, "root", ADD, DETAILS_NONE),
        ("gpu", QUEUE, "root.a", ADD, DETAILS_NONE),
    }
    view = home_view(door, "gpu")
    assert view is not None
    assert view.state == "Active"
    door.node("n1", SIZE, home="gpu")
    assert verdict(door.app("1", partition="gpu")) == ""
    door.ask("1", "k", ONE, 99, partition="gpu")
    assert len(door.place()) == 50  # its limits hold, too


@pytest.mark.remuda_rule("OBJ-9", "RLD-9", "D-C18", "SI-87", "APP-11")
def test_applications_of_a_removed_partition_fail() -> None:
    door = both()
    found = removed(door)
    for app in ("new", "accepted", "running", "completing"):
        entered = [state for name, state in states(found) if name == app]
        assert entered == ["Failing", "Failed"]
    causes = {u.message for u in of(found, e.ApplicationUpdated) if u.state == "Failing"}
    assert causes == {"PartitionRemoved"}
    told = events(found)
    assert told.index((APP, "running", SET, APP_FAILING)) < told.index(
        (APP, "running", SET, APP_FAILED)
    )


@pytest.mark.remuda_rule("OBJ-9", "SI-77", "RLD-9")
def test_allocations_of_a_removed_partition_are_released() -> None:
    door = both()
    found = removed(door)
    gone = [one for answer in of(found, e.AllocationsReleased) for one in answer.released]
    assert sorted(one.allocation_id for one in gone) == ["running-0", "running-1", "running-2"]
    assert {(one.partition, one.application_id, one.termination_type) for one in gone} == {
        ("gpu", "running", c.STOPPED_BY_RM)
    }


@pytest.mark.remuda_rule("OBJ-9", "RLD-9", "EVT-48")
def test_the_nodes_go_and_then_the_partition() -> None:
    door = both()
    found = removed(door)
    for name in ("n1", "n2"):
        assert (NODE, name, REMOVE, NODE_DECOMISSION) in events(found)
    assert home_view(door, "gpu") is None
    for query in (
        q.QueuesQuery("gpu", door.rm),
        q.NodesQuery("gpu", door.rm),
        q.ApplicationsQuery("gpu", "", door.rm),
        q.UsageQuery("gpu", rm_id=door.rm),
    ):
        assert door.scheduler.view(query) is None
    door.scheduler.check()
    assert answers(door.wait(4 * DAY)) == []


@pytest.mark.remuda_rule("OBJ-9", "SI-87")
@pytest.mark.parametrize("later", [False, True])
def test_requests_that_name_it_are_answered_as_unknown(*, later: bool) -> None:
    door = both()
    assert refusal(door.reload(partitions=[DEFAULT])) == ""
    if later:
        background(door)
    assert verdict(door.app("late", partition="gpu"))
    (nodes,) = of(door.node("late", SIZE, home="gpu"), e.NodesAnswered)
    assert [bad.subject for bad in nodes.rejected] == ["late"]
    (asks,) = of(door.ask("running", "late", ONE, partition="gpu"), e.AsksRejected)
    assert [bad.subject for bad in asks.rejected] == ["late"]
    assert answers(door.remove("running", "gpu")) == []
    if not later:
        # The background work is neither lost nor done twice.
        entered = [state for name, state in states(background(door)) if name == "running"]
        assert entered in (["Failing", "Failed"], ["Failed"], [])
    assert home_view(door, "gpu") is None


@pytest.mark.remuda_rule("OBJ-9", "RLD-9", "SI-87")
def test_other_partitions_go_on_meanwhile() -> None:
    door = both()
    door.app("1")
    door.ask("1", "k", ONE, 5)
    assert refusal(door.reload(partitions=[DEFAULT])) == ""
    assert door.place() == [(f"k-{n}", "n0") for n in range(5)]
    background(door)
    assert door.state("1") == "Running"
    assert door.queue("root").allocated == {"vcore": 5}


@pytest.mark.remuda_rule("OBJ-9")
def test_nothing_is_placed_in_a_removed_partition() -> None:
    door = both()
    door.ask("running", "more", ONE, 5, partition="gpu")
    found = door.reload(partitions=[DEFAULT])
    found += [*door.step(), *background(door)]
    assert of(found, e.AllocationNew) == []


@pytest.mark.remuda_rule("RLD-10", "CFG-12")
def test_without_partitions_all_are_removed() -> None:
    door = both()
    assert refusal(door.reload(partitions=[])) == ""
    background(door)
    assert door.scheduler.view(q.PartitionsQuery()) == ()
    assert verdict(door.app("1"))
    assert not door.scheduler.has_work()
    assert refusal(door.reload(partitions=[DEFAULT])) == ""
    assert verdict(door.app("1")) == ""


@pytest.mark.remuda_rule("SI-87", "OBJ-9", "RLD-3")
@pytest.mark.parametrize("later", [False, True])
def test_a_partition_of_the_same_name_starts_from_nothing(*, later: bool) -> None:
    door = both()
    assert refusal(door.reload(partitions=[DEFAULT])) == ""
    if later:
        background(door)
    assert refusal(door.reload(partitions=[DEFAULT, GPU])) == ""
    background(door)
    view = home_view(door, "gpu")
    assert view is not None
    assert (view.state, view.total_nodes, view.total_containers) == ("Active", 0, 0)
    assert door.usage(home="gpu") == {}
    assert verdict(door.app("running", partition="gpu")) == ""
    door.node("n1", SIZE, home="gpu")
    door.ask("running", "again", ONE, partition="gpu")
    assert door.place() == [("again-0", "n1")]
    door.scheduler.check()


@pytest.mark.remuda_rule("SI-86", "OBJ-9")
def test_a_refused_change_removes_no_partition() -> None:
    door = both()
    door.app("1")
    assert refusal(door.reload(partitions=[partition(parent("a"))]))
    assert states(background(door)) == []
    view = home_view(door, "gpu")
    assert view is not None
    assert (view.state, view.total_nodes, view.total_containers) == ("Active", 2, 3)


@pytest.mark.remuda_rule("RM-9", "OBJ-9", "RLD-9")
def test_registering_again_while_a_partition_is_removed() -> None:
    door = both()
    assert refusal(door.reload(partitions=[DEFAULT])) == ""
    door.send(c.UnregisterResourceManager(door.rm))
    assert answers(background(door)) == []
    assert door.scheduler.view(q.PartitionsQuery()) == ()
    door.scheduler.check()


@pytest.mark.remuda_rule("OBJ-9", "RLD-9")
@pytest.mark.parametrize("nodes, applications", [(0, 1500), (1500, 0), (700, 700)])
def test_a_large_partition_goes_as_a_whole(nodes: int, applications: int) -> None:
    door = Caller(partitions=[DEFAULT, GPU])
    for number in range(nodes):
        door.node(f"n{number}", ONE, home="gpu")
    for number in range(applications):
        door.app(f"app-{number}", partition="gpu")
    found = door.reload(partitions=[DEFAULT])
    assert refusal(found) == ""
    for _ in range(100):
        found += door.wait(SECOND // 100)
    assert [state for _, state in states(found)].count("Failed") == applications
    gone = [event for event in events(found) if event[3] == NODE_DECOMISSION]
    assert len(gone) == nodes
    assert home_view(door, "gpu") is None
    door.scheduler.check()
