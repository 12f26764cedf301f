"""How full the nodes are, by tenths (chapter 50, NOD-22)."""

from __future__ import annotations

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import node_queries as nq
from tests.unit.core.door import Caller, leaf, partition


def used(door: Caller, home: str = "default", rm: str = "") -> dict[str, dict[int, list[str]]]:
    """The tenths that are not empty, by type."""
    found = door.scheduler.view(nq.UtilisationQuery(home, rm))
    assert isinstance(found, nq.UtilisationView)
    assert list(found.types) == sorted(found.types)
    assert all(len(tenths) == 10 for tenths in found.types.values())
    return {
        name: {number: list(ids) for number, ids in enumerate(tenths) if ids}
        for name, tenths in found.types.items()
    }


@pytest.mark.remuda_rule("NOD-22")
@pytest.mark.parametrize(
    "allocated, total, tenth",
    [
        (0, 100, 0),
        (10, 100, 0),  # 0.1
        (11, 100, 1),  # 0.11
        (20, 100, 1),
        (90, 100, 8),
        (91, 100, 9),
        (95, 100, 9),  # 0.95
        (100, 100, 9),  # 1
        (101, 100, 9),  # above 1
        (1, 1, 9),
        (1, 3, 3),  # 3.33 tenths
        (10**17, 10**18, 0),
        (10**17 + 1, 10**18, 1),  # more digits than a float has
        (3 * 10**17, 10**18, 2),  # 10 * 0.3 would be exact, 0.3 is not
    ],
)
def test_the_upper_edge_belongs_to_a_tenth(allocated: int, total: int, tenth: int) -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"memory": total})
    door.app("app")
    if allocated:
        door.existing("app", "x", "n1", {"memory": allocated})
    assert used(door) == {"memory": {tenth: ["n1"]}}


@pytest.mark.remuda_rule("NOD-22")
def test_only_what_is_allocated_counts_not_what_others_use(door: Caller) -> None:
    door.node("n2", {"vcore": 10}, occupied={"vcore": 10})
    assert used(door) == {"vcore": {0: ["n1", "n2"]}}


@pytest.mark.remuda_rule("NOD-22")
def test_a_type_of_which_a_node_has_nothing_is_left_out(door: Caller) -> None:
    door.node("n2", {"vcore": 10, "gpu": 0, "memory": 4})
    door.existing("app", "x", "n2", {"vcore": 5, "gpu": 1, "memory": 1})
    assert used(door) == {"memory": {2: ["n2"]}, "vcore": {0: ["n1"], 4: ["n2"]}}


@pytest.mark.remuda_rule("NOD-22")
def test_allocations_that_come_and_go_move_their_node(door: Caller) -> None:
    door.node("n2", {"vcore": 10})
    door.ask("app", "k", {"vcore": 4})
    assert door.place() == [("k-0", "n1")]
    assert used(door) == {"vcore": {0: ["n2"], 3: ["n1"]}}
    door.existing("app", "x", "n2", {"vcore": 4})
    assert used(door) == {"vcore": {3: ["n1", "n2"]}}
    door.existing("app", "x", "n2", {"vcore": 7})  # the same one, resized
    assert used(door) == {"vcore": {3: ["n1"], 6: ["n2"]}}
    door.release("app", "k-0")
    assert used(door) == {"vcore": {0: ["n1"], 6: ["n2"]}}
    door.remove("app")
    assert used(door) == {"vcore": {0: ["n1", "n2"]}}


@pytest.mark.remuda_rule("NOD-22")
def test_another_capacity_moves_a_node(door: Caller) -> None:
    door.existing("app", "x", "n1", {"vcore": 5})
    assert used(door) == {"vcore": {4: ["n1"]}}
    door.node("n1", {"vcore": 20, "gpu": 2}, c.UPDATE)
    assert used(door) == {"gpu": {0: ["n1"]}, "vcore": {2: ["n1"]}}
    door.node("n1", {"vcore": 4}, c.UPDATE)
    assert used(door) == {"vcore": {9: ["n1"]}}


@pytest.mark.remuda_rule("NOD-22")
def test_nodes_leave_with_what_runs_on_them_and_types_with_the_last_node(door: Caller) -> None:
    door.node("n2", {"vcore": 10, "gpu": 1})
    door.existing("app", "x", "n2", {"vcore": 10, "gpu": 1})
    assert used(door) == {"gpu": {9: ["n2"]}, "vcore": {0: ["n1"], 9: ["n2"]}}
    door.node("n2", action=c.DECOMISSION)
    assert used(door) == {"vcore": {0: ["n1"]}}
    door.node("n2", {"vcore": 1, "gpu": 1})
    assert used(door) == {"gpu": {0: ["n2"]}, "vcore": {0: ["n1", "n2"]}}


@pytest.mark.remuda_rule("NOD-22")
def test_a_node_that_left_and_came_back_between_two_questions_is_looked_at_anew(
    door: Caller,
) -> None:
    door.existing("app", "x", "n1", {"vcore": 10})
    assert used(door) == {"vcore": {9: ["n1"]}}
    door.node("n1", action=c.DECOMISSION)
    door.node("n1", {"memory": 8})
    assert used(door) == {"memory": {0: ["n1"]}}


@pytest.mark.remuda_rule("NOD-22")
@pytest.mark.parametrize("asked", [True, False])
def test_nodes_that_left_are_not_remembered(door: Caller, asked: bool) -> None:
    (found,) = door.scheduler._cluster.partitions()
    for number in range(9):
        door.node(f"other-{number}", {"vcore": 10})
        door.existing("app", "x", f"other-{number}", {"vcore": 5})
        if asked:
            assert used(door) == {"vcore": {0: ["n1"], 4: [f"other-{number}"]}}
        door.node(f"other-{number}", action=c.DECOMISSION)
    assert sorted(found.pool.utilisation.changed) == (["other-8"] if asked else ["n1"])


@pytest.mark.remuda_rule("NOD-22")
def test_draining_nodes_count_too(door: Caller) -> None:
    door.node("n0", {"vcore": 10}, c.CREATE_DRAIN)
    door.node("n1", action=c.DRAIN_NODE)
    assert used(door) == {"vcore": {0: ["n0", "n1"]}}


@pytest.mark.remuda_rule("NOD-22", "REST-21")
def test_each_partition_is_asked_for_its_own_nodes() -> None:
    door = Caller(partitions=[partition(leaf("a")), partition(leaf("a"), name="batch")])
    door.node("n1", {"vcore": 1})
    door.node("n2", {"vcore": 1}, home="batch")
    assert used(door) == {"vcore": {0: ["n1"]}}
    assert used(door, "batch", door.rm) == {"vcore": {0: ["n2"]}}
    assert door.scheduler.view(nq.UtilisationQuery("other")) is None


@pytest.mark.remuda_rule("NOD-22")
def test_a_partition_without_nodes_has_no_types() -> None:
    assert used(Caller(leaf("a"))) == {}


@pytest.mark.remuda_rule("NOD-22", "RM-9")
def test_an_rm_that_registers_again_begins_without_nodes(door: Caller) -> None:
    assert used(door) == {"vcore": {0: ["n1"]}}
    door.send(c.RegisterResourceManager(door.rm, Configuration((partition(leaf("a")),))))
    assert used(door) == {}
