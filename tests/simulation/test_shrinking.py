"""A world that fails is shortened to a few steps, and their text fails again in the same place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from remuda.core.apply.requests import allocations
from remuda.core.apply.requests.resize import resize_allocation
from tests.package import replaces_functions
from tests.simulation.faults.host import CHECKED
from tests.simulation.faults.profiles import draw
from tests.simulation.faults.script import ACTS, Script, Step, drawn, read
from tests.simulation.faults.shrink import Finding, shrink
from tests.simulation.faults.world import World, WorldError, attempt, failing, run

Plant = Callable[[pytest.MonkeyPatch], None]


def sizes_stay_among_others(patch: pytest.MonkeyPatch) -> None:
    """An allocation keeps its size if its application has three more on other nodes."""

    def some(turn: Any, partition: Any, allocation: Any, amounts: Any) -> None:
        nodes = [each.node for each in allocation.application.allocations.values()]
        if sum(node is not allocation.node for node in nodes) < 3:
            resize_allocation(turn, partition, allocation, amounts)

    patch.setattr(allocations, "resize_allocation", some)


def sizes_stay_on_draining_nodes(patch: pytest.MonkeyPatch) -> None:
    """An allocation keeps its size if its node is draining, which seldom meets."""

    def some(turn: Any, partition: Any, allocation: Any, amounts: Any) -> None:
        if allocation.node.schedulable:
            resize_allocation(turn, partition, allocation, amounts)

    patch.setattr(allocations, "resize_allocation", some)


def world_of(seed: int, steps: int) -> Script:
    """The script of a seed with so many steps."""
    profile = replace(draw(seed, gangs=True), actions=steps)
    return Script(seed, profile, drawn(seed, profile))


# What is planted, and a world that meets it after more than so many steps.
LATE: Final = (
    (sizes_stay_among_others, 23, 300, 100),
    pytest.param(sizes_stay_on_draining_nodes, 1, 2_500, 1_000, marks=pytest.mark.long),
)


@replaces_functions
@pytest.mark.parametrize("plant, seed, steps, late", LATE)
def test_a_planted_fault_is_shortened_to_a_few_steps_that_show_it_again(
    plant: Plant, seed: int, steps: int, late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = world_of(seed, steps)
    with monkeypatch.context() as patch:
        plant(patch)
        first = failing(script)
        assert first is not None
        assert first.done > late
        short, finding = shrink(script, failing)
        assert finding.place == first.place
        assert len(short.steps) <= 8
        assert "resize_container" in [step.what for step in short.steps]
        again = failing(read(short.text()))
        assert again == finding
    assert failing(read(short.text())) is None


def test_a_script_is_the_world_that_was_drawn() -> None:
    script = world_of(7, 40)
    again = read(script.text())
    assert again == script
    assert attempt(again, checked=CHECKED) == World(7, script.profile).run()


@replaces_functions
def test_a_run_that_fails_tells_its_shortest_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocations, "resize_allocation", lambda *_: None)
    with pytest.raises(WorldError) as caught:
        run(1, gangs=True, budget=0.001)
    assert caught.value.script.startswith("# AssertionError in ")
    found = failing(read(caught.value.script))
    assert found is not None
    assert str(caught.value) == found.text


def test_nothing_is_left_out_that_is_needed_and_no_other_fault_is_taken_for_it() -> None:
    """A fault that needs two of 64 steps; another one shows when the first of them is left out."""
    names = sorted(ACTS)
    steps = tuple([Step(1, 0, names[n % len(names)], n) for n in range(64)])
    script = replace(world_of(0, 1), steps=steps)

    def fails(tried: Script) -> Finding | None:
        dice = [step.dice for step in tried.steps]
        if 5 in dice and 41 in dice:
            return Finding("the fault", "", dice.index(41) + 1)
        return Finding("another", "", 1) if 41 in dice else None

    short, _ = shrink(script, fails)
    assert [step.dice for step in short.steps] == [5, 41]
    assert not any((short.profile.twins, short.profile.streams, short.profile.lost))
    with pytest.raises(ValueError, match="does not fail"):
        shrink(script, lambda _: None)


def test_shortening_ends_when_its_time_is_over() -> None:
    script = world_of(0, 64)
    tries: list[Script] = []

    def fails(tried: Script) -> Finding:
        tries.append(tried)
        return Finding("the fault", "", len(tried.steps))

    assert shrink(script, fails, budget=0.0)[0] == script
    assert tries == [script]
