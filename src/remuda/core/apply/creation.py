"""Makes queues on demand, and limits them by the tags of applications.

A queue made here is dynamic: it has no access lists of its own, takes its limits from the nearest
template and goes when it is empty. Rules: chapter 20 sections 8 and 9, TPL.
"""

from __future__ import annotations

from remuda.base.resources import Resource
from remuda.core.accounting.renewal import renew_leaf
from remuda.core.apply.queues import amounts_of, limit_of, positive_limit_of, tell_amounts
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model import states
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import ResourceTypes, Vector
from remuda.core.policy.access import RECOVERY_QUEUE
from remuda.core.policy.placement import nearest
from remuda.core.policy.properties import inherited, nearest_template, settings
from remuda.core.policy.tag_quota import TagQuota


def creation_fault(partition: Partition, path: str) -> str:
    """Return why what is missing on a path cannot be made, "" if it can.

    Names, depth, access and a leaf in the way were looked at by placement, and nothing changes
    in between. Rules: PLC-63, PLC-67, QUE-3, OBJ-3.
    """
    queue, missing = nearest(partition, path)
    if missing and queue.state == states.DRAINING:
        return f"queue {queue.path} is draining and takes no queues"
    return ""


def make_queues(turn: Turn, partition: Partition, path: str) -> Queue:
    """Return the queue of a path, making what is missing: parents, and last a leaf.

    Rules: PLC-64, PLC-66, PLC-72, TPL-4, TPL-9 (Ours), PRP-4 (Ours), PRP-8, EVT-63, EVT-76.
    Emits: EventRecord.
    """
    queue, missing = nearest(partition, path)
    for number, name in enumerate(missing):
        child = Queue(name, queue, leaf=number == len(missing) - 1, managed=False)
        if child.path != RECOVERY_QUEUE:
            _configure(partition.types, child, queue)
        queue.children[name] = child
        turn.event(partition, events.QUEUE, child.path, events.ADD, events.QUEUE_DYNAMIC)
        queue = child
    if missing:
        partition.shares_stale = True
    return queue


def apply_quota(turn: Turn, partition: Partition, leaf: Queue, quota: TagQuota) -> None:
    """Limit a dynamic leaf as the last accepted application says.

    A limit is replaced whole; if one of maximum and guarantee is given the other goes.
    Rules: PLC-81, PLC-83, PLC-85, PLC-86 (Ours), EVT-67, EVT-68, EVT-75. Emits: EventRecord.
    """
    types = partition.types
    before = amounts_of(leaf)
    maximum = _learn(types, quota.maximum)
    guaranteed = _learn(types, quota.guaranteed)
    if maximum is not None or guaranteed is not None:
        leaf.maximum = maximum
        leaf.guaranteed = guaranteed
    changed = tell_amounts(turn, partition, leaf, before)
    if quota.max_applications and quota.max_applications != leaf.max_applications:
        changed = True
        leaf.max_applications = quota.max_applications
    if changed:
        renew_leaf(partition, leaf)


def _configure(types: ResourceTypes, queue: Queue, parent: Queue) -> None:
    """Give a dynamic queue its settings, a leaf those of the template. Rules: TPL-4, PRP-4."""
    template = nearest_template(parent) if queue.leaf else None
    own = {} if template is None else template.properties
    queue.properties = inherited(parent.properties, own)
    queue.settings = settings(queue.properties, queue.leaf)
    if template is not None:
        queue.max_applications = template.max_applications
        queue.maximum = limit_of(types, template.maximum)
        queue.guaranteed = positive_limit_of(types, template.guaranteed)


def _learn(types: ResourceTypes, resource: Resource | None) -> Vector | None:
    """Return a tag's limit; one with more types than a partition may have means nothing."""
    if resource is None or not types.room_for(resource):
        return None
    return limit_of(types, resource)
