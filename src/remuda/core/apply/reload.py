"""Puts a new configuration in force while everything runs (rules: 10 sections 12 and 13).

First everything that could stand in the way is looked for, without changing anything; then all
partitions are changed, which cannot fail. What a change of limits or order means for waiting asks
is not worked out case by case: every application gets a new account, and what was set aside is
tried again.
"""

from __future__ import annotations

from collections.abc import Mapping

from remuda.config.schema import PartitionConfig, QueueConfig
from remuda.core.accounting.renewal import renew_orders
from remuda.core.apply.lifecycle import plan_cleanup
from remuda.core.apply.limits import LimitsBefore, renew_limits
from remuda.core.apply.partitions import (
    build_partition,
    change_partition,
    drain_partition,
    end_partition,
    set_extra,
    set_tracking,
)
from remuda.core.apply.pauses import plan_stop
from remuda.core.apply.queues import (
    amounts_of,
    announce_queues,
    build_queue,
    configure,
    is_leaf,
    tell_amounts,
)
from remuda.core.apply.quota_changes import QuotasBefore, renew_quotas
from remuda.core.apply.reservations import renew_claims
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import UpdateConfiguration
from remuda.core.messages.effects import ConfigurationAnswered
from remuda.core.model import states
from remuda.core.model.cluster import ResourceManager
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import TYPES_LIMIT


def update_configuration(turn: Turn, command: UpdateConfiguration) -> None:
    """Apply a configuration to all partitions of an RM, or to none of them.

    Rules: SI-85, SI-86, SI-87, RLD-2, RLD-3, RLD-5 to RLD-7 (Ours), RLD-10, CFG-4, CHK-5.
    Emits: ConfigurationAnswered, EventRecord, and what the end of a partition brings.
    """
    manager = turn.cluster.managers[command.rm_id]
    current = manager.config.checksum
    same = current != "" and current == command.config.checksum
    problems = [] if same else _obstacles(manager, command)
    if problems:
        reason, rule = problems[0]
        texts = tuple([text for text, _ in problems])
        turn.emit(ConfigurationAnswered(command.rm_id, reason, rule, texts))
        return
    if not command.dry_run:
        if command.extra_config is not None:
            _set_extra(turn, manager, command.extra_config)
            plan_stop(manager)
        if not same:
            _apply(turn, manager, command)
    turn.emit(ConfigurationAnswered(command.rm_id, ""))


def _set_extra(turn: Turn, manager: ResourceManager, extra_config: Mapping[str, str]) -> None:
    """Replace the extra map as a whole. Rules: CFG-4, RM-7, KV-1, KV-5, EVT-101."""
    manager.extra_config = extra_config
    set_tracking(turn, extra_config)
    for partition in manager.own():
        if set_extra(partition, extra_config):
            renew_orders(partition)


def _obstacles(manager: ResourceManager, command: UpdateConfiguration) -> list[tuple[str, str]]:
    """Return why a configuration cannot be applied to what runs, each with its rule."""
    found: list[tuple[str, str]] = []
    for config in command.config.partitions:
        partition = manager.partitions.get(config.name)
        if partition is not None:
            found += _queue_obstacles(partition.root, config.root)
            if not partition.types.room_for(_type_names(config.root)):
                text = f"partition {config.name} would have more than {TYPES_LIMIT} resource types"
                found.append((text, "RES-1"))
    return found


def _queue_obstacles(queue: Queue, config: QueueConfig) -> list[tuple[str, str]]:
    """Return what keeps a queue, or one below it, from becoming a parent. Rules: RLD-26."""
    found: list[tuple[str, str]] = []
    if queue.applications and not is_leaf(config, queue.parent):
        count = len(queue.applications)
        text = f"queue {queue.path} cannot become a parent while it has {count} applications"
        found.append((text, "RLD-26"))
    for child in config.queues:
        existing = queue.children.get(child.name)
        if existing is not None:
            found += _queue_obstacles(existing, child)
    return found


def _type_names(config: QueueConfig) -> set[str]:
    """Return the resource types that a configured queue or one below it names."""
    names = {*(config.maximum or ()), *(config.guaranteed or ())}
    for limit in config.limits:
        names.update(limit.maximum or ())
    if config.template is not None:
        names.update(config.template.maximum or (), config.template.guaranteed or ())
    for child in config.queues:
        names |= _type_names(child)
    return names


def _apply(turn: Turn, manager: ResourceManager, command: UpdateConfiguration) -> None:
    """Change, add and remove partitions. Rules: RLD-3, RLD-10, OBJ-9."""
    manager.config = command.config
    wanted = {config.name for config in command.config.partitions}
    for config in command.config.partitions:
        partition = manager.partitions.get(config.name)
        if partition is None:
            for old in [each for each in manager.leaving if each.name == config.name]:
                end_partition(turn, old)
            manager.partitions[config.name] = build_partition(turn, manager, config)
        else:
            _change(turn, partition, config)
    for name in [name for name in manager.partitions if name not in wanted]:
        drain_partition(turn, manager, manager.partitions[name])


def _change(turn: Turn, partition: Partition, config: PartitionConfig) -> None:
    """Change one partition in place. Rules: RLD-4, RLD-30, PAR-2, PAR-3, PAR-4, PRE-64."""
    quotas = QuotasBefore(partition)
    change_partition(partition, config)
    before = LimitsBefore(partition)
    _change_queue(turn, partition, partition.root, config.root)
    renew_limits(turn, partition, before)
    renew_orders(partition)
    renew_claims(partition)
    renew_quotas(turn, partition, quotas)


def _change_queue(turn: Turn, partition: Partition, queue: Queue, config: QueueConfig) -> None:
    """Change one queue and all below it. Rules: RLD-20 to RLD-29, OBJ-2, OBJ-7."""
    _change_settings(turn, partition, queue, config)
    for child in config.queues:
        existing = queue.children.get(child.name)
        if existing is None:
            announce_queues(turn, partition, build_queue(partition.types, child, queue))
        else:
            _change_queue(turn, partition, existing, child)
    configured = {child.name for child in config.queues}
    for name, child_queue in queue.children.items():
        if name not in configured:
            _drain(turn, partition, child_queue)


def _change_settings(turn: Turn, partition: Partition, queue: Queue, config: QueueConfig) -> None:
    """Change one queue and tell what changed. Rules: RLD-21 to RLD-27, EVT-69, EVT-74."""
    was_leaf, before = queue.leaf, amounts_of(queue)
    configure(partition.types, queue, config)
    tell_amounts(turn, partition, queue, before)
    if was_leaf != queue.leaf:
        text = f"leaf queue: {'true' if queue.leaf else 'false'}"
        turn.event(partition, events.QUEUE, queue.path, events.SET, events.QUEUE_TYPE, message=text)


def _drain(turn: Turn, partition: Partition, queue: Queue) -> None:
    """Mark a queue that is configured no more, with all such below it; its limits are gone.

    Rules: RLD-28, OBJ-2, LIM-63.
    """
    if queue.managed:
        queue.state = states.OBJECT[queue.state, states.REMOVE]
        queue.user_limits = {}
        queue.group_limits = {}
        plan_cleanup(turn, partition, queue)
    for child in queue.children.values():
        _drain(turn, partition, child)
