"""Why applications wait that may not start, or may again (QUE-22, QUE-25, decision 51)."""

from __future__ import annotations

import pytest

from remuda.config.schema import LimitConfig
from remuda.core.messages import gates
from tests.unit.core.door import SECOND, Caller, groups, leaf, users


def reasons(door: Caller) -> dict[str, str]:
    """The gate that stops each application, of those that wait."""
    found = {}
    for name, view in door.apps().items():
        for request in view.requests:
            assert request.finding is not None
            found[name] = request.finding.gate
    return found


@pytest.mark.remuda_rule("QUE-22", "QUE-25", "CYC-12")
@pytest.mark.parametrize("limits", [(), (users("*", {"vcore": 50}),)])
@pytest.mark.parametrize("size, gate", [(20, gates.QUEUE_QUOTA), (9, gates.NODES)])
def test_a_place_that_nobody_can_use_is_no_reason_to_wait_any_more(
    limits: tuple[LimitConfig, ...], size: int, gate: str
) -> None:
    # With limits of users the two are told apart; one may start now, and so might the other.
    door = Caller(leaf("a", max_applications=1, limits=limits))
    for number in (1, 2):
        door.node(f"n{number}", {"vcore": 8})
    door.app("running")
    door.ask("running", "k", {"vcore": 1})
    door.place()
    for name, user in (("x", "ann"), ("y", "bob")):
        door.app(name, user=user, groups=())
        door.ask(name, name, {"vcore": size})
    door.step()
    assert reasons(door) == {"x": gates.MAX_APPLICATIONS, "y": gates.MAX_APPLICATIONS}
    door.remove("running")
    door.step()
    assert reasons(door) == {"x": gate, "y": gate}


@pytest.mark.remuda_rule("LIM-53", "CYC-12")
def test_room_of_a_group_that_nobody_can_use_is_no_reason_to_wait_any_more() -> None:
    door = Caller(leaf("a", limits=(users("*", {"vcore": 50}), groups("staff", {"vcore": 8}))))
    for number in (1, 2):
        door.node(f"n{number}", {"vcore": 4})
    door.app("running", user="joe")
    door.existing("running", "run", "n1", {"vcore": 3})
    for name, user in (("x", "ann"), ("y", "bob")):
        door.app(name, user=user)
        door.ask(name, name, {"vcore": 6})
    door.step()
    assert reasons(door) == {"x": gates.USER_QUOTA, "y": gates.USER_QUOTA}
    door.remove("running")
    door.step()
    assert reasons(door) == {"x": gates.NODES, "y": gates.NODES}


@pytest.mark.remuda_rule("CYC-11", "QUE-41", "CYC-33")
def test_of_two_closed_gates_the_finding_names_the_one_that_is_asked_first() -> None:
    backoff = "application.unschedasks.backoff"
    door = Caller(leaf("a", properties={"application.sort.policy": "stateaware", backoff: "1"}))
    for node_id in ("n1", "n2"):
        door.node(node_id, {"vcore": 4})
    door.app("pauses")
    door.ask("pauses", "large", {"vcore": 5})
    door.step()
    door.ask("pauses", "small", {"vcore": 1})
    pause = door.apps()["pauses"].requests[1].finding
    assert pause is not None
    assert (pause.gate, pause.subject) == (gates.BACKOFF, "root.a")
    assert pause.until_ns == door.now + 30 * SECOND
    # An older application takes the turn: that comes before the pause, which has no end of its own.
    door.app("older")
    door.ask("older", "wide", {"vcore": 6}, tags={"creationTime": "1"})
    pause = door.apps()["pauses"].requests[1].finding
    assert pause is not None
    assert (pause.gate, pause.subject, pause.until_ns) == (gates.TURN, "older", 0)


@pytest.mark.remuda_rule("QUE-22", "QUE-25", "LIM-61")
def test_a_place_that_is_not_taken_goes_to_the_next_user() -> None:
    door = Caller(leaf("a", max_applications=1, limits=(users("*", {"vcore": 50}),)))
    door.node("n1", {"vcore": 8})
    door.app("running")
    door.ask("running", "k", {"vcore": 1})
    door.place()
    for name, user in (("x", "ann"), ("y", "bob")):
        door.app(name, user=user, groups=())
        door.ask(name, name, {"vcore": 5})
    door.step()
    assert reasons(door) == {"x": gates.MAX_APPLICATIONS, "y": gates.MAX_APPLICATIONS}
    door.remove("running")
    door.release_ask("x", "x")  # before it was looked at
    assert door.order() == ["y"]
