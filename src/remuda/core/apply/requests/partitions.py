"""Builds partitions from their configuration and takes removed ones down (rules: PAR, OBJ-9).

A partition that is no longer configured is unknown to its RM at once. Timers end its content in
small portions, so that other partitions are scheduled meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.config.schema import PartitionConfig
from remuda.config.settings import read_settings
from remuda.core.apply.queues.limits import announce_limits
from remuda.core.apply.queues.settings import announce_queues, build_queue, counts_key
from remuda.core.apply.requests.nodes import remove_node
from remuda.core.apply.requests.releases import fail_application
from remuda.core.apply.requests.teardown import take_apart
from remuda.core.apply.turn import Turn
from remuda.core.model import deadlines, states
from remuda.core.model.cluster import ResourceManager
from remuda.core.model.nodes.node_order import NodeOrder
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import ResourceTypes
from remuda.core.pending.changes import node_order_changed
from remuda.core.pending.marks import headroom_changed
from remuda.core.policy.node_score import effective_weights, score_weights, scorer

PARTITION_REMOVED: Final = "PartitionRemoved"

# Applications or nodes ended at a time, and the pause between.
PORTION: Final = 128
PAUSE_NS: Final = 1_000_000


def build_partition(turn: Turn, manager: ResourceManager, config: PartitionConfig) -> Partition:
    """Build a partition from its configuration.

    Implements: PAR-2. Rules: PAR-1, NOD-17, QUE-1, EVT-71.
    """
    types = ResourceTypes()
    root = build_queue(types, config.root, None)
    order = NodeOrder(scorer(config.node_sort_policy))
    partition = Partition(manager.record.rm_id, config, types, root, order)
    partition.calendar = turn.cluster.calendar
    partition.state_ns = turn.now_ns
    partition.totals = turn.cluster.counts.totals
    partition.resting = manager.resting()
    partition.settings.predicates = manager.predicates
    partition.settings.preemption_predicates = manager.preemption_predicates
    partition.settings.reservation_delay_ns = turn.cluster.reservation_delay_ns
    partition.settings.set_limits(turn.cluster.limits)
    set_extra(partition, manager.extra_config)
    partition.settings.node_sort_weights = effective_weights(config.node_sort_weights)
    announce_queues(turn, partition, root)
    announce_limits(turn, partition)
    return partition


def set_extra(partition: Partition, extra_config: Mapping[str, str]) -> bool:
    """Put the settings of the extra map in force; return whether queues must be ordered anew.

    Implements: KV-5. Rules: KV-1, RSV-10 (Ours), SI-69, APP-30.
    """
    settings, _ = read_settings(extra_config)
    if partition.settings.reservation_limit_ns != settings.reservation_limit_ns:
        partition.settings.reservation_limit_ns = settings.reservation_limit_ns
        headroom_changed(partition)
        for reservation in partition.reserving.reservations.values():
            reservation.timed = False
    partition.settings.confirm_timeout_ns = settings.rm_confirm_timeout_ns
    partition.settings.enforce_timeouts = settings.enforce_execution_timeout
    changed = partition.settings.parity != settings.parity
    partition.settings.parity = settings.parity
    return changed


def set_tracking(turn: Turn, extra_config: Mapping[str, str]) -> None:
    """Start or stop making event records, for all RMs. Implements: EVT-101. Rules: EVT-12, RM-7."""
    settings, _ = read_settings(extra_config)
    turn.cluster.tracking = settings.event_tracking


def change_partition(partition: Partition, config: PartitionConfig) -> None:
    """Put all settings of a partition in force, except those of its queues.

    The nodes are ordered anew if their order changed. The orders that applications chose depend on
    the weights only.
    Implements: PAR-3, PLC-13, RLD-30, NOD-21. Rules: PAR-2, RLD-4, NOD-23, RSV-4.
    """
    policy = partition.settings.config.node_sort_policy
    partition.settings.set_config(config)
    weights = effective_weights(config.node_sort_weights)
    reweighted = partition.settings.node_sort_weights != weights
    if policy == config.node_sort_policy and not reweighted:
        return
    if reweighted:
        partition.settings.node_sort_weights = weights
        for node in partition.nodes.values():
            node.weights = score_weights(node, partition.types, weights)
        for own in partition.pool.node_orders:
            partition.pool.node_orders[own].end()
            partition.pool.node_orders[own] = _node_order(partition, own)
    partition.pool.node_order.end()
    partition.pool.node_order = _node_order(partition, config.node_sort_policy)
    node_order_changed(partition, own=reweighted)


def use_node_order(partition: Partition, policy: str) -> None:
    """Make the node order of a policy that an application chose, if there is none.

    Implements: NOD-23.
    """
    if policy and policy not in partition.pool.node_orders:
        partition.pool.node_orders[policy] = _node_order(partition, policy)


def _node_order(partition: Partition, policy: str) -> NodeOrder:
    order = NodeOrder(scorer(policy))
    for node in partition.nodes.values():
        if node.is_open():
            order.put(node)
    return order


def drain_partition(turn: Turn, manager: ResourceManager, partition: Partition) -> None:
    """Take a partition away from its RM and begin to end its content. Implements: OBJ-9, SI-87."""
    del manager.partitions[partition.name]
    manager.leaving.append(partition)
    change_state(turn, partition, states.REMOVE)
    partition.preempting.quotas.disarm_all()
    turn.set_timer(partition, deadlines.QUEUES, 0)


def change_state(turn: Turn, partition: Partition, event: str) -> bool:
    """Send an event to a partition's state machine; False: refused, nothing changed.

    Implements: OBJ-8, OBJ-10.
    """
    entered = states.OBJECT.get((partition.state, event))
    if entered is None:
        return False
    if entered != partition.state:
        partition.state = entered
        partition.state_ns = turn.now_ns
    return True


def end_partition(turn: Turn, partition: Partition) -> None:
    """End all content of a partition at once, because a partition with its name is added again.

    Otherwise effects about the old one could be taken for the new one. Rules: OBJ-9, SI-87.
    """
    while turn.cluster.has(partition):
        go_on_draining(turn, partition)


def go_on_draining(turn: Turn, partition: Partition) -> None:
    """End the next portion of a removed partition, and drop the partition when it is empty.

    Implements: RLD-9 (Ours). Rules: OBJ-9. Emits: EventRecord, ApplicationUpdated,
    AllocationsReleased.
    """
    left = PORTION
    for application in list(partition.applications.values())[:left]:
        fail_application(turn, partition, application, PARTITION_REMOVED)
        left -= 1
    if not partition.applications:
        for node in list(partition.nodes.values())[:left]:
            remove_node(turn, partition, node)
    if partition.applications or partition.nodes:
        turn.set_timer(partition, deadlines.QUEUES, PAUSE_NS)
    else:
        turn.cluster.managers[partition.rm_id].leaving.remove(partition)
        keep_counts(turn, partition)
        turn.cluster.deadlines.forget([partition])
        take_apart(partition)


def keep_counts(turn: Turn, partition: Partition) -> None:
    """Keep the counts of a removed partition; allocations that still run count as released.

    Rules: MET-16 (Ours), MET-27.
    """
    for application in partition.applications.values():
        leaf = application.queue
        leaf.counts.released += len(application.allocations)
        for allocation in application.allocations.values():
            partition.totals.released += not allocation.release_type
    for queue in partition.queues(partition.root):
        turn.cluster.counts.leave(counts_key(partition, queue), queue.counts)


def keep_counts_after_fault(turn: Turn, partition: Partition) -> None:
    """Keep the counts of a partition whose state may be wrong: all that came is released.

    Rules: SI-15, MET-27.
    """
    for queue in partition.queues(partition.root):
        counts = queue.counts
        partition.totals.released += max(0, counts.allocated - counts.released)
        counts.released = counts.allocated
        turn.cluster.counts.leave(counts_key(partition, queue), counts)
