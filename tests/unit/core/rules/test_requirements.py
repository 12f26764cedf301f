"""Requirements of the founding documents that no single rule spells out (chapter 00 section 5).

Most of its lines are shown by the tests of the rules they point to; these point to sections.
"""

from __future__ import annotations

import json

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import (
    CREATING,
    REQUIRED_NODE,
    SECOND,
    START,
    Caller,
    answers,
    leaf,
    of,
    partition,
    released,
)
from tests.unit.core.rules.gang import Gang

ONE = {"vcore": 1}
EVENT_EXAMPLE = {"memory": 4_000_000_000, "vcore": 1_000}

# Chapter 70 section 10, all names exact.
NODE_ATTRIBUTES = [
    "si/arch",
    "si/hostname",
    "si/rackname",
    "si/os",
    "si/instance-type",
    "si/zone",
    "si/region",
    "si/local-images",
]
ALLOCATION_ATTRIBUTES = ["si/application-id", "si/container-image", "si/container-ports"]
TAGS = [
    f"{domain}{group}{key}"
    for domain in ("kubernetes.io/", "yunikorn.apache.org/")
    for group in ("meta/", "label/", "annotation/", "")
    for key in ("podName", "namespace", "allowPreemption", "app")
]


def pending(door: Caller) -> dict[str, int]:
    """How many allocations each ask still wants."""
    return {r.allocation_key: r.pending_count for r in door.apps()["app"].requests}


@pytest.mark.remuda_rule("SEED-61", "NODE-2")
def test_attributes_of_nodes_and_allocations_come_back_under_their_names() -> None:
    door = Caller(leaf("a"))
    attributes = {name: f"of {name}" for name in NODE_ATTRIBUTES}
    door.node("n1", ONE, attributes=attributes, home="default")
    shown = door.node_view("n1").attributes
    assert {name: shown[name] for name in attributes} == attributes
    assert shown["si/node-partition"].endswith("default")
    door.app("app")
    described = {name: f"of {name}" for name in ALLOCATION_ATTRIBUTES}
    door.ask("app", "k", ONE, tags=described)
    (placed,) = of(door.step(), e.AllocationNew)
    assert placed.ask.tags == described


@pytest.mark.remuda_rule("SEED-62", "SEED-5", "SI-39", "SI-76")
def test_tags_of_asks_but_the_required_node_are_the_managers_own(door: Caller) -> None:
    door.node("n2", {"vcore": 1})
    tags = dict.fromkeys(TAGS, "n2")
    door.ask("app", "free", ONE, tags=tags)
    door.ask("app", "pinned", ONE, tags=tags | {REQUIRED_NODE: "n2"})
    plain = Caller(leaf("a"))
    plain.node("n1", {"vcore": 10})
    plain.node("n2", {"vcore": 1})
    plain.app("app")
    plain.ask("app", "free", ONE)
    (expected,) = plain.place()
    placed = {new.ask.allocation_key: new for new in of(door.step(), e.AllocationNew)}
    assert (placed["free"].allocation_id, placed["free"].node_id) == expected
    assert placed["free"].ask.tags == tags
    assert placed["pinned"].node_id == "n2"


@pytest.mark.remuda_rule("SEED-63", "PLC-80", "APP-16", "SI-25", "NODE-12")
def test_the_names_with_a_meaning_of_their_own_have_it() -> None:
    def told(**amounts: int) -> str:
        return json.dumps({"resources": {name: {"value": n} for name, n in amounts.items()}})

    door = Caller(leaf("a"), placement_rules=(CREATING,))
    door.node("n1", {"memory": 100, "vcore": 100}, attributes={"ready": "false"})
    assert door.node_view("n1").ready is False
    quota = {
        "namespace.resourcequota": told(memory=10, vcore=2),
        "namespace.resourceguaranteed": told(vcore=1),
        "application.stateaware.disable": "true",
    }
    door.app("app", "root.space", tags=quota)
    limits = door.queue("root.space")
    assert (limits.maximum, limits.guaranteed) == ({"memory": 10, "vcore": 2}, ONE)
    door.ask("app", "k", {"memory": 1, "vcore": 1}, 3)
    assert len(door.place()) == 2
    assert door.state("app") == "Running"
    door.app("late", "root.a.below", tags={"application.create.force": "true"})
    assert door.apps()["late"].queue == "root.@recovery@"


@pytest.mark.remuda_rule("SEED-36", "SI-31", "SI-50")
def test_an_ask_is_pending_until_it_is_allocated_or_rejected_on_either_sides_demand(
    door: Caller,
) -> None:
    assert pending(door) == {}
    assert of(door.ask("app", "bad", ONE, 0), e.AsksRejected)
    assert pending(door) == {}
    door.ask("app", "k", ONE, 2)
    assert pending(door) == {"k": 2}
    door.place()
    assert pending(door) == {}
    assert [a.allocation_key for a in door.apps()["app"].allocations] == ["k", "k"]
    door.ask("app", "unwanted", {"vcore": 100})
    assert pending(door) == {"unwanted": 1}
    door.release_ask("app", "unwanted")
    assert pending(door) == {}
    assert door.queue("root.a").pending == {"vcore": 0}


@pytest.mark.remuda_rule("SEED-101", "EVT-90", "EVT-57", "SI-35")
def test_the_three_records_of_the_event_designs_example() -> None:
    """One allocation is one record each of its application, its node and its user."""
    door = Caller(leaf("default"))
    door.node("node-1", {"memory": 16_000_000_000, "vcore": 4_000})
    door.app("app-1", "root.default")
    door.ask("app-1", "req-1", EVENT_EXAMPLE)
    wanted = {ev.APP_ALLOC, ev.NODE_ALLOC, ev.UG_USER_RESOURCE}
    records = [r for r in of(door.step(), e.EventRecord) if r.detail in wanted]
    assert {
        (r.kind, r.object_id, r.reference_id, r.change, r.detail): r.resource for r in records
    } == {
        (ev.APP, "app-1", "req-1-0", ev.ADD, ev.APP_ALLOC): EVENT_EXAMPLE,
        (ev.NODE, "node-1", "req-1-0", ev.ADD, ev.NODE_ALLOC): EVENT_EXAMPLE,
        (ev.USERGROUP, "ann", "root.default", ev.ADD, ev.UG_USER_RESOURCE): EVENT_EXAMPLE,
    }
    assert len(records) == 3


@pytest.mark.remuda_rule("SEED-154", "GANG-36", "SI-28", "SI-37")
def test_objects_keep_what_gangs_need() -> None:
    """Group, flag, time limits, what was ordered out for what, the total and what is held of it."""
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", {"vcore": 2}, execution_timeout_ms=60_000)
    gang.hold("p1", "p2")
    gang.want("r1", execution_timeout_ms=1_000)
    gang.run()
    app = gang.application()
    assert (app.state, app.placeholder, app.used.get("vcore", 0)) == ("Starting", {"vcore": 2}, 0)
    assert app.placeholder_deadline_ns == START + 60 * SECOND
    held = gang.allocation("p1-0")
    assert (held.task_group, held.placeholder) == ("g", True)
    assert (held.release_type, held.replacement) == (c.PLACEHOLDER_REPLACED, "r1-0")
    assert (gang.allocation("p2-0").release_type, gang.allocation("p2-0").replacement) == (0, "")
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    real = gang.allocation("r1-0")
    assert (real.task_group, real.placeholder, real.placeholder_used) == ("g", False, True)
    assert gang.run(SECOND) == ["released[r1-0 TIMEOUT]"]


@pytest.mark.remuda_rule("SEED-212", "SEED-227", "CYC-6", "QUE-2")
def test_a_decision_and_its_record_are_one_step(door: Caller) -> None:
    """No view sees something placed and not counted, or the reverse; nobody has to confirm it."""
    door.ask("app", "k", ONE, 3)
    for number in (1, 2, 3):
        placed = of(door.step(1), e.AllocationNew)
        assert len(placed) == 1
        counted = {"vcore": number}
        assert door.node_view("n1").allocated == counted
        assert door.queue("root.a").allocated == door.queue("root").allocated == counted
        assert door.queue("root").pending == {"vcore": 3 - number}
        assert door.apps()["app"].used == door.usage()["ann"].queues.used == counted
        assert len(door.apps()["app"].allocations) == number
        door.scheduler.check()


@pytest.mark.remuda_rule("SEED-182", "RM-10", "CFG-62")
def test_partitions_may_use_the_same_names_and_do_not_meet() -> None:
    homes = ("one", "two")
    door = Caller(partitions=[partition(leaf("a"), name=name) for name in homes])
    for home, cores in zip(homes, (1, 2), strict=True):
        door.node("n1", {"vcore": cores}, home=home)
        door.app("app", partition=home)
        door.ask("app", "k", ONE, 4, partition=home)
    assert len(door.place()) == 3
    assert [door.queue("root.a", home).allocated for home in homes] == [ONE, {"vcore": 2}]
    assert released(door.remove("app", "one")) == [["k-0"]]
    assert door.queue("root.a", "two").allocated == {"vcore": 2}


@pytest.mark.remuda_rule("SEED-170", "SI-76")
def test_what_the_core_says_names_only_what_it_was_told(door: Caller) -> None:
    """Words of one kind of manager (pods, containers, YARN) are never added by the core."""
    effects = [*door.first, *door.ask("app", "k", ONE, 2), *door.step()]
    effects += door.release("app", "k-0")
    effects += door.node("n1", action=c.DECOMISSION)
    text = repr(answers(effects)).lower()
    for word in ("pod", "container", "kube", "yarn", "yunikorn"):
        assert word not in text


@pytest.mark.remuda_rule("SEED-185", "CYC-10", "CYC-11")
def test_a_parent_tries_its_children_in_order_and_a_leaf_its_applications() -> None:
    door = Caller(leaf("a"), leaf("b"))
    door.node("n1", {"vcore": 6})
    for name, path in (("a1", "root.a"), ("b1", "root.b"), ("a2", "root.a"), ("b2", "root.b")):
        door.now += 1
        door.app(name, path)
        door.ask(name, f"{name}-huge", {"vcore": 7})
        door.ask(name, name, ONE)
    # By usage between the queues, first come first served inside; what fits nowhere is passed by.
    assert door.order() == ["a1", "b1", "a2", "b2"]
