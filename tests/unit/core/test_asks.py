"""Adding, changing and releasing asks (chapter 70, sections 5 and 7)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import Caller, answers, of, released, states

ONE = {"vcore": 1}


def rejected(effects: list[e.Effect]) -> list[str]:
    """The keys of refused asks."""
    return [bad.subject for answer in of(effects, e.AsksRejected) for bad in answer.rejected]


@pytest.mark.remuda_rule("SI-31", "SI-4", "QUE-45")
def test_five_refused_asks_are_one_answer(door: Caller) -> None:
    asks = (
        c.Ask("app", "zero", {"vcore": 0}),
        c.Ask("app", "good", ONE),
        c.Ask("app", "negative", {"vcore": 1, "memory": -1}),
        c.Ask("app", "none", ONE, max_allocations=0),
        c.Ask("app", "fewer", ONE, max_allocations=-1),
        c.Ask("app", "group", ONE, placeholder=True),
        c.Ask("app", "lost", ONE, partition="nowhere"),
    )
    found = answers(door.send(c.UpdateAllocations(door.rm, asks=asks)))
    assert [type(x).__name__ for x in found] == ["ApplicationUpdated", "AsksRejected"]
    (answer,) = of(found, e.AsksRejected)
    keys = ["zero", "negative", "none", "fewer", "group", "lost"]
    assert [bad.subject for bad in answer.rejected] == keys
    assert {bad.application_id for bad in answer.rejected} == {"app"}
    assert all(bad.reason for bad in answer.rejected)
    assert door.queue("root.a").pending == ONE
    assert door.order() == ["good"]


@pytest.mark.remuda_rule("SI-31", "SI-12")
@pytest.mark.parametrize(
    "ask",
    [c.Ask("nobody", "k", ONE), c.Ask("app", "", ONE), c.Ask("app", "k", {}), c.Ask("", "k", ONE)],
)
def test_an_ask_needs_an_application_a_key_and_a_size(door: Caller, ask: c.Ask) -> None:
    found = door.send(c.UpdateAllocations(door.rm, asks=(ask,)))
    assert rejected(found) == [ask.allocation_key]
    assert door.state("app") == "New"


@pytest.mark.remuda_rule("SI-31", "APP-14")
def test_a_completed_application_takes_no_asks(door: Caller) -> None:
    door.ask("app", "k", ONE)
    door.release_ask("app")
    door.wait(31_000_000_000)
    assert rejected(door.ask("app", "again", ONE)) == ["again"]


@pytest.mark.remuda_rule("SI-32", "APP-4", "APP-5")
def test_an_accepted_ask_has_no_answer_beyond_the_first_state(door: Caller) -> None:
    assert states(door.ask("app", "k", {"vcore": 2}, 3)) == [("app", "Accepted")]
    assert answers(door.ask("app", "other", ONE)) == []
    assert door.queue("root").pending == {"vcore": 7}


@pytest.mark.remuda_rule("SI-34", "SI-35")
def test_an_ask_replayed_after_it_was_placed_is_not_placed_again(door: Caller) -> None:
    door.ask("app", "k", ONE, 2)
    assert door.place() == [("k-0", "n1"), ("k-1", "n1")]
    assert answers(door.ask("app", "k", ONE, 2)) == []
    assert door.place() == []
    assert not any(door.queue("root").pending.values())


@pytest.mark.remuda_rule("SI-34", "SI-35")
def test_a_raised_total_gives_exactly_the_difference(door: Caller) -> None:
    door.ask("app", "k", ONE, 2)
    door.place()
    door.ask("app", "k", ONE, 3)
    assert door.place() == [("k-2", "n1")]


@pytest.mark.remuda_rule("SI-34")
def test_a_lowered_total_is_counted_from_the_first_allocation(door: Caller) -> None:
    door.ask("app", "k", ONE, 5)
    door.step(3)
    door.ask("app", "k", ONE, 2)
    assert not any(door.queue("root").pending.values())
    assert door.place() == []
    door.release("app", "k-0")
    assert door.place() == []  # a released allocation does not come back
    door.ask("app", "k", ONE, 4)
    assert door.place() == [("k-3", "n1")]


@pytest.mark.remuda_rule("SI-33")
def test_a_changed_ask_changes_what_is_pending_not_what_was_placed(door: Caller) -> None:
    door.ask("app", "k", {"vcore": 2}, 3)
    door.step(1)
    door.ask("app", "k", {"vcore": 3, "memory": 1}, 3)
    assert door.queue("root").pending == {"vcore": 6, "memory": 2}
    assert door.queue("root").allocated["vcore"] == 2
    door.release("app", "k-0")
    assert not any(door.queue("root").allocated.values())


@pytest.mark.remuda_rule("SI-34", "APP-4", "SI-33")
def test_an_unchanged_ask_does_not_wake_a_completing_application(door: Caller) -> None:
    door.ask("app", "k", ONE)
    door.place()
    assert states(door.release("app", "k-0")) == [("app", "Completing")]
    assert answers(door.ask("app", "k", ONE)) == []
    assert door.state("app") == "Completing"


@pytest.mark.remuda_rule("SI-35", "CYC-18")
def test_identities_stay_unique_when_a_key_returns_while_its_work_runs(door: Caller) -> None:
    door.ask("app", "k", ONE, 2)
    door.place()
    door.release_ask("app", "k")
    door.ask("app", "k", ONE, 4)
    door.place()
    running = [a.allocation_id for a in door.node_view("n1").allocations]
    assert len(running) == len(set(running))
    assert {"k-0", "k-1"} <= set(running)
    door.scheduler.check()


@pytest.mark.remuda_rule("SI-35", "CYC-18", "SI-41")
def test_a_reported_identity_is_not_given_out_again(door: Caller) -> None:
    # A manager that comes back reports what it runs under the identities it was given.
    door.existing("app", "k-1", "n1", ONE, key="k")
    door.ask("app", "k", ONE, 3)
    placed = [identity for identity, _ in door.place()]
    assert "k-1" not in placed
    assert len(set(placed)) == len(placed) == 2
    door.scheduler.check()


@pytest.mark.remuda_rule("SI-35", "CYC-18")
@pytest.mark.parametrize("reported", [True, False])
def test_no_identity_is_given_out_twice_while_the_key_is_known(
    door: Caller, reported: bool
) -> None:
    if reported:
        door.existing("app", "k-1", "n1", ONE, key="k")
    else:
        door.ask("app", "k", ONE, 1)
        door.place()
        door.release_ask("app", "k")
    door.ask("app", "k", ONE, 5)
    given: list[str] = []
    while placed := door.place(1):
        given += [identity for identity, _ in placed]
        door.release("app", placed[0][0])
    assert len(given) == len(set(given)) >= 4
    assert ("k-1" if reported else "k-0") not in given


@pytest.mark.remuda_rule("SI-50", "SI-51", "QUE-27")
def test_released_asks_are_not_pending_any_more(door: Caller) -> None:
    for key in ("x", "y", "z"):
        door.ask("app", key, ONE, 2)
    assert answers(door.release_ask("app", "y")) == []
    assert door.queue("root.a").pending == {"vcore": 4}
    assert states(door.release_ask("app")) == [("app", "Completing")]
    assert not any(door.queue("root.a").pending.values())
    assert door.place() == []


@pytest.mark.remuda_rule("SI-50", "SI-52")
def test_releases_of_asks_that_mean_nothing_are_ignored(door: Caller) -> None:
    door.ask("app", "k", ONE)
    assert answers(door.release_ask("app", "unknown")) == []
    assert answers(door.release_ask("nobody")) == []
    assert answers(door.release_ask("")) == []
    assert answers(door.release_ask("app", "k", c.TIMEOUT)) == []
    assert door.state("app") == "Accepted"
    assert door.order() == ["k"]


@pytest.mark.remuda_rule("SI-51", "APP-8")
def test_releasing_the_last_ask_completes_only_what_runs_nothing(door: Caller) -> None:
    door.ask("app", "k", ONE, 3)
    door.step(1)
    assert answers(door.release_ask("app", "k")) == []
    assert door.state("app") == "Starting"
    found = answers(door.release("app", "k-0"))
    assert states(found) == [("app", "Completing")]
    assert released(found) == [["k-0"]]


@pytest.mark.remuda_rule("SEED-28", "SI-3")
def test_the_lists_of_a_request_are_worked_in_order(door: Caller) -> None:
    door.existing("app", "old", "n1", ONE)
    request = c.UpdateAllocations(
        door.rm,
        releases=(c.AllocationRelease("app", "k"),),
        ask_releases=(c.AskRelease("app", "k"),),
        asks=(c.Ask("app", "k", ONE, max_allocations=3),),
        allocations=(c.ExistingAllocation(c.Ask("app", "k", ONE), "k", "n1"),),
    )
    found = answers(door.send(request))
    assert [type(x).__name__ for x in found] == [
        "ApplicationUpdated",
        "AllocationNew",
        "AllocationsReleased",
    ]
    assert states(found) == [("app", "Running")]
    assert not any(door.queue("root").pending.values())
    assert door.queue("root").allocated == ONE


@pytest.mark.remuda_rule("RES-13", "SI-31")
def test_a_resource_that_its_owner_changes_between_requests_is_read_anew(door: Caller) -> None:
    door.node("n1", {"vcore": 10})
    door.app("app")
    resource = {"vcore": 2}
    door.ask("app", "first", resource)
    resource["vcore"] = 3
    door.ask("app", "second", resource)
    assert door.apps()["app"].pending == {"vcore": 5}
