"""What a node has, what is used of it, and what is left (NOD-2, NOD-3, NOD-5, NOD-9, NOD-10)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.messages.events import NODE, NODE_CAPACITY, NODE_OCCUPIED, QUEUE, QUEUE_MAX
from tests.unit.core.door import Caller, events, leaf, of, released


class Checked(Caller):
    """A caller who has every counter worked out anew after every request."""

    def send(self, command: c.Command) -> list[Effect]:
        found = super().send(command)
        self.scheduler.check()
        return found

    def capacity(self, node_id: str, capacity: Resource) -> list[Effect]:
        """An update of a node's capacity."""
        return self.node(node_id, capacity, c.UPDATE)

    def occupied(self, node_id: str, occupied: Resource) -> list[Effect]:
        """An update of what others use of a node."""
        return self.node(node_id, action=c.UPDATE, occupied=occupied)

    def free(self, node_id: str = "n1") -> Resource:
        """What a node has available."""
        return self.node_view(node_id).available


@pytest.fixture
def door() -> Checked:
    """A node of ten cores and four of memory, and a new application."""
    found = Checked(leaf("a"))
    found.node("n1", {"vcore": 10, "memory": 4})
    found.app("app")
    return found


@pytest.mark.remuda_rule("NOD-2", "NODE-3")
def test_available_is_the_rest_over_all_types_that_any_part_names(door: Checked) -> None:
    door.existing("app", "k", "n1", {"vcore": 3, "gpu": 1})
    door.occupied("n1", {"vcore": 2, "disk": 7})
    node = door.node_view("n1")
    assert node.allocated == {"gpu": 1, "vcore": 3}
    assert node.available == {"disk": -7, "gpu": -1, "memory": 4, "vcore": 5}
    door.capacity("n1", {"vcore": 4, "gpu": 2})
    assert door.free() == {"disk": -7, "gpu": 1, "memory": 0, "vcore": -1}
    door.release("app", "k")
    assert door.free() == {"disk": -7, "gpu": 2, "memory": 0, "vcore": 2}


@pytest.mark.remuda_rule("NOD-3", "NOD-2", "NODE-3")
def test_a_node_starts_with_the_same_formula(door: Checked) -> None:
    door.node("n2", {"vcore": 10}, occupied={"vcore": 15, "gpu": 1})
    assert door.free("n2") == {"gpu": -1, "vcore": -5}
    door.capacity("n2", {"vcore": 11})
    assert door.free("n2") == {"gpu": -1, "vcore": -4}


@pytest.mark.remuda_rule("NOD-5", "NODE-7", "NODE-4", "QUE-6")
def test_capacity_moves_the_totals_by_the_difference(door: Checked) -> None:
    door.node("n2", {"vcore": 5})
    found = door.capacity("n2", {"vcore": 2, "memory": 1})
    assert set(events(found)) == {(NODE, "n2", 1, NODE_CAPACITY), (QUEUE, "root", 1, QUEUE_MAX)}
    assert door.queue("root").maximum == {"memory": 5, "vcore": 12}
    found = door.occupied("n2", {"vcore": 1})
    assert events(found) == [(NODE, "n2", 1, NODE_OCCUPIED)]
    assert door.queue("root").maximum == {"memory": 5, "vcore": 12}
    assert events(door.capacity("n2", {"vcore": 2, "memory": 1, "gpu": 0})) == []
    assert events(door.occupied("n2", {"vcore": 1, "gpu": 0})) == []


@pytest.mark.remuda_rule("NOD-5", "NODE-7")
def test_a_node_may_shrink_below_what_runs_there(door: Checked) -> None:
    door.existing("app", "k", "n1", {"vcore": 8})
    found = door.capacity("n1", {"vcore": 5, "memory": 4})
    assert released(found) == []
    assert [each.allocation_id for each in door.node_view("n1").allocations] == ["k"]
    assert door.free() == {"memory": 4, "vcore": -3}
    door.release("app", "k")
    assert door.free() == {"memory": 4, "vcore": 5}


@pytest.mark.remuda_rule("NOD-9", "RES-29")
def test_a_type_the_node_lacks_never_fits_except_with_zero(door: Checked) -> None:
    door.ask("app", "card", {"gpu": 1})
    door.ask("app", "none", {"vcore": 1, "gpu": 0})
    assert door.place() == [("none-0", "n1")]
    door.capacity("n1", {"vcore": 10, "memory": 4, "gpu": 1})
    assert door.place() == [("card-0", "n1")]


@pytest.mark.remuda_rule("NOD-9", "RES-29")
def test_an_ask_fits_what_is_available_to_the_last_unit(door: Checked) -> None:
    door.existing("app", "k", "n1", {"vcore": 4})
    door.ask("app", "more", {"vcore": 7})
    door.ask("app", "rest", {"vcore": 6})
    assert door.place() == [("rest-0", "n1")]
    assert door.free() == {"memory": 4, "vcore": 0}


@pytest.mark.remuda_rule("NOD-9", "NODE-3")
@pytest.mark.parametrize("how", ["capacity", "occupied", "recovered", "resized", "foreign"])
def test_a_negative_type_blocks_only_asks_for_that_type(door: Checked, how: str) -> None:
    if how == "capacity":
        door.existing("app", "k", "n1", {"vcore": 10})
        door.capacity("n1", {"vcore": 9, "memory": 4})
    elif how == "occupied":
        door.occupied("n1", {"vcore": 11})
    elif how == "recovered":
        door.existing("app", "k", "n1", {"vcore": 11})
    elif how == "resized":
        door.existing("app", "k", "n1", {"vcore": 1})
        door.existing("app", "k", "n1", {"vcore": 11})
    else:
        ask = c.Ask("", "daemon", {"vcore": 11}, tags={"foreign": "default"})
        reported = (c.ExistingAllocation(ask, "", "n1"),)
        door.send(c.UpdateAllocations(door.rm, allocations=reported))
    assert door.free() == {"memory": 4, "vcore": -1}
    door.ask("app", "core", {"vcore": 1})
    door.ask("app", "both", {"vcore": 1, "memory": 1})
    door.ask("app", "zero", {"vcore": 0, "memory": 2})
    door.ask("app", "memory", {"memory": 2})
    assert sorted(door.place()) == [("memory-0", "n1"), ("zero-0", "n1")]


@pytest.mark.remuda_rule("NOD-10", "SI-41")
def test_what_runs_is_put_on_its_node_though_it_does_not_fit(door: Checked) -> None:
    found = door.existing("app", "k", "n1", {"vcore": 12})
    assert of(found, e.AllocationsRejected) == []
    assert door.node_view("n1").allocated == {"vcore": 12}
    assert door.queue("root.a").allocated == {"vcore": 12}
    assert door.free() == {"memory": 4, "vcore": -2}


@pytest.mark.remuda_rule("NOD-10", "SI-62")
def test_taking_off_what_is_not_there_changes_nothing(door: Checked) -> None:
    door.existing("app", "k", "n1", {"vcore": 2})
    assert door.release("app", "unknown") == []
    assert door.release("app", "k") != []
    assert door.release("app", "k") == []
    assert door.node_view("n1").allocated == {"vcore": 0}
    assert door.free() == {"memory": 4, "vcore": 10}
