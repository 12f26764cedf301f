"""The simulation of faults notices faults of the protocol that are planted into the core.

A simulation that finds nothing may be blind. Each fault is one that a core could have; if it is not
found within a few dozen runs, they miss what they are there for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from remuda.core.accounting import usage
from remuda.core.apply.applications import lifecycle
from remuda.core.apply.asks import reservations
from remuda.core.apply.requests import allocations, asks, pauses, releases
from remuda.core.apply.timers import expiry
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import Ask
from remuda.core.model import deadlines
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import TaskGroup
from remuda.core.model.deadlines import Deadlines
from remuda.core.model.partition import Partition
from tests.package import replaces_functions
from tests.simulation.faults.profiles import draw
from tests.simulation.faults.world import World

pytestmark = replaces_functions

SEEDS: Final = range(60)
Plant = Callable[[pytest.MonkeyPatch], None]


def found_at() -> int:
    """The first run in which something is wrong, -1 if there is none."""
    return next((seed for seed in SEEDS if noticed(seed)), -1)


def noticed(seed: int) -> bool:
    """Whether a run fails."""
    try:
        World(seed, draw(seed, gangs=True)).run()
    except AssertionError:
        return True
    return False


def nothing(*given: Any, **named: Any) -> None:
    """Do nothing."""


def asks_begin_anew(patch: pytest.MonkeyPatch) -> None:
    """An ask that is sent again may be placed again, as in 1.5.1. Rules: SI-34."""
    add = asks._add

    def anew(turn: Turn, partition: Partition, application: Application, ask: Ask) -> None:
        request = application.requests.get(ask.allocation_key)
        if request is not None:
            request.adopted += request.made
            request.made = 0
        add(turn, partition, application, ask)

    patch.setattr(asks, "_add", anew)


def sizes_are_those_of_the_first_report(patch: pytest.MonkeyPatch) -> None:
    """An allocation that is reported in another size keeps the old one. Rules: CYC-28."""
    patch.setattr(allocations, "resize_allocation", nothing)


def identities_come_again(patch: pytest.MonkeyPatch) -> None:
    """What the RM reported does not count for the next identity. Rules: SI-35."""
    patch.setattr(allocations, "note_identity", nothing)


def orders_are_said_once(patch: pytest.MonkeyPatch) -> None:
    """A lost order, or a lost confirmation, is lost for ever. Rules: SI-69."""
    patch.setitem(expiry._OF_ALLOCATIONS, deadlines.CONFIRM, nothing)


def placeholders_wait_for_ever(patch: pytest.MonkeyPatch) -> None:
    """A reservation never times out. Rules: GANG-22, GANG-23."""
    patch.setattr(expiry, "give_up_waiting", nothing)


def replacements_are_not_told(patch: pytest.MonkeyPatch) -> None:
    """The RM does not hear of the allocation that took a placeholder's place. Rules: GANG-17."""
    patch.setattr(releases, "report_new", nothing)


def dropped_asks_are_replaced_all_the_same(patch: pytest.MonkeyPatch) -> None:
    """A replacement goes on although its ask was taken back, as in 1.5.1. Rules: SI-53."""
    patch.setattr(lifecycle, "cancel_swaps_of", nothing)


def released_room_is_not_offered(patch: pytest.MonkeyPatch) -> None:
    """Nobody who waits hears of a node that got room. Rules: CYC-25."""
    patch.setattr(releases, "node_renewed", nothing)


def lost_connections_stop_nothing(patch: pytest.MonkeyPatch) -> None:
    """Things are placed for an RM that is away. Rules: RM-15."""
    patch.setattr(pauses, "_rest", nothing)


def timers_run_on(patch: pytest.MonkeyPatch) -> None:
    """The timers of an RM that is away go on. Rules: RM-15."""
    patch.setattr(Deadlines, "freeze", nothing)


def victims_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A victim that ended still counts as one that is about to. Rules: PRE-35."""
    patch.setattr(usage, "victim_gone", nothing)


def rooms_are_kept_for_nobody(patch: pytest.MonkeyPatch) -> None:
    """Room stays promised to an ask whose node is gone. Rules: PRE-6, PRE-89."""
    patch.setattr(reservations, "lose_preemption", nothing)


def ended_applications_are_kept(patch: pytest.MonkeyPatch) -> None:
    """What ended is never forgotten. Rules: APP-18."""
    patch.setitem(expiry._OF_PARTITIONS, deadlines.RETENTION, nothing)


def replacements_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    """A task group does not know how many of its members came. Rules: GANG-35."""
    patch.setattr(TaskGroup, "replace", nothing)


FAULTS: Iterable[Plant] = (
    asks_begin_anew,
    sizes_are_those_of_the_first_report,
    identities_come_again,
    orders_are_said_once,
    placeholders_wait_for_ever,
    replacements_are_not_told,
    dropped_asks_are_replaced_all_the_same,
    released_room_is_not_offered,
    lost_connections_stop_nothing,
    timers_run_on,
    victims_are_forgotten,
    rooms_are_kept_for_nobody,
    ended_applications_are_kept,
    replacements_are_not_counted,
)


@pytest.mark.remuda_rule("SI-34", "SI-35", "SI-53", "SI-69", "CYC-25", "CYC-28", "RM-15")
@pytest.mark.remuda_rule("GANG-17", "GANG-22", "GANG-23", "GANG-35", "PRE-6", "PRE-35", "APP-18")
@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert found_at() >= 0


@pytest.mark.remuda_rule("CYC-25")
def test_room_that_is_left_idle_is_found_before_everything_comes_to_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released_room_is_not_offered(monkeypatch)
    texts = (told_without_audit(seed) for seed in SEEDS)
    assert any("has room" in text and "no fault from here on" not in text for text in texts)


def told_without_audit(seed: int) -> str:
    """What a run tells that fails although nothing is compared inside of the core, "" if none."""
    world = World(seed, draw(seed, gangs=True))
    world.host.checked = 1_000_000
    try:
        world.run()
    except AssertionError as fault:
        return str(fault)
    return ""
