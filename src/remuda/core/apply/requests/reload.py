"""Puts a new configuration in force while everything runs (rules: 10 sections 12 and 13).

All obstacles are looked for first, and nothing is changed. Then all partitions are changed, which
cannot fail. Each queue is compared with its earlier configuration, and what depends on a changed
queue is renewed (``changes``, ``limits``). Nothing is decided during a reload, so unchanged queues
must cost almost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from remuda.config.schema import PartitionConfig, QueueConfig
from remuda.core.accounting.renewal import renew_child_orders
from remuda.core.apply.applications.lifecycle import plan_cleanup
from remuda.core.apply.asks.reservations import renew_reservation_classes
from remuda.core.apply.queues.changes import Changes, Settings, Tables, renew_changed
from remuda.core.apply.queues.limits import renew_limits
from remuda.core.apply.queues.quota_changes import QuotasBefore, renew_quotas
from remuda.core.apply.queues.settings import (
    amounts_of,
    announce_queues,
    build_queue,
    configure,
    is_leaf,
    report_amounts,
)
from remuda.core.apply.requests.partitions import (
    build_partition,
    change_partition,
    drain_partition,
    end_partition,
    set_extra,
    set_tracking,
)
from remuda.core.apply.requests.pauses import plan_stop
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import UpdateConfiguration
from remuda.core.messages.effects import ConfigurationAnswered
from remuda.core.model import states
from remuda.core.model.cluster import ResourceManager
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.refusal import Refusal
from remuda.core.model.vectors import TYPES_LIMIT


def update_configuration(turn: Turn, command: UpdateConfiguration) -> None:
    """Apply a configuration to all partitions of an RM, or to none of them.

    Implements: SI-86, RLD-2, RLD-5, RLD-6, RLD-7 (Ours). Rules: SI-85, SI-87, RLD-3, RLD-10, CFG-4,
    CHK-5. Emits: ConfigurationAnswered, EventRecord, and what the end of a partition brings.
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
    """Replace the extra map as a whole. Implements: CFG-4, RM-7, KV-1. Rules: KV-5, EVT-101."""
    manager.extra_config = extra_config
    set_tracking(turn, extra_config)
    for partition in manager.own():
        if set_extra(partition, extra_config):
            renew_child_orders(partition, partition.queues(partition.root))


def _obstacles(manager: ResourceManager, command: UpdateConfiguration) -> list[Refusal]:
    """Return why a configuration cannot be applied to what runs, each with its rule."""
    found: list[Refusal] = []
    for config in command.config.partitions:
        partition = manager.partitions.get(config.name)
        if partition is not None:
            names: set[str] = set()
            _find_obstacles(partition.root, config.root, found, names)
            if not partition.types.room_for(names):
                text = f"partition {config.name} would have more than {TYPES_LIMIT} resource types"
                found.append(Refusal(text, "RES-1"))
    return found


def _find_obstacles(
    queue: Queue | None, config: QueueConfig, found: list[Refusal], names: set[str]
) -> None:
    """Add to ``found`` what keeps a queue, or one below it, from becoming a parent.

    Add the configured resource types to ``names``. ``queue``: None if it does not exist yet. A
    queue that already has this very record was checked when it got it. Implements: RLD-26. Rules:
    RES-1.
    """
    if queue is not None:
        if queue.config is config:
            return
        if queue.applications and not is_leaf(config, queue.parent):
            count = len(queue.applications)
            text = f"queue {queue.path} cannot become a parent while it has {count} applications"
            found.append(Refusal(text, "RLD-26"))
    _add_type_names(config, names)
    for child in config.queues:
        existing = None if queue is None else queue.children.get(child.name)
        _find_obstacles(existing, child, found, names)


def _add_type_names(config: QueueConfig, names: set[str]) -> None:
    """Add the resource types that a configured queue names."""
    if config.maximum:
        names.update(config.maximum)
    if config.guaranteed:
        names.update(config.guaranteed)
    for limit in config.limits:
        names.update(limit.maximum or ())
    if config.template is not None:
        names.update(config.template.maximum or (), config.template.guaranteed or ())


def _apply(turn: Turn, manager: ResourceManager, command: UpdateConfiguration) -> None:
    """Change, add and remove partitions. Implements: RLD-3, RLD-10. Rules: OBJ-9."""
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
    """Change one partition in place.

    Implements: RLD-4. Rules: RLD-30, PAR-2, PAR-3, PAR-4, PRE-64.
    """
    quotas = QuotasBefore(partition)
    preemption = partition.settings.config.preemption != config.preemption
    change_partition(partition, config)
    changes = Changes()
    _change_queue(turn, partition, partition.root, config.root, changes, inherits=False)
    renew_limits(turn, partition, changes.limits)
    renew_changed(partition, changes, preemption=preemption)
    renew_reservation_classes(partition)
    renew_quotas(turn, partition, quotas)


def _change_queue(
    turn: Turn,
    partition: Partition,
    queue: Queue,
    config: QueueConfig,
    changes: Changes,
    *,
    inherits: bool,
) -> None:
    """Change one queue and all below it. ``inherits``: properties of its parent changed.

    A queue that has this very record needs no change, and neither do the queues below it. A queue
    that left the configuration has no record, and its parent's record was replaced then.

    Implements: RLD-20, RLD-27, RLD-29, OBJ-7. Rules: chapter 10 section 12, OBJ-2.
    """
    known = queue.config
    if known is config and not inherits:
        return
    if inherits or known is None or not _alike(known, config):
        properties = queue.properties
        _change_settings(turn, partition, queue, config, changes)
        inherits = properties != queue.properties
    else:
        queue.config = config
    for child in config.queues:
        existing = queue.children.get(child.name)
        if existing is None:
            _add(turn, partition, build_queue(partition.types, child, queue), changes)
        else:
            _change_queue(turn, partition, existing, child, changes, inherits=inherits)
    if len(config.queues) == len(queue.children):
        return
    configured = {child.name for child in config.queues}
    for name, child_queue in queue.children.items():
        if name not in configured:
            _drain(turn, partition, child_queue, changes)


def _alike(known: QueueConfig, config: QueueConfig) -> bool:
    """Whether two configurations agree on one queue, apart from the queues below it."""
    return (
        known.maximum == config.maximum
        and known.guaranteed == config.guaranteed
        and known.max_applications == config.max_applications
        and known.properties == config.properties
        and known.limits == config.limits
        and known.submit_acl == config.submit_acl
        and known.admin_acl == config.admin_acl
        and known.template == config.template
        and known.parent == config.parent
        and bool(known.queues) == bool(config.queues)
    )


def _change_settings(
    turn: Turn, partition: Partition, queue: Queue, config: QueueConfig, changes: Changes
) -> None:
    """Change one queue and emit events for what changed.

    Implements: RLD-21, RLD-22, RLD-24, RLD-25, EVT-69. Rules: chapter 10 section 12, EVT-74.
    """
    was_leaf, amounts, before = queue.leaf, amounts_of(queue), Settings(queue)
    configure(partition.types, queue, config)
    changes.note(queue, before)
    partition.renew_shares(queue)
    report_amounts(turn, partition, queue, amounts)
    if was_leaf != queue.leaf:
        text = f"leaf queue: {'true' if queue.leaf else 'false'}"
        turn.event(partition, events.QUEUE, queue.path, events.SET, events.QUEUE_TYPE, message=text)


def _add(turn: Turn, partition: Partition, top: Queue, changes: Changes) -> None:
    """Emit events for a new queue, all queues below it, and their limits. Rules: RLD-20, EVT-83."""
    announce_queues(turn, partition, top)
    partition.renew_shares(top)
    for queue in partition.queues(top):
        changes.note_limits(queue, ({}, {}))


def _drain(turn: Turn, partition: Partition, queue: Queue, changes: Changes) -> None:
    """Drain a queue that is no longer configured, and all such queues below; remove its limits.

    Implements: RLD-28, OBJ-2. Rules: LIM-63.
    """
    if queue.managed:
        tables: Tables = (queue.user_limits, queue.group_limits)
        queue.config = None
        queue.state = states.OBJECT[queue.state, states.REMOVE]
        queue.user_limits = {}
        queue.group_limits = {}
        changes.note_limits(queue, tables)
        plan_cleanup(turn, partition, queue)
        partition.renew_shares(queue)
    for child in queue.children.values():
        _drain(turn, partition, child, changes)
