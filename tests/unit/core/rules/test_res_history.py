"""What applications have used, in amounts times seconds, and swaps on one node (RES-57, NOD-11)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.rows import Rows
from tests.unit.core.door import SECOND, Caller
from tests.unit.core.rules.gang import ONE, TWO, amounts, moving, swapping
from tests.unit.core.rules.preempting import Evictor


def ended(caller: Caller, application_id: str) -> ApplicationView:
    """Return an application, live or not."""
    query = ApplicationQuery("default", application_id, completed=True, rejected=True)
    found = caller.scheduler.view(query)
    assert isinstance(found, Rows)
    (view,) = found
    assert isinstance(view, ApplicationView)
    return view


def typed_nodes() -> Caller:
    """Two nodes of a kind, and one whose kind nobody told; an application."""
    caller = Caller()
    for node_id, attributes in (
        ("n1", {"si/instance-type": "m5.large"}),
        ("n2", {"si/instance-type": "m5.large"}),
        ("n3", {}),
    ):
        caller.node(node_id, {"vcore": 10, "memory": 100}, attributes=attributes)
    caller.app("app")
    return caller


@pytest.mark.remuda_rule("RES-57", "REST-78")
def test_amounts_times_whole_seconds_are_summed_by_kind_of_node() -> None:
    caller = typed_nodes()
    caller.existing("app", "a", "n1", {"vcore": 2, "memory": 5})
    caller.existing("app", "b", "n2", {"vcore": 3})
    caller.existing("app", "c", "n3", {"vcore": 1})
    assert caller.apps()["app"].used_seconds == {}
    caller.now += 10 * SECOND - 1
    caller.release("app", "a")  # 9 whole seconds
    caller.now += 1
    caller.release("app", "b")  # 10 seconds
    caller.release("app", "c")
    found = caller.apps()["app"]
    assert found.used_seconds == {
        "UNKNOWN": {"vcore": 10},
        "m5.large": {"memory": 45, "vcore": 48},
    }
    assert (found.preempted_seconds, found.placeholder_seconds) == ({}, {})


@pytest.mark.remuda_rule("RES-57")
def test_what_ran_shorter_than_a_second_shows_its_types() -> None:
    caller = typed_nodes()
    caller.existing("app", "a", "n1", {"vcore": 2})
    caller.now += SECOND - 1
    caller.release("app", "a")
    assert caller.apps()["app"].used_seconds == {"m5.large": {"vcore": 0}}


@pytest.mark.remuda_rule("RES-57")
def test_sums_are_cut_where_they_are_shown() -> None:
    caller = Caller()
    caller.node("n1", {"memory": 2**62})
    caller.app("app")
    caller.existing("app", "a", "n1", {"memory": 2**62})
    caller.now += 3 * SECOND
    caller.release("app", "a")
    assert caller.apps()["app"].used_seconds == {"UNKNOWN": {"memory": 9223372036854775807}}


@pytest.mark.remuda_rule("RES-57", "CYC-28")
def test_what_was_resized_counts_with_the_size_it_ends_with() -> None:
    caller = typed_nodes()
    caller.existing("app", "a", "n1", {"vcore": 2})
    caller.now += 4 * SECOND
    caller.existing("app", "a", "n1", {"vcore": 5})
    caller.now += 6 * SECOND
    caller.release("app", "a")
    assert caller.apps()["app"].used_seconds == {"m5.large": {"vcore": 50}}


@pytest.mark.remuda_rule("RES-57", "APP-14")
def test_an_application_that_ended_keeps_its_history() -> None:
    caller = typed_nodes()
    caller.existing("app", "a", "n1", {"vcore": 2})
    caller.now += 7 * SECOND
    caller.release("app", "a")
    caller.wait(30 * SECOND)
    found = ended(caller, "app")
    assert found.state == "Completed"
    assert found.used_seconds == {"m5.large": {"vcore": 14}}


@pytest.mark.remuda_rule("RES-57", "NODE-13")
def test_what_ends_with_its_node_counts_too() -> None:
    caller = typed_nodes()
    caller.existing("app", "a", "n1", {"vcore": 2})
    caller.now += 7 * SECOND
    caller.node("n1", action=c.DECOMISSION)
    assert caller.apps()["app"].used_seconds == {"m5.large": {"vcore": 14}}


@pytest.mark.remuda_rule("RES-57", "PRE-34")
def test_victims_of_preemption_are_booked_apart() -> None:
    evictor = Evictor(size=2)
    victim = evictor.run("mine")
    other = evictor.run("mine")
    evictor.want(1)
    marked = [a for a in evictor.apps()["mine"].allocations if a.preemption]
    assert len(marked) == 1
    evictor.now += 5 * SECOND
    evictor.confirm(marked[0].allocation_id)
    rest = victim if marked[0].allocation_id == other else other
    evictor.release("mine", rest)
    found = ended(evictor, "mine")
    assert found.preempted_seconds == {"UNKNOWN": {"vcore": 5}}
    assert found.used_seconds == {"UNKNOWN": {"vcore": 5}}


@pytest.mark.remuda_rule("RES-57", "PRE-34")
def test_a_victim_that_is_a_placeholder_is_booked_as_a_victim() -> None:
    evictor = Evictor()
    evictor.app("mine", "root.b")
    evictor.existing("mine", "mine-1", "n1", ONE, placeholder=True, task_group="g")
    evictor.want(1)
    evictor.now += 5 * SECOND
    evictor.confirm("mine-1")
    found = ended(evictor, "mine")
    assert found.preempted_seconds == {"UNKNOWN": {"vcore": 5}}
    assert found.placeholder_seconds == {}


@pytest.mark.remuda_rule("RES-57", "GANG-17")
def test_placeholders_are_booked_apart_and_the_real_ones_from_their_start() -> None:
    gang = swapping(size=TWO, real=ONE)
    gang.now += 6 * SECOND
    gang.confirm("p1-0")
    assert gang.application().placeholder_seconds == {"UNKNOWN": {"vcore": 12}}
    assert gang.application().used_seconds == {}
    gang.now += 4 * SECOND
    gang.release("app", "r1-0")
    found = ended(gang, "app")
    assert found.used_seconds == {"UNKNOWN": {"vcore": 4}}
    assert found.placeholder_seconds == {"UNKNOWN": {"vcore": 12}}


@pytest.mark.remuda_rule("NOD-11", "GANG-17")
def test_a_swap_on_the_spot_gives_back_what_the_placeholder_had_more() -> None:
    gang = swapping(size={"vcore": 4}, real=ONE)
    assert gang.on("n1") == {"vcore": 4}
    gang.confirm("p1-0")
    node = gang.node_view("n1")
    assert [each.allocation_id for each in node.allocations] == ["r1-0"]
    assert amounts(node.allocated) == {"vcore": 1}
    assert amounts(node.available) == {"vcore": 9}


@pytest.mark.remuda_rule("GANG-14", "GANG-17")
def test_a_swap_to_another_node_charges_that_one_at_once() -> None:
    gang = moving()
    assert (gang.on("n1"), gang.on("n2")) == (ONE, ONE)
    gang.confirm("p1-0")
    assert (gang.on("n1"), gang.on("n2")) == ({}, ONE)
