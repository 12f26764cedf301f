"""Real allocations take the places their placeholders kept (chapter 80 section 3)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import REQUIRED_NODE, SECOND, START, leaf, of, users
from tests.unit.core.rules.crowd import LATE, Reluctant
from tests.unit.core.rules.gang import (
    ALLOC_REPLACED,
    ONE,
    TEN,
    TWO,
    Gang,
    amounts,
    moving,
    pair,
    swapping,
)


@pytest.mark.remuda_rule("GANG-10")
def test_the_oldest_placeholder_goes_first() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", {"vcore": 3})
    for key in ("p3", "p1", "p2"):
        gang.hold(key)
        gang.run()
        gang.now += SECOND
    gang.want("r1", "r2", "r3")
    assert gang.run() == [f"released[{key}-0 REPLACED]" for key in ("p3", "p1", "p2")]


@pytest.mark.remuda_rule("GANG-10", "QUE-44")
def test_the_first_ask_gets_the_place() -> None:
    gang = pair()
    gang.want("low")
    gang.want("high", "next", priority=7)
    gang.run()
    assert gang.confirm("p1-0") == ["new[high-0 n1]"]
    assert gang.confirm("p2-0") == ["updated[app Running]", "new[next-0 n2]"]


@pytest.mark.remuda_rule("GANG-10", "QUE-39", "QUE-40")
def test_applications_are_served_in_the_order_of_the_queue() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    for app in ("one", "two"):
        gang.submit(app, ONE)
        gang.hold(f"p{app}", app=app)
        gang.run()
        gang.now += SECOND
    gang.want("r2", app="two")
    gang.want("r1", app="one")
    assert gang.run() == ["released[pone-0 REPLACED]", "released[ptwo-0 REPLACED]"]


@pytest.mark.remuda_rule("GANG-10", "SI-11", "CYC-5")
def test_replacements_come_after_reservations_and_before_the_regular() -> None:
    gang = Gang(leaf("old"), leaf("a"))
    gang.nodes(n1=10)
    gang.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
    gang.submit("old", queue="root.old")
    gang.existing("old", "x", "n1", {"vcore": 8})
    gang.submit("first")
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.run()
    gang.submit("reserving")
    gang.want("big", app="reserving", group="", size={"vcore": 7})
    gang.run(LATE)
    assert gang.home().reservations == 1
    gang.want("k", app="first", group="")
    gang.want("r1")
    gang.release("old")
    assert gang.run() == [
        "updated[reserving Starting]",
        "new[big-0 n1]",
        "released[p1-0 REPLACED]",
        "updated[first Starting]",
        "new[k-0 n1]",
    ]


@pytest.mark.remuda_rule("GANG-11", "GANG-10")
def test_only_what_is_left_over_is_placed_regularly() -> None:
    gang = pair()
    gang.want("r1", "r2", "r3")
    assert gang.run() == ["released[p1-0 REPLACED]", "released[p2-0 REPLACED]"]
    # Both swaps are under way, none is confirmed: the third one waits for a placeholder.
    assert gang.pending() == {"r3": 1}
    gang.confirm("p1-0")
    assert gang.run() == []
    gang.confirm("p2-0")
    assert [line.split()[0] for line in gang.run()] == ["new[r3-0"]


@pytest.mark.remuda_rule("GANG-11")
@pytest.mark.parametrize("group", ["", "unheard-of"])
def test_asks_of_no_known_group_are_normal(group: str) -> None:
    gang = pair()
    gang.want("k", group=group)
    lines = gang.run()
    assert lines[0] == "updated[app Running]"
    assert lines[1].startswith("new[k-0 ")
    assert gang.holds() == ["p1-0", "p2-0"]


@pytest.mark.remuda_rule("GANG-11")
def test_a_real_ask_waits_for_a_placeholder_that_has_no_place_yet() -> None:
    gang = Gang(leaf("a", TWO))
    gang.nodes(n1=10, n2=10)
    gang.submit("app", TWO)
    gang.hold("p1", "p2", "p3")
    gang.run()
    gang.want("r1", "r2", "r3")
    gang.run()
    gang.confirm("p1-0", "p2-0")
    assert (gang.runs(), gang.data()) == (["r1-0", "r2-0"], (3, 2, 0))
    assert gang.run() == []
    gang.release("app", "r1-0")
    assert gang.run() == ["new[p3-0 n1]", "released[p3-0 REPLACED]"]


@pytest.mark.remuda_rule("GANG-11", "GANG-35")
def test_a_placeholder_the_rm_asks_for_no_more_is_not_waited_for() -> None:
    gang = Gang(leaf("a", {"vcore": 3}))
    gang.node("n1", {"vcore": 10, "gpu": 0})
    gang.submit("app", TWO)
    gang.hold("p1", "p2")
    gang.hold("p3", size={"gpu": 1})
    gang.run()
    gang.want("r1", "r2", "r3")
    gang.run()
    gang.confirm("p1-0", "p2-0")
    assert gang.run() == []
    gang.release_ask("app", "p3")
    assert gang.data() == (3, 2, 1)
    assert gang.run() == ["new[r3-0 n1]"]


@pytest.mark.remuda_rule("GANG-12", "LIM-54")
def test_no_quota_is_in_the_way() -> None:
    gang = pair(leaf("a", TWO, limits=(users("ann", TWO),)))
    gang.existing("app", "x", "n1", {"vcore": 5})
    assert gang.in_queue() == {"vcore": 7}
    gang.want("r1")
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    assert gang.in_queue() == {"vcore": 7}


@pytest.mark.remuda_rule("GANG-13", "NODE-11", "NOD-8")
@pytest.mark.parametrize("capacity", [10, 1, 0])
def test_neither_draining_nor_a_node_that_shrank_is_in_the_way(capacity: int) -> None:
    gang = pair()
    gang.node("n1", {"vcore": capacity}, c.UPDATE)
    gang.node("n1", action=c.DRAIN_NODE)
    gang.want("r1")
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-13", "SI-80")
def test_the_rm_is_asked_about_the_node_without_allocating() -> None:
    judge = Reluctant()
    gang = Gang(predicates=judge)
    gang.nodes(n1=10)
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.run()
    judge.asked.clear()
    gang.want("r1")
    gang.run()
    assert judge.asked == [("r1", "n1", False)]


@pytest.mark.remuda_rule("GANG-13", "GANG-16")
def test_a_placeholder_on_a_refused_node_leaves_the_next_one_its_chance() -> None:
    gang = Gang(predicates=Reluctant({("r1", "n1", False): "no"}))
    gang.nodes(n1=10, n2=10)
    gang.submit("app", TWO)
    gang.hold("p1", "p2")
    gang.run()
    gang.want("r1")
    assert gang.run() == ["released[p2-0 REPLACED]"]
    assert gang.confirm("p2-0") == ["new[r1-0 n2]"]


@pytest.mark.remuda_rule("GANG-14", "CYC-6", "SI-77")
def test_the_order_names_the_placeholder_and_what_replaces_it() -> None:
    gang = pair()
    gang.want("r1")
    gang.run()
    (answer,) = of(gang.last, e.AllocationsReleased)
    (order,) = answer.released
    assert (answer.rm_id, order.partition, order.application_id) == ("rm", "default", "app")
    assert (order.allocation_id, order.allocation_key) == ("p1-0", "p1")
    assert order.termination_type == c.PLACEHOLDER_REPLACED
    assert order.message == "replacing allocationID: r1-0"


@pytest.mark.remuda_rule("GANG-14", "GANG-37", "SI-69")
def test_nothing_is_counted_anew_until_the_placeholder_is_gone() -> None:
    gang = pair(size=TWO)
    before = gang.totals()
    gang.want("r1", size=ONE)
    gang.run()
    after = gang.totals()
    assert after == before
    assert gang.pending() == {}
    assert gang.holds() == ["p1-0", "p2-0"]
    assert gang.runs() == []
    old = gang.allocation("p1-0")
    assert (old.release_type, old.replacement) == (c.PLACEHOLDER_REPLACED, "r1-0")
    assert (gang.allocation("p2-0").release_type, gang.allocation("p2-0").replacement) == (0, "")


@pytest.mark.remuda_rule("GANG-14")
def test_scheduling_goes_on_while_a_replacement_waits() -> None:
    gang = swapping()
    gang.submit("other")
    gang.want("k", app="other", group="")
    assert gang.run() == ["updated[other Starting]", "new[k-0 n2]"]
    gang.want("more", group="")
    assert [line.split()[0] for line in gang.run()] == ["updated[app", "new[more-0"]


@pytest.mark.remuda_rule("GANG-15", "EVT-41", "EVT-45")
def test_all_placeholders_of_a_size_that_is_too_small_go() -> None:
    gang = Gang()
    gang.node("n1", {"vcore": 20, "memory": 20})
    gang.submit("app", {"vcore": 6})
    gang.hold("p1", "p2", size={"vcore": 2, "memory": 1})
    gang.hold("p3", size={"vcore": 2, "memory": 2})
    gang.run()
    gang.want("r1", size={"vcore": 1, "memory": 2})
    lines = gang.run()
    assert lines == [
        "released[p1-0 TIMEOUT]",
        "released[p2-0 TIMEOUT]",
        "released[p3-0 REPLACED]",
    ]
    told = [r for r in of(gang.last, e.EventRecord) if r.kind == ev.REQUEST]
    assert [(r.object_id, r.reference_id) for r in told] == [("p1", "app"), ("p2", "app")]
    assert told[0].resource == {"vcore": 1, "memory": 2}
    assert told[0].message == (
        "Task group 'g' in application 'app': allocation resources "
        "'map[memory:2 vcore:1]' are not matching placeholder "
        "'map[memory:1 vcore:2]' allocation with ID 'p1'"
    )
    gang.timed_out("p1-0", "p2-0")
    gang.confirm("p3-0")
    assert gang.data() == (3, 1, 2)
    assert amounts(gang.application().used) == {"vcore": 1, "memory": 2}


@pytest.mark.remuda_rule("GANG-15", "GANG-11", "SI-112")
def test_an_ask_larger_than_its_placeholders_is_placed_in_the_end() -> None:
    gang = pair()
    gang.want("r1", size=TEN)
    assert gang.run() == ["released[p1-0 TIMEOUT]", "released[p2-0 TIMEOUT]"]
    assert gang.data() == (2, 0, 0)  # counted when they are gone
    assert gang.timed_out("p2-0") == []
    assert (gang.data(), gang.run()) == ((2, 0, 1), [])
    gang.timed_out("p1-0")
    assert gang.data() == (2, 0, 2)
    assert gang.run() == ["updated[app Running]", "new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-16")
def test_another_node_is_charged_at_once_and_the_queue_is_not() -> None:
    gang = moving(size={"vcore": 3}, real=TWO)
    assert (gang.on("n1"), gang.on("n2")) == ({"vcore": 3}, {"vcore": 2})
    for counted in (gang.in_queue(), gang.of_user(), gang.of_group()):
        assert counted == {"vcore": 3}
    assert gang.home().total_containers == 1
    assert gang.confirm("p1-0") == ["new[r1-0 n2]"]
    assert (gang.on("n1"), gang.on("n2")) == ({}, {"vcore": 2})
    for counted in (gang.in_queue(), gang.of_user(), gang.of_group()):
        assert counted == {"vcore": 2}
    assert gang.home().total_containers == 1


@pytest.mark.remuda_rule("GANG-16", "NOD-8")
def test_a_full_or_draining_or_reserved_node_is_no_target() -> None:
    refused = {("r1", "n1", False): "no", ("r1", "n1", True): "no"}
    gang = Gang(leaf("old"), leaf("a"), predicates=Reluctant(refused))
    gang.nodes(n1=1, n2=10)
    gang.node("spare", {"vcore": 100}, c.CREATE_DRAIN)  # for the headroom of root
    gang.submit("old", queue="root.old")
    gang.existing("old", "x", "n2", {"vcore": 10})
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.run()
    gang.want("r1")
    assert gang.run() == []  # full
    gang.node("n3", {"vcore": 4}, c.CREATE_DRAIN)
    assert gang.run() == []  # draining
    gang.want("big", app="old", group="", size={"vcore": 9})
    gang.run(LATE)
    assert gang.node_view("n2").reservations == (("old", "big"),)
    gang.existing("old", "x", "n2", {"vcore": 5})
    assert gang.run() == []  # reserved, and its ask still has no room
    gang.node("n3", action=c.DRAIN_TO_SCHEDULABLE)
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.on("n3") == ONE
    assert gang.confirm("p1-0") == ["new[r1-0 n3]"]


@pytest.mark.remuda_rule("GANG-16", "GANG-11")
def test_a_real_ask_without_any_fitting_node_waits_and_keeps_its_placeholder() -> None:
    refused = {("r1", node, how): "no" for node in ("n1", "n2") for how in (True, False)}
    judge = Reluctant(refused)
    gang = Gang(predicates=judge)
    gang.nodes(n1=10, n2=10)
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.run()
    gang.want("r1")
    assert gang.run() == []
    assert (gang.holds(), gang.pending()) == (["p1-0"], {"r1": 1})
    judge.refused.clear()
    gang.send(c.UpdateNodes(gang.rm))
    assert gang.run() == ["released[p1-0 REPLACED]"]


@pytest.mark.remuda_rule("GANG-17", "GANG-36", "GANG-37")
def test_the_confirmation_returns_the_surplus_in_one_step() -> None:
    gang = swapping(size={"vcore": 3, "memory": 0}, real=TWO)
    gang.now += 7 * SECOND
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    for counted in (gang.in_queue("root"), gang.in_queue(), gang.on("n1"), gang.of_user()):
        assert counted == {"vcore": 2}
    assert gang.of_group() == {"vcore": 2}
    view = gang.application()
    assert (amounts(view.used), amounts(view.placeholder)) == ({"vcore": 2}, {})
    assert (gang.home().total_containers, gang.home().placeholders) == (1, 0)
    real = gang.allocation("r1-0")
    assert (real.placeholder, real.placeholder_used, real.task_group) == (False, True, "g")
    assert real.allocation_time_ns == gang.now
    assert real.placeholder_request_time_ns == START
    assert (gang.data(), gang.state("app")) == ((1, 1, 0), "Starting")


@pytest.mark.remuda_rule("GANG-17", "EVT-88", "EVT-61", "EVT-27", "EVT-20", "EVT-34")
def test_observers_see_the_swap_in_its_order() -> None:
    gang = pair(size=TWO)
    gang.existing("app", "x", "n1", ONE)
    gang.existing("app", "y", "n1", ONE)
    assert gang.state("app") == "Running"
    gang.want("r1")
    gang.run()
    gang.confirm("p1-0")
    kinds = (ev.UG_USER_RESOURCE, ALLOC_REPLACED, ev.NODE_ALLOC, ev.APP_ALLOC)
    told = [
        (r.object_id, r.change, r.detail, r.reference_id, r.resource)
        for r in of(gang.last, e.EventRecord)
        if r.detail in kinds and r.detail != ev.UG_USER_RESOURCE
    ]
    assert told == [
        ("app", ev.REMOVE, ALLOC_REPLACED, "p1-0", TWO),
        ("n1", ev.REMOVE, ev.NODE_ALLOC, "p1-0", TWO),
        ("n1", ev.ADD, ev.NODE_ALLOC, "r1-0", ONE),
        ("app", ev.ADD, ev.APP_ALLOC, "r1-0", ONE),
    ]
    users_told = [
        (r.change, r.resource)
        for r in of(gang.last, e.EventRecord)
        if r.detail == ev.UG_USER_RESOURCE
    ]
    assert users_told == [(ev.REMOVE, TWO), (ev.ADD, ONE)]
    order = [r.detail for r in of(gang.last, e.EventRecord) if r.detail in kinds]
    assert order == [kinds[0], kinds[1], kinds[2], kinds[2], kinds[0], kinds[3]]


@pytest.mark.remuda_rule("SI-39", "GANG-13", "GANG-16")
def test_an_ask_that_requires_a_node_runs_nowhere_else() -> None:
    gang = pair()
    gang.want("r1", tags={REQUIRED_NODE: "n2"})
    assert gang.run() == ["released[p2-0 REPLACED]"]
    assert gang.confirm("p2-0") == ["new[r1-0 n2]"]
    gang.want("r2", tags={REQUIRED_NODE: "n2"})
    gang.run()
    if gang.allocation("p1-0").release_type:
        assert gang.confirm("p1-0")[-1] == "new[r2-0 n2]"
