"""Placeholders are placed until the gang is complete; real asks wait (chapter 80 section 3)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from remuda.core.messages import events as ev
from tests.unit.core.door import SECOND, leaf, parent, users
from tests.unit.core.rules.crowd import LATE
from tests.unit.core.rules.gang import (
    ONE,
    TIMEOUT,
    TWO,
    Gang,
    amounts,
    counting,
    half,
    pair,
    records,
)

BOTH = {"gpu": 1, "vcore": 1}


def large(*queues: object) -> Gang:
    """One large node."""
    gang = Gang(*queues)  # type: ignore[arg-type]
    gang.node("n1", {"vcore": 100, "memory": 100, "gpu": 100})
    return gang


def short_of_gpu() -> Gang:
    """A gang of two with one placeholder: the other needs a type of which there is no more."""
    gang = Gang()
    gang.node("n1", {"vcore": 10, "gpu": 1})
    gang.submit("app", {"vcore": 2, "gpu": 2})
    gang.hold("p1", "p2", size=BOTH)
    assert gang.run() == ["new[p1-0 n1]"]
    return gang


@pytest.mark.remuda_rule("GANG-5")
@pytest.mark.parametrize(
    "ask, sizes, complete_at",
    [
        ({"vcore": 3}, [ONE, ONE, ONE], 3),  # exactly the sum
        ({"vcore": 3}, [TWO, TWO, TWO], 2),  # a surplus
        ({"vcore": 3}, [ONE, ONE], 0),
        ({"vcore": 2}, [{"vcore": 1, "memory": 5}, {"vcore": 1, "memory": 5}], 2),
        ({"vcore": 2, "memory": 3}, [{"vcore": 2}, {"memory": 2}, {"memory": 1}], 3),
        ({"vcore": 2, "memory": 3}, [{"vcore": 9}, {"memory": 2}], 0),
        ({"vcore": 2, "memory": 0}, [ONE, ONE], 2),
        ({"vcore": 2, "memory": 1}, [TWO, TWO], 0),
    ],
)
def test_a_gang_is_complete_when_every_type_asked_for_is_covered(
    ask: Resource, sizes: list[Resource], complete_at: int
) -> None:
    gang = large()
    gang.submit("app", ask)
    for number, size in enumerate(sizes, 1):
        gang.hold(f"p{number}", size=size)
        expected = [f"new[p{number}-0 n1]"]
        if number == complete_at:
            expected.insert(0, "updated[app Starting]")
        assert gang.run() == expected
    assert gang.state("app") == ("Starting" if complete_at else "Accepted")


@pytest.mark.remuda_rule("GANG-5", "GANG-1")
def test_without_a_total_placeholders_never_change_the_state() -> None:
    gang = large()
    gang.submit()
    gang.hold(*(f"p{number}" for number in range(20)))
    assert all(line.startswith("new") for line in gang.run())
    assert gang.state("app") == "Accepted"


@pytest.mark.remuda_rule("GANG-5", "APP-16", "APP-1")
def test_a_complete_gang_runs_after_five_minutes_without_any_real_task() -> None:
    gang = pair()
    assert gang.run(5 * 60 * SECOND) == ["updated[app Running]"]
    assert [state for _, state in gang.application().state_log] == [
        "Accepted",
        "Starting",
        "Running",
    ]


@pytest.mark.remuda_rule("GANG-6")
@pytest.mark.parametrize("group", ["g", "other", ""])
def test_real_asks_wait_for_the_last_placeholder(group: str) -> None:
    gang = short_of_gpu()
    gang.want("r1", group=group)
    assert gang.run() == []
    assert gang.run(60 * SECOND) == []
    assert gang.pending() == {"p2": 1, "r1": 1}
    gang.node("n2", {"vcore": 10, "gpu": 1})
    lines = gang.run()
    assert lines[:2] == ["updated[app Starting]", "new[p2-0 n2]"]
    replaced = ["released[p1-0 REPLACED]"]
    regular = ["updated[app Running]", "new[r1-0 n1]"]  # of nodes used alike the first
    assert lines[2:] == (replaced if group == "g" else regular)


@pytest.mark.remuda_rule("GANG-6")
def test_what_waits_for_the_gang_reserves_nothing() -> None:
    gang = short_of_gpu()
    gang.node("spare", {"vcore": 100}, c.CREATE_DRAIN)  # for the headroom of root
    gang.want("r1", size={"vcore": 10})
    gang.want("r2", group="", size={"vcore": 10})
    assert gang.run(LATE) == []
    held = [key for _, key in gang.node_view("n1").reservations]
    assert "r1" not in held
    assert "r2" not in held


@pytest.mark.remuda_rule("GANG-6")
def test_without_any_placeholder_real_asks_are_normal() -> None:
    gang = large()
    gang.submit("app", TWO)
    gang.want("r1")
    assert gang.run() == ["updated[app Starting]", "new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-6")
def test_a_pending_placeholder_is_enough_to_wait_for() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", {"gpu": 1})
    gang.want("r1")
    gang.hold("p1", size={"gpu": 1})
    assert gang.run() == []
    gang.release_ask("app", "p1")
    assert gang.run() == ["updated[app Starting]", "new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-6")
def test_a_placeholder_that_is_placed_is_enough_to_wait_for() -> None:
    gang = short_of_gpu()
    gang.want("r1", group="")
    gang.release_ask("app", "p2")
    assert gang.run() == []
    gang.confirm("p1-0", kind=c.STOPPED_BY_RM)
    assert gang.run() == ["updated[app Starting]", "new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-6", "GANG-41")
def test_an_application_that_runs_already_holds_nothing_back() -> None:
    gang = short_of_gpu()
    gang.existing("app", "x", "n1", ONE)
    assert gang.state("app") == "Starting"
    gang.want("r1", group="")
    gang.want("r2")
    assert gang.run() == ["released[p1-0 REPLACED]", "updated[app Running]", "new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-7", "GANG-37")
def test_placeholders_count_like_any_allocation() -> None:
    gang = pair(parent("p"), counting("a"))
    for counted in (
        gang.in_queue("root"),
        gang.in_queue("root.a"),
        gang.of_user(),
        gang.of_group(),
        amounts(gang.home().allocated),
    ):
        assert counted == {"vcore": 2}
    assert (gang.on("n1"), gang.on("n2")) == (ONE, ONE)
    assert (gang.home().total_containers, gang.home().placeholders) == (2, 2)
    view = gang.application()
    assert (amounts(view.used), amounts(view.placeholder)) == ({}, {"vcore": 2})
    assert [(a.allocation_id, a.placeholder, a.task_group) for a in view.allocations] == [
        ("p1-0", True, "g"),
        ("p2-0", True, "g"),
    ]


@pytest.mark.remuda_rule("GANG-7", "LIM-33")
def test_placeholders_are_limited_like_any_allocation() -> None:
    gang = large(leaf("a", limits=(users("ann", TWO),)))
    gang.submit("app", {"vcore": 3})
    gang.hold("p1", "p2", "p3")
    assert gang.run() == ["new[p1-0 n1]", "new[p2-0 n1]"]
    gang.submit("more")
    gang.want("k", app="more", group="")
    assert gang.run() == []


@pytest.mark.remuda_rule("GANG-7", "QUE-24", "QUE-22")
def test_a_gang_that_began_holds_its_place_among_the_running() -> None:
    gang = half(leaf("a", max_applications=1))
    gang.release_ask("app", "p2")
    gang.nodes(n2=10)
    gang.submit("next")
    gang.want("k", app="next", group="")
    assert gang.run() == []
    gang.remove("app")
    assert gang.run()[0] == "updated[next Starting]"


@pytest.mark.remuda_rule("GANG-8", "QUE-44")
def test_placeholder_asks_are_served_in_the_order_of_all_asks() -> None:
    gang = large()
    gang.submit()
    gang.hold("p1")
    gang.want("r1", group="")
    gang.hold("p2", priority=5)
    gang.want("r2", group="", priority=9)
    lines = [line for line in gang.run() if line.startswith("new")]
    assert lines == ["new[r2-0 n1]", "new[p2-0 n1]", "new[p1-0 n1]", "new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-8", "RSV-3")
def test_a_placeholder_ask_may_reserve_a_node() -> None:
    gang = Gang(leaf("a"), leaf("b"))
    gang.nodes(n1=10)
    gang.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
    gang.submit("old", queue="root.b")
    gang.existing("old", "x", "n1", {"vcore": 6})
    gang.submit("app", {"vcore": 8})
    gang.hold("p1", size={"vcore": 8})
    assert gang.run() == []
    gang.run(LATE)
    assert records(gang.last, ev.NODE_RESERVATION) == [("n1", "p1", ev.NODE_RESERVATION)]
    gang.release("old")
    assert gang.run() == ["updated[app Starting]", "new[p1-0 n1]"]
    assert gang.node_view("n1").reservations == ()


@pytest.mark.remuda_rule("GANG-9")
def test_each_task_group_is_on_its_own() -> None:
    gang = large()
    gang.submit("app", {"vcore": 3})
    gang.hold("p1", "p2")
    gang.hold("q1", group="h")
    gang.run()
    assert (gang.data("g"), gang.data("h")) == ((2, 0, 0), (1, 0, 0))
    gang.want("s1", "s2", group="h")
    assert gang.run() == ["released[q1-0 REPLACED]"]
    gang.confirm("q1-0")
    assert (gang.data("g"), gang.data("h")) == ((2, 0, 0), (1, 1, 0))
    # The group has none left: its next ask is a normal one.
    assert gang.run() == ["updated[app Running]", "new[s2-0 n1]"]
    assert gang.holds() == ["p1-0", "p2-0"]


@pytest.mark.remuda_rule("GANG-9", "GANG-11", "GANG-35")
def test_a_group_may_grow_at_any_time() -> None:
    gang = large()
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.want("r1")
    gang.run()
    gang.confirm("p1-0")
    assert gang.data() == (1, 1, 0)
    gang.hold("p2", size={"vcore": 1, "memory": 7})
    gang.run()
    assert gang.data() == (2, 1, 0)
    gang.want("r2")
    assert gang.run() == ["released[p2-0 REPLACED]"]
    gang.confirm("p2-0")
    assert gang.data() == (2, 2, 0)


@pytest.mark.remuda_rule("GANG-21")
def test_members_that_come_later_have_a_time_of_their_own() -> None:
    gang = large()
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.want("r1")
    gang.run()
    gang.confirm("p1-0")
    assert (gang.state("app"), gang.deadline()) == ("Starting", 0)
    gang.hold("p2")
    gang.run()
    assert gang.deadline() == gang.now + TIMEOUT


@pytest.mark.remuda_rule("GANG-9", "GANG-35")
def test_one_ask_may_stand_for_several_members() -> None:
    gang = large()
    gang.submit("app", {"vcore": 3})
    gang.hold("p", max_allocations=3)
    gang.run()
    assert gang.holds() == ["p-0", "p-1", "p-2"]
    assert (gang.data(), gang.state("app")) == ((3, 0, 0), "Starting")
    gang.want("r", max_allocations=3)
    assert gang.run() == [f"released[p-{number} REPLACED]" for number in range(3)]
    assert gang.pending() == {}
    assert gang.confirm("p-1", "p-0", "p-2") == [
        "new[r-1 n1]",
        "updated[app Running]",
        "new[r-0 n1]",
        "new[r-2 n1]",
    ]
    assert gang.data() == (3, 3, 0)


@pytest.mark.remuda_rule("GANG-35", "SI-33", "SI-34")
def test_an_ask_that_is_sent_again_is_no_new_member() -> None:
    gang = large()
    gang.submit("app", TWO)
    gang.hold("p1", "p2")
    gang.hold("p1")
    assert gang.data() == (2, 0, 0)
    gang.run()
    gang.hold("p1", "p2")
    assert gang.data() == (2, 0, 0)
    assert gang.run() == []
    gang.hold("p2", max_allocations=3)
    assert gang.data() == (4, 0, 0)
    assert gang.run() == ["new[p2-1 n1]", "new[p2-2 n1]"]
