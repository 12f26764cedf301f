"""Every preemption the scheduler decides on obeys the laws, and takes nobody in vain (PRE-82).

The laws are checked on the cluster as it was before, by brute force: leave out each victim in turn
and look whether it is missed. Without answers of an RM, and with an RM that asks for more victims
than the amounts require; those it asked for cannot be called superfluous, for what else would do
is its to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.long_runs import usual
from tests.reference.preemption_driver import Outcome, Stage
from tests.reference.preemption_facts import (
    ORDERED,
    Ask,
    Check,
    Choice,
    Judge,
    Node,
    Queue,
    Running,
    Scene,
)
from tests.reference.preemption_laws import broken, superfluous
from tests.reference.preemption_scenes import Sketch, after, decide, draw

FIRST = 10_000
BLOCK = 50
COUNTED: Counter[str] = Counter()


def asks_for(more: int) -> Judge:
    """An RM that wants so many victims more than the amounts require, if there are as many."""

    def judge(check: Check) -> tuple[bool, int]:
        return True, min(check.start + more, len(check.victims) - 1)

    return judge


def preemptions(sketch: Sketch) -> Iterator[tuple[Scene, Outcome]]:
    """What comes of the asks of a sketch in the scheduler, each with the scene before it."""
    stage = Stage(sketch)
    scene = sketch.scene
    for ask in sketch.asks:
        scene = replace(scene, ask=ask)
        if ask.required or decide(scene) is None:
            return
        outcome = stage.want(ask)
        if not outcome.victims:
            return
        yield scene, outcome
        if outcome.placed:
            return
        choice = Choice(node=outcome.node, victims=chosen(scene, outcome))
        scene = after(scene, choice)


def chosen(scene: Scene, outcome: Outcome) -> list[Running]:
    """The victims themselves."""
    by_identity = {one.identity: one for one in scene.running}
    return [by_identity[identity] for identity in outcome.victims]


def fault(scene: Scene, outcome: Outcome) -> str:
    """Which law a preemption breaks, "" if none."""
    victims, node = chosen(scene, outcome), outcome.node
    if laws := broken(scene, node, victims):
        return f"{laws} of PRE-82"
    asked_for = demanded(scene, outcome)
    idle = [one.identity for one in superfluous(scene, node, victims) if one.key not in asked_for]
    COUNTED["victims"] += len(victims)
    COUNTED["on another node"] += any(one.node != node for one in victims)
    COUNTED["asked for"] += len(asked_for)
    COUNTED["preemptions"] += 1
    return f"{idle} could stay" if idle else ""


def demanded(scene: Scene, outcome: Outcome) -> list[str]:
    """The keys of the victims that the RM was asked about and that it wants gone (PRE-88)."""
    for check in (check for batch in outcome.batches for check in batch):
        assert scene.judge is not None
        index = scene.judge(check)[1]
        if check.victims and check.node == outcome.node:
            return list(check.victims[: index + 1])
    return []


def faults(first: int, judge: Judge | None) -> list[str]:
    """What is wrong with the preemptions of a few seeds."""
    found = []
    for seed in range(first, first + 2 * BLOCK, 2):
        drawn = draw(seed)
        sketch = replace(drawn, scene=replace(drawn.scene, judge=judge, room=None), blockers=())
        for scene, outcome in preemptions(sketch):
            if text := fault(scene, outcome):
                found.append(f"draw({seed}), {scene.ask}: {outcome}: {text}")
    return found


@pytest.mark.remuda_rule("PRE-82", "PRE-87", "PRE-88")
@pytest.mark.parametrize("first", usual(range(FIRST, FIRST + 400, 2 * BLOCK)))
def test_without_any_one_victim_the_ask_would_not_fit(first: int) -> None:
    assert faults(first, None) == []


@pytest.mark.remuda_rule("PRE-82", "PRE-27", "PRE-30")
@pytest.mark.parametrize("more", [0, 1, 3])
@pytest.mark.parametrize("first", usual(range(FIRST + 400, FIRST + 600, 2 * BLOCK)))
def test_the_laws_hold_when_the_rm_asks_for_more_victims(first: int, more: int) -> None:
    assert faults(first, asks_for(more)) == []


@pytest.mark.remuda_rule("PRE-82")
def test_there_was_something_to_check() -> None:
    COUNTED.clear()
    assert faults(FIRST, None) == []
    assert faults(FIRST, asks_for(1)) == []
    assert COUNTED["preemptions"] >= 40
    assert COUNTED["victims"] >= 80
    assert COUNTED["on another node"] >= 5
    assert COUNTED["asked for"] >= 20


def run(identity: str, queue: str, size: int, priority: int = 0, state: str = "") -> Running:
    """An allocation on the only node."""
    return Running(
        identity, queue, queue, "n", {"vcore": size}, priority, key=identity, state=state
    )


@pytest.mark.remuda_rule("PRE-82")
@pytest.mark.parametrize(
    "victims,laws,idle",
    [
        (["good"], [], []),
        (["good", "small"], [], ["small"]),
        (["small"], ["a", "f"], []),
        (["two"], [], []),
        (["important"], ["d"], []),
        (["kept"], ["c"], []),
        (["outside"], ["e"], []),
        (["own"], ["own"], []),
        (["going"], ["h"], []),
    ],
)
def test_a_bad_choice_is_told_by_the_law_it_breaks(
    victims: list[str], laws: list[str], idle: list[str]
) -> None:
    tree = [
        Queue("root"),
        Queue("root.p", maximum={"vcore": 16}, policy="fence"),
        Queue("root.p.a", {"vcore": 4}),
        Queue("root.p.b"),
        Queue("root.p.c", {"vcore": 2}),
        Queue("root.out"),
    ]
    running = (
        run("good", "root.p.b", 2),
        run("small", "root.p.b", 1),
        run("important", "root.p.b", 2, priority=9),
        run("going", "root.p.b", 2, state=ORDERED),
        run("two", "root.p.b", 2),
        run("kept", "root.p.c", 2),
        run("outside", "root.out", 3),
        run("own", "root.p.a", 2),
    )
    node = Node("n", {"vcore": 16})
    wants = Ask("app", "ask", "root.p.a", {"vcore": 2})
    scene = Scene({queue.path: queue for queue in tree}, (node,), running, wants)
    taken = [one for one in running if one.identity in victims]
    assert broken(scene, "n", taken) == laws
    assert [one.identity for one in superfluous(scene, "n", taken)] == idle
