"""Says which class queue is served next (rules: CYC-10, CYC-19)."""

from __future__ import annotations

from collections.abc import Mapping

from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue


def head(partition: Partition) -> ClassQueue:
    """Walk to the class queue that is served next in the regular pass.

    A leaf that was a parent serves its draining children before its own applications.

    Implements: CYC-10. Rules: RLD-27.
    """
    queue = partition.root
    while queue.children:
        if queue.leaf and not queue.child_order.ready:
            break
        queue = queue.children[queue.child_order.first(partition.waiting.scale)]
    return queue.class_queues[queue.ready.first()]


def urgent_head(partition: Partition) -> ClassQueue:
    """Walk to the class queue that is served next in the reserved pass.

    Implements: CYC-19. Rules: RLD-27.
    """
    leaf = first_leaf(partition, partition.waiting.urgent)
    return leaf.class_queues[leaf.urgent.first()]


def first_leaf(partition: Partition, leaves: Mapping[str, Queue]) -> Queue:
    """Walk to the leaf among some that is served next.

    The leaves are few, so at each level only the queues above them are compared.

    Implements: QUE-39. Rules: CYC-19, CYC-23, RLD-27.
    """
    leads: dict[str, dict[str, None]] = {}
    for leaf in leaves.values():
        for queue in leaf.path_up:
            if queue.parent is not None:
                leads.setdefault(queue.parent.path, {})[queue.name] = None
    queue = partition.root
    while queue.path in leads:
        queue = queue.children[
            queue.child_order.first_among(leads[queue.path], partition.waiting.scale)
        ]
    return queue
