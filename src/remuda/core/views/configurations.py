"""Answers questions about the configuration: texts in force, and access to queues."""

from __future__ import annotations

from remuda.config.schema import RECOVERY_QUEUE
from remuda.core.messages.queries import AccessQuery, AccessView, ConfigurationView
from remuda.core.model.cluster import Cluster
from remuda.core.model.partition import Partition
from remuda.core.policy.access import may_administer, may_submit
from remuda.core.policy.placement import nearest


def configuration_views(cluster: Cluster) -> tuple[ConfigurationView, ...]:
    """Return the configuration in force of each RM, by RM ID. Rules: RM-4, RM-7, CHK-1, KV-1."""
    return tuple(
        [
            ConfigurationView(
                rm_id=rm_id,
                policy_group=manager.record.policy_group,
                text=manager.config.text,
                checksum=manager.config.checksum,
                extra_config=dict(sorted(manager.extra_config.items())),
            )
            for rm_id, manager in sorted(cluster.managers.items())
        ]
    )


def access_view(partition: Partition, query: AccessQuery) -> AccessView:
    """Return whether a user may submit to, or administer, a queue or its nearest ancestor.

    Rules: ACL-10, ACL-11, ACL-12, ACL-13.
    """
    path = query.queue.lower()
    queue, _ = nearest(partition, path)
    if query.admin:
        return AccessView(may_administer(queue, query.user, query.groups))
    reachable = not f"{path}.".startswith(f"{RECOVERY_QUEUE}.")
    return AccessView(reachable and may_submit(queue, query.user, query.groups))
