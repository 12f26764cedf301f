"""Checks that queues have the settings of their configuration, also after a reload."""

from __future__ import annotations

from remuda.config.schema import WILDCARD, QueueConfig
from remuda.core.invariants.require import require
from remuda.core.model import states
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import USER, Limit
from remuda.core.model.vectors import Vector, value_of
from remuda.core.policy.properties import inherited, settings


def check_configured(partition: Partition) -> None:
    """Every queue has the settings, limits and amounts of the configuration in force.

    Rules: RLD-3, RLD-21, RLD-22, RLD-23, RLD-24, RLD-25, PRP-7 (Ours), LIM-63.
    """
    _queue(partition, partition.root, partition.settings.config.root)
    for key, tracker in partition.trackers.items():
        kind, name, path = key
        users, groups = tracker.queue.user_limits, tracker.queue.group_limits
        limit = users.get(name, users.get(WILDCARD)) if kind == USER else groups.get(name)
        same = limit is not None and _value(limit) == _value(
            Limit(tracker.maximum, tracker.max_applications)
        )
        require(same, partition, "tracker {} has not the limit of {}", key, path)
        wildcard = kind == USER and name not in users
        require(tracker.wildcard == wildcard, partition, "tracker {} has the limit of another", key)


def _queue(partition: Partition, queue: Queue, config: QueueConfig) -> None:
    """Check one configured queue and all below it."""
    name, parent = f"queue {queue.path}", queue.parent
    known = queue.managed and queue.config is config and queue.state != states.DRAINING
    require(known, partition, "{} was configured by something else", name)
    properties = inherited({} if parent is None else parent.properties, config.properties)
    require(queue.properties == properties, partition, "{} has other properties", name)
    right, kept = settings(properties, queue.leaf), queue.settings
    same = (
        kept.of_applications() == right.of_applications()
        and kept.of_queues() == right.of_queues()
        and kept.preemption_policy == right.preemption_policy
        and kept.quota_preemption_delay_ns == right.quota_preemption_delay_ns
    )
    require(same, partition, "{} goes by settings of other properties", name)
    require(queue.max_applications == config.max_applications, partition, "{} lets others in", name)
    if parent is not None:
        found = (_named(partition, queue.maximum), _named(partition, queue.guaranteed))
        wanted = (config.maximum or None, _above_zero(config))
        require(found == wanted, partition, "{} has the amounts {}, not {}", name, found, wanted)
    users = [user for limit in config.limits for user in limit.users]
    groups = [group for limit in config.limits for group in limit.groups]
    listed = (list(queue.user_limits), list(queue.group_limits))
    wanted_names = (list(dict.fromkeys(users)), list(dict.fromkeys(groups)))
    require(listed == wanted_names, partition, "{} limits {}", name, listed)
    for child in config.queues:
        _queue(partition, queue.children[child.name], child)
    configured = {child.name for child in config.queues}
    for child_name, child_queue in queue.children.items():
        left_out = child_queue.config is not None and child_name not in configured
        require(not left_out, partition, "queue {} is configured no more", child_queue.path)


def _above_zero(config: QueueConfig) -> dict[str, int] | None:
    """Return the guaranteed amounts in effect: None without a value above zero. Rules: QUE-5."""
    amounts = config.guaranteed
    return dict(amounts) if amounts and max(amounts.values()) > 0 else None


def _named(partition: Partition, vector: Vector | None) -> dict[str, int] | None:
    return None if vector is None else dict(partition.types.resource(vector))


def _value(limit: Limit) -> tuple[object, int]:
    return (value_of(limit.maximum), limit.max_applications)
