"""Random queue configurations, and random changes of them.

Limits are drawn from the leaves upward, so that what chapter 10 demands of them (a guarantee
fits its maximum, children fit their parent) holds by construction. User limits, application
limits and later changes are drawn without regard to other levels: scheduling does not rely on
it, and a loader only refuses some of the trees.
"""

from __future__ import annotations

import dataclasses
import random

from remuda.config.schema import (
    AccessList,
    Configuration,
    FilterConfig,
    LimitConfig,
    NameFilter,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
    TemplateConfig,
)

TYPES = ("gpu", "memory", "vcore")
USERS = {
    "ann": ("staff", "dev"),
    "bob": ("ops", "dev"),
    "eve": (),
    "kim": ("dev",),
    "x@y.z": ("qa",),
    "bad name": ("dev",),
    "": ("dev",),
}
TAG = PlacementRuleConfig("tag", create=True, value="namespace")
BY_USER = PlacementRuleConfig("user", create=True)
PROVIDED = PlacementRuleConfig("provided", create=True)
STAFF = FilterConfig(users=NameFilter(("ann",)), groups=NameFilter(pattern="^(staff|op)"))
NOBODY_OF_DEV = FilterConfig(deny=True, groups=NameFilter(("dev", "qa")))
RULES = (
    (PlacementRuleConfig("provided"),),
    (PROVIDED,),
    (PROVIDED, TAG),
    (TAG,),
    (PlacementRuleConfig("provided"), TAG),
    (PlacementRuleConfig("provided"), dataclasses.replace(BY_USER, parent=TAG)),
    (dataclasses.replace(PROVIDED, parent=BY_USER, filter=STAFF), TAG),
    (
        dataclasses.replace(PROVIDED, filter=NOBODY_OF_DEV),
        PlacementRuleConfig("fixed", value="a.b"),
        dataclasses.replace(TAG, parent=PlacementRuleConfig("fixed", create=True, value="root.d")),
    ),
    (
        dataclasses.replace(BY_USER, parent=dataclasses.replace(PROVIDED, create=False)),
        PlacementRuleConfig("fixed", value="root.c"),
    ),
    (PlacementRuleConfig("fixed", create=True, value="a", filter=STAFF),),
)
SETTINGS = (
    "maximum",
    "guaranteed",
    "properties",
    "max_applications",
    "admin_acl",
    "submit_acl",
    "template",
    "limits",
)
EVERYBODY = AccessList(everybody=True)
PROPERTIES = {
    "application.sort.policy": ("fifo", "fair", "fair", "stateaware", "FAIR"),
    "application.sort.priority": ("enabled", "disabled", "Disabled", "perhaps"),
    "priority.policy": ("default", "fence", "Fence"),
    "priority.offset": ("1", "-1", "+10", "2147483647", "2147483648", "many"),
}


def draw(rng: random.Random) -> Configuration:
    """One or two partitions."""
    names = rng.choice((["default"], ["default"], ["default"], ["default", "batch"]))
    return stamped(rng, tuple(partition(rng, name) for name in names))


def stamped(rng: random.Random, partitions: tuple[PartitionConfig, ...]) -> Configuration:
    """A configuration with a checksum of its own."""
    return Configuration(partitions, f"{rng.getrandbits(64):016X}")


def partition(rng: random.Random, name: str) -> PartitionConfig:
    """One partition with a random tree."""
    weights = rng.choice(({}, {}, {"vcore": 4.0, "memory": 1.0}, {"gpu": 1.0, "vcore": 0.0}))
    root = QueueConfig(
        "root",
        parent=True,
        properties=properties(rng),
        queues=tuple(queue(rng, child, 1) for child in names(rng)),
        max_applications=rng.choice((0, 0, 0, 0, 3, 5)),
        submit_acl=rng.choice((EVERYBODY, EVERYBODY, EVERYBODY, access(rng))),
        template=template(rng),
        limits=user_limits(rng),
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
        max_applications=applications(rng),
        admin_acl=access(rng),
        submit_acl=access(rng),
        template=template(rng),
        limits=user_limits(rng),
    )


def applications(rng: random.Random) -> int:
    """A limit of running applications, mostly none."""
    return rng.choices((0, 1, 2, 4), (6, 1, 2, 1))[0]


def access(rng: random.Random) -> AccessList:
    """Nobody, everybody, some users or some groups."""
    some = (
        AccessList(),
        AccessList(),
        EVERYBODY,
        AccessList(users=("ann", "kim")),
        AccessList(users=("bob",), groups=("qa",)),
        AccessList(groups=("dev",)),
    )
    return rng.choice(some)


def template(rng: random.Random) -> TemplateConfig | None:
    """Mostly none."""
    if rng.random() < 0.75:
        return None
    return TemplateConfig(
        applications(rng),
        properties(rng),
        {"vcore": rng.choice((3, 6))} if rng.random() < 0.5 else None,
        {"vcore": 1, "memory": 1},
    )


def user_limits(rng: random.Random) -> tuple[LimitConfig, ...]:
    """Limits of users and groups; a wildcard comes last, as a loader demands (CFG-55, CFG-56)."""
    if rng.random() < 0.65:
        return ()
    users = rng.sample(["ann", "bob", "eve", "kim"], rng.randint(0, 2))
    groups = rng.sample(["dev", "ops", "staff", "qa"], rng.randint(0, 2))
    entries = [limit(rng, (user,), ()) for user in users]
    if groups:
        entries += [limit(rng, (), (group,)) for group in groups]
        entries += [limit(rng, (), ("*",))] if rng.random() < 0.4 else []
    entries += [limit(rng, ("*",), ())] if rng.random() < 0.4 else []
    return tuple(entries)


def limit(rng: random.Random, users: tuple[str, ...], groups: tuple[str, ...]) -> LimitConfig:
    """One entry: of amounts, of applications, or of both."""
    count = rng.choice((0, 0, 1, 2, 3))
    amounts = {t: rng.choice((0, 2, 4, 6, 10)) for t in TYPES if rng.random() < 0.6}
    if not count or rng.random() < 0.5:
        amounts |= {} if any(amounts.values()) else {"vcore": 5}
        return LimitConfig(users, groups, amounts, count)
    return LimitConfig(users, groups, None, count)


# ------------------------------------------------------------------------------------ changes


def changed(rng: random.Random, config: Configuration) -> Configuration:
    """The same with a few differences; now and then a partition comes or goes."""
    kept = [changed_partition(rng, one) for one in config.partitions]
    draw = rng.random()
    if draw < 0.08 and len(kept) > 1:
        kept.pop()
    elif draw < 0.16 and len(kept) == 1:
        kept.append(partition(rng, "batch" if kept[0].name == "default" else "default"))
    return stamped(rng, tuple(kept))


def changed_partition(rng: random.Random, config: PartitionConfig) -> PartitionConfig:
    """A partition with a changed tree and perhaps other rules."""
    if rng.random() < 0.05:
        return partition(rng, config.name)
    rules = rng.choice(RULES) if rng.random() < 0.3 else config.placement_rules
    policy = rng.choice(("fair", "binpacking")) if rng.random() < 0.2 else config.node_sort_policy
    root = changed_queue(rng, config.root, 0)
    return dataclasses.replace(config, root=root, placement_rules=rules, node_sort_policy=policy)


def changed_queue(rng: random.Random, config: QueueConfig, depth: int) -> QueueConfig:
    """A queue with some settings drawn anew, and children that changed, came or went."""
    below = [changed_queue(rng, child, depth + 1) for child in config.queues]
    if below and rng.random() < 0.15:
        below.pop(rng.randrange(len(below)))
    free = [name for name in ("a", "b", "c", "d", "default") if name not in {q.name for q in below}]
    if free and depth < 3 and rng.random() < (0.3 if below or not depth else 0.08):
        below.append(queue(rng, rng.choice(free), depth + 1))
    if depth and below and rng.random() < 0.1:
        below = []
    is_parent = not depth or bool(below) or (config.parent and rng.random() < 0.5)
    fresh = queue(rng, config.name, 3)
    names = SETTINGS if depth else SETTINGS[2:]
    drawn = {name: getattr(fresh, name) for name in names if rng.random() < 0.15}
    return dataclasses.replace(config, parent=is_parent, queues=tuple(below), **drawn)


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
