"""Event records: cases of chapter 90 that stand beside its tables (sections 1, 2, 9 and 12)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages.effects import Effect
from tests.unit.core.door import SECOND, START, Caller, events, groups, leaf, of, parent
from tests.unit.core.rules.gang import ONE, Gang
from tests.unit.core.tracking import memory

SIZE = {"memory": 200, "vcore": 20_000}

# EVT-5: REQUEST_ALLOC, APP_NEW, QUEUE_CONFIG, QUEUE_ALLOC.
NEVER = {101, 203, 400, 406}


def details(effects: list[Effect]) -> list[tuple[int, int]]:
    """Change and detail of each record."""
    return [(record.change, record.detail) for record in of(effects, e.EventRecord)]


# --------------------------------------------------------------------------- records


@pytest.mark.remuda_rule("EVT-5")
def test_details_that_no_record_has_are_made_by_nothing() -> None:
    door = Caller(leaf("a"))
    found = [*door.first, *door.node("n1", SIZE), *door.app("app"), *door.app("no", "root.none")]
    found += [*door.ask("app", "k", memory(10)), *door.step(), *door.reload(leaf("a"), leaf("b"))]
    found += [*door.release("app", "k-0"), *door.remove("app"), *door.node("n1", action=4)]
    made = {detail for _, detail in details(found)}
    assert len(made) > 8
    assert not made & NEVER
    known = {number for number in vars(ev).values() if isinstance(number, int)}
    assert not known & NEVER


@pytest.mark.remuda_rule("EVT-7")
def test_a_record_has_the_time_at_which_it_was_made() -> None:
    door = Caller(leaf("a"))
    for second in range(3):
        door.now = START + second * SECOND
        found = of(door.node(f"n{second}", SIZE), e.EventRecord)
        assert {record.timestamp_ns for record in found} == {START + second * SECOND}


@pytest.mark.remuda_rule("EVT-11")
@pytest.mark.parametrize(
    "text, expected",
    [
        ("", ""),
        ("x" * 1_024, "x" * 1_024),
        ("x" * 1_025, "x" * 1_021 + "..."),
        ("x" * 100_000, "x" * 1_021 + "..."),
        ("\u00e4" * 512, "\u00e4" * 512),
        ("\u00e4" * 513, "\u00e4" * 510 + "..."),
        ("x" + "\u00e4" * 512, "x" + "\u00e4" * 510 + "..."),
        ("\U0001f600" * 257, "\U0001f600" * 255 + "..."),
        ("\u4e16" * 342, "\u4e16" * 340 + "..."),
    ],
)
def test_a_long_message_is_cut_between_two_characters(text: str, expected: str) -> None:
    assert ev.cut_message(text) == expected
    assert len(ev.cut_message(text).encode()) <= 1_024


@pytest.mark.remuda_rule("EVT-11", "EVT-36")
def test_the_message_of_a_record_is_cut() -> None:
    door = Caller(leaf("a", {"memory": 1}))
    door.node("n1", SIZE)
    door.app("app")
    key = "\u00e4" * 1_000
    door.ask("app", key, memory(2))
    (record,) = [each for each in of(door.step(), e.EventRecord) if each.kind == ev.REQUEST]
    # 1021 bytes: what stands before the key has 9 and each of its characters 2.
    assert record.message == f"Request '{key[:506]}..."
    assert record.object_id == key


# --------------------------------------------------------------------------- applications


@pytest.mark.remuda_rule("EVT-35", "EVT-16")
def test_a_state_is_told_to_the_rm_and_to_observers() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    found = door.ask("app", "k", memory(1))
    assert [update.state for update in of(found, e.ApplicationUpdated)] == ["Accepted"]
    assert (ev.SET, ev.APP_ACCEPTED) in details(found)


@pytest.mark.remuda_rule("EVT-35", "EVT-25")
def test_a_rejection_is_a_record_and_no_state_for_the_rm() -> None:
    door = Caller(leaf("a"))
    found = door.app("app", "root.none")
    assert of(found, e.ApplicationUpdated) == []
    assert details(found)[-1] == (ev.SET, ev.APP_REJECT)


@pytest.mark.remuda_rule("EVT-31", "EVT-22", "EVT-25")
def test_an_application_removed_twice_is_told_once_and_one_of_nowhere_never() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    found = events(door.remove("app"))
    assert found.count((ev.APP, "app", ev.REMOVE, ev.DETAILS_NONE)) == 1
    assert events(door.remove("app")) == []
    assert events(door.app("other", partition="nowhere")) == []
    assert events(door.remove("other")) == []


@pytest.mark.remuda_rule("EVT-27", "EVT-28", "EVT-34")
def test_placeholders_left_at_the_end_are_told_when_the_rm_confirms() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", {"vcore": 2})
    gang.hold("p1", "p2", size=ONE)
    gang.run()
    found: list[Effect] = []
    for name in ("p1-0", "p2-0"):
        gang.release("app", name, kind=c.TIMEOUT)
        found += gang.last
    assert details(found).count((ev.REMOVE, ev.ALLOC_TIMEOUT)) == 2


# --------------------------------------------------------------------------- order


@pytest.mark.remuda_rule("EVT-85", "EVT-84")
def test_only_the_last_missing_placeholder_moves_the_state_after_its_usage_is_told() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", {"vcore": 2})
    gang.hold("p1", "p2", size=ONE)
    placed = [
        (ev.NODE, "n1", ev.ADD, ev.NODE_ALLOC),
        (ev.USERGROUP, "ann", ev.ADD, ev.UG_USER_RESOURCE),
        (ev.USERGROUP, "staff", ev.ADD, ev.UG_GROUP_RESOURCE),
    ]
    link = (ev.USERGROUP, "staff", ev.SET, ev.UG_APP_LINK)
    allocated = (ev.APP, "app", ev.ADD, ev.APP_ALLOC)
    starting = (ev.APP, "app", ev.SET, ev.APP_STARTING)
    assert events(gang.step(1)) == [link, *placed, allocated]
    assert events(gang.step(1)) == [*placed, starting, allocated]


# --------------------------------------------------------------------------- queues and nodes


@pytest.mark.remuda_rule("EVT-70", "EVT-67", "EVT-68", "EVT-69")
def test_kind_maximum_and_guarantee_are_told_apart_and_only_the_kind_has_a_message() -> None:
    door = Caller(leaf("a"), leaf("b"), leaf("c"))
    found = door.reload(leaf("a", ONE), leaf("b", guaranteed=ONE), parent("c"))
    assert {
        (record.object_id, record.detail, record.message) for record in of(found, e.EventRecord)
    } == {
        ("root.a", ev.QUEUE_MAX, ""),
        ("root.b", ev.QUEUE_GUARANTEED, ""),
        ("root.c", ev.QUEUE_TYPE, "leaf queue: false"),
    }


@pytest.mark.remuda_rule("EVT-70", "EVT-22", "EVT-53", "EVT-54")
def test_removals_of_applications_capacity_and_occupied_amounts_are_told_too() -> None:
    door = Caller(leaf("a"))
    door.node("n1", SIZE)
    door.app("app")
    assert (ev.APP, "app", ev.REMOVE, ev.DETAILS_NONE) in events(door.remove("app"))
    found = events(door.node("n1", {"vcore": 5}, c.UPDATE, occupied=ONE))
    assert (ev.NODE, "n1", ev.SET, ev.NODE_CAPACITY) in found
    assert (ev.NODE, "n1", ev.SET, ev.NODE_OCCUPIED) in found


@pytest.mark.remuda_rule("EVT-58", "EVT-56", "EVT-61", "EVT-55", "EVT-70")
def test_a_node_that_leaves_with_a_reservation_and_placeholders_under_way() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
    gang.submit("old")
    gang.existing("old", "x", "n1", {"vcore": 6})
    gang.submit("app", {"vcore": 8})
    gang.hold("p1", size={"vcore": 8})
    gang.run(3 * SECOND)
    assert gang.home().reservations == 1
    found = events(gang.node("n1", action=c.DECOMISSION))
    nodes = [(change, detail) for kind, name, change, detail in found if kind == ev.NODE]
    assert nodes == [
        (ev.SET, ev.NODE_SCHEDULABLE),
        (ev.REMOVE, ev.NODE_RESERVATION),
        (ev.REMOVE, ev.NODE_ALLOC),
        (ev.REMOVE, ev.NODE_DECOMISSION),
    ]
    assert found[0] == (ev.NODE, "n1", ev.SET, ev.NODE_SCHEDULABLE)
    assert found[-2:] == [
        (ev.QUEUE, "root", ev.SET, ev.QUEUE_MAX),
        (ev.NODE, "n1", ev.REMOVE, ev.NODE_DECOMISSION),
    ]


# --------------------------------------------------------------------------- golden example


@pytest.mark.remuda_rule("EVT-135", "EVT-38", "EVT-14")
def test_a_second_ask_beyond_the_limit_of_the_group() -> None:
    door = Caller(leaf("etl", limits=(groups("bi", memory(90)),)))
    door.node("n1", SIZE)
    door.app("job-1", "root.etl", groups=("bi",))
    door.ask("job-1", "t-1", {"memory": 10, "vcore": 1_000})
    door.step()
    door.ask("job-1", "t-2", {"memory": 95, "vcore": 1_000})
    (record,) = [each for each in of(door.step(), e.EventRecord) if each.kind == ev.REQUEST]
    assert record.message == (
        "Request 't-2' exceeds the available user quota "
        "(requested map[memory:95 vcore:1000], available map[memory:80])"
    )
    assert (record.object_id, record.reference_id) == ("t-2", "job-1")
