"""Gives queues their settings: configured ones, dynamic ones, and limits that tags bring.

It also builds the tree of a configuration, and removes empty queues that are not configured.
"""

from __future__ import annotations

from typing import TypeAlias

from remuda.base.resources import Resource
from remuda.config.schema import LimitConfig, QueueConfig, TemplateConfig
from remuda.core.accounting.renewal import renew_leaf
from remuda.core.apply.asks.reservations import renew_reservation_classes
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model import states
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Access, Queue
from remuda.core.model.queues.trackers import Limit
from remuda.core.model.totals import CountsKey
from remuda.core.model.vectors import ResourceTypes, Vector, positive, same_limit, vector_of
from remuda.core.pending.ordering import settle
from remuda.core.policy.properties import inherited, nearest_template, settings
from remuda.core.policy.tag_quota import TagQuota

# Maximum and guaranteed amounts of a queue.
QueueAmounts: TypeAlias = tuple[Vector | None, Vector | None]


def build_queue(types: ResourceTypes, config: QueueConfig, parent: Queue | None) -> Queue:
    """Build a configured queue and all below it. Rules: QUE-1, QUE-6, CFG-46."""
    queue = Queue(config.name, parent, leaf=is_leaf(config, parent), managed=True)
    if parent is not None:
        parent.children[queue.name] = queue
    configure(types, queue, config)
    for child in config.queues:
        build_queue(types, child, queue)
    return queue


def is_leaf(config: QueueConfig, parent: Queue | None) -> bool:
    """Whether a configured queue is a leaf; root never is. Rules: CFG-46."""
    return parent is not None and not config.parent and not config.queues


def configure(types: ResourceTypes, queue: Queue, config: QueueConfig) -> None:
    """Give one queue everything its configuration says; all earlier settings are gone.

    A draining queue becomes active again; a stopped one stays stopped. Settings equal to those of
    the old configuration are not worked out again, because a reload may concern thousands of
    queues.
    Implements: LIM-8 (Ours). Rules: QUE-5, QUE-6, QUE-20, PRP-7 (Ours), RLD-21, RLD-22, RLD-23,
    RLD-24, RLD-25, RLD-29, TPL-5, OBJ-2.
    """
    parent, old = queue.parent, queue.config
    queue.config = config
    queue.managed = True
    if queue.state == states.DRAINING:
        queue.state = states.OBJECT[queue.state, states.START]
    _set_properties(queue, config, known=old is not None)
    queue.max_applications = config.max_applications
    if old is None or _differ(old.submit_acl, config.submit_acl):
        queue.submit_access = Access(config.submit_acl)
    if old is None or _differ(old.admin_acl, config.admin_acl):
        queue.admin_access = Access(config.admin_acl)
    queue.template = config.template
    if config.template is not None:
        _learn_types(types, config.template)
    if parent is not None:
        if old is None or _differ(old.maximum, config.maximum):
            queue.maximum = limit_of(types, config.maximum)
        if old is None or _differ(old.guaranteed, config.guaranteed):
            queue.guaranteed = positive_limit_of(types, config.guaranteed)
    if old is None or _differ(old.limits, config.limits):
        _set_limits(types, queue, config.limits)


def _differ(old: object, new: object) -> bool:
    """Whether a part of a configuration changed; most often it is the same record."""
    return old is not new and old != new


def _set_properties(queue: Queue, config: QueueConfig, *, known: bool) -> None:
    """Set whether a queue is a leaf, its properties, and the settings read from them.

    ``known``: the queue is configured already. Reading properties is most of the work, so unchanged
    ones are not read again.
    Implements: PRP-7 (Ours), RLD-23, QUE-21. Rules: CFG-46, QUE-18, QUE-20.
    """
    parent = queue.parent
    leaf = is_leaf(config, parent)
    properties = inherited({} if parent is None else parent.properties, config.properties)
    if not known or leaf != queue.leaf or properties != queue.properties:
        queue.settings = settings(properties, leaf)
    queue.leaf = leaf
    queue.properties = properties


def configure_dynamic(types: ResourceTypes, queue: Queue, parent: Queue) -> None:
    """Give a dynamic queue its settings; a leaf gets those of the template.

    Implements: TPL-4, PRP-4 (Ours), PLC-66, TPL-6. Rules: TPL-5.
    """
    template = nearest_template(parent) if queue.leaf else None
    own = {} if template is None else template.properties
    queue.properties = inherited(parent.properties, own)
    queue.settings = settings(queue.properties, queue.leaf)
    if template is not None:
        queue.max_applications = template.max_applications
        queue.maximum = limit_of(types, template.maximum)
        queue.guaranteed = positive_limit_of(types, template.guaranteed)


def apply_quota(turn: Turn, partition: Partition, leaf: Queue, quota: TagQuota) -> None:
    """Limit a dynamic leaf by the tags of the last accepted application.

    A limit is replaced as a whole: if only one of maximum and guaranteed is given, the other is
    removed.
    Implements: PLC-81, PLC-83, EVT-75, QUE-7. Rules: PLC-85, PLC-86 (Ours), EVT-67, EVT-68. Emits:
    EventRecord.
    """
    types = partition.types
    before = amounts_of(leaf)
    maximum = _learn(types, quota.maximum)
    guaranteed = _learn(types, quota.guaranteed)
    if maximum is not None or guaranteed is not None:
        leaf.maximum = maximum
        leaf.guaranteed = guaranteed
    changed = report_amounts(turn, partition, leaf, before)
    if quota.max_applications and quota.max_applications != leaf.max_applications:
        changed = True
        leaf.max_applications = quota.max_applications
    if changed:
        renew_leaf(partition, leaf)
        renew_reservation_classes(partition)


def limit_of(types: ResourceTypes, resource: Resource | None) -> Vector | None:
    """Return a configured maximum, None for an absent or empty one. Implements: QUE-5."""
    if not resource:
        return None
    return vector_of(types.amounts(resource))


def positive_limit_of(types: ResourceTypes, resource: Resource | None) -> Vector | None:
    """Return a configured amount, None if it has no value above zero. Rules: QUE-5, LIM-50."""
    limit = limit_of(types, resource)
    return limit if limit is not None and positive(limit) else None


def amounts_of(queue: Queue) -> QueueAmounts:
    """Return a queue's amounts, for report_amounts to compare with. Rules: EVT-74."""
    return (queue.maximum, queue.guaranteed)


def report_amounts(turn: Turn, partition: Partition, queue: Queue, before: QueueAmounts) -> bool:
    """Emit an event for each changed amount of a queue; return whether there was one.

    Root's maximum is the cluster's size and is reported elsewhere. A type at zero differs from a
    missing one.
    Implements: EVT-67, EVT-68, EVT-74. Rules: QUE-5, EVT-75. Emits: EventRecord.
    """
    maximum, guaranteed = before
    maximum_changed = queue.parent is not None and not same_limit(maximum, queue.maximum)
    if maximum_changed:
        _report_amount(turn, partition, queue, events.QUEUE_MAX, queue.maximum)
    guarantee_changed = not same_limit(guaranteed, queue.guaranteed)
    if guarantee_changed:
        _report_amount(turn, partition, queue, events.QUEUE_GUARANTEED, queue.guaranteed)
    return maximum_changed or guarantee_changed


def _report_amount(
    turn: Turn, partition: Partition, queue: Queue, detail: int, amount: Vector | None
) -> None:
    shown = None if amount is None else partition.types.resource(amount)
    turn.event(partition, events.QUEUE, queue.path, events.SET, detail, resource=shown)


def announce_queues(turn: Turn, partition: Partition, top: Queue) -> None:
    """Emit the events of a new tree, root first, in configuration order.

    A queue whose path existed before goes on with the counts of that one. Implements: EVT-62,
    EVT-71. Rules: MET-27.
    """
    for queue in partition.queues(top):
        partition.queue_count += 1
        queue.counts = turn.cluster.counts.enter(counts_key(partition, queue))
        turn.event(partition, events.QUEUE, queue.path, events.ADD, events.DETAILS_NONE)


def remove_empty_queues(turn: Turn, partition: Partition) -> None:
    """Remove draining and dynamic queues without content, children first.

    Implements: OBJ-5, OBJ-6, QLC-3, QLC-4, EVT-64, EVT-72, PLC-68, PLC-75. Rules: QUE-4.
    """
    partition.settings.cleanup_set = False
    settle(partition)  # a removed queue is in no order any more
    for queue in reversed(partition.queues(partition.root)):
        parent = queue.parent
        kept = queue.managed and queue.state != states.DRAINING
        if kept or parent is None or queue.children or queue.applications:
            continue
        del parent.children[queue.name]
        partition.waiting.shares_stale.pop(queue.path, None)
        partition.queue_count -= 1
        queue.path_up = ()  # it refers to the queue itself
        turn.cluster.counts.leave(counts_key(partition, queue), queue.counts)
        detail = events.DETAILS_NONE if queue.managed else events.QUEUE_DYNAMIC
        turn.event(partition, events.QUEUE, queue.path, events.REMOVE, detail)


def counts_key(partition: Partition, queue: Queue) -> CountsKey:
    """Return the key under which the counts of a queue are kept while it does not exist.

    Rules: MET-27.
    """
    return (partition.rm_id, partition.name, queue.path)


def _learn_types(types: ResourceTypes, template: TemplateConfig) -> None:
    """Register a template's resource types now, while there is room, and not when it is used.

    Rules: RES-1.
    """
    for resource in (template.maximum, template.guaranteed):
        if resource is not None:
            types.amounts(resource)


def _set_limits(types: ResourceTypes, queue: Queue, limits: tuple[LimitConfig, ...]) -> None:
    """Set the limits of users and groups, in order. Implements: LIM-2. Rules: LIM-1, LIM-63."""
    queue.user_limits = {}
    queue.group_limits = {}
    for config in limits:
        limit = Limit(positive_limit_of(types, config.maximum), config.max_applications)
        for user in config.users:
            queue.user_limits[user] = limit
        for group in config.groups:
            queue.group_limits[group] = limit


def _learn(types: ResourceTypes, resource: Resource | None) -> Vector | None:
    """Return a tag's limit; None if it has more types than a partition may have."""
    if resource is None or not types.room_for(resource):
        return None
    return limit_of(types, resource)
