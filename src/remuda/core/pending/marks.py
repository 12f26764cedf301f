"""Notes what must be recomputed before the next decision, or at the end of a request.

Nothing is recomputed here. However often a request changes an object, ``ordering.settle`` and the
review of reservations recompute it once.
"""

from __future__ import annotations

from typing import Final

from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue

# How many verdicts a node keeps; beyond that all are forgotten, and the RM is asked again.
VERDICTS_LIMIT: Final = 256


def leaf_changed(partition: Partition, leaf: Queue) -> None:
    """Note that a leaf needs a new sort key among its siblings. Rules: QUE-33, QUE-36, CYC-4."""
    partition.waiting.leaves_to_reorder[leaf.path] = leaf


def node_changed(partition: Partition, node: Node) -> None:
    """Note a node whose reservations must be reviewed: it may, or may not, take the asks now.

    Rules: CYC-20, CYC-22 (Ours).
    """
    if node.reservations:
        partition.reserving.nodes_to_review[node.node_id] = node


def usage_changed(partition: Partition, leaf: Queue) -> None:
    """Note that applications of a leaf use more or less.

    The sort key of the leaf, the fit of reservations and the result of attempts to preempt depend
    on usage.
    Rules: QUE-33, RSV-7, PRE-90.
    """
    partition.waiting.leaves_to_reorder[leaf.path] = leaf
    partition.reserving.stale = True
    partition.preempting.revision += 1


def headroom_changed(partition: Partition) -> None:
    """Note that all reservations must be compared with the headroom again. Rules: RSV-7, RSV-10."""
    partition.reserving.stale = True


def preemption_changed(partition: Partition) -> None:
    """Note that an attempt to preempt may have another result than the last one. Rules: PRE-90."""
    partition.preempting.revision += 1


def keep_verdict(partition: Partition, node: Node, key: str, verdict: str) -> None:
    """Keep a verdict of the RM at a node, under a key of a predicate class.

    Rules: NOD-13, EXT-5.
    """
    if len(node.verdicts) >= VERDICTS_LIMIT:
        node.verdicts.clear()
        partition.pool.changes.note(node)
        node_changed(partition, node)
    node.verdicts[key] = verdict
