"""Orders are total and stable: they rest on names and arrival numbers, on nothing accidental.

The same workload is told in another way each time (queues of a file, nodes of a request and
types of a resource in another order) and must give the same decisions.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping

import pytest

from remuda.config.schema import Configuration, PartitionConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.scheduler import Scheduler
from tests.reference.driver import answer, comparable, play
from tests.reference.outcome import Outcome
from tests.reference.tastes import refuse_some
from tests.reference.workloads import Input, record

SEEDS = range(700, 740)


def retold(given: Input, rng: random.Random) -> Input:
    """One input with everything whose order must not matter in another order."""
    now, command = given
    if isinstance(command, c.RegisterResourceManager):
        partitions = tuple(shuffled_partition(p, rng) for p in command.config.partitions)
        config = Configuration(tuple(rng.sample(partitions, len(partitions))))
        return now, dataclasses.replace(command, config=config)
    if isinstance(command, c.UpdateNodes):
        nodes = [dataclasses.replace(node, capacity=turned_if_given(node.capacity, rng))
                 for node in command.nodes]  # fmt: skip
        names = {node.node_id for node in nodes}
        independent = len(names) == len(nodes) and not any(node.existing for node in nodes)
        return now, c.UpdateNodes(
            command.rm_id, tuple(rng.sample(nodes, len(nodes)) if independent else nodes)
        )
    if isinstance(command, c.UpdateAllocations):
        asks = (dataclasses.replace(a, resource=turned(a.resource, rng)) for a in command.asks)
        return now, dataclasses.replace(command, asks=tuple(asks))
    return given


def shuffled_partition(config: PartitionConfig, rng: random.Random) -> PartitionConfig:
    """The same partition, its queues listed in another order."""
    return dataclasses.replace(config, root=shuffled_queue(config.root, rng))


def shuffled_queue(config: QueueConfig, rng: random.Random) -> QueueConfig:
    """The same queue, everything below listed in another order."""
    below = [shuffled_queue(child, rng) for child in config.queues]
    return dataclasses.replace(
        config,
        queues=tuple(rng.sample(below, len(below))),
        maximum=turned_if_given(config.maximum, rng),
        guaranteed=turned_if_given(config.guaranteed, rng),
    )


def turned(resource: Mapping[str, int], rng: random.Random) -> Mapping[str, int]:
    """The same resource, its types named in another order."""
    return {name: resource[name] for name in rng.sample(list(resource), len(resource))}


def turned_if_given(
    resource: Mapping[str, int] | None, rng: random.Random
) -> Mapping[str, int] | None:
    """The same for what may be absent."""
    return None if resource is None else turned(resource, rng)


def decisions(inputs: list[Input]) -> list[Outcome]:
    """Everything but the verdicts on nodes, whose order is that of the request.

    A step is over when so many were placed: how often asks are set aside in between is open.
    """
    scheduler = Scheduler(refuse_some)
    answers = [answer(scheduler, given) for given in inputs]
    return [outcome for outcome in comparable(answers) if outcome[0] != "nodes"]


@pytest.mark.remuda_rule("QUE-36", "QUE-33", "NOD-15", "RES-14", "QUE-46")
@pytest.mark.parametrize("seed", SEEDS)
def test_decisions_do_not_depend_on_how_a_workload_is_told(seed: int) -> None:
    inputs = record(seed).inputs
    rng = random.Random(seed)
    assert decisions([retold(given, rng) for given in inputs]) == decisions(inputs)


@pytest.mark.remuda_rule("QUE-36", "NOD-15")
def test_equal_states_give_equal_decisions_a_hundred_times() -> None:
    inputs = record(SEEDS[0], 10).inputs
    first = [effect for answer in play(inputs) for effect in answer]
    assert any(isinstance(effect, e.AllocationNew) for effect in first)
    for _ in range(100):
        assert [effect for answer in play(inputs) for effect in answer] == first
