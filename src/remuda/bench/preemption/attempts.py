"""Measures single attempts to preempt in a full cluster, fruitful and fruitless ones.

Each ask differs from all others in its amounts, so that each has an attempt of its own (PRE-90)
when it is old enough to preempt. The measured time is the core's time for one attempt: the timer,
the checks of quotas and nodes, the attempt and its consequences.
"""

from __future__ import annotations

import time
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.full_cluster import (
    DELAY_NS,
    MEMORY,
    SECOND_NS,
    VCORE,
    FullCluster,
    Obedient,
)
from remuda.bench.throughput.idle import Reaction, reaction
from remuda.bench.throughput.run import build, resident_bytes
from remuda.runtime.interpreter import tune_interpreter

# Between two attempts, so that no limit of attempts in a time counts them together.
_PAUSE_NS: Final = 20 * SECOND_NS


@message
class AttemptShape:
    """Attempts of one kind. ``fruitful``: True: each must find victims; False: none may."""

    name: str
    cluster: FullCluster
    fruitful: bool
    attempts: int = 250


@message
class AttemptResult:
    """A measured shape. ``victims``: the number of victims of all attempts together."""

    shape: str
    leaves: int
    nodes: int
    allocations: int
    attempts: int
    victims: int
    attempt_milliseconds: Reaction
    resident_bytes: int
    build: str


def measure_attempts(shape: AttemptShape) -> AttemptResult:
    """Run a shape once, in this process.

    Raises: RemudaError if an ask made no attempt, or its attempt had the wrong result;
    InvariantViolation if a counter is wrong.
    """
    manager = Obedient(shape.cluster)
    tune_interpreter()
    costs: list[float] = []
    victims = 0
    for number in range(shape.attempts):
        cost, count = _attempt(shape, manager, number)
        costs.append(cost)
        victims += count
    resident = resident_bytes()
    manager.scheduler.check()
    costs.sort()
    return AttemptResult(
        shape=shape.name,
        leaves=shape.cluster.leaves,
        nodes=shape.cluster.nodes,
        allocations=shape.cluster.allocations(),
        attempts=len(costs),
        victims=victims,
        attempt_milliseconds=reaction(costs),
        resident_bytes=resident,
        build=build(),
    )


def _attempt(shape: AttemptShape, manager: Obedient, number: int) -> tuple[float, int]:
    """Let one ask make its attempt, and return its milliseconds and its victims.

    The ask wants the cores of two allocations, minus a few so that it differs from others.
    """
    takers = shape.cluster.takers()
    queue, key = takers[number % len(takers)], f"new-{number}"
    resource = {"memory": 2 * MEMORY, "vcore": 2 * VCORE - 1 - number}
    if shape.cluster.lacking:
        resource[shape.cluster.lacking] = 1
    asked_ns = manager.now_ns
    manager.ask(queue, key, resource)
    manager.wait(asked_ns + DELAY_NS - 1)
    manager.now_ns = asked_ns + DELAY_NS
    began_ns = time.perf_counter_ns()
    manager.decide()
    cost = (time.perf_counter_ns() - began_ns) / 1e6
    fruitful = bool(manager.to_release)
    if fruitful != shape.fruitful or not (fruitful or made_attempt(manager, queue, key)):
        what = "preempted" if fruitful else "did not preempt"
        raise RemudaError(f"{shape.name}: ask {key} {what}")
    victims = manager.confirm()
    manager.wait(manager.now_ns + _PAUSE_NS)
    if not fruitful:
        manager.take_back(key)
    elif key not in manager.placed:
        raise RemudaError(f"{shape.name}: ask {key} was not placed when its victims were gone")
    return cost, victims


def made_attempt(manager: Obedient, queue: str, key: str) -> bool:
    """Whether a waiting ask has found out that preemption does not help it."""
    found = [each for each in manager.waiting(queue) if each.allocation_key == key]
    return any(each.finding is not None and each.finding.preemption != "" for each in found)
