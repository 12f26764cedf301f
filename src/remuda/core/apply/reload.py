"""Puts a new configuration in force while everything runs (rules: 10 sections 12 and 13).

First everything that could stand in the way is looked for, without changing anything; then all
partitions are changed, which cannot fail. Queues are compared with what configured them, and what
depends on one that changed is renewed (``changes``, ``limits``). That takes as long as there is to
renew, and nothing is decided meanwhile, so what did not change has to cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from remuda.config.schema import PartitionConfig, QueueConfig
from remuda.core.accounting.renewal import renew_child_orders
from remuda.core.apply.changes import Changes, Settings, Tables, renew_changed
from remuda.core.apply.lifecycle import plan_cleanup
from remuda.core.apply.limits import renew_limits
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
            renew_child_orders(partition, partition.queues(partition.root))


def _obstacles(manager: ResourceManager, command: UpdateConfiguration) -> list[tuple[str, str]]:
    """Return why a configuration cannot be applied to what runs, each with its rule."""
    found: list[tuple[str, str]] = []
    for config in command.config.partitions:
        partition = manager.partitions.get(config.name)
        if partition is not None:
            names: set[str] = set()
            _find_obstacles(partition.root, config.root, found, names)
            if not partition.types.room_for(names):
                text = f"partition {config.name} would have more than {TYPES_LIMIT} resource types"
                found.append((text, "RES-1"))
    return found


def _find_obstacles(
    queue: Queue | None, config: QueueConfig, found: list[tuple[str, str]], names: set[str]
) -> None:
    """Add what keeps a queue, or one below it, from becoming a parent, to ``found``.

    And the resource types that are configured to ``names``. ``queue``: None where it does not exist
    yet. One that has this very record was looked at when it got it. Rules: RLD-26, RES-1.
    """
    if queue is not None:
        if queue.config is config:
            return
        if queue.applications and not is_leaf(config, queue.parent):
            count = len(queue.applications)
            text = f"queue {queue.path} cannot become a parent while it has {count} applications"
            found.append((text, "RLD-26"))
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
    preemption = partition.config.preemption != config.preemption
    change_partition(partition, config)
    changes = Changes()
    _change_queue(turn, partition, partition.root, config.root, changes, inherits=False)
    renew_limits(turn, partition, changes.limits)
    renew_changed(partition, changes, preemption=preemption)
    renew_claims(partition)
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

    A queue that has this very record is as it says, and so are all below it: one that left the
    configuration has no record, and that of its parent was replaced by then.

    Rules: RLD-20 to RLD-29, OBJ-2, OBJ-7.
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
    """Whether two configurations say the same of one queue, whatever they say of those below."""
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
    """Change one queue and tell what changed. Rules: RLD-21 to RLD-27, EVT-69, EVT-74."""
    was_leaf, amounts, before = queue.leaf, amounts_of(queue), Settings(queue)
    configure(partition.types, queue, config)
    changes.note(queue, before)
    partition.renew_shares(queue)
    tell_amounts(turn, partition, queue, amounts)
    if was_leaf != queue.leaf:
        text = f"leaf queue: {'true' if queue.leaf else 'false'}"
        turn.event(partition, events.QUEUE, queue.path, events.SET, events.QUEUE_TYPE, message=text)


def _add(turn: Turn, partition: Partition, top: Queue, changes: Changes) -> None:
    """Tell of a new queue and all below it; their limits are new, too. Rules: RLD-20, EVT-83."""
    announce_queues(turn, partition, top)
    partition.renew_shares(top)
    for queue in partition.queues(top):
        changes.note_limits(queue, ({}, {}))


def _drain(turn: Turn, partition: Partition, queue: Queue, changes: Changes) -> None:
    """Mark a queue that is configured no more, with all such below it; its limits are gone.

    Rules: RLD-28, OBJ-2, LIM-63.
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
