"""What a queue configuration says, as plain records (rules: CFG, section 3 of chapter 10).

Only what the scheduler acts on today has a field here; the loader refuses every other key by
name, so that nothing in a file is ever ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource

# One element of a queue's path, configured or made by placement (CFG-30).
QUEUE_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# Levels of queues, root included; as many as a configuration file may nest.
QUEUE_DEPTH_LIMIT: Final = 48

# Which node comes first: the least used one, or the most used one that fits (CFG-90).
NODE_SORT_FAIR: Final = "fair"
NODE_SORT_BINPACKING: Final = "binpacking"


@message
class QueueConfig:
    """One configured queue and everything below it.

    ``name`` is lower case, one path element. ``maximum`` and ``guaranteed`` are in base units;
    None means "not given", an explicit zero is a hard zero (QUE-5).
    """

    name: str
    parent: bool = False
    maximum: Resource | None = None
    guaranteed: Resource | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    queues: tuple[QueueConfig, ...] = ()


@message
class PlacementRuleConfig:
    """One placement rule: ``provided`` or ``tag`` (with the tag's name in ``value``)."""

    name: str
    create: bool = False
    value: str = ""


@message
class PartitionConfig:
    """One partition: its queue tree, how applications are placed and how nodes are ordered.

    ``node_sort_weights`` empty means {vcore: 1, memory: 1} (NOD-17). ``root`` is always the
    queue named root.
    """

    name: str
    root: QueueConfig
    placement_rules: tuple[PlacementRuleConfig, ...] = (PlacementRuleConfig("provided"),)
    node_sort_policy: str = NODE_SORT_FAIR
    node_sort_weights: Mapping[str, float] = field(default_factory=dict)


@message
class Configuration:
    """A whole, valid configuration. ``checksum``: CHK-1, of the text it was read from."""

    partitions: tuple[PartitionConfig, ...]
    checksum: str = ""


# Turns the configuration text of a registration, which may be empty, into records; raises
# ConfigError (RM-5, RM-6).
Load: TypeAlias = Callable[[str], Configuration]


def built_in() -> Configuration:
    """The configuration of an RM that sends none (RM-5, chapter 10 section 7)."""
    root = QueueConfig(name="root", parent=True)
    rules = (PlacementRuleConfig("tag", create=True, value="namespace"),)
    return Configuration((PartitionConfig("default", root, rules),))
