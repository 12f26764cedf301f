"""Configurations for workloads in which nodes are full in pieces, so that asks reserve.

A few queues that may hold nearly everything, and all that decides who is served first: policies,
priorities, offsets, fences, limits of users and of applications. Settings change, queues stay.
"""

from __future__ import annotations

import dataclasses
import random

from remuda.config.schema import (
    Configuration,
    LimitConfig,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
)
from tests.reference.configurations import EVERYBODY, stamped

PROPERTIES = {
    "application.sort.policy": ("fifo", "fair", "stateaware", "stateaware"),
    "application.sort.priority": ("enabled", "disabled"),
    "priority.policy": ("default", "fence"),
    "priority.offset": ("5", "-5", "2147483647"),
}
PAUSES = {
    "application.unschedasks.backoff": ("1", "2", "3", "0"),
    "application.unschedasks.backoff.delay": ("1s", "2s", "5s"),
}
SETTINGS = ("maximum", "guaranteed", "properties", "max_applications", "limits")
LIMITS = ("2s", "5s", "20s", "0s", "-5s", "soon")


def draw(rng: random.Random) -> Configuration:
    """One partition with one to four leaves."""
    names = rng.sample(["a", "b", "c"], rng.choice((1, 2, 2, 3)))
    queues = [queue(rng, name) for name in names]
    if rng.random() < 0.4:
        below = tuple(queue(rng, name) for name in ("x", "y"))
        queues.append(dataclasses.replace(queue(rng, "p"), parent=True, queues=below))
    root = QueueConfig(
        "root",
        parent=True,
        properties=properties(rng),
        queues=tuple(queues),
        submit_acl=EVERYBODY,
        limits=limits(rng),
    )
    rules = (PlacementRuleConfig("provided"),)
    policy = rng.choice(("fair", "binpacking"))
    return stamped(rng, (PartitionConfig("default", root, rules, policy, {}),))


def queue(rng: random.Random, name: str) -> QueueConfig:
    """One leaf."""
    return QueueConfig(
        name,
        maximum={"vcore": rng.choice((6, 8, 12, 16))} if rng.random() < 0.3 else None,
        guaranteed={"vcore": rng.choice((1, 3, 6))} if rng.random() < 0.3 else None,
        properties=properties(rng),
        max_applications=rng.choice((0, 0, 0, 1, 2)),
        limits=limits(rng),
    )


def properties(rng: random.Random) -> dict[str, str]:
    """A few properties."""
    return {key: rng.choice(values) for key, values in PROPERTIES.items() if rng.random() < 0.25}


def limits(rng: random.Random) -> tuple[LimitConfig, ...]:
    """Now and then limits of users and groups."""
    if rng.random() < 0.75:
        return ()
    entries = (
        LimitConfig(("ann",), (), amounts(rng), rng.choice((0, 1, 2))),
        LimitConfig((), ("dev",), amounts(rng), 0),
        LimitConfig(("*",), (), amounts(rng), rng.choice((0, 2))),
    )
    return tuple(one for one in entries if rng.random() < 0.6)


def amounts(rng: random.Random) -> dict[str, int]:
    """What a limit allows."""
    return {rng.choice(("memory", "vcore")): rng.choice((5, 8, 12))}


def draw_with_pauses(rng: random.Random) -> Configuration:
    """The same with applications that pause when asks find no node (CYC-33)."""
    config = draw(rng)
    roots = [with_pauses(rng, one.root) for one in config.partitions]
    pairs = zip(config.partitions, roots, strict=True)
    return stamped(rng, tuple(dataclasses.replace(one, root=root) for one, root in pairs))


def with_pauses(rng: random.Random, config: QueueConfig) -> QueueConfig:
    """A queue and those below, some with a number of asks and a delay."""
    below = tuple(with_pauses(rng, child) for child in config.queues)
    more = {key: rng.choice(values) for key, values in PAUSES.items() if rng.random() < 0.7}
    unlimited = dataclasses.replace(config, maximum=None, limits=())
    return dataclasses.replace(unlimited, queues=below, properties={**config.properties, **more})


def changed(rng: random.Random, config: Configuration) -> Configuration:
    """The same queues with some settings drawn anew; now and then one leaves."""
    return stamped(rng, tuple(changed_partition(rng, one) for one in config.partitions))


def changed_partition(rng: random.Random, config: PartitionConfig) -> PartitionConfig:
    """A partition with some settings drawn anew."""
    root = changed_queue(rng, config.root)
    if len(root.queues) > 1 and rng.random() < 0.1:
        root = dataclasses.replace(root, queues=root.queues[1:])
    policy = rng.choice(("fair", "binpacking")) if rng.random() < 0.2 else config.node_sort_policy
    return dataclasses.replace(config, root=root, node_sort_policy=policy)


def changed_queue(rng: random.Random, config: QueueConfig) -> QueueConfig:
    """A queue and those below it with some settings drawn anew."""
    fresh = queue(rng, config.name)
    names = SETTINGS if config.name != "root" else ("properties", "limits")
    drawn = {name: getattr(fresh, name) for name in names if rng.random() < 0.2}
    below = tuple(changed_queue(rng, child) for child in config.queues)
    return dataclasses.replace(config, queues=below, **drawn)
