"""What others run on the nodes (CYC-29, NODE-17, decision 56)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.effects import Effect
from remuda.core.messages.events import NODE, NODE_OCCUPIED, SET
from tests.unit.core.door import SECOND, START, Caller, answers, leaf, of, partition
from tests.unit.core.rules.crowd import Reluctant


class Cluster(Caller):
    """A caller who reports foreign allocations, and works every counter out anew each time."""

    def send(self, command: c.Command) -> list[Effect]:
        found = super().send(command)
        self.scheduler.check()
        return found

    def foreign(
        self,
        key: str,
        node_id: str,
        resource: Resource,
        identity: str = "",
        kind: str = "default",
        **other: str,
    ) -> list[Effect]:
        """One foreign allocation; further tags by name."""
        reported = foreign(key, node_id, resource, identity, kind, **other)
        return self.send(c.UpdateAllocations(self.rm, allocations=(reported,)))

    def parts(self, node_id: str) -> dict[str, Resource]:
        """Others' allocations on a node by key."""
        return {each.allocation_key: each.resource for each in self.node_view(node_id).foreign}

    def room(self, node_id: str) -> tuple[Resource, Resource]:
        """What others use of a node, and what is left of it."""
        node = self.node_view(node_id)
        return node.occupied, node.available

    def partition_view(self) -> q.PartitionView:
        """The only partition."""
        found = self.scheduler.view(q.PartitionsQuery())
        assert isinstance(found, tuple)
        (view,) = found
        assert isinstance(view, q.PartitionView)
        return view


def foreign(
    key: str,
    node_id: str,
    resource: Resource,
    identity: str = "",
    kind: str = "default",
    **other: str,
) -> c.ExistingAllocation:
    """A foreign allocation as an RM reports it."""
    return c.ExistingAllocation(
        c.Ask("", key, resource, tags={"foreign": kind, **other}), identity, node_id
    )


@pytest.fixture
def door() -> Cluster:
    """Two nodes of ten cores and a new application."""
    found = Cluster(leaf("a"))
    for node_id in ("n1", "n2"):
        found.node(node_id, {"vcore": 10})
    found.app("app")
    return found


def refused(effects: list[Effect]) -> list[tuple[str, str]]:
    """What was refused, and by which rule."""
    found = of(effects, e.AllocationsRejected)
    return [(bad.subject, bad.rule) for answer in found for bad in answer.rejected]


def occupied_told(effects: list[Effect]) -> list[tuple[str, Resource]]:
    """The records on what others use of a node."""
    return [
        (record.object_id, dict(record.resource or {}))
        for record in of(effects, e.EventRecord)
        if (record.kind, record.change, record.detail) == (NODE, SET, NODE_OCCUPIED)
    ]


@pytest.mark.remuda_rule("CYC-29", "NOD-2", "SI-42")
def test_it_changes_occupied_and_available_only(door: Cluster) -> None:
    before = (door.queue("root"), door.partition_view(), door.apps())
    found = answers(door.foreign("daemon", "n1", {"vcore": 3}))
    (new,) = found
    assert isinstance(new, e.AllocationNew)
    assert (new.allocation_id, new.node_id, new.ask.application_id) == ("daemon", "n1", "")
    node = door.node_view("n1")
    assert (node.occupied, node.available) == ({"vcore": 3}, {"vcore": 7})
    assert (node.capacity, node.allocated, node.allocations) == ({"vcore": 10}, {}, ())
    assert (door.queue("root"), door.partition_view(), door.apps()) == before
    assert door.usage() == {}


@pytest.mark.remuda_rule("CYC-29", "NODE-17")
@pytest.mark.parametrize(
    "kind, preemptable", [("static", False), ("default", True), ("", True), ("Static", True)]
)
def test_static_ones_cannot_be_preempted(door: Cluster, kind: str, preemptable: bool) -> None:
    door.foreign("daemon", "n1", {"vcore": 3}, kind=kind)
    (view,) = door.node_view("n1").foreign
    assert view.preemptable is preemptable
    assert view.tags == {"foreign": kind}
    assert (view.allocation_key, view.resource, view.node_id) == ("daemon", {"vcore": 3}, "n1")


@pytest.mark.remuda_rule("CYC-29", "NODE-17", "SI-12", "SI-40")
def test_refused_ones_leave_nothing_behind(door: Cluster) -> None:
    request = (
        foreign("no node", "", {"vcore": 1}),
        foreign("nowhere", "n9", {"vcore": 1}),
        foreign("", "n1", {"vcore": 1}, "identity only"),
        foreign("negative", "n1", {"vcore": 1, "memory": -1}),
        foreign("wide", "n1", {f"type-{number}": 1 for number in range(1024)}),
        c.ExistingAllocation(c.Ask("", "no tag", {"vcore": 1}), "no tag", "n1"),
        c.ExistingAllocation(
            c.Ask("", "lost", {"vcore": 1}, partition="x", tags={"foreign": ""}), "", "n1"
        ),
    )
    found = answers(door.send(c.UpdateAllocations(door.rm, allocations=request)))
    assert refused(found) == [
        ("no node", "CYC-29"),
        ("nowhere", "CYC-29"),
        ("", "SI-12"),
        ("negative", "CYC-29"),
        ("wide", "SI-40"),
        ("no tag", "SI-40"),
        ("lost", "SI-40"),
    ]
    assert len(found) == 1
    assert door.room("n1") == ({}, {"vcore": 10})


@pytest.mark.remuda_rule("CYC-29", "NODE-17")
def test_with_an_application_it_is_ours_whatever_the_tag_says(door: Cluster) -> None:
    ask = c.Ask("app", "k", {"vcore": 1}, tags={"foreign": "static"})
    door.send(c.UpdateAllocations(door.rm, allocations=(c.ExistingAllocation(ask, "k", "n1"),)))
    assert door.queue("root.a").allocated == {"vcore": 1}
    assert door.room("n1") == ({}, {"vcore": 9})


@pytest.mark.remuda_rule("CYC-29")
def test_an_update_replaces_the_amounts(door: Cluster) -> None:
    door.foreign("daemon", "n1", {"vcore": 3})
    door.foreign("other", "n1", {"vcore": 1})
    door.foreign("daemon", "n1", {"vcore": 5})
    assert door.room("n1") == ({"vcore": 6}, {"vcore": 4})
    door.foreign("daemon", "n1", {"vcore": 2})
    assert door.room("n1") == ({"vcore": 3}, {"vcore": 7})
    assert door.parts("n1") == {"daemon": {"vcore": 2}, "other": {"vcore": 1}}
    assert refused(door.foreign("daemon", "n1", {"vcore": -2})) == [("daemon", "CYC-29")]
    assert door.parts("n1")["daemon"] == {"vcore": 2}
    door.foreign("daemon", "n1", {"vcore": 0})
    assert door.room("n1") == ({"vcore": 1}, {"vcore": 9})


@pytest.mark.remuda_rule("CYC-29", "EVT-54")
def test_each_change_of_what_others_use_is_told_once(door: Cluster) -> None:
    assert occupied_told(door.foreign("x", "n1", {"vcore": 3})) == [("n1", {"vcore": 3})]
    assert occupied_told(door.foreign("x", "n1", {"vcore": 3})) == []
    assert occupied_told(door.foreign("y", "n1", {"vcore": 1})) == [("n1", {"vcore": 4})]
    assert occupied_told(door.release("", key="x")) == [("n1", {"vcore": 1})]
    assert occupied_told(door.release("", key="x")) == []
    assert occupied_told(door.foreign("y", "n2", {"vcore": 2})) == [
        ("n1", {"vcore": 0}),
        ("n2", {"vcore": 2}),
    ]


@pytest.mark.remuda_rule("CYC-29", "NODE-17", "NOD-5")
def test_from_the_first_one_on_the_reported_amount_does_not_count(door: Cluster) -> None:
    door.node("n1", action=c.UPDATE, occupied={"vcore": 4, "memory": 1})
    assert door.room("n1") == ({"memory": 1, "vcore": 4}, {"memory": -1, "vcore": 6})
    found = door.foreign("daemon", "n1", {"vcore": 3})
    assert occupied_told(found) == [("n1", {"vcore": 3})]
    assert door.room("n1") == ({"vcore": 3}, {"memory": 0, "vcore": 7})
    assert occupied_told(door.node("n1", action=c.UPDATE, occupied={"vcore": 9})) == []
    assert door.room("n1")[0] == {"vcore": 3}
    door.release("", key="daemon")
    door.node("n1", action=c.UPDATE, occupied={"vcore": 9})
    assert door.room("n1") == ({"vcore": 0}, {"memory": 0, "vcore": 10})
    door.node("n2", action=c.UPDATE, occupied={"vcore": 9})
    assert door.room("n2") == ({"vcore": 9}, {"vcore": 1})


@pytest.mark.remuda_rule("CYC-29", "NODE-17")
def test_a_first_one_without_anything_ends_the_reported_amount_too(door: Cluster) -> None:
    door.node("n1", action=c.UPDATE, occupied={"vcore": 4})
    door.foreign("daemon", "n1", {})
    assert door.room("n1") == ({}, {"vcore": 10})


@pytest.mark.remuda_rule("CYC-29")
def test_reported_on_another_node_it_moves_there(door: Cluster) -> None:
    door.ask("app", "large", {"vcore": 10}, 2)
    door.foreign("daemon", "n1", {"vcore": 3})
    assert door.place() == [("large-0", "n2")]
    door.release("app", "large-0")
    door.node("n2", action=c.DRAIN_NODE)
    door.foreign("daemon", "n2", {"vcore": 4})
    assert (door.parts("n1"), door.parts("n2")) == ({}, {"daemon": {"vcore": 4}})
    assert door.room("n1") == ({"vcore": 0}, {"vcore": 10})
    assert door.room("n2") == ({"vcore": 4}, {"vcore": 6})
    assert door.place() == [("large-1", "n1")]


@pytest.mark.remuda_rule("CYC-29", "SI-61")
@pytest.mark.parametrize("identity, key", [("id-1", ""), ("", "k-1"), ("id-1", "k-2")])
def test_a_release_without_application_ends_it_without_answer(
    door: Cluster, identity: str, key: str
) -> None:
    door.foreign("k-1", "n1", {"vcore": 3}, "id-1")
    door.foreign("k-2", "n1", {"vcore": 1}, "id-2")
    assert answers(door.release("", identity, key)) == []
    assert door.parts("n1") == {"k-2": {"vcore": 1}}
    assert door.room("n1") == ({"vcore": 1}, {"vcore": 9})


@pytest.mark.remuda_rule("CYC-29", "SI-61", "SI-62", "SI-64")
def test_releases_that_mean_none_are_ignored(door: Cluster) -> None:
    door.foreign("k-1", "n1", {"vcore": 3}, "id-1")
    door.existing("app", "ours", "n1", {"vcore": 1})
    for ignored in (
        door.release(""),
        door.release("", "unknown"),
        door.release("", "unknown", "k-1"),
        door.release("", key="id-1"),
        door.release("app", key="k-1"),
        door.release("", "ours"),
        door.release("", "id-1", kind=c.PLACEHOLDER_REPLACED),
    ):
        assert ignored == []
    assert door.room("n1") == ({"vcore": 3}, {"vcore": 6})
    for kind in (c.TIMEOUT, c.PREEMPTED_BY_SCHEDULER, c.UNKNOWN_TERMINATION_TYPE):
        assert answers(door.release("", "id-1", kind=kind)) == []
        assert door.room("n1")[0] == {"vcore": 0}
        door.foreign("k-1", "n1", {"vcore": 3}, "id-1")


@pytest.mark.remuda_rule("CYC-29", "SI-61")
def test_a_key_may_name_several(door: Cluster) -> None:
    door.foreign("same", "n1", {"vcore": 3}, "id-1")
    door.foreign("same", "n2", {"vcore": 2}, "id-2")
    assert (door.room("n1")[0], door.room("n2")[0]) == ({"vcore": 3}, {"vcore": 2})
    door.release("", key="same")
    assert (door.room("n1")[0], door.room("n2")[0]) == ({"vcore": 0}, {"vcore": 0})


@pytest.mark.remuda_rule("CYC-29", "CYC-25", "NOD-14")
@pytest.mark.parametrize("how", ["less", "gone", "moved"])
def test_room_that_others_leave_wakes_what_waits_for_it(door: Cluster, how: str) -> None:
    door.node("n2", {"vcore": 5}, c.UPDATE)
    door.foreign("daemon", "n1", {"vcore": 3})
    door.ask("app", "large", {"vcore": 9})
    assert door.place() == []
    assert not door.scheduler.has_work()
    if how == "less":
        door.foreign("daemon", "n1", {"vcore": 1})
    elif how == "gone":
        door.release("", key="daemon")
    else:
        door.foreign("daemon", "n2", {"vcore": 3})
    assert door.place() == [("large-0", "n1")]


@pytest.mark.remuda_rule("CYC-29", "NOD-14", "NOD-16")
def test_the_node_stands_where_its_score_belongs_at_once(door: Cluster) -> None:
    def next_node() -> str:
        door.ask("app", "next", {"vcore": 1})
        ((identity, node_id),) = door.place()
        door.release("app", identity)
        door.release_ask("app", "next")
        return node_id

    assert next_node() == "n1"
    door.foreign("daemon", "n1", {"vcore": 1})
    assert next_node() == "n2"
    door.foreign("other", "n2", {"vcore": 2})
    assert next_node() == "n1"
    door.foreign("daemon", "n1", {"vcore": 3})
    assert next_node() == "n2"
    door.release("", key="daemon")
    assert next_node() == "n1"


@pytest.mark.remuda_rule("CYC-29", "NOD-9", "NODE-3")
def test_more_than_the_node_has_closes_it_for_that_type_only(door: Cluster) -> None:
    door.node("n1", {"vcore": 10, "memory": 5}, c.UPDATE)
    door.node("n2", action=c.DECOMISSION)
    door.foreign("daemon", "n1", {"vcore": 11, "gpu": 1})
    assert door.room("n1")[1] == {"gpu": -1, "memory": 5, "vcore": -1}
    door.ask("app", "core", {"vcore": 1})
    door.ask("app", "card", {"gpu": 1})
    door.ask("app", "none", {"memory": 1, "gpu": 0})
    assert door.place() == [("none-0", "n1")]


@pytest.mark.remuda_rule("CYC-29", "SI-80")
def test_a_node_that_was_refused_is_asked_about_again() -> None:
    rm = Reluctant({("*", "n1", True): "no"})
    door = Cluster(leaf("a"), predicates=rm)
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "k", {"vcore": 1}, equivalence="class")
    assert door.place() == []
    rm.refused.clear()
    door.ask("app", "other", {"vcore": 20}, equivalence="class")
    assert door.place() == []
    door.foreign("daemon", "n1", {"vcore": 1})
    assert door.place() == [("k-0", "n1")]


def reserved() -> Cluster:
    """A node of ten cores of which others use four, reserved for an ask of eight."""
    door = Cluster(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.foreign("daemon", "n1", {"vcore": 4})
    door.app("app")
    door.ask("app", "large", {"vcore": 8})
    assert door.place() == []
    door.wait(2 * SECOND + 1)
    assert door.place() == []
    assert door.node_view("n1").reservations == (("app", "large"),)
    return door


@pytest.mark.remuda_rule("CYC-29", "CYC-20", "RSV-7", "RSV-8")
@pytest.mark.parametrize("how", ["less", "gone"])
def test_room_on_a_reserved_node_is_for_the_ask_that_reserved_it(how: str) -> None:
    door = reserved()
    door.ask("app", "small", {"vcore": 3}, priority=5)
    assert door.place() == []
    door.foreign("daemon", "n1", {"vcore": 3})
    assert door.place() == []
    if how == "less":
        door.foreign("daemon", "n1", {"vcore": 2})
    else:
        door.release("", key="daemon")
    assert door.place() == [("large-0", "n1")]
    assert door.node_view("n1").reservations == ()


@pytest.mark.remuda_rule("CYC-29", "CYC-20")
def test_room_that_is_taken_again_before_a_step_changes_nothing() -> None:
    door = reserved()
    door.foreign("daemon", "n1", {"vcore": 2})
    door.foreign("daemon", "n1", {"vcore": 3})
    assert door.place() == []
    assert not door.scheduler.has_work()
    assert door.node_view("n1").reservations == (("app", "large"),)


@pytest.mark.remuda_rule("CYC-29", "RSV-8", "CYC-21")
def test_room_on_another_node_ends_the_reservation() -> None:
    door = reserved()
    door.node("n2", {"vcore": 9}, c.CREATE_DRAIN)
    door.foreign("other", "n2", {"vcore": 2})
    door.node("n2", action=c.DRAIN_TO_SCHEDULABLE)
    assert door.place() == []
    door.foreign("other", "n1", {"vcore": 2})
    assert door.place() == [("large-0", "n2")]
    assert door.node_view("n1").reservations == ()


@pytest.mark.remuda_rule("NODE-14", "CYC-29", "NODE-17")
def test_it_goes_with_its_node_and_nobody_is_told(door: Cluster) -> None:
    door.foreign("daemon", "n1", {"vcore": 3})
    found = door.node("n1", action=c.DECOMISSION)
    assert answers(found) == []
    assert occupied_told(found) == []
    assert door.release("", key="daemon") == []
    door.node("n1", {"vcore": 10}, occupied={"vcore": 2})
    assert door.parts("n1") == {}
    assert door.room("n1") == ({"vcore": 2}, {"vcore": 8})
    door.foreign("daemon", "n2", {"vcore": 3})
    assert door.parts("n2") == {"daemon": {"vcore": 3}}


@pytest.mark.remuda_rule("CYC-29", "NODE-6", "NODE-17")
def test_a_node_may_come_with_foreign_allocations(door: Cluster) -> None:
    pair = (foreign("x", "", {"vcore": 3}), foreign("y", "n3", {"vcore": 1}))
    found = door.node("n3", {"vcore": 10}, existing=pair, occupied={"vcore": 8})
    assert answers(found) == [e.NodesAnswered(door.rm, ("n3",), ())]
    assert door.room("n3") == ({"vcore": 4}, {"vcore": 6})
    assert set(door.parts("n3")) == {"x", "y"}


@pytest.mark.remuda_rule("CYC-29", "NODE-6")
def test_a_node_that_is_refused_leaves_foreign_ones_where_they_are(door: Cluster) -> None:
    door.foreign("x", "n1", {"vcore": 3})
    reported = (foreign("x", "n3", {"vcore": 4}), foreign("y", "n3", {"vcore": -1}))
    (answer,) = of(door.node("n3", {"vcore": 10}, existing=reported), e.NodesAnswered)
    assert [bad.rule for bad in answer.rejected] == ["CYC-29"]
    assert set(door.node_views()) == {"n1", "n2"}
    assert door.parts("n1") == {"x": {"vcore": 3}}


@pytest.mark.remuda_rule("CYC-29", "SI-45")
def test_its_time_is_the_creation_tag_or_that_of_the_first_report(door: Cluster) -> None:
    door.foreign("old", "n1", {"vcore": 1}, creationTime="1600000000")
    door.foreign("new", "n1", {"vcore": 1})
    door.now += SECOND
    door.foreign("new", "n2", {"vcore": 2})
    door.foreign("old", "n1", {"vcore": 2})
    times = {
        view.allocation_key: view.allocation_time_ns
        for node in door.node_views().values()
        for view in node.foreign
    }
    assert times == {"old": 1_600_000_000 * SECOND, "new": START}


@pytest.mark.remuda_rule("CYC-29")
def test_it_is_listed_by_key_with_what_was_said_last(door: Cluster) -> None:
    door.foreign("b", "n1", {"vcore": 1})
    door.foreign("a", "n1", {"vcore": 1})
    door.foreign("a", "n1", {"vcore": 1}, kind="static")
    door.foreign("c", "n1", {"vcore": 1})
    door.foreign("b", "n1", {"vcore": 2})
    found = [(view.allocation_key, view.preemptable) for view in door.node_view("n1").foreign]
    assert found == [("a", False), ("b", True), ("c", True)]


@pytest.mark.remuda_rule("CYC-29", "RM-9")
def test_a_new_registration_knows_of_none(door: Cluster) -> None:
    door.foreign("daemon", "n1", {"vcore": 3})
    again = Configuration((partition(leaf("a")),))
    door.send(c.RegisterResourceManager(door.rm, again))
    door.node("n1", {"vcore": 10})
    door.node("n2", {"vcore": 10})
    assert door.room("n1") == ({}, {"vcore": 10})
    door.foreign("daemon", "n2", {"vcore": 1})
    assert door.room("n1") == ({}, {"vcore": 10})
    assert door.room("n2") == ({"vcore": 1}, {"vcore": 9})
