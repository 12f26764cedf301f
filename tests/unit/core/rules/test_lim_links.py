"""Applications that lost their group are linked again by the next look at them (LIM-20, LIM-64)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.effects import Effect
from remuda.core.messages.events import SET, UG_APP_LINK
from tests.unit.core.door import Caller, groups, leaf, tracked

NINE = {"vcore": 9}


def tried() -> Caller:
    """A leaf with a limit of a group, nodes without room, and two applications of the group.

    ``early`` waits before ``app``, which has two asks; the three are equal, and were tried.
    """
    door = Caller(leaf("a", limits=(groups("staff", {"vcore": 50}),)))
    door.node("n1", {"vcore": 4})
    door.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
    for name, keys in (("early", ("k0",)), ("app", ("k1", "k2"))):
        door.app(name)
        for key in keys:
            door.ask(name, key, NINE)
    door.step()
    return door


def lose_and_find(door: Caller, **properties: str) -> None:
    """The limit of the group goes with one reload and comes back with the next."""
    door.reload(leaf("a"))
    door.reload(leaf("a", None, None, properties, limits=(groups("staff", {"vcore": 40}),)))
    door.scheduler.check()


def linked(effects: list[Effect]) -> list[str]:
    """The applications that were linked to the group, by name."""
    link = ("staff", SET, UG_APP_LINK)
    return sorted(told[3] for told in tracked(effects) if told[:3] == link)


@pytest.mark.remuda_rule("LIM-20", "LIM-64", "EVT-80")
@pytest.mark.parametrize("key", ["", "k1", "k2"])
@pytest.mark.parametrize("stepped", [True, False])
def test_an_application_is_linked_whichever_of_its_asks_goes(key: str, stepped: bool) -> None:
    door = tried()
    if stepped:
        door.reload(leaf("a"))
        door.step()
        door.reload(leaf("a", limits=(groups("staff", {"vcore": 40}),)))
    else:
        lose_and_find(door)
    if key:
        door.release_ask("app", key)
        door.scheduler.check()
    assert linked(door.step()) == ["app", "early"]
    door.scheduler.check()


@pytest.mark.remuda_rule("LIM-20", "LIM-64", "EVT-80", "SI-33")
def test_an_application_is_linked_when_one_of_its_asks_becomes_another() -> None:
    door = tried()
    lose_and_find(door)
    door.ask("app", "k1", {"vcore": 8}, priority=-1)
    door.scheduler.check()
    assert linked(door.step()) == ["app", "early"]
    door.scheduler.check()


@pytest.mark.remuda_rule("LIM-20", "LIM-64", "EVT-80", "CYC-33")
def test_an_application_is_linked_when_its_asks_are_told_apart() -> None:
    door = tried()
    lose_and_find(door, **{"application.unschedasks.backoff": "9"})
    door.release_ask("app", "k1")
    assert linked(door.step()) == ["app", "early"]
    door.scheduler.check()
