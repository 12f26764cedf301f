"""The reference's queue trees and where applications go.

Chapters 10 (sections 7 and 8) and 20, as far as the scheduler builds them today: the rules
``provided`` and ``tag`` without parents and filters.
"""

from __future__ import annotations

from collections.abc import Mapping

from remuda.config.schema import PartitionConfig, QueueConfig
from tests.reference import arithmetic as res
from tests.reference.state import Partition, Queue


def build(rm_id: str, config: PartitionConfig) -> Partition:
    """A new partition with its configured queues."""
    rules = [(r.name.lower(), r.create, r.value.lower()) for r in config.placement_rules]
    partition = Partition(
        rm_id=rm_id,
        name=config.name,
        rules=rules or [("provided", False, "")],
        node_policy=config.node_sort_policy or "fair",
        node_weights=dict(config.node_sort_weights),
    )
    add_configured(partition, config.root, "")
    return partition


def add_configured(partition: Partition, config: QueueConfig, above: str) -> None:
    """One configured queue and all below it. Rules: QUE-5, QUE-6, PRP-3."""
    path = f"{above}.{config.name}" if above else "root"
    properties = inherited(partition.queues[above]) if above else {}
    guaranteed = dict(config.guaranteed or {})
    partition.queues[path] = Queue(
        path=path,
        leaf=bool(above) and not config.parent and not config.queues,
        maximum=dict(config.maximum) if above and config.maximum else None,
        guaranteed=guaranteed if above and res.positive(guaranteed) else None,
        properties={**properties, **config.properties},
    )
    for child in config.queues:
        add_configured(partition, child, path)


def inherited(parent: Queue) -> dict[str, str]:
    """The properties a child starts from. Rules: PRP-5, QUE-18."""
    properties = dict(parent.properties)
    for key, neutral in (("priority.policy", "default"), ("priority.offset", "0")):
        if key in properties:
            properties[key] = neutral
    if properties.get("preemption.policy", "disabled").lower() != "disabled":
        properties["preemption.policy"] = "default"
    return properties


def place(partition: Partition, requested: str, tags: Mapping[str, str]) -> str | None:
    """The queue an application goes to, or None. Rules: PLC-55 to PLC-62, D-P4, D-P7."""
    for name, create, value in partition.rules:
        own = requested if name == "provided" else tag(tags, value)
        path = qualified(own)
        if path is None or (path not in partition.queues and not create):
            continue
        if open_to_applications(partition, path):
            return path
    fallback = partition.queues.get("root.default")
    return fallback.path if fallback is not None and fallback.leaf else None


def tag(tags: Mapping[str, str], wanted: str) -> str:
    """A tag's value, looked up without regard to case. Rules: PLC-34."""
    return next((value for name, value in tags.items() if name.lower() == wanted), "")


def qualified(own: str) -> str | None:
    """The full path a rule's value means. Rules: PLC-20, PLC-22, PLC-27."""
    own = own.lower()
    if not own:
        return None
    return own if own.startswith("root.") else "root." + own.replace(".", "_dot_")


def open_to_applications(partition: Partition, path: str) -> bool:
    """Whether the queue is a leaf or can become one. Rules: PLC-57, PLC-59."""
    if path in partition.queues:
        return partition.queues[path].leaf
    above = path.rpartition(".")[0]
    while above not in partition.queues:
        above = above.rpartition(".")[0]
    return not partition.queues[above].leaf


def create_missing(partition: Partition, path: str) -> None:
    """Make the queues of a path that do not exist, the last a leaf. Rules: PLC-64, D-C24."""
    names = path.split(".")
    for depth in range(2, len(names) + 1):
        here, above = ".".join(names[:depth]), ".".join(names[: depth - 1])
        if here not in partition.queues:
            properties = inherited(partition.queues[above])
            leaf = depth == len(names)
            partition.queues[here] = Queue(here, leaf, None, None, properties)
