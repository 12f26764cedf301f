"""The tree of queues, their counters and states (chapter 50 section A.1)."""

from __future__ import annotations

import pytest

from remuda.base.errors import InvariantViolation
from remuda.config.load import load_configuration
from remuda.config.schema import TemplateConfig
from remuda.core.messages import commands as c
from remuda.core.messages import queries as q
from remuda.core.messages.effects import ApplicationsAnswered
from remuda.core.model.queues.queue import Queue
from tests.unit.core.door import CREATING, SECOND, Caller, leaf, of, parent

LOWEST = -(2**31)
ONE = {"vcore": 1}

SHOUTED = """
partitions:
  - name: default
    placementrules:
      - name: provided
        create: true
    queues:
      - name: Root
        submitacl: "*"
        queues:
          - name: Sales
            parent: true
          - name: OPS
"""


def paths(top: q.QueueView) -> dict[str, tuple[bool, bool]]:
    """Whether each queue is a leaf and whether it is managed, by path."""
    found = {top.path: (top.leaf, top.managed)}
    for child in top.children:
        found.update(paths(child))
    return found


def inside(door: Caller, path: str) -> Queue:
    """The scheduler's own record of a queue, for what nobody can ask for from outside."""
    (partition,) = door.scheduler._cluster.partitions()
    found = partition.queue(path)
    assert found is not None
    return found


# ------------------------------------------------------------------------------- the tree


@pytest.mark.remuda_rule("QUE-1")
def test_names_are_lower_case_and_paths_join_them_with_dots() -> None:
    door = Caller()
    door.send(c.RegisterResourceManager("rm", load_configuration(SHOUTED)))
    door.app("app", "ROOT.Sales.EMEA.Ann")
    assert paths(door.queue("root")) == {
        "root": (False, True),
        "root.ops": (True, True),
        "root.sales": (False, True),
        "root.sales.emea": (False, False),
        "root.sales.emea.ann": (True, False),
    }
    assert door.apps()["app"].queue == "root.sales.emea.ann"
    assert door.queue("root.sales.emea.ann").parent == "root.sales.emea"
    found = door.scheduler.view(q.ApplicationsQuery("default", "Root.SALES.Emea.ann"))
    assert isinstance(found, tuple)
    assert len(found) == 1


@pytest.mark.remuda_rule("QUE-1", "QUE-2")
def test_every_partition_has_a_tree_of_its_own() -> None:
    door = Caller(leaf("a"))
    config = load_configuration(SHOUTED)
    door.send(c.RegisterResourceManager("other", config))
    door.node("n1", {"vcore": 5})
    door.app("app")
    door.ask("app", "k", ONE, 3)
    assert len(door.place()) == 3
    found = door.scheduler.view(q.QueuesQuery("default", "other"))
    assert isinstance(found, q.QueueView)
    assert set(paths(found)) == {"root", "root.sales", "root.ops"}
    assert (found.allocated, found.running_applications, found.maximum) == ({}, 0, None)
    assert door.queue("root").allocated == {"vcore": 3}


@pytest.mark.remuda_rule("QUE-2")
def test_a_new_queue_has_and_wants_nothing() -> None:
    door = Caller(parent("p", leaf("a")), placement_rules=(CREATING,))
    door.app("app", "root.p.dyn")
    for path in ("root", "root.p", "root.p.a", "root.p.dyn"):
        found = door.queue(path)
        assert (found.allocated, found.pending, found.preempting) == ({}, {}, {})
        assert (found.running_applications, found.current_priority) == (0, LOWEST)
        assert found.status == "Active"


@pytest.mark.remuda_rule("QUE-2", "QUE-11", "QUE-10")
def test_counters_of_a_parent_are_the_sums_of_its_children_at_every_moment() -> None:
    door = Caller(parent("p", leaf("a"), leaf("b")), leaf("c"))
    door.node("n1", {"vcore": 7, "memory": 100})
    for name, path in (("a", "root.p.a"), ("b", "root.p.b"), ("c", "root.c")):
        door.app(name, path)
        door.ask(name, f"{name}-cores", {"vcore": 1}, 3)
        door.ask(name, f"{name}-bytes", {"memory": 2}, 2)
    seen: set[int] = set()
    while door.scheduler.has_work():
        door.step(1)
        for above in ("root", "root.p"):
            top = door.queue(above)
            for kind in ("vcore", "memory"):
                below = [child.allocated.get(kind, 0) for child in top.children]
                assert top.allocated.get(kind, 0) == sum(below)
                below = [child.pending.get(kind, 0) for child in top.children]
                assert top.pending.get(kind, 0) == sum(below)
        seen.add(door.queue("root").allocated.get("vcore", 0))
    assert seen == set(range(1, 8))  # 7 of the 9 cores that are wanted
    assert door.queue("root").pending == {"vcore": 2, "memory": 0}
    assert door.queue("root").allocated == {"vcore": 7, "memory": 12}


# --------------------------------------------------------------------------- what goes where


@pytest.mark.remuda_rule("QUE-3")
def test_a_leaf_takes_no_child() -> None:
    door = Caller(leaf("a"), placement_rules=(CREATING,))
    (answer,) = of(door.app("app", "root.a.b"), ApplicationsAnswered)
    assert answer.accepted == ()
    assert set(paths(door.queue("root"))) == {"root", "root.a"}


@pytest.mark.remuda_rule("QUE-3")
def test_a_dynamic_leaf_takes_all_of_the_nearest_template_and_a_dynamic_parent_none() -> None:
    far = TemplateConfig(9, {"application.sort.policy": "fair"}, {"vcore": 900}, {"vcore": 90})
    near = TemplateConfig(3, {"priority.offset": "4"}, {"vcore": 30}, {"vcore": 3})
    door = Caller(
        parent("with", template=near),
        parent("without", leaf("fixed")),
        root={"template": far},
        placement_rules=(CREATING,),
    )
    for name in ("with.x", "with.deep.x", "without.x"):
        door.app(name, f"root.{name}")

    def taken(path: str) -> tuple[object, ...]:
        view = door.queue(path)
        return (
            view.max_applications,
            view.maximum,
            view.guaranteed,
            view.priority_offset,
            view.sort_policy,
        )

    assert taken("root.with.x") == (3, {"vcore": 30}, {"vcore": 3}, 4, "fifo")
    assert taken("root.with.deep.x") == (3, {"vcore": 30}, {"vcore": 3}, 4, "fifo")
    assert taken("root.with.deep")[:4] == (0, None, None, 0)
    assert taken("root.without.x") == (9, {"vcore": 900}, {"vcore": 90}, 0, "fair")
    assert taken("root.without.fixed") == (0, None, None, 0, "fifo")


# -------------------------------------------------------------------------------- states


@pytest.mark.remuda_rule("QUE-4")
def test_the_cleaner_runs_ten_seconds_after_there_is_something_to_remove() -> None:
    door = Caller(leaf("spare"), leaf("a"), placement_rules=(CREATING,))
    door.app("app", "root.dyn")
    door.app("keep", "root.kept")
    door.remove("app")
    door.wait(10 * SECOND - 1)
    assert "root.dyn" in paths(door.queue("root"))
    door.wait(1)
    assert set(paths(door.queue("root"))) == {"root", "root.spare", "root.a", "root.kept"}


@pytest.mark.remuda_rule("QUE-10", "QUE-2")
def test_a_counter_that_does_not_add_up_is_found() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "k", ONE, 2)
    door.place()
    inside(door, "root").allocated.amounts[0] -= 1
    with pytest.raises(InvariantViolation, match="root"):
        door.scheduler.check()
