"""The scheduler preempts whom the reference model preempts, and asks what it would ask.

The model was written from chapter 60 alone and shares no code with the scheduler, so a difference
is an error of one of them. Random small clusters, half of them in each mode; in each, one to three
asks, of which the next comes when the one before has preempted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.long_runs import ALL_ARE_PLAYED, rotated, usual
from tests.reference.preemption_driver import Outcome, Stage
from tests.reference.preemption_facts import Choice, Reservation, Scene, fits_headroom
from tests.reference.preemption_scenes import Sketch, after, decide, draw, takes

BLOCK = 50
COUNTED: dict[tuple[int, bool], Counter[str]] = {}

# What happens in a thousand clusters at least so often, and more than that.
LEAST = {
    "ours victims": 250,
    "parity victims": 250,
    "required victims": 30,
    "for the queue": 200,
    "several": 200,
    "promised": 40,
    "asked": 200,
    "cancelled": 5,
}


def difference(seed: int, *, deep: bool = False) -> str:
    """Where the scheduler and the model part, "" if they do not."""
    sketch = draw(seed, deep=deep)
    stage = Stage(sketch)
    scene = waited(sketch, stage)
    counts = COUNTED[seed, deep] = Counter[str]()
    for ask in sketch.asks:
        scene = replace(scene, ask=ask)
        choice = decide(scene)
        if choice is None:
            counts["needless"] += 1
            return ""
        outcome = stage.want(ask)
        if fault := compare(scene, choice, outcome):
            return f"draw({seed}, deep={deep}), {ask}: {fault}"
        count(counts, scene, choice)
        counts["at once"] += bool(choice.victims and outcome.placed)
        if not choice.victims or outcome.placed:
            return ""
        scene = after(scene, choice)
    return ""


def waited(sketch: Sketch, stage: Stage) -> Scene:
    """The scene when some asks have waited and reserved what they could."""
    scene = sketch.scene
    for ask in sketch.blockers:
        for name in stage.want(ask).reserved:
            reservation = Reservation(ask.app, ask.key, ask.priority, age=sketch.waited)
            nodes = [
                replace(n, reservations=(reservation,)) if n.name == name else n
                for n in scene.nodes
            ]
            scene = replace(scene, nodes=tuple(nodes))
    stage.now += sketch.waited
    return scene


def compare(scene: Scene, choice: Choice, outcome: Outcome) -> str:
    """What differs between the model and the scheduler."""
    wanted = [one.identity for one in choice.victims]
    if wanted != outcome.victims:
        return f"victims {wanted} {choice.reason}, but were {outcome.victims}"
    if outcome.placed:
        right = wanted and outcome.placed == choice.node and at_once(scene, choice)
        return "" if right else f"placed on {outcome.placed}"
    if wanted and outcome.reserved != (choice.node,):
        return f"reserves {choice.node}, but has {outcome.reserved}"
    asked = choice.batches if scene.judge is not None else []
    return "" if asked == outcome.batches else f"asks {asked}, but was asked {outcome.batches}"


def at_once(scene: Scene, choice: Choice) -> bool:
    """Whether the ask fits as it is, now that its own preemption stands (PRE-89).

    Only what had been promised to others stood against it.
    """
    (node,) = (one for one in scene.nodes if one.name == choice.node)
    return takes(scene, node) and fits_headroom(replace(scene, promised=()))


def count(counts: Counter[str], scene: Scene, choice: Choice) -> None:
    """Note what happened, so that it can be seen that all of it happens."""
    kind = "required" if scene.ask.required else "parity" if scene.parity else "ours"
    counts[f"{kind} {choice.reason or 'victims'}"] += 1
    counts["for the queue"] += bool(choice.for_queue)
    counts["several"] += len(choice.victims) > 1
    counts["promised"] += bool(scene.promised and choice.victims)
    counts["asked"] += bool(choice.batches and scene.judge)
    counts["cancelled"] += any(
        reservation.key != scene.ask.key
        for node in scene.nodes
        for reservation in node.reservations
        if node.name == choice.node
    )


@pytest.mark.remuda_rule("PRE-7", "PRE-8", "PRE-9", "PRE-10", "PRE-12", "PRE-13", "PRE-51")
@pytest.mark.remuda_rule("PRE-3", "PRE-14", "PRE-15", "PRE-16", "PRE-17", "PRE-18", "PRE-19")
@pytest.mark.remuda_rule("PRE-20", "PRE-21", "PRE-22", "PRE-24", "PRE-25", "PRE-26", "PRE-28")
@pytest.mark.remuda_rule("PRE-29", "PRE-30", "PRE-31", "PRE-32", "PRE-33", "PRE-37", "PRE-50")
@pytest.mark.remuda_rule("PRE-40", "PRE-41", "PRE-42", "PRE-43", "PRE-83")
@pytest.mark.remuda_rule("PRE-84", "PRE-85", "PRE-86", "PRE-87", "PRE-88", "PRE-89")
@pytest.mark.parametrize("first", usual(range(0, 1_000, BLOCK)))
def test_1000_clusters_are_preempted_as_the_model_preempts_them(first: int) -> None:
    assert [fault for seed in range(first, first + BLOCK) if (fault := difference(seed))] == []


@pytest.mark.remuda_rule("PRE-14", "PRE-16", "PRE-17", "PRE-85", "PRE-86")
@pytest.mark.parametrize("first", usual(range(0, 1_000, BLOCK)))
def test_1000_clusters_with_deep_trees_are_preempted_as_the_model_preempts_them(first: int) -> None:
    seeds = range(first, first + BLOCK)
    assert [fault for seed in seeds if (fault := difference(seed, deep=True))] == []


@pytest.mark.long
@pytest.mark.parametrize("first", rotated(range(1_000, 10_000, BLOCK)))
def test_9000_more_clusters_with_deep_trees(first: int) -> None:
    seeds = range(first, first + BLOCK)
    assert [fault for seed in seeds if (fault := difference(seed, deep=True))] == []


@pytest.mark.remuda_rule("PRE-34", "PRE-82")
@ALL_ARE_PLAYED
def test_the_clusters_show_every_kind_of_preemption() -> None:
    for seed in range(1_000):
        if (seed, False) not in COUNTED:
            difference(seed)
    drawn = [COUNTED[seed, False] for seed in range(1_000)]
    assert sum(any("victims" in name for name in counts) for counts in drawn) >= 500
    total = sum(drawn, Counter[str]())
    for name, least in LEAST.items():
        assert total[name] >= least, name
