"""Configurations that a run changes between: queues and limits come, go and change."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

from remuda.config.schema import (
    AccessList,
    Configuration,
    LimitConfig,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
)

EVERYBODY: Final = AccessList(everybody=True)
USERS: Final = {"ann": ("staff",), "bob": ("staff", "dev"), "eve": ()}
BATCH: Final = "batch"
DEFAULT: Final = "default"

# Leaves that applications ask for; what is not there goes to a queue of the user.
LEAVES: Final = ("root.a", "root.b.x", "root.b.y", "root.c", "root.d")


CHANGES: Final = (
    "queue",
    "queue",
    "partition",
    "size",
    "limits",
    "applications",
    "guarantees",
    "order",
)


@dataclass(frozen=True)
class Layout:
    """What may change: which queues there are, how much they hold, who is limited or owed."""

    number: int
    spare: bool
    batch: bool
    size: int
    limited: bool
    narrow: bool
    packing: bool
    due: bool = False


def first(dice: random.Random, *, due: bool) -> Layout:
    """The layout a run begins with."""
    return Layout(0, True, dice.random() < 0.5, 24, dice.random() < 0.5, False, False, due)


def change(dice: random.Random, layout: Layout) -> tuple[Layout, str]:
    """Another layout, and what is different."""
    number = layout.number + 1
    what = dice.choice(CHANGES)
    if what == "queue":
        found = replace(layout, spare=not layout.spare)
        text = "queue added again" if found.spare else "queue removed"
    elif what == "partition":
        found = replace(layout, batch=not layout.batch)
        text = "partition added" if found.batch else "partition removed"
    elif what == "size":
        found = replace(layout, size=dice.choice((8, 16, 24, 40)))
        text = "maximum changed"
    elif what == "limits":
        found = replace(layout, limited=not layout.limited)
        text = "limits added" if found.limited else "limits removed"
    elif what == "applications":
        found = replace(layout, narrow=not layout.narrow)
        text = "number of applications changed"
    elif what == "guarantees":
        found = replace(layout, due=not layout.due)
        text = "guarantees added" if found.due else "guarantees removed"
    else:
        found = replace(layout, packing=not layout.packing)
        text = "node order changed"
    return replace(found, number=number), text


def configuration(layout: Layout) -> Configuration:
    """The configuration of a layout; its checksum is its number."""
    homes = [_partition(layout, DEFAULT)]
    if layout.batch:
        homes.append(_partition(layout, BATCH))
    return Configuration(tuple(homes), checksum=f"{layout.number:064X}")


def broken(layout: Layout) -> Configuration:
    """A change that is refused as long as queue a has applications (RLD-26)."""
    config = configuration(replace(layout, number=layout.number + 1000))
    root = config.partitions[0].root
    queues = tuple(
        replace(queue, parent=True, maximum=None) if queue.name == "a" else queue
        for queue in root.queues
    )
    changed = replace(config.partitions[0], root=replace(root, queues=queues))
    return replace(config, partitions=(changed, *config.partitions[1:]))


def _partition(layout: Layout, name: str) -> PartitionConfig:
    size = layout.size
    most = 2 if layout.narrow else 0
    queues = [
        QueueConfig("a", maximum=_amount(size), guaranteed=_due(layout, 6), max_applications=most),
        QueueConfig(
            "b",
            parent=True,
            maximum=_amount(size + 8),
            guaranteed=_due(layout, 8, 8),
            queues=(
                QueueConfig(
                    "x",
                    maximum={"vcore": size},
                    guaranteed=_due(layout, 4),
                    limits=_limits(layout),
                ),
                QueueConfig("y", properties={"application.sort.policy": "fair"}),
            ),
        ),
        QueueConfig("dynamic", parent=True, submit_acl=EVERYBODY),
    ]
    if layout.spare:
        queues.append(QueueConfig("c", properties={"application.sort.policy": "stateaware"}))
        queues.append(QueueConfig("d", maximum=_amount(size), guaranteed=_due(layout, 3, 6)))
    root = QueueConfig(
        "root",
        parent=True,
        queues=tuple(queues),
        submit_acl=EVERYBODY,
        properties={"preemption.delay": "2s"},
    )
    above = PlacementRuleConfig("fixed", value="root.dynamic")
    rules = (
        PlacementRuleConfig("provided"),
        PlacementRuleConfig("user", create=True, parent=above),
    )
    order = "binpacking" if layout.packing else "fair"
    return PartitionConfig(name, root, rules, order)


def _limits(layout: Layout) -> tuple[LimitConfig, ...]:
    if not layout.limited:
        return ()
    return (
        LimitConfig(("ann",), (), {"vcore": 8}, 2),
        LimitConfig((), ("dev",), {"memory": 12}, 0),
    )


def _due(layout: Layout, vcore: int, memory: int = 0) -> dict[str, int] | None:
    if not layout.due:
        return None
    return {"vcore": vcore, "memory": memory} if memory else {"vcore": vcore}


def _amount(size: int) -> dict[str, int]:
    return {"vcore": size, "memory": 2 * size}


def homes(layout: Layout) -> tuple[str, ...]:
    """The partitions of a layout."""
    return (DEFAULT, BATCH) if layout.batch else (DEFAULT,)
