"""Ending allocations (chapter 70, section 7)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    ALLOC_CANCEL,
    ALLOC_PREEMPT,
    ALLOC_TIMEOUT,
    APP,
    REMOVE,
)
from tests.unit.core.door import Caller, answers, events, leaf, of, released, states

ONE = {"vcore": 1}


@pytest.fixture
def door() -> Caller:
    """An application with allocations k-0, k-1, k-2 and j-0, and one ask pending."""
    found = Caller(leaf("a"))
    found.node("n1", {"vcore": 4})
    found.app("app")
    found.ask("app", "k", ONE, 3)
    found.ask("app", "j", ONE)
    found.ask("app", "waiting", {"vcore": 3})
    assert len(found.place()) == 4
    return found


def left(door: Caller) -> list[str]:
    """What still runs."""
    return sorted(a.allocation_id for a in door.node_view("n1").allocations)


@pytest.mark.remuda_rule("SI-60", "SI-68", "SI-77")
@pytest.mark.parametrize("kind", [c.STOPPED_BY_RM, c.UNKNOWN_TERMINATION_TYPE, 99, -1])
def test_a_release_is_answered_as_stopped(door: Caller, kind: int) -> None:
    found = answers(door.release("app", "k-1", kind=kind))
    assert [type(x).__name__ for x in found] == ["AllocationsReleased"]
    (answer,) = of(found, e.AllocationsReleased)
    (gone,) = answer.released
    assert (gone.partition, gone.application_id) == ("default", "app")
    assert (gone.allocation_id, gone.allocation_key) == ("k-1", "k")
    assert gone.termination_type == c.STOPPED_BY_RM
    assert left(door) == ["j-0", "k-0", "k-2"]
    assert door.queue("root").allocated == {"vcore": 3}


@pytest.mark.remuda_rule("SI-60", "EVT-27")
@pytest.mark.parametrize(
    "kind, detail",
    [
        (c.STOPPED_BY_RM, ALLOC_CANCEL),
        (c.UNKNOWN_TERMINATION_TYPE, ALLOC_CANCEL),
        (99, ALLOC_CANCEL),
        (c.TIMEOUT, ALLOC_TIMEOUT),
        (c.PREEMPTED_BY_SCHEDULER, ALLOC_PREEMPT),
    ],
)
def test_the_event_of_a_release_tells_its_type(door: Caller, kind: int, detail: int) -> None:
    assert (APP, "app", REMOVE, detail) in events(door.release("app", "k-1", kind=kind))


@pytest.mark.remuda_rule("SI-50", "SI-51")
@pytest.mark.parametrize("key", ["waiting", ""])
def test_an_ask_release_of_unknown_type_drops_the_ask(door: Caller, key: str) -> None:
    door.release_ask("app", key, kind=99)
    assert door.apps()["app"].requests == ()
    assert not any(door.queue("root").pending.values())


@pytest.mark.remuda_rule("SI-60", "REST-77")
def test_the_most_an_application_ever_used_is_kept_per_type(door: Caller) -> None:
    assert door.apps()["app"].max_used == {"vcore": 4}
    door.release("app", key="k")
    door.release_ask("app", "waiting")
    door.node("n2", {"vcore": 2, "memory": 5})
    door.ask("app", "m", {"vcore": 1, "memory": 5})
    assert door.place() == [("m-0", "n2")]
    view = door.apps()["app"]
    assert (view.used, view.max_used) == (
        {"memory": 5, "vcore": 2},
        {"memory": 5, "vcore": 4},
    )
    door.release("app", "m-0")
    door.existing("app", "big", "n2", {"vcore": 9})
    view = door.apps()["app"]
    assert view.used["vcore"] == 10
    assert view.max_used == {"memory": 5, "vcore": 10}


@pytest.mark.remuda_rule("SI-60", "SI-63")
@pytest.mark.parametrize("kind", [c.TIMEOUT, c.PREEMPTED_BY_SCHEDULER])
def test_a_confirmation_is_executed_and_not_answered(door: Caller, kind: int) -> None:
    assert answers(door.release("app", "k-1", kind=kind)) == []
    assert left(door) == ["j-0", "k-0", "k-2"]


@pytest.mark.remuda_rule("SI-64")
@pytest.mark.parametrize("identity", ["k-1", ""])
def test_a_replacement_of_what_is_no_placeholder_is_refused(door: Caller, identity: str) -> None:
    (refused,) = answers(door.release("app", identity, kind=c.PLACEHOLDER_REPLACED))
    assert isinstance(refused, e.ReleaseRefused)
    assert left(door) == ["j-0", "k-0", "k-1", "k-2"]


@pytest.mark.remuda_rule("SI-61")
@pytest.mark.parametrize(
    "identity, key, gone",
    [
        ("k-1", "", ["k-1"]),
        ("k-1", "j", ["k-1"]),  # the key is not looked at
        ("", "k", ["k-0", "k-1", "k-2"]),
        ("", "j", ["j-0"]),
        ("", "", ["j-0", "k-0", "k-1", "k-2"]),
    ],
)
def test_which_allocations_a_release_means(
    door: Caller, identity: str, key: str, gone: list[str]
) -> None:
    (answer,) = released(door.release("app", identity, key))
    assert sorted(answer) == gone
    assert left(door) == sorted({"j-0", "k-0", "k-1", "k-2"} - set(gone))


@pytest.mark.remuda_rule("SI-62")
@pytest.mark.parametrize(
    "app, identity, key",
    [("app", "k-9", ""), ("app", "", "waiting"), ("app", "", "what"), ("who", "k-0", "")],
)
def test_a_release_of_nothing_is_ignored(door: Caller, app: str, identity: str, key: str) -> None:
    assert answers(door.release(app, identity, key)) == []
    assert left(door) == ["j-0", "k-0", "k-1", "k-2"]


@pytest.mark.remuda_rule("SI-62")
def test_a_release_sent_twice_counts_once(door: Caller) -> None:
    assert released(door.release("app", "k-0")) == [["k-0"]]
    assert released(door.release("app", "k-0")) == []
    assert door.queue("root").allocated == {"vcore": 3}


@pytest.mark.remuda_rule("SI-60", "SI-3")
def test_each_release_of_a_request_has_its_own_answer_in_order(door: Caller) -> None:
    releases = tuple(c.AllocationRelease("app", identity) for identity in ("k-2", "missing", "k-0"))
    found = door.send(c.UpdateAllocations(door.rm, releases=releases))
    assert [identity for answer in released(found) for identity in answer] == ["k-2", "k-0"]


@pytest.mark.remuda_rule("SI-34", "SI-60")
def test_a_release_frees_room_and_brings_nothing_back(door: Caller) -> None:
    for identity in ("k-0", "k-1"):
        door.release("app", identity)
    assert door.place() == []
    door.release("app", "k-2")
    assert door.place() == [("waiting-0", "n1")]


@pytest.mark.remuda_rule("APP-8", "SI-79")
def test_the_last_release_completes_the_application_first(door: Caller) -> None:
    door.release_ask("app", "waiting")
    assert states(door.release("app", key="k")) == []
    found = answers(door.release("app", "j-0"))
    assert [type(x).__name__ for x in found] == ["ApplicationUpdated", "AllocationsReleased"]
    assert states(found) == [("app", "Completing")]


@pytest.mark.remuda_rule("APP-8", "APP-22")
def test_an_application_with_pending_asks_goes_on(door: Caller) -> None:
    assert states(door.release("app")) == []
    assert door.state("app") == "Running"
    assert door.place() == [("waiting-0", "n1")]
