"""Large answers: what is read later is the moment of the question (DMP-15, DMP-17)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.effects import Effect
from remuda.core.messages.rows import (
    ApplicationRowsQuery,
    NodeRowsQuery,
    PartitionRowsQuery,
    Rows,
)
from remuda.core.messages.tags import CREATION_TIME
from tests.unit.core.door import SECOND, START, Caller, leaf
from tests.unit.core.rules.crowd import LATE, Crowd
from tests.unit.core.rules.gang import Gang, moving, swapping
from tests.unit.core.rules.preempting import Evictor
from tests.unit.core.rules.test_cyc_back_off import PAUSE, crowd_with
from tests.unit.core.rules.test_foreign import foreign

Shown = tuple[tuple[q.NodeView, ...], tuple[ApplicationView, ...]]


def whole(views: Sequence[ApplicationView]) -> tuple[ApplicationView, ...]:
    """Applications with everything made that is made when it is read."""
    return tuple(
        replace(view, requests=tuple(view.requests), allocations=tuple(view.allocations))
        for view in views
    )


class Witness:
    """Asks a scheduler twice after everything that happens: for views, and for rows to read later.

    ``moments``: what was shown at once, with what is read when it is called.
    """

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.moments: list[tuple[Shown, Callable[[], Shown]]] = []
        self.trees: list[tuple[q.QueueView, Rows[q.QueueView]]] = []
        for name in ("send", "step"):
            setattr(caller, name, self._watching(getattr(caller, name)))

    def _watching(self, act: Callable[..., list[Effect]]) -> Callable[..., list[Effect]]:
        def watched(*arguments: Any) -> list[Effect]:
            effects = act(*arguments)
            self.look()
            return effects

        return watched

    def look(self) -> None:
        view, rm = self.caller.scheduler.view, self.caller.rm
        nodes = cast("Rows[q.NodeView]", view(NodeRowsQuery("default", rm)))
        apps = cast("Rows[ApplicationView]", view(ApplicationRowsQuery("default", "", rm)))
        shown = (view(q.NodesQuery("default", rm)), view(q.ApplicationsQuery("default", "", rm)))
        every = cast("q.PartitionRows", view(PartitionRowsQuery("default", rm)))
        partitions = cast("tuple[q.PartitionView, ...]", view(q.PartitionsQuery()))
        assert [every.partition] == [each for each in partitions if each.name == "default"]
        tree = view(q.QueuesQuery("default", rm))
        for read in (
            lambda: (tuple(nodes), whole(apps)),
            lambda: (tuple(every.nodes), whole(every.applications)),
        ):
            self.moments.append((cast("Shown", shown), read))
        self.trees.append((cast("q.QueueView", tree), every.queues))
        self._compare_with_state(cast("Shown", shown)[0])
        self.caller.scheduler.check()

    def _compare_with_state(self, nodes: Sequence[q.NodeView]) -> None:
        """What views work out of other things is what the core itself keeps."""
        partition = self.caller.scheduler._cluster.partition(self.caller.rm, "default")
        assert partition is not None
        named = partition.types.resource
        for view in nodes:
            node = partition.nodes[view.node_id]
            assert view.allocated == named(node.allocated)
            assert view.available == named(node.available)

    def agrees(self) -> int:
        """Read all that was put off, and compare; how many moments there were."""
        for shown, read in self.moments:
            assert read() == shown
        for tree, queues in self.trees:
            assert tuple(queues) == (tree,)
        return len(self.moments)


@pytest.mark.remuda_rule("DMP-15", "REST-77", "REST-85")
def test_rows_keep_sizes_states_and_attributes_as_they_were() -> None:
    door = Caller(leaf("a"))
    witness = Witness(door)
    door.node("n1", {"vcore": 10, "memory": 50}, attributes={"ready": "true", "zone": "z1"})
    door.node("n2", {"vcore": 3}, occupied={"vcore": 1})
    door.app("app", tags={"namespace": "dev"})
    door.ask("app", "k", {"vcore": 2}, count=4, tags={"t": "1"})
    door.ask("app", "large", {"vcore": 100}, priority=7)
    door.place()
    door.existing("app", "k-0", "n1", {"vcore": 5})
    door.send(c.UpdateAllocations(door.rm, allocations=(foreign("f", "n2", {"vcore": 1}),)))
    door.node("n1", {"vcore": 12}, c.UPDATE, attributes={"ready": "false", "zone": "z2"})
    door.node("n2", None, c.DRAIN_NODE)
    door.ask("app", "large", {"vcore": 1}, priority=9)
    door.place()
    door.release("app", "k-1")
    door.node("n2", None, c.DECOMISSION)
    door.remove("app")
    door.node("n1", None, c.DECOMISSION)
    assert door.node_views() == {}
    assert witness.agrees() > 15


@pytest.mark.remuda_rule("DMP-15", "APP-15", "NOD-3", "QUE-42", "REST-77")
def test_rows_show_an_application_as_it_was_before_it_completed() -> None:
    door = Caller(leaf("a"))
    witness = Witness(door)
    door.node("n1", {"vcore": 5}, occupied={"gpu": 1})
    door.app("app")
    door.ask("app", "k", {"vcore": 1})
    door.ask("app", "older", {"vcore": 1}, tags={CREATION_TIME: str(START // SECOND - 1)})
    door.place()
    door.node("n1", None, c.UPDATE, occupied={"vcore": 1})
    door.release("app")
    assert door.node_view("n1").available == {"gpu": 0, "vcore": 4}
    door.wait(31 * SECOND)
    assert door.apps() == {}
    seen = [view for (_, shown), _ in witness.moments for view in shown]
    assert {view.submission_time_ns for view in seen} == {START, START - SECOND}
    assert {view.finished_time_ns for view in seen} == {0}
    assert witness.agrees() > 5


@pytest.mark.remuda_rule("DMP-15", "CYC-33")
def test_rows_show_a_pause_that_is_over() -> None:
    crowd = crowd_with(1)
    witness = Witness(crowd)
    crowd.ask("app", "k1", {"vcore": 5})
    crowd.ask("app", "k2", {"vcore": 6})
    crowd.run()
    crowd.run(PAUSE)
    crowd.run(PAUSE)
    seen = {view.backoff_deadline_ns for (_, shown), _ in witness.moments for view in shown}
    assert len(seen) > 2
    assert witness.agrees() > 2


@pytest.mark.remuda_rule("REST-20")
def test_allocations_are_shown_in_order_whenever_they_came() -> None:
    door = Caller(leaf("a"))
    witness = Witness(door)
    door.node("n1", {"vcore": 5})
    door.app("app")
    door.app("again")
    for application, key in (("app", "b"), ("app", "a"), ("again", "c")):
        door.ask(application, key, {"vcore": 1})
        door.place()
    (node,), (_, app) = witness.moments[-1][1]()
    assert [each.allocation_id for each in app.allocations] == ["a-0", "b-0"]
    assert [each.allocation_id for each in node.allocations] == ["c-0", "a-0", "b-0"]


@pytest.mark.remuda_rule("DMP-15", "RSV-1")
def test_rows_show_who_had_reserved_a_node() -> None:
    crowd = Crowd()
    witness = Witness(crowd)
    crowd.full(n1=4, n2=5, n3=6)
    crowd.ask("app", "big", {"vcore": 8}, 2)
    crowd.run(LATE)
    held = {node.node_id: node.reservations for node in witness.moments[-1][1]()[0]}
    assert held == {"n1": (), "n2": (("app", "big"),), "n3": (("app", "big"),), "spare": ()}
    crowd.clear("n3")
    crowd.run()
    assert witness.agrees() > 5


@pytest.mark.remuda_rule("DMP-15", "GANG-14", "GANG-17")
@pytest.mark.parametrize("where", [swapping, moving])
def test_rows_show_a_swap_under_way_after_it_was_confirmed(where: Callable[[], Gang]) -> None:
    gang = where()
    witness = Witness(gang)
    witness.look()
    (_, (before,)), _ = witness.moments[0]
    assert {each.replacement for each in before.allocations} == {"r1-0"} | {
        "" for each in before.allocations if not each.placeholder
    }
    gang.now += 1_000_000_000
    gang.confirm("p1-0")
    (_, (after,)), _ = witness.moments[-1]
    assert [each.placeholder_used for each in after.allocations] == [True]
    assert witness.agrees() > 1


@pytest.mark.remuda_rule("DMP-15", "PRE-34", "SI-69")
def test_rows_show_a_victim_after_it_has_gone() -> None:
    evictor = Evictor(2)
    witness = Witness(evictor)
    evictor.evict(("x", "one"), ("y", "two"))
    seen = [
        each.preemption
        for (_, shown), _ in witness.moments
        for view in shown
        for each in view.allocations
    ]
    assert len(set(seen)) > 1
    assert witness.agrees() > 5


@pytest.mark.remuda_rule("REST-20")
def test_rows_are_read_by_place_in_parts_and_again() -> None:
    door = Caller(leaf("a"))
    for number in (3, 1, 2, 0):
        door.node(f"n{number}", {"vcore": 1})
    rows = cast("Rows[q.NodeView]", door.scheduler.view(NodeRowsQuery("default", door.rm)))
    names = ["n0", "n1", "n2", "n3"]
    assert [view.node_id for view in rows] == [view.node_id for view in rows] == names
    assert (len(rows), rows[1].node_id, rows[-1].node_id) == (4, "n1", "n3")
    assert [view.node_id for view in rows[1:3]] == names[1:3]
    assert [view.node_id for view in rows[::-1]] == names[::-1]
    with pytest.raises(IndexError):
        rows[4]


@pytest.mark.remuda_rule("REST-13", "REST-76")
def test_rows_of_what_is_not_there() -> None:
    door = Caller(leaf("a"))
    assert door.scheduler.view(NodeRowsQuery("nowhere")) is None
    assert door.scheduler.view(ApplicationRowsQuery("nowhere")) is None
    found = door.scheduler.view(ApplicationRowsQuery("default", "root.nowhere"))
    assert isinstance(found, q.UnknownQueue)
    parent = door.scheduler.view(ApplicationRowsQuery("default", "root"))
    assert isinstance(parent, Rows)
    assert len(parent) == 0
