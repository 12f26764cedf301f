"""A node is lost while placeholders or replacements are on it (GANG-18, NODE-6, NODE-13)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import leaf, of
from tests.unit.core.rules.crowd import LATE, Reluctant
from tests.unit.core.rules.gang import (
    ONE,
    TWO,
    Gang,
    amounts,
    existing,
    half,
    heard,
    moving,
    pair,
    records,
    swapping,
)


def lose(gang: Gang, node_id: str) -> list[str]:
    """The node is gone."""
    return heard(gang.node(node_id, action=c.DECOMISSION))


@pytest.mark.remuda_rule("GANG-18", "NODE-13", "APP-9", "SI-62")
def test_the_swap_is_completed_when_only_the_placeholder_was_there() -> None:
    gang = moving(size={"vcore": 3}, real=TWO)
    assert lose(gang, "n1") == ["released[p1-0 STOPPED]", "new[r1-0 n2]"]
    for counted in (gang.in_queue("root"), gang.in_queue(), gang.on("n2"), gang.of_user()):
        assert counted == {"vcore": 2}
    view = gang.application()
    assert (amounts(view.used), amounts(view.placeholder)) == ({"vcore": 2}, {})
    assert (gang.home().total_containers, gang.home().placeholders) == (1, 0)
    assert (gang.data(), gang.state("app"), gang.deadline()) == ((1, 1, 0), "Starting", 0)
    assert gang.allocation("r1-0").placeholder_used
    # The confirmation is on its way; it arrives late and means nothing.
    assert gang.confirm("p1-0") == []
    assert (gang.runs(), gang.in_queue()) == (["r1-0"], {"vcore": 2})


@pytest.mark.remuda_rule("GANG-18", "NODE-13", "SI-35")
def test_the_swap_is_undone_when_both_were_there() -> None:
    gang = swapping()
    assert lose(gang, "n1") == ["released[p1-0 STOPPED]"]
    assert (gang.pending(), gang.data(), gang.holds()) == ({"r1": 1}, (1, 0, 1), [])
    assert (gang.in_queue(), gang.of_user(), gang.state("app")) == ({}, {}, "Starting")
    assert gang.confirm("p1-0") == []
    lines = gang.run()
    assert lines[0] == "updated[app Running]"
    assert lines[1].startswith("new[r1-")
    assert lines[1].endswith(" n2]")
    assert len(lines) == 2


@pytest.mark.remuda_rule("GANG-18", "SI-65", "SI-69", "GANG-11")
def test_the_placeholder_goes_anyway_when_only_the_real_one_was_there() -> None:
    gang = moving()
    assert lose(gang, "n2") == []
    assert (gang.pending(), gang.holds()) == ({"r1": 1}, ["p1-0"])
    old = gang.allocation("p1-0")
    assert (old.release_type, old.replacement) == (c.PLACEHOLDER_REPLACED, "")
    gang.nodes(n3=10)
    assert gang.run() == []  # it still has a placeholder to wait for, which must not be chosen
    assert gang.confirm("p1-0") == []
    assert (gang.data(), gang.in_queue(), gang.on("n1")) == ((1, 0, 1), {}, {})
    lines = gang.run()
    assert lines[0] == "updated[app Running]"
    assert lines[1].startswith("new[r1-")
    assert lines[1].endswith(" n3]")


@pytest.mark.remuda_rule("GANG-18", "GANG-35", "GANG-21", "APP-22")
def test_a_placeholder_without_replacement_is_timed_out() -> None:
    gang = pair()
    assert lose(gang, "n1") == ["released[p1-0 STOPPED]"]
    assert (gang.data(), gang.holds(), gang.state("app")) == ((2, 0, 1), ["p2-0"], "Starting")
    assert gang.deadline() != 0
    assert gang.in_queue() == gang.of_user() == ONE
    assert lose(gang, "n2") == ["updated[app Completing]", "released[p2-0 STOPPED]"]
    assert (gang.data(), gang.deadline(), gang.home().placeholders) == ((2, 0, 2), 0, 0)


@pytest.mark.remuda_rule("GANG-18", "GANG-21", "GANG-4")
def test_a_gang_that_is_not_complete_survives_the_loss_of_its_nodes() -> None:
    gang = half(style="Hard")
    assert lose(gang, "n1") == ["released[p1-0 STOPPED]"]
    assert (gang.state("app"), gang.deadline(), gang.pending()) == ("Accepted", 0, {"p2": 1})
    gang.nodes(n2=10)
    assert gang.run() == ["new[p2-0 n2]"]
    assert gang.deadline() != 0


@pytest.mark.remuda_rule("NODE-13", "SI-79", "GANG-18")
def test_states_come_before_releases_and_those_before_what_survives() -> None:
    judge = Reluctant({("r1", "n1", how): "no" for how in (True, False)})
    gang = Gang(leaf("a"), leaf("b"), predicates=judge)
    gang.nodes(n1=10, n2=10)
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.run()
    gang.submit("ends", queue="root.b")
    gang.existing("ends", "x", "n1", ONE)
    gang.want("r1")
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.on("n2") == ONE
    lines = lose(gang, "n1")
    assert lines[0] == "updated[ends Completing]"
    assert sorted(lines[1:-1]) == ["released[p1-0 STOPPED]", "released[x STOPPED]"]
    assert lines[-1] == "new[r1-0 n2]"
    assert len(of(gang.last, e.AllocationsReleased)) == 1
    assert (gang.on("n2"), gang.in_queue("root")) == (ONE, ONE)


@pytest.mark.remuda_rule("NODE-13", "EVT-27", "EVT-61", "NODE-15")
def test_observers_see_what_went_with_the_node() -> None:
    gang = pair()
    before = (gang.home().total_nodes, sorted(gang.node_views()))
    assert before == (2, ["n1", "n2"])
    lose(gang, "n1")
    gone = [
        record.reference_id
        for record in of(gang.last, e.EventRecord)
        if (record.object_id, record.change, record.detail)
        == ("app", ev.REMOVE, ev.ALLOC_NODEREMOVED)
    ]
    assert gone == ["p1-0"]
    assert records(gang.last, ev.NODE_DECOMISSION) == [("n1", "", ev.NODE_DECOMISSION)]
    assert (gang.home().total_nodes, sorted(gang.node_views())) == (1, ["n2"])
    assert gang.queue("root").maximum == {"vcore": 10}


@pytest.mark.remuda_rule("NODE-15")
@pytest.mark.parametrize("ready", ["true", "false"])
@pytest.mark.parametrize("draining", [True, False])
def test_a_node_that_left_is_neither_active_nor_draining_nor_unhealthy(
    ready: str, draining: bool
) -> None:
    gang = Gang()
    gang.node("n1", TWO, attributes={"ready": ready})
    gang.nodes(n2=1)
    if draining:
        gang.node("n1", action=c.DRAIN_NODE)
    view = gang.node_view("n1")
    assert (view.schedulable, view.ready) == (not draining, ready == "true")
    lose(gang, "n1")
    kept = [(n.node_id, n.schedulable, n.ready) for n in gang.node_views().values()]
    assert kept == [("n2", True, True)]
    assert gang.home().total_nodes == 1


@pytest.mark.remuda_rule("NODE-13", "GANG-8")
def test_the_reservation_of_a_placeholder_goes_with_the_node() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
    gang.submit("old")
    gang.existing("old", "x", "n1", {"vcore": 6})
    gang.submit("app", {"vcore": 8})
    gang.hold("p1", size={"vcore": 8})
    gang.run(LATE)
    assert gang.home().reservations == 1
    lose(gang, "n1")
    assert gang.home().reservations == 0
    (request,) = gang.application().requests
    assert request.reservations == ()


BAD = existing("nobody", "z-0", "", "g")


@pytest.mark.remuda_rule("NODE-6", "GANG-40", "GANG-37", "GANG-21")
def test_a_refused_node_takes_its_placeholders_back() -> None:
    gang = Gang()
    gang.nodes(n2=10)
    gang.submit("app", {"vcore": 3})
    gang.hold("p1", "p2", "p3")
    before = gang.totals()
    brought = (
        existing("app", "p1-0", "", "g", placeholder=True),
        existing("app", "p2-0", "", "g", placeholder=True),
        BAD,
    )
    assert heard(gang.node("n1", {"vcore": 10}, existing=brought)) == ["rejected[n1]"]
    assert sorted(gang.node_views()) == ["n2"]
    after = gang.totals()
    for counted in ("partition", "user", "group", "n2"):
        assert after[counted] == before[counted]
    assert (gang.in_queue(), gang.holds(), gang.deadline()) == ({}, [], 0)


@pytest.mark.remuda_rule("NODE-6", "GANG-33")
def test_a_gang_that_was_nothing_but_the_refused_placeholders_completes() -> None:
    gang = Gang()
    gang.submit("app", {"vcore": 3})
    brought = (existing("app", "p1-0", "", "g", placeholder=True), BAD)
    lines = heard(gang.node("n1", {"vcore": 10}, existing=brought))
    assert [line for line in lines if line.startswith(("new", "released"))] == []
    assert lines[-1] == "rejected[n1]"
    assert gang.state("app") == "Completing"
    assert gang.run(30_000_000_000) == ["updated[app Completed]"]
