"""Builds queues from the configuration or on demand, and removes dynamic ones that are empty."""

from __future__ import annotations

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import ResourceTypes, Vector, positive, vector_of
from remuda.core.policy.placement import nearest
from remuda.core.policy.properties import inherited, settings


def build_queue(types: ResourceTypes, config: QueueConfig, parent: Queue | None) -> Queue:
    """Build a configured queue and all below it. Rules: QUE-1, QUE-5, QUE-6, QUE-20, CFG-46."""
    leaf = parent is not None and not config.parent and not config.queues
    queue = Queue(config.name, parent, leaf, managed=True)
    above = {} if parent is None else parent.properties
    queue.properties = inherited(above, config.properties)
    queue.settings = settings(queue.properties, leaf)
    if parent is not None:
        queue.maximum = _limit(types, config.maximum)
        guaranteed = _limit(types, config.guaranteed)
        if guaranteed is not None and positive(guaranteed):
            queue.guaranteed = guaranteed
        parent.children[queue.name] = queue
    for child in config.queues:
        build_queue(types, child, queue)
    return queue


def announce_queues(turn: Turn, partition: Partition) -> None:
    """Emit the events of a new tree, root first, in configuration order. Rules: EVT-62, EVT-71."""
    for queue in partition.queues():
        turn.event(partition, events.QUEUE, queue.path, events.ADD, events.DETAILS_NONE)


def make_queues(turn: Turn, partition: Partition, path: str) -> Queue:
    """Return the leaf of a path, making what is missing. Rules: PLC-63, PLC-64, PLC-66, EVT-63."""
    queue, missing = nearest(partition, path)
    for number, name in enumerate(missing):
        leaf = number == len(missing) - 1
        child = Queue(name, queue, leaf, managed=False)
        child.properties = inherited(queue.properties, {})
        child.settings = settings(child.properties, leaf)
        queue.children[name] = child
        turn.event(partition, events.QUEUE, child.path, events.ADD, events.QUEUE_DYNAMIC)
        queue = child
    if missing:
        partition.shares_stale = True
    return queue


def remove_empty_queues(turn: Turn, partition: Partition) -> None:
    """Remove dynamic queues without content, children first. Rules: OBJ-5, QUE-4, EVT-64."""
    partition.cleanup_set = False
    for queue in reversed(partition.queues()):
        parent = queue.parent
        if queue.managed or parent is None or queue.children or queue.applications:
            continue
        del parent.children[queue.name]
        turn.event(partition, events.QUEUE, queue.path, events.REMOVE, events.QUEUE_DYNAMIC)


def _limit(types: ResourceTypes, resource: Resource | None) -> Vector | None:
    """Return a configured limit; an absent or empty one is none. Rules: QUE-5."""
    if not resource:
        return None
    return vector_of(types.amounts(resource))
