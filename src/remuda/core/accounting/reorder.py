"""Works orders out again after a change that may concern everything: a new configuration."""

from __future__ import annotations

from remuda.core.accounting.lanes import wake
from remuda.core.accounting.standing import reshow_priorities, update_application
from remuda.core.model.partition import Partition


def wake_all(partition: Partition) -> None:
    """Let every lane that was set aside be looked at again. Rules: RLD-21, LIM-63."""
    for leaf in partition.leaves():
        for lane in list(leaf.lanes.values()):
            if lane.parked:
                wake(partition, lane)


def renew_orders(partition: Partition) -> None:
    """Put applications and queues where the settings now in force want them.

    Rules: QUE-21 (Ours), QUE-30 (Ours), RLD-23.
    """
    for application in partition.applications.values():
        if application.queue is not None:
            update_application(application)
    reshow_priorities(partition)
    partition.shares_stale = True
