"""Answers every query: finds its partition, and builds the view it asks for."""

from __future__ import annotations

from typing import assert_never

from remuda.config.schema import RECOVERY_QUEUE
from remuda.core.messages.application_queries import (
    ApplicationIndexQuery,
    ApplicationPortionQuery,
    ApplicationQueries,
    ApplicationQuery,
    AskOrderQuery,
    LiveIdsQuery,
    PendingPortionQuery,
    SubmissionsQuery,
)
from remuda.core.messages.health_queries import (
    ApplicationAuditQuery,
    BalanceQuery,
    NodeAuditQuery,
    PartitionCountsQuery,
)
from remuda.core.messages.holdings import HoldingsQuery
from remuda.core.messages.measures import (
    NodeMeasures,
    NodeMeasuresQuery,
    QueueMeasuresPage,
    QueueMeasuresQuery,
    TotalsQuery,
    TotalsView,
)
from remuda.core.messages.node_queries import NodeLoadsQuery, NodeQuery, UtilisationQuery
from remuda.core.messages.preemption_queries import EvictionsQuery, PreemptionsQuery
from remuda.core.messages.queries import (
    AccessQuery,
    AccessView,
    ApplicationsQuery,
    AskPortionQuery,
    ConfigurationsQuery,
    ConfigurationView,
    NodesQuery,
    PartitionQuery,
    PartitionRows,
    PartitionsQuery,
    PlacementRulesQuery,
    Query,
    QueuesQuery,
    UsageQuery,
    View,
)
from remuda.core.messages.rows import ApplicationRowsQuery, NodeRowsQuery, PartitionRowsQuery
from remuda.core.messages.self_audit import SelfAuditQuery
from remuda.core.messages.share_queries import FairSharesQuery
from remuda.core.messages.trace_queries import AskTraceQuery, ConfigurationInForceQuery
from remuda.core.model.cluster import Cluster
from remuda.core.model.partition import Partition
from remuda.core.policy.access import may_administer, may_submit
from remuda.core.policy.placement import nearest
from remuda.core.views.applications import application_rows, application_views, rows_beside
from remuda.core.views.audits import audit
from remuda.core.views.chosen_applications import application_portion, one_application
from remuda.core.views.fair_shares import fair_share_views
from remuda.core.views.holdings import holding_views
from remuda.core.views.indexes import (
    application_index,
    ask_order,
    live_ids,
    pending_portion,
    submissions,
)
from remuda.core.views.measures import node_measures, queue_measures, totals_view
from remuda.core.views.nodes import (
    NotedNodes,
    node_loads,
    node_rows,
    node_views,
    one_node,
    utilisation_view,
)
from remuda.core.views.partitions import (
    find_partition,
    partition_view,
    partition_views,
)
from remuda.core.views.preemptions import eviction_views, preemption_views
from remuda.core.views.queues import queue_rows, queue_view
from remuda.core.views.self_audit.answers import self_audit
from remuda.core.views.traces.trace import ask_trace
from remuda.core.views.usage import usage_views


def answer(cluster: Cluster, query: Query) -> View:
    """Answer a read-only question with frozen records; None if its partition is unknown.

    Rules: REST-21, REST-76, MET-1.
    """
    if isinstance(query, PartitionsQuery):
        return partition_views(cluster)
    if isinstance(query, ConfigurationsQuery):
        return _configurations(cluster)
    if isinstance(query, ConfigurationInForceQuery):
        manager = cluster.managers.get(query.rm_id)
        return None if manager is None else manager.config
    if isinstance(
        query, PartitionCountsQuery | BalanceQuery | NodeAuditQuery | ApplicationAuditQuery
    ):
        return audit(cluster, query)
    if isinstance(query, SelfAuditQuery):
        return self_audit(cluster, query)
    if isinstance(query, TotalsQuery | QueueMeasuresQuery | NodeMeasuresQuery):
        return _measures(cluster, query)
    if isinstance(query, AskPortionQuery):
        return query.waiting.note(query.chosen)
    partition = find_partition(cluster, query.partition, query.rm_id)
    if partition is None:
        return None
    if isinstance(query, HoldingsQuery):
        return holding_views(partition, query)
    return _answer(partition, query)


def _measures(
    cluster: Cluster, query: TotalsQuery | QueueMeasuresQuery | NodeMeasuresQuery
) -> TotalsView | QueueMeasuresPage | NodeMeasures:
    if isinstance(query, TotalsQuery):
        return totals_view(cluster)
    if isinstance(query, QueueMeasuresQuery):
        return queue_measures(cluster, query)
    return node_measures(cluster, query)


def _answer(partition: Partition, query: PartitionQuery) -> View:
    if isinstance(query, QueuesQuery):
        return queue_view(partition)
    if isinstance(
        query, NodesQuery | NodeRowsQuery | PartitionRowsQuery | NodeQuery | NodeLoadsQuery
    ):
        return _nodes(partition, query)
    if isinstance(query, ApplicationsQuery | ApplicationRowsQuery):
        return _applications(partition, query)
    if isinstance(query, UsageQuery):
        return usage_views(partition, groups=query.groups)
    if isinstance(query, AccessQuery):
        return _access(partition, query)
    if isinstance(query, PlacementRulesQuery):
        return partition.settings.config.placement_rules
    if isinstance(query, UtilisationQuery):
        return utilisation_view(partition)
    if isinstance(query, PreemptionsQuery):
        return preemption_views(partition, query)
    if isinstance(query, EvictionsQuery):
        return eviction_views(partition, query)
    return _answer_more(partition, query)


def _answer_more(
    partition: Partition,
    query: AskTraceQuery | FairSharesQuery | ApplicationQueries,
) -> View:
    if isinstance(query, AskTraceQuery):
        return ask_trace(partition, query)
    if isinstance(query, FairSharesQuery):
        return fair_share_views(partition, query)
    if isinstance(query, ApplicationQuery):
        return one_application(partition, query)
    if isinstance(query, LiveIdsQuery):
        return live_ids(partition, query.queue)
    if isinstance(query, SubmissionsQuery):
        return submissions(partition)
    if isinstance(query, ApplicationIndexQuery):
        return application_index(partition, query)
    if isinstance(query, ApplicationPortionQuery):
        return application_portion(partition, query)
    if isinstance(query, PendingPortionQuery):
        return pending_portion(partition, query)
    if isinstance(query, AskOrderQuery):
        return ask_order(partition, query.application_id)
    assert_never(query)


def _all(partition: Partition) -> PartitionRows:
    """Return everything in a partition at this moment. Rules: DMP-15, DMP-17."""
    nodes = NotedNodes(partition, sorted(partition.nodes))
    return PartitionRows(
        partition_view(partition),
        queue_rows(partition),
        rows_beside(nodes, partition),
        nodes.rows(),
        partition.settings.config.placement_rules,
    )


def _nodes(
    partition: Partition,
    query: NodesQuery | NodeRowsQuery | PartitionRowsQuery | NodeQuery | NodeLoadsQuery,
) -> View:
    if isinstance(query, NodeQuery):
        return one_node(partition, query.node_id)
    if isinstance(query, NodeLoadsQuery):
        return node_loads(partition)
    if isinstance(query, PartitionRowsQuery):
        return _all(partition)
    return node_views(partition) if isinstance(query, NodesQuery) else node_rows(partition)


def _applications(partition: Partition, query: ApplicationsQuery | ApplicationRowsQuery) -> View:
    if isinstance(query, ApplicationsQuery):
        return application_views(partition, query.queue)
    return application_rows(partition, query.queue)


def _configurations(cluster: Cluster) -> tuple[ConfigurationView, ...]:
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


def _access(partition: Partition, query: AccessQuery) -> AccessView:
    """Return whether a user may submit to, or administer, a queue or its nearest ancestor.

    Rules: ACL-10, ACL-11, ACL-12, ACL-13.
    """
    path = query.queue.lower()
    queue, _ = nearest(partition, path)
    if query.admin:
        return AccessView(may_administer(queue, query.user, query.groups))
    reachable = not f"{path}.".startswith(f"{RECOVERY_QUEUE}.")
    return AccessView(reachable and may_submit(queue, query.user, query.groups))
