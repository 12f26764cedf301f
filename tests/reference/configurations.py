"""Random queue configurations that a loader would accept.

Limits are drawn from the leaves upward, so that what chapter 10 demands of them (a guarantee
fits its maximum, children fit their parent) holds by construction.
"""

from __future__ import annotations

import random

from remuda.config.schema import (
    Configuration,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
)

TYPES = ("gpu", "memory", "vcore")
RULES = (
    (PlacementRuleConfig("provided"),),
    (PlacementRuleConfig("provided", create=True),),
    (PlacementRuleConfig("tag", create=True, value="namespace"),),
    (PlacementRuleConfig("provided"), PlacementRuleConfig("tag", True, "namespace")),
)
PROPERTIES = {
    "application.sort.policy": ("fifo", "fair", "fair", "stateaware", "FAIR"),
    "application.sort.priority": ("enabled", "disabled", "Disabled", "perhaps"),
    "priority.policy": ("default", "fence", "Fence"),
    "priority.offset": ("1", "-1", "+10", "2147483647", "2147483648", "many"),
}


def draw(rng: random.Random) -> Configuration:
    """One or two partitions."""
    names = rng.choice((["default"], ["default"], ["default"], ["default", "batch"]))
    return Configuration(tuple(partition(rng, name) for name in names))


def partition(rng: random.Random, name: str) -> PartitionConfig:
    """One partition with a random tree."""
    weights = rng.choice(({}, {}, {"vcore": 4.0, "memory": 1.0}, {"gpu": 1.0, "vcore": 0.0}))
    root = QueueConfig(
        "root",
        parent=True,
        properties=properties(rng),
        queues=tuple(queue(rng, child, 1) for child in names(rng)),
    )
    policy = rng.choice(("fair", "binpacking"))
    return PartitionConfig(name, root, rng.choice(RULES), policy, weights)


def names(rng: random.Random) -> list[str]:
    """One to four sibling names, not in order."""
    return rng.sample(["a", "b", "c", "d", "default"], rng.choice((1, 2, 2, 3, 4)))


def queue(rng: random.Random, name: str, depth: int) -> QueueConfig:
    """One queue with what is below it."""
    is_parent = depth < 3 and rng.random() < 0.3
    below = tuple(queue(rng, child, depth + 1) for child in names(rng)) if is_parent else ()
    promised = total([promise(child) for child in below])
    guaranteed = raised(rng, promised, 6) if rng.random() < 0.4 else None
    floor = largest([limits(child) for child in below] + [promised, guaranteed or {}])
    return QueueConfig(
        name,
        parent=is_parent,
        maximum=raised(rng, floor, 10) if rng.random() < 0.4 else None,
        guaranteed=guaranteed,
        properties=properties(rng),
        queues=below,
    )


def promise(config: QueueConfig) -> dict[str, int]:
    """What a queue counts for in its parent's guarantee."""
    return dict(config.guaranteed or total([promise(child) for child in config.queues]))


def limits(config: QueueConfig) -> dict[str, int]:
    """The largest limit or promise of each type in a subtree."""
    own = [dict(config.maximum or {}), dict(config.guaranteed or {})]
    return largest(own + [limits(child) for child in config.queues])


def total(parts: list[dict[str, int]]) -> dict[str, int]:
    """The sum of each type."""
    return {t: sum(p.get(t, 0) for p in parts) for t in TYPES if any(t in p for p in parts)}


def largest(parts: list[dict[str, int]]) -> dict[str, int]:
    """The largest amount of each type."""
    return {t: max(p.get(t, 0) for p in parts) for t in TYPES if any(t in p for p in parts)}


def raised(rng: random.Random, floor: dict[str, int], by: int) -> dict[str, int]:
    """Some types, each at least the floor; a type of the floor may stay unlimited."""
    chosen = [t for t in TYPES if rng.random() < 0.6]
    return {t: floor.get(t, 0) + rng.choice((0, 2, 4, by)) for t in chosen}


def properties(rng: random.Random) -> dict[str, str]:
    """A few properties, right and wrong ones."""
    return {key: rng.choice(values) for key, values in PROPERTIES.items() if rng.random() < 0.3}
