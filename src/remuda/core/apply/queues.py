"""Gives queues their settings: configured ones, dynamic ones, and limits that tags bring.

Builds the tree of a configuration, and removes queues that have to go.
"""

from __future__ import annotations

from typing import TypeAlias

from remuda.base.resources import Resource
from remuda.config.schema import LimitConfig, QueueConfig, TemplateConfig
from remuda.core.accounting.renewal import renew_leaf
from remuda.core.accounting.standing import settle
from remuda.core.apply.reservations import renew_claims
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model import states
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Access, Queue
from remuda.core.model.tally import TallyKey
from remuda.core.model.trackers import Limit
from remuda.core.model.vectors import ResourceTypes, Vector, positive, same_limit, vector_of
from remuda.core.policy.properties import inherited, nearest_template, settings
from remuda.core.policy.tag_quota import TagQuota

# Maximum and guarantee of a queue.
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

    It goes on if it was draining; one that was stopped stays so. What the configuration it had
    until now says alike is not worked out again: a reload may concern thousands.
    Rules: QUE-5, QUE-6, QUE-20, PRP-7 (Ours), RLD-21 to RLD-25, RLD-29, TPL-5, LIM-8 (Ours), OBJ-2.
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
    """Whether a part of a configuration is not what it was; mostly it is the very same record."""
    return old is not new and old != new


def _set_properties(queue: Queue, config: QueueConfig, *, known: bool) -> None:
    """Take over whether a queue is a leaf, its properties, and what they mean.

    ``known``: it is configured already. Reading what properties mean is most of the work, so those
    that stay are not read again.
    Rules: CFG-46, QUE-18, QUE-20, PRP-7 (Ours).
    """
    parent = queue.parent
    leaf = is_leaf(config, parent)
    properties = inherited({} if parent is None else parent.properties, config.properties)
    if not known or leaf != queue.leaf or properties != queue.properties:
        queue.settings = settings(properties, leaf)
    queue.leaf = leaf
    queue.properties = properties


def configure_dynamic(types: ResourceTypes, queue: Queue, parent: Queue) -> None:
    """Give a dynamic queue its settings, a leaf those of the template.

    Rules: TPL-4, TPL-5, PRP-4 (Ours), PLC-66.
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
        renew_claims(partition)


def limit_of(types: ResourceTypes, resource: Resource | None) -> Vector | None:
    """Return a configured maximum; an absent or empty one is none. Rules: QUE-5."""
    if not resource:
        return None
    return vector_of(types.amounts(resource))


def positive_limit_of(types: ResourceTypes, resource: Resource | None) -> Vector | None:
    """Return a configured amount that is none without a value above zero. Rules: QUE-5, LIM-50."""
    limit = limit_of(types, resource)
    return limit if limit is not None and positive(limit) else None


def amounts_of(queue: Queue) -> QueueAmounts:
    """Return what tell_amounts compares with later. Rules: EVT-74."""
    return (queue.maximum, queue.guaranteed)


def tell_amounts(turn: Turn, partition: Partition, queue: Queue, before: QueueAmounts) -> bool:
    """Tell which of a queue's amounts are not what they were; whether any is.

    Root's maximum is the cluster's and told elsewhere. A type at zero is not one that is missing.
    Rules: QUE-5, EVT-67, EVT-68, EVT-74, EVT-75. Emits: EventRecord.
    """
    maximum, guaranteed = before
    maximum_changed = queue.parent is not None and not same_limit(maximum, queue.maximum)
    if maximum_changed:
        _tell_amount(turn, partition, queue, events.QUEUE_MAX, queue.maximum)
    guarantee_changed = not same_limit(guaranteed, queue.guaranteed)
    if guarantee_changed:
        _tell_amount(turn, partition, queue, events.QUEUE_GUARANTEED, queue.guaranteed)
    return maximum_changed or guarantee_changed


def _tell_amount(
    turn: Turn, partition: Partition, queue: Queue, detail: int, amount: Vector | None
) -> None:
    shown = None if amount is None else partition.types.resource(amount)
    turn.event(partition, events.QUEUE, queue.path, events.SET, detail, resource=shown)


def announce_queues(turn: Turn, partition: Partition, top: Queue) -> None:
    """Emit the events of a new tree, root first, in configuration order.

    Queues that were there before go on with their counts. Rules: EVT-62, EVT-71, MET-27.
    """
    for queue in partition.queues(top):
        queue.tally = turn.cluster.tallies.enter(tally_key(partition, queue))
        turn.event(partition, events.QUEUE, queue.path, events.ADD, events.DETAILS_NONE)


def remove_empty_queues(turn: Turn, partition: Partition) -> None:
    """Remove draining and dynamic queues without content, children first.

    Rules: OBJ-5, OBJ-6, QLC-3, QLC-4, QUE-4, EVT-64, EVT-72.
    """
    partition.cleanup_set = False
    settle(partition)  # what goes is in no order any more
    for queue in reversed(partition.queues(partition.root)):
        parent = queue.parent
        kept = queue.managed and queue.state != states.DRAINING
        if kept or parent is None or queue.children or queue.applications:
            continue
        del parent.children[queue.name]
        queue.path_up = ()  # it names the queue itself, which would stay until garbage is collected
        turn.cluster.tallies.leave(tally_key(partition, queue), queue.tally)
        detail = events.DETAILS_NONE if queue.managed else events.QUEUE_DYNAMIC
        turn.event(partition, events.QUEUE, queue.path, events.REMOVE, detail)


def tally_key(partition: Partition, queue: Queue) -> TallyKey:
    """Return under what the counts of a queue are kept while it is gone. Rules: MET-27."""
    return (partition.rm_id, partition.name, queue.path)


def _learn_types(types: ResourceTypes, template: TemplateConfig) -> None:
    """Learn a template's types now, while there is room, and not when it is used. Rules: RES-1."""
    for resource in (template.maximum, template.guaranteed):
        if resource is not None:
            types.amounts(resource)


def _set_limits(types: ResourceTypes, queue: Queue, limits: tuple[LimitConfig, ...]) -> None:
    """Take over the limits of users and groups, in order. Rules: LIM-1, LIM-2, LIM-63."""
    queue.user_limits = {}
    queue.group_limits = {}
    for config in limits:
        limit = Limit(positive_limit_of(types, config.maximum), config.max_applications)
        for user in config.users:
            queue.user_limits[user] = limit
        for group in config.groups:
            queue.group_limits[group] = limit


def _learn(types: ResourceTypes, resource: Resource | None) -> Vector | None:
    """Return a tag's limit; one with more types than a partition may have means nothing."""
    if resource is None or not types.room_for(resource):
        return None
    return limit_of(types, resource)
