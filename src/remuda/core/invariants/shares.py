"""Checks what shares of queues are divided by (rules: QUE-38, RES-52).

Only queues that a change concerns get new divisors, so a change that tells nobody shows here.
"""

from __future__ import annotations

from remuda.core.invariants.require import require
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Vector
from remuda.core.policy.shares import divisors, fair_maximum


def check_shares(partition: Partition) -> None:
    """What is known of shares is what the settings now in force give. Rules: QUE-38, RES-52."""
    if partition.shares_stale:
        return
    fair: dict[str, Vector | None] = {}
    for queue in partition.queues(partition.root):
        above = None if queue.parent is None else fair[queue.parent.path]
        fair[queue.path] = fair_maximum(queue, above)
        wanted = divisors(queue, fair[queue.path])
        text = f"shares of {queue.path} are of {queue.divisors}, not {wanted}"
        require(queue.divisors in (None, wanted), partition, text)
