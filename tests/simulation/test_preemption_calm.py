"""Whatever state preemption begins in, it ends, and who was made room for gets it.

Random queues, guarantees, priorities and work, without faults. Then nothing new comes but the
confirmations of what was ordered out, and the asks in its place: after a while nobody is evicted
any more. Each preemption that was begun ends with its ask placed; only what comes from outside can
prevent that (PRE-6, PRE-89, PRE-93).
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Final

import pytest

from remuda.core.model.preemption.live import LOST, PLACED, QUEUE, REQUIRED_NODE
from tests.long_runs import rotated, usual
from tests.simulation.preemption.cluster import HOUR
from tests.simulation.preemption.workload import Quarrel

BLOCK: Final = 10
SLICE: Final = usual(range(0, 60, BLOCK))
THOUSAND: Final = range(0, 1000, BLOCK)
ACTIONS: Final = 80

# Why an ask does not get the room that was made for it.
CAUSES: Final = (
    f"{LOST} the ask is gone",
    f"{LOST} the node is gone",
    f"{LOST} an ask for just this node came first",
    f"{LOST} the node does not take it any more",
    f"{LOST} its queue, its user or its group has no room for it any more",
)


def live(seed: int, *, losses: bool) -> Quarrel:
    """The state a seed begins to rest in.

    ``losses``: asks and nodes go that others wait for, and some asks have to go to one node.
    """
    quarrel = Quarrel(seed, required=losses)
    for _ in range(ACTIONS):
        quarrel.act()
        if losses and quarrel.dice.random() < 0.2:
            quarrel.dice.choice((quarrel.take_back, quarrel.lose_node))()
    return quarrel


def calm_down(quarrel: Quarrel) -> None:
    """Without input preemptions end: none in the last day, and no victim is left.

    That takes hours, for a reservation that is an hour old gives way (PRE-87).
    """
    cluster = quarrel.cluster
    cluster.run(12 * HOUR)
    before = len(cluster.evictions)
    cluster.run(24 * HOUR)
    assert len(cluster.evictions) == before, "preemptions did not end"
    cluster.settled()


def outcomes(seed: int, *, losses: bool) -> Counter[str]:
    """How the preemptions of a seed ended, and of what kind they were."""
    try:
        quarrel = live(seed, losses=losses)
        calm_down(quarrel)
    except Exception as fault:
        raise AssertionError(f"seed {seed}: {type(fault).__name__}: {fault}") from fault
    found: Counter[str] = Counter()
    for record in quarrel.cluster.records():
        found[f"{record.outcome} {record.cause}".strip()] += 1
        found[record.kind] += 1
        found["victims"] += len(record.victims)
    assert len(quarrel.cluster.evictions) == found[QUEUE] + found[REQUIRED_NODE]
    return found


@functools.cache
def block(first: int, *, losses: bool) -> Counter[str]:
    """The outcomes of some seeds."""
    found: Counter[str] = Counter()
    for seed in range(first, first + BLOCK):
        found.update(outcomes(seed, losses=losses))
    return found


@pytest.mark.remuda_rule("PRE-89", "PRE-93")
@pytest.mark.parametrize("first", SLICE)
def test_without_input_preemptions_end_and_every_ask_gets_its_room(first: int) -> None:
    found = block(first, losses=False)
    assert set(found) <= {PLACED, QUEUE, "victims"}
    assert found[PLACED] == found[QUEUE] > 0


@pytest.mark.remuda_rule("PRE-6", "PRE-35", "PRE-89", "PRE-93")
@pytest.mark.parametrize("first", SLICE)
def test_room_is_lost_only_with_ask_or_node_or_to_who_must_go_there(first: int) -> None:
    found = block(first, losses=True)
    assert set(found) <= {PLACED, QUEUE, REQUIRED_NODE, "victims", *CAUSES}
    assert (
        found[PLACED] + sum(found[cause] for cause in CAUSES) == found[QUEUE] + found[REQUIRED_NODE]
    )


def test_these_runs_preempt() -> None:
    found: Counter[str] = Counter()
    for first in SLICE:
        found.update(block(first, losses=False))
        found.update(block(first, losses=True))
    assert found[QUEUE] > 20 * len(SLICE)
    assert found[REQUIRED_NODE] > 0
    assert found["victims"] > found[QUEUE]
    assert all(found[cause] for cause in CAUSES[:2])


@pytest.mark.long
@pytest.mark.remuda_rule("PRE-93")
@pytest.mark.parametrize("first", rotated(THOUSAND))
def test_a_thousand_runs_come_to_rest(first: int) -> None:
    found = block(first, losses=False)
    assert found[QUEUE] == found[PLACED]


@pytest.mark.long
@pytest.mark.remuda_rule("PRE-93")
@pytest.mark.parametrize("first", rotated(THOUSAND))
def test_a_thousand_runs_with_losses_come_to_rest(first: int) -> None:
    assert not block(first, losses=True)["waiting"]
