"""Checks the divisors of queues' shares (rules: QUE-38, RES-52).

Only queues that a change concerns get new divisors, so a change that was not reported is found
here. A queue that is in no order may have no divisors.
"""

from __future__ import annotations

from remuda.core.invariants.require import require
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector, same_limit
from remuda.core.policy.shares import divisors, fair_maximum


def check_shares(partition: Partition) -> None:
    """Known divisors are those of the settings now in force. Rules: QUE-38, RES-52."""
    if partition.waiting.shares_stale:
        return
    fair: dict[str, Vector | None] = {}
    for queue in partition.queues(partition.root):
        above = None if queue.parent is None else fair[queue.parent.path]
        fair[queue.path] = fair_maximum(queue, above)
        if queue.divisors is None:
            _check_unknown(partition, queue)
            continue
        wanted = divisors(queue, fair[queue.path])
        text = f"shares of {queue.path} are of {queue.divisors}, not {wanted}"
        require(queue.divisors == wanted, partition, text)
        same = same_limit(queue.fair_maximum, fair[queue.path])
        require(same, partition, f"the fair maximum of {queue.path} is another one")


def _check_unknown(partition: Partition, queue: Queue) -> None:
    """A queue without divisors is in no order, and neither are the queues below it."""
    placed = queue.parent is not None and queue.parent.child_order.sort_data(queue.name) is not None
    require(not placed, partition, f"{queue.path} is in an order, but its shares are not known")
    below = [child.name for child in queue.children.values() if child.divisors is not None]
    text = f"shares of {queue.path} are not known, but those of {below} below it are"
    require(not below, partition, text)
