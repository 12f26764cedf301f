"""Event records: when, in which order, with which content (chapter 90, section 2).

The golden sequences are those of the chapter for a user without limited groups; what groups and
limits add is in the tests of limits.
"""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    ADD,
    ALLOC_CANCEL,
    ALLOC_NODEREMOVED,
    ALLOC_PREEMPT,
    ALLOC_TIMEOUT,
    APP,
    APP_ACCEPTED,
    APP_ALLOC,
    APP_COMPLETED,
    APP_COMPLETING,
    APP_EXPIRED,
    APP_REJECT,
    APP_REQUEST,
    APP_RUNNING,
    APP_STARTING,
    DETAILS_NONE,
    NODE,
    NODE_ALLOC,
    NODE_CAPACITY,
    NODE_DECOMISSION,
    NODE_OCCUPIED,
    NODE_READY,
    NODE_SCHEDULABLE,
    QUEUE,
    QUEUE_APP,
    QUEUE_DYNAMIC,
    QUEUE_MAX,
    REMOVE,
    REQUEST_CANCEL,
    SET,
    UG_USER_RESOURCE,
    USERGROUP,
)
from tests.unit.core.door import (
    CREATING,
    DAY,
    SECOND,
    START,
    Caller,
    events,
    existing_allocation,
    leaf,
    of,
    parent,
    partition,
)

ONE = {"vcore": 1}
SIZE = {"vcore": 10}


@pytest.fixture
def door() -> Caller:
    """A node and a new application."""
    found = Caller(leaf("a"))
    found.node("n1", SIZE)
    found.app("app")
    return found


def records(effects: list[e.Effect]) -> list[e.EventRecord]:
    """The event records."""
    return of(effects, e.EventRecord)


@pytest.mark.remuda_rule("EVT-62", "EVT-71")
def test_registration_creates_queues_root_first_then_depth_first() -> None:
    door = Caller(parent("p", leaf("z"), leaf("y")), leaf("b", maximum=ONE))
    names = ["root", "root.p", "root.p.z", "root.p.y", "root.b"]
    assert events(door.first) == [(QUEUE, name, ADD, DETAILS_NONE) for name in names]


@pytest.mark.remuda_rule("EVT-58", "EVT-47", "EVT-52", "EVT-73", "UPD-4")
@pytest.mark.parametrize("action, flag", [(c.CREATE, "true"), (c.CREATE_DRAIN, "false")])
def test_creating_a_node(action: int, flag: str) -> None:
    door = Caller(leaf("a"))
    found = door.node("n1", SIZE, action)
    assert events(found) == [
        (NODE, "n1", SET, NODE_SCHEDULABLE),
        (QUEUE, "root", SET, QUEUE_MAX),
        (NODE, "n1", ADD, DETAILS_NONE),
    ]
    flagged, maximum, added = records(found)
    assert flagged.message == f"schedulable: {flag}"
    assert maximum.resource == SIZE
    assert (added.resource, added.message) == (SIZE, "Node added to the scheduler")
    assert {(r.rm_id, r.partition, r.timestamp_ns) for r in records(found)} == {
        ("rm", "default", START)
    }


@pytest.mark.remuda_rule("EVT-58", "EVT-20", "EVT-29", "EVT-49")
def test_creating_a_node_with_work() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    found = events(door.node("n1", SIZE, existing=(existing_allocation("app", "k", "", ONE),)))
    assert found[:2] == [(NODE, "n1", SET, NODE_SCHEDULABLE), (QUEUE, "root", SET, QUEUE_MAX)]
    assert sorted(found[2:-1]) == sorted(
        [
            (NODE, "n1", ADD, NODE_ALLOC),
            (APP, "app", SET, APP_ACCEPTED),
            (APP, "app", SET, APP_STARTING),
            (USERGROUP, "ann", ADD, UG_USER_RESOURCE),
            (APP, "app", ADD, APP_ALLOC),
        ]
    )
    assert found[-1] == (NODE, "n1", ADD, DETAILS_NONE)


@pytest.mark.remuda_rule("EVT-60", "UPD-2", "NODE-5")
def test_a_refused_node_leaves_no_record(door: Caller) -> None:
    assert events(door.node("n1", SIZE)) == []
    assert events(door.node("n2", SIZE, home="nowhere")) == []
    bad = (existing_allocation("nobody", "k", "", ONE),)
    assert events(door.node("n3", SIZE, existing=bad)) == []


@pytest.mark.remuda_rule("EVT-58", "EVT-48", "EVT-61", "UPD-3", "EVT-73", "EVT-27")
def test_removing_a_node(door: Caller) -> None:
    door.ask("app", "k", ONE)
    door.place()
    found = door.node("n1", action=c.DECOMISSION)
    assert events(found) == [
        (NODE, "n1", SET, NODE_SCHEDULABLE),
        (USERGROUP, "ann", REMOVE, UG_USER_RESOURCE),
        (APP, "app", SET, APP_COMPLETING),
        (APP, "app", REMOVE, ALLOC_NODEREMOVED),
        (NODE, "n1", REMOVE, NODE_ALLOC),
        (QUEUE, "root", SET, QUEUE_MAX),
        (NODE, "n1", REMOVE, NODE_DECOMISSION),
    ]
    maximum, removed = records(found)[-2:]
    assert not any((maximum.resource or {}).values())
    assert (removed.message, removed.resource or {}) == ("Node removed from the scheduler", {})


@pytest.mark.remuda_rule("EVT-58", "EVT-59", "EVT-52")
def test_the_schedulable_flag_is_told_on_change_and_on_removal(door: Caller) -> None:
    drained = records(door.node("n1", action=c.DRAIN_NODE))
    assert [r.message for r in drained] == ["schedulable: false"]
    assert events(door.node("n1", action=c.DRAIN_NODE)) == []
    back = records(door.node("n1", action=c.DRAIN_TO_SCHEDULABLE))
    assert [(r.detail, r.message) for r in back] == [(NODE_SCHEDULABLE, "schedulable: true")]
    assert events(door.node("n1", action=c.DRAIN_TO_SCHEDULABLE)) == []
    door.node("n1", action=c.DRAIN_NODE)
    assert events(door.node("n1", action=c.DECOMISSION))[0] == (NODE, "n1", SET, NODE_SCHEDULABLE)


@pytest.mark.remuda_rule("EVT-53", "EVT-54", "EVT-73", "NOD-5", "NODE-7", "RES-35")
def test_updates_of_a_node_are_told_when_a_value_differs(door: Caller) -> None:
    bigger = {"vcore": 12, "gpu": 0}
    found = door.node("n1", bigger, c.UPDATE)
    assert sorted(events(found)) == sorted(
        [(NODE, "n1", SET, NODE_CAPACITY), (QUEUE, "root", SET, QUEUE_MAX)]
    )
    assert {r.detail: (r.resource or {})["vcore"] for r in records(found)} == {
        NODE_CAPACITY: 12,
        QUEUE_MAX: 12,
    }
    assert events(door.node("n1", {"vcore": 12, "tpu": 0}, c.UPDATE)) == []
    found = door.node("n1", action=c.UPDATE, occupied=ONE)
    assert events(found) == [(NODE, "n1", SET, NODE_OCCUPIED)]
    assert records(found)[0].resource == ONE
    assert events(door.node("n1", action=c.UPDATE, occupied={"vcore": 1, "x": 0})) == []
    assert events(door.node("n1", action=c.UPDATE)) == []


@pytest.mark.remuda_rule("EVT-51", "EVT-59", "NODE-12")
def test_readiness_is_told_on_change(door: Caller) -> None:
    off = records(door.node("n1", action=c.UPDATE, attributes={"ready": "false"}))
    assert [(r.detail, r.message) for r in off] == [(NODE_READY, "ready: false")]
    assert events(door.node("n1", action=c.UPDATE, attributes={"ready": "false"})) == []
    on = records(door.node("n1", action=c.UPDATE, attributes={"ready": "nonsense"}))
    assert [(r.detail, r.message) for r in on] == [(NODE_READY, "ready: true")]


@pytest.mark.remuda_rule("EVT-15", "EVT-65")
def test_adding_an_application() -> None:
    found = Caller(leaf("a")).app("app")
    assert events(found) == [
        (APP, "app", ADD, DETAILS_NONE),
        (QUEUE, "root.a", ADD, QUEUE_APP),
    ]
    assert records(found)[1].reference_id == "app"


@pytest.mark.remuda_rule("EVT-63", "EVT-65", "EVT-64", "PLC-68")
def test_dynamic_queues_come_and_go() -> None:
    door = Caller(partitions=[partition(leaf("a"), placement_rules=(CREATING,))])
    assert events(door.app("app", "root.x.y")) == [
        (APP, "app", ADD, DETAILS_NONE),
        (QUEUE, "root.x", ADD, QUEUE_DYNAMIC),
        (QUEUE, "root.x.y", ADD, QUEUE_DYNAMIC),
        (QUEUE, "root.x.y", ADD, QUEUE_APP),
    ]
    door.remove("app")
    assert events(door.wait(11 * SECOND)) == [
        (QUEUE, "root.x.y", REMOVE, QUEUE_DYNAMIC),
        (QUEUE, "root.x", REMOVE, QUEUE_DYNAMIC),
    ]


@pytest.mark.remuda_rule("EVT-25", "EVT-26")
def test_a_rejected_application_gives_two_records() -> None:
    door = Caller(leaf("a"))
    found = door.app("app", "root.none")
    assert events(found) == [(APP, "app", ADD, DETAILS_NONE), (APP, "app", SET, APP_REJECT)]
    (answer,) = of(found, e.ApplicationsAnswered)
    assert records(found)[1].message == answer.rejected[0].reason
    assert events(door.app("app", partition="nowhere")) == []


@pytest.mark.remuda_rule("EVT-84", "EVT-86", "EVT-16", "EVT-17", "EVT-20", "EVT-49", "EVT-57")
def test_from_the_first_ask_to_the_second_allocation(door: Caller) -> None:
    asked = door.ask("app", "k", ONE, 3)
    assert events(asked) == [(APP, "app", SET, APP_ACCEPTED), (APP, "app", ADD, APP_REQUEST)]
    request = records(asked)[1]
    assert (request.reference_id, request.resource) == ("k", ONE)
    first = door.step(1)
    assert events(first) == [
        (NODE, "n1", ADD, NODE_ALLOC),
        (APP, "app", SET, APP_STARTING),
        (USERGROUP, "ann", ADD, UG_USER_RESOURCE),
        (APP, "app", ADD, APP_ALLOC),
    ]
    on_node, state, of_user, in_app = records(first)
    assert (of_user.reference_id, of_user.resource) == ("root.a", ONE)
    assert (on_node.reference_id, on_node.resource) == ("k-0", ONE)
    assert not any((state.resource or {}).values())
    assert (in_app.reference_id, in_app.resource) == ("k-0", ONE)
    second = door.step(1)
    assert events(second) == [
        (NODE, "n1", ADD, NODE_ALLOC),
        (APP, "app", SET, APP_RUNNING),
        (USERGROUP, "ann", ADD, UG_USER_RESOURCE),
        (APP, "app", ADD, APP_ALLOC),
    ]
    assert records(second)[1].resource == ONE  # the total before this allocation
    assert events(door.step(1)) == [
        (NODE, "n1", ADD, NODE_ALLOC),
        (USERGROUP, "ann", ADD, UG_USER_RESOURCE),
        (APP, "app", ADD, APP_ALLOC),
    ]


@pytest.mark.remuda_rule("EVT-29", "EVT-17")
def test_an_ask_sent_again_is_told_again(door: Caller) -> None:
    door.ask("app", "k", ONE)
    found = door.ask("app", "k", {"vcore": 2})
    assert events(found) == [(APP, "app", ADD, APP_REQUEST)]
    assert records(found)[0].resource == {"vcore": 2}


@pytest.mark.remuda_rule("EVT-87", "EVT-21", "EVT-50", "EVT-27", "EVT-28")
@pytest.mark.parametrize(
    "kind, detail",
    [
        (c.STOPPED_BY_RM, ALLOC_CANCEL),
        (c.UNKNOWN_TERMINATION_TYPE, ALLOC_CANCEL),
        (c.TIMEOUT, ALLOC_TIMEOUT),
        (c.PREEMPTED_BY_SCHEDULER, ALLOC_PREEMPT),
    ],
)
def test_releasing_an_allocation(door: Caller, kind: int, detail: int) -> None:
    door.ask("app", "k", ONE, 2)
    door.place()
    found = door.release("app", "k-0", kind=kind)
    assert events(found) == [
        (USERGROUP, "ann", REMOVE, UG_USER_RESOURCE),
        (APP, "app", REMOVE, detail),
        (NODE, "n1", REMOVE, NODE_ALLOC),
    ]
    told = [(r.reference_id, (r.resource or {})["vcore"]) for r in records(found)]
    assert told == [("root.a", 1), ("k-0", 1), ("k-0", 1)]
    assert events(door.release("app", "k-1", kind=kind)) == [
        (USERGROUP, "ann", REMOVE, UG_USER_RESOURCE),
        (APP, "app", SET, APP_COMPLETING),
        (APP, "app", REMOVE, detail),
        (NODE, "n1", REMOVE, NODE_ALLOC),
    ]


@pytest.mark.remuda_rule("EVT-18", "EVT-30")
def test_releasing_asks(door: Caller) -> None:
    door.ask("app", "k", ONE, 2)
    door.ask("app", "other", {"vcore": 100})
    door.step(2)
    assert events(door.release_ask("app", "k", c.TIMEOUT)) == []
    found = door.release_ask("app", "k")  # fully allocated by now: told all the same
    assert events(found) == [(APP, "app", REMOVE, REQUEST_CANCEL)]
    assert (records(found)[0].reference_id, records(found)[0].resource) == ("k", ONE)


@pytest.mark.remuda_rule("EVT-89", "EVT-22", "EVT-66", "EVT-30", "EVT-31")
def test_removing_a_running_application(door: Caller) -> None:
    door.ask("app", "k", ONE, 2)
    door.ask("app", "other", {"vcore": 100})
    door.place()
    found = door.remove("app")
    assert events(found) == [
        (APP, "app", REMOVE, REQUEST_CANCEL),
        (APP, "app", REMOVE, REQUEST_CANCEL),
        (QUEUE, "root.a", REMOVE, QUEUE_APP),
        (APP, "app", REMOVE, DETAILS_NONE),
        (APP, "app", REMOVE, ALLOC_CANCEL),
        (APP, "app", REMOVE, ALLOC_CANCEL),
        (USERGROUP, "ann", REMOVE, UG_USER_RESOURCE),
        (APP, "app", SET, APP_COMPLETING),
        (NODE, "n1", REMOVE, NODE_ALLOC),
        (NODE, "n1", REMOVE, NODE_ALLOC),
    ]
    assert records(found)[3].resource == {"vcore": 2}
    assert {r.reference_id for r in records(found)[:2]} == {"k", "other"}


@pytest.mark.remuda_rule("EVT-89")
def test_removing_an_application_that_runs_nothing(door: Caller) -> None:
    door.ask("app", "k", ONE)
    assert events(door.remove("app")) == [
        (APP, "app", REMOVE, REQUEST_CANCEL),
        (APP, "app", SET, APP_COMPLETING),
        (QUEUE, "root.a", REMOVE, QUEUE_APP),
        (APP, "app", REMOVE, DETAILS_NONE),
        (APP, "app", SET, APP_COMPLETED),
    ]


@pytest.mark.remuda_rule("EVT-16", "EVT-22", "EVT-30", "EVT-31", "EVT-66")
def test_ending_by_itself(door: Caller) -> None:
    door.ask("app", "k", ONE)
    door.place()
    door.release("app", "k-0")
    found = events(door.wait(30 * SECOND))
    assert found[0] == (APP, "app", SET, APP_COMPLETED)
    assert sorted(found[1:]) == sorted(
        [(QUEUE, "root.a", REMOVE, QUEUE_APP), (APP, "app", REMOVE, DETAILS_NONE)]
    )
    assert events(door.wait(3 * DAY)) == [(APP, "app", SET, APP_EXPIRED)]


@pytest.mark.remuda_rule("EVT-13", "EVT-1")
def test_every_record_names_its_manager_and_partition() -> None:
    door = Caller(partitions=[partition(leaf("a"), name="gpu")])
    found = door.first + door.node("n1", SIZE, home="gpu") + door.app("app", partition="gpu")
    assert {(r.rm_id, r.partition) for r in records(found)} == {("rm", "gpu")}
    assert len(records(found)) == 7
