"""What a seed changes in a scenario: arrivals, run times, failures of nodes.

Every number is drawn from a hash of the seed, its purpose and the name of the task or node. So a
task gets the same numbers in all alternatives, which makes runs of one seed comparable, and neither
the platform, the version of Python nor another task in the trace changes them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from remuda.sim.outages import Outage
from remuda.sim.simulator import Scenario
from remuda.sim.workload import SECOND_NS, Task
from remuda.study.plan import Failures, Variation

_ONE: Final = 1 << 53
# Nodes fail until this many times the time that the workload would take without waiting.
_TIMES_AS_LONG: Final = 2


def fraction(seed: int, purpose: str, name: str) -> float:
    """Return a number from 0 to below 1 that depends on nothing but the arguments."""
    data = f"{seed}\t{purpose}\t{name}".encode()
    bits = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")
    return (bits >> 11) / _ONE


def varied(scenario: Scenario, variation: Variation, seed: int) -> Scenario:
    """Return a scenario as a seed changes it. Implements: EXT-57."""
    tasks = tuple(_varied_task(task, variation, seed) for task in scenario.workload.tasks)
    workload = replace(scenario.workload, tasks=tasks)
    failures = variation.failures
    outages: tuple[Outage, ...] = ()
    if failures is not None:
        end_ns = max(task.submit_ns + (task.duration_ns or 0) for task in tasks)
        until_ns = _TIMES_AS_LONG * end_ns
        outages = tuple(
            outage
            for place, node in enumerate(scenario.nodes)
            for outage in _outages(place, node.node_id, failures, seed, until_ns)
        )
    return replace(scenario, workload=workload, outages=outages)


def _varied_task(task: Task, variation: Variation, seed: int) -> Task:
    submit_ns, duration_ns = task.submit_ns, task.duration_ns
    if variation.jitter_ns:
        part = 2 * fraction(seed, "arrival", task.task_id) - 1
        submit_ns = max(0, submit_ns + round(part * variation.jitter_ns))
    if variation.noise and duration_ns is not None:
        part = 2 * fraction(seed, "run time", task.task_id) - 1
        duration_ns = round(duration_ns * (1 + part * variation.noise))
    return replace(task, submit_ns=submit_ns, duration_ns=duration_ns)


def _outages(
    place: int, node_id: str, failures: Failures, seed: int, until_ns: int
) -> Iterator[Outage]:
    """Yield the failures of a node: exponential times between them, in whole seconds."""
    at_ns = 0
    number = 0
    while True:
        part = fraction(seed, f"failure {number}", node_id)
        wait = max(1, round(-math.log(1 - part) * failures.every_seconds))
        at_ns += wait * SECOND_NS
        if at_ns >= until_ns:
            return
        back_ns = at_ns + failures.repair_seconds * SECOND_NS
        yield Outage(place, at_ns, back_ns)
        at_ns = back_ns
        number += 1
