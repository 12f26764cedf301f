"""Records about users and groups: when, in which order, with which content (90.2.5, 90.2.6)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    ADD,
    ALLOC_CANCEL,
    ALLOC_NODEREMOVED,
    APP,
    APP_ACCEPTED,
    APP_ALLOC,
    APP_COMPLETING,
    APP_REQUEST,
    APP_RUNNING,
    APP_STARTING,
    DETAILS_NONE,
    NODE,
    NODE_ALLOC,
    NODE_DECOMISSION,
    NODE_SCHEDULABLE,
    QUEUE,
    QUEUE_APP,
    QUEUE_MAX,
    REMOVE,
    REQUEST_CANCEL,
    SET,
    UG_APP_LINK,
    UG_GROUP_LIMIT,
    UG_GROUP_RESOURCE,
    UG_USER_LIMIT,
    UG_USER_RESOURCE,
    USERGROUP,
)
from tests.unit.core.door import (
    START,
    Caller,
    events,
    groups,
    leaf,
    of,
    parent,
    tracked,
    users,
)
from tests.unit.core.tracking import caller, memory, start

SIZE = {"memory": 200, "vcore": 20_000}
WANTED = {"memory": 10, "vcore": 1000}
BI = (groups("bi", memory(90)),)
USER, GROUP = UG_USER_RESOURCE, UG_GROUP_RESOURCE


def etl() -> Caller:
    """The golden example: a group limit on root.etl, a node and an application of ann."""
    door = Caller(leaf("etl", limits=BI))
    door.node("n1", SIZE)
    door.app("job-1", "root.etl", groups=("bi",))
    return door


def records(effects: list[e.Effect], *details: int) -> list[e.EventRecord]:
    """The records about users and groups, only those with these details if any are given."""
    found = [record for record in of(effects, e.EventRecord) if record.kind == USERGROUP]
    return [record for record in found if not details or record.detail in details]


def without_zeros(record: e.EventRecord) -> dict[str, int]:
    """A record's resource."""
    return {name: amount for name, amount in (record.resource or {}).items() if amount}


# The lines of EVT-134's file: kind, object, change, detail, reference, resource.
GOLDEN = [
    (QUEUE, "root", ADD, DETAILS_NONE, "", {}),
    (QUEUE, "root.etl", ADD, DETAILS_NONE, "", {}),
    (USERGROUP, "bi", SET, UG_GROUP_LIMIT, "root.etl", {}),
    (NODE, "n1", SET, NODE_SCHEDULABLE, "", {}),
    (QUEUE, "root", SET, QUEUE_MAX, "", SIZE),
    (NODE, "n1", ADD, DETAILS_NONE, "", SIZE),
    (APP, "job-1", ADD, DETAILS_NONE, "", {}),
    (QUEUE, "root.etl", ADD, QUEUE_APP, "job-1", {}),
    (APP, "job-1", SET, APP_ACCEPTED, "", {}),
    (APP, "job-1", ADD, APP_REQUEST, "t-1", WANTED),
    (USERGROUP, "bi", SET, UG_APP_LINK, "job-1", {}),
    (NODE, "n1", ADD, NODE_ALLOC, "t-1-0", WANTED),
    (APP, "job-1", SET, APP_STARTING, "", {}),
    (USERGROUP, "ann", ADD, UG_USER_RESOURCE, "root.etl", WANTED),
    (USERGROUP, "bi", ADD, UG_GROUP_RESOURCE, "root.etl", WANTED),
    (APP, "job-1", ADD, APP_ALLOC, "t-1-0", WANTED),
]


@pytest.mark.remuda_rule(
    "EVT-134", "EVT-78", "EVT-79", "EVT-80", "EVT-82", "EVT-84", "EVT-86", "LIM-40"
)
def test_the_golden_example() -> None:
    door = Caller(leaf("etl", limits=BI))
    found = [*door.first, *door.node("n1", SIZE)]
    found += door.app("job-1", "root.etl", groups=("bi",))
    found += [*door.ask("job-1", "t-1", WANTED), *door.step()]
    assert [
        (r.kind, r.object_id, r.change, r.detail, r.reference_id, without_zeros(r))
        for r in of(found, e.EventRecord)
    ] == GOLDEN


@pytest.mark.remuda_rule("EVT-78", "EVT-79", "EVT-83", "LIM-40")
def test_usage_is_told_with_the_leaf_path_and_the_difference() -> None:
    door = etl()
    door.ask("job-1", "t", WANTED, 2)
    door.step(1)
    found = door.step(1)
    assert tracked(found) == [("ann", ADD, USER, "root.etl"), ("bi", ADD, GROUP, "root.etl")]
    assert [without_zeros(r) for r in records(found)] == [WANTED, WANTED]
    found = door.release("job-1", "t-0")
    assert tracked(found) == [("ann", REMOVE, USER, "root.etl"), ("bi", REMOVE, GROUP, "root.etl")]
    assert [without_zeros(r) for r in records(found)] == [WANTED, WANTED]


@pytest.mark.remuda_rule("EVT-79", "EVT-80")
@pytest.mark.parametrize("names", [("qa",), ()])
def test_without_a_tracked_group_only_the_user_is_told(names: tuple[str, ...]) -> None:
    door = Caller(leaf("etl", limits=BI))
    door.node("n1", SIZE)
    door.app("job-1", "root.etl", groups=names)
    door.ask("job-1", "t", WANTED)
    assert tracked(door.step()) == [("ann", ADD, USER, "root.etl")]
    assert tracked(door.release("job-1")) == [("ann", REMOVE, USER, "root.etl")]


@pytest.mark.remuda_rule("EVT-80", "EVT-83")
def test_the_link_is_told_at_the_first_look_and_at_the_last_release() -> None:
    door = etl()
    assert tracked(door.ask("job-1", "large", memory(5000))) == []
    assert tracked(door.step()) == [("bi", SET, UG_APP_LINK, "job-1")]
    assert tracked(door.release_ask("job-1", "large")) in (
        [],
        [("bi", REMOVE, UG_APP_LINK, "job-1")],
    )
    door.ask("job-1", "t", WANTED)
    door.step()
    assert tracked(door.release("job-1")) == [
        ("ann", REMOVE, USER, "root.etl"),
        ("bi", REMOVE, UG_APP_LINK, "job-1"),
        ("bi", REMOVE, GROUP, "root.etl"),
    ]


@pytest.mark.remuda_rule("EVT-84", "EVT-86")
def test_the_second_allocation() -> None:
    door = etl()
    door.ask("job-1", "t", WANTED, 2)
    door.step(1)
    found = door.step(1)
    assert events(found) == [
        (NODE, "n1", ADD, NODE_ALLOC),
        (APP, "job-1", SET, APP_RUNNING),
        (USERGROUP, "ann", ADD, UG_USER_RESOURCE),
        (USERGROUP, "bi", ADD, UG_GROUP_RESOURCE),
        (APP, "job-1", ADD, APP_ALLOC),
    ]
    (state,) = [r for r in of(found, e.EventRecord) if r.detail == APP_RUNNING]
    assert state.resource == WANTED  # the total before this allocation


@pytest.mark.remuda_rule("EVT-87", "EVT-80")
def test_a_release_by_the_manager() -> None:
    door = etl()
    door.ask("job-1", "t", WANTED, 2)
    door.step()
    assert events(door.release("job-1", "t-0")) == [
        (USERGROUP, "ann", REMOVE, UG_USER_RESOURCE),
        (USERGROUP, "bi", REMOVE, UG_GROUP_RESOURCE),
        (APP, "job-1", REMOVE, ALLOC_CANCEL),
        (NODE, "n1", REMOVE, NODE_ALLOC),
    ]
    assert events(door.release("job-1", "t-1")) == [
        (USERGROUP, "ann", REMOVE, UG_USER_RESOURCE),
        (USERGROUP, "bi", REMOVE, UG_APP_LINK),
        (USERGROUP, "bi", REMOVE, UG_GROUP_RESOURCE),
        (APP, "job-1", SET, APP_COMPLETING),
        (APP, "job-1", REMOVE, ALLOC_CANCEL),
        (NODE, "n1", REMOVE, NODE_ALLOC),
    ]


@pytest.mark.remuda_rule("EVT-89", "EVT-78")
def test_a_running_application_is_removed() -> None:
    door = Caller(leaf("a"))
    door.node("n1", SIZE)
    door.app("app")
    door.ask("app", "k", WANTED, 2)
    door.place()
    found = door.remove("app")
    assert events(found) == [
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
    (usage,) = records(found, UG_USER_RESOURCE)
    assert without_zeros(usage) == {"memory": 20, "vcore": 2000}


@pytest.mark.remuda_rule("EVT-58", "EVT-78")
def test_a_node_with_work_is_removed() -> None:
    door = etl()
    door.ask("job-1", "t", WANTED, 2)
    door.place()
    door.ask("job-1", "large", memory(5000))
    found = events(door.node("n1", action=c.DECOMISSION))
    assert found == [
        (NODE, "n1", SET, NODE_SCHEDULABLE),
        *2
        * [
            (USERGROUP, "ann", REMOVE, UG_USER_RESOURCE),
            (USERGROUP, "bi", REMOVE, UG_GROUP_RESOURCE),
            (APP, "job-1", REMOVE, ALLOC_NODEREMOVED),
            (NODE, "n1", REMOVE, NODE_ALLOC),
        ],
        (QUEUE, "root", SET, QUEUE_MAX),
        (NODE, "n1", REMOVE, NODE_DECOMISSION),
    ]


@pytest.mark.remuda_rule("EVT-78", "EVT-79", "EVT-80", "LIM-33")
def test_a_reported_allocation_links_and_counts() -> None:
    found = etl().existing("job-1", "x", "n1", WANTED)
    assert sorted(events(found)) == sorted(
        [
            (USERGROUP, "bi", SET, UG_APP_LINK),
            (NODE, "n1", ADD, NODE_ALLOC),
            (APP, "job-1", SET, APP_ACCEPTED),
            (APP, "job-1", SET, APP_STARTING),
            (USERGROUP, "ann", ADD, UG_USER_RESOURCE),
            (USERGROUP, "bi", ADD, UG_GROUP_RESOURCE),
            (APP, "job-1", ADD, APP_ALLOC),
        ]
    )
    link, user, group = (record.detail for record in records(found))
    assert (link, user, group) == (UG_APP_LINK, UG_USER_RESOURCE, UG_GROUP_RESOURCE)


@pytest.mark.remuda_rule("EVT-81", "EVT-82", "LIM-40")
def test_the_first_configuration_tells_every_named_limit() -> None:
    limits = (users("ann bob", memory(9)), groups("dev *", None, 3), users("*", memory(5)))
    door = Caller(parent("p", leaf("a", limits=BI), limits=limits))
    assert sorted(tracked(door.first)) == sorted(
        [
            ("ann", SET, UG_USER_LIMIT, "root.p"),
            ("bob", SET, UG_USER_LIMIT, "root.p"),
            ("dev", SET, UG_GROUP_LIMIT, "root.p"),
            ("*", SET, UG_GROUP_LIMIT, "root.p"),
            ("bi", SET, UG_GROUP_LIMIT, "root.p.a"),
        ]
    )
    assert {(record.resource or {}) == {} for record in records(door.first)} == {True}


@pytest.mark.remuda_rule("EVT-83", "UPD-7")
def test_a_user_wildcard_is_told_once_while_it_binds_a_user() -> None:
    limits = (users("bob", memory(9000)), users("*", memory(8000)))
    door = caller(leaf("a", limits=limits))
    wildcard = [("ann", SET, UG_USER_LIMIT, "root.a")]
    for app in ("1", "2"):
        door.app(app)
        door.ask(app, f"{app}.k", memory(10))
        told = [record for record in tracked(door.step()) if record[2] == UG_USER_LIMIT]
        assert told == (wildcard if app == "1" else [])
    door.release("1")
    found = tracked(door.release("2"))
    gone = [("ann", REMOVE, UG_USER_LIMIT, "root.a")]
    assert [record for record in found if record[2] == UG_USER_LIMIT] == gone


@pytest.mark.remuda_rule("EVT-83", "UPD-7", "EVT-81")
def test_a_removed_wildcard_is_told_for_those_it_bound() -> None:
    limits = (users("bob", memory(9000)), users("*", memory(8000)))
    door = caller(leaf("a", limits=limits))
    for app, user in (("1", "ann"), ("2", "bob"), ("3", "eve")):
        assert start(door, app, "root.a", memory(1), user=user)
    door.remove("3")  # eve has nothing there any more
    found = tracked(door.reload(leaf("a")))
    assert sorted(found) == [
        ("ann", REMOVE, UG_USER_LIMIT, "root.a"),
        ("bob", REMOVE, UG_USER_LIMIT, "root.a"),
    ]


@pytest.mark.remuda_rule("EVT-83", "EVT-74", "EVT-81", "EVT-82", "UPD-5")
def test_a_reload_tells_changed_limits_only() -> None:
    same = (users("ann", memory(50)), groups("dev", memory(60)))
    door = caller(leaf("a", limits=(*same, users("bob", memory(7)), groups("ops", None, 2))))
    changed = (*same, users("bob", memory(8)), groups("qa", memory(5)))
    assert sorted(tracked(door.reload(leaf("a", limits=changed)))) == sorted(
        [
            ("bob", SET, UG_USER_LIMIT, "root.a"),
            ("ops", REMOVE, UG_GROUP_LIMIT, "root.a"),
            ("qa", SET, UG_GROUP_LIMIT, "root.a"),
        ]
    )
    assert tracked(door.reload(leaf("a", limits=changed))) == []


@pytest.mark.remuda_rule("EVT-81", "EVT-83", "EVT-74")
def test_a_removed_user_limit_is_told_once() -> None:
    door = caller(leaf("a", limits=(users("ann", memory(50)),)))
    assert start(door, "1", "root.a", memory(1))
    assert tracked(door.reload(leaf("a"))) == [("ann", REMOVE, UG_USER_LIMIT, "root.a")]


@pytest.mark.remuda_rule("EVT-83", "EVT-82", "LIM-64")
def test_a_link_cut_by_a_reload_is_not_told() -> None:
    door = caller(leaf("a", limits=(groups("dev", memory(50)),)))
    assert start(door, "1", "root.a", memory(1), groups=("dev",))
    found = door.reload(leaf("a"))
    assert records(found, UG_APP_LINK) == []
    assert ("dev", REMOVE, UG_GROUP_LIMIT, "root.a") in tracked(found)


@pytest.mark.remuda_rule("EVT-83", "EVT-80", "LIM-5")
def test_the_group_wildcard_is_an_ordinary_name() -> None:
    door = caller(leaf("a", limits=(groups("dev", memory(50)), groups("*", memory(50)))))
    door.app("1", groups=("qa",))
    door.ask("1", "k", memory(1))
    assert tracked(door.step()) == [
        ("*", SET, UG_APP_LINK, "1"),
        ("ann", ADD, USER, "root.a"),
        ("*", ADD, GROUP, "root.a"),
    ]


@pytest.mark.remuda_rule("EVT-13", "EVT-78")
def test_records_name_their_manager_partition_and_time() -> None:
    door = etl()
    door.ask("job-1", "t", WANTED)
    found = records(door.step())
    assert {(r.rm_id, r.partition, r.timestamp_ns, r.message) for r in found} == {
        ("rm", "default", START, "")
    }
    assert len(found) == 3


@pytest.mark.remuda_rule("EVT-83", "LIM-4")
def test_a_user_wildcard_is_told_for_every_level() -> None:
    door = caller(
        parent("p", leaf("a"), limits=(users("*", memory(50)),)), limits=(users("*", memory(90)),)
    )
    door.app("1", "root.p.a")
    door.ask("1", "k", memory(1))
    told = sorted(record for record in tracked(door.step()) if record[2] == UG_USER_LIMIT)
    paths = ("root", "root.p")
    assert told == [("ann", SET, UG_USER_LIMIT, path) for path in paths]
    gone = sorted(record for record in tracked(door.remove("1")) if record[2] == UG_USER_LIMIT)
    assert gone == [("ann", REMOVE, UG_USER_LIMIT, path) for path in paths]


@pytest.mark.remuda_rule("EVT-83", "EVT-74")
def test_an_added_or_changed_wildcard_is_told_for_those_it_binds() -> None:
    door = caller(leaf("a"), leaf("b"))
    assert start(door, "1", "root.a", memory(1))
    assert start(door, "2", "root.b", memory(1), user="bob")
    bound = [("ann", SET, UG_USER_LIMIT, "root.a")]
    for amount, told in ((50, bound), (60, bound), (60, [])):
        limits = (users("*", memory(amount)),)
        assert tracked(door.reload(leaf("a", limits=limits), leaf("b"))) == told


@pytest.mark.remuda_rule("EVT-78", "EVT-79")
def test_what_is_told_about_usage_adds_up_to_it() -> None:
    door = etl()
    told: dict[str, int] = {}
    found = door.ask("job-1", "t", WANTED, 5) + door.step()
    found += door.existing("job-1", "x", "n1", memory(7)) + door.release("job-1", "t-2")
    found += door.node("n2", SIZE) + door.ask("job-1", "u", memory(3), 4) + door.step()
    found += door.release("job-1", key="u")
    for record in records(found, USER, GROUP):
        sign = 1 if record.change == ADD else -1
        amount = sign * without_zeros(record).get("memory", 0)
        told[record.object_id] = told.get(record.object_id, 0) + amount
    assert told == {"ann": 47, "bi": 47}
    assert (door.usage()["ann"].queues.used or {})["memory"] == 47
    found = door.remove("job-1")
    gone = [without_zeros(record).get("memory", 0) for record in records(found, USER)]
    assert sum(gone) == 47
