"""Read-only questions to the scheduler and the records that answer them.

A view is a copy of one moment: later changes do not show in it. Resource maps hold the types that
were ever set, sorted by name; None means "not set". Lists are sorted by ID, path or name (REST-20).
Times are Unix nanoseconds, 0 means never.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.config.schema import Configuration, PlacementRuleConfig, TemplateConfig
from remuda.core.messages.application_queries import (
    ApplicationIndex,
    ApplicationQueries,
    AskOrder,
    LiveIds,
    PendingView,
    Submissions,
)
from remuda.core.messages.application_views import AllocationView, ApplicationView
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.health_queries import HealthQuery, HealthView
from remuda.core.messages.holdings import HoldingsQuery, HoldingView
from remuda.core.messages.measures import (
    NodeMeasures,
    NodeMeasuresQuery,
    QueueMeasuresPage,
    QueueMeasuresQuery,
    TotalsQuery,
    TotalsView,
)
from remuda.core.messages.node_queries import (
    NodeLoadsQuery,
    NodeLoadsView,
    NodeQuery,
    UtilisationQuery,
    UtilisationView,
)
from remuda.core.messages.preemption_queries import (
    EvictionsQuery,
    EvictionView,
    PreemptionsQuery,
    PreemptionView,
)
from remuda.core.messages.rows import (
    ApplicationRowsQuery,
    NodeRowsQuery,
    PartitionRowsQuery,
    Rows,
    WaitingAsks,
)
from remuda.core.messages.self_audit import SelfAuditQuery, SelfAuditView
from remuda.core.messages.share_queries import FairSharesQuery, FairShareView
from remuda.core.messages.trace_queries import (
    AskTraceQuery,
    AskTraceView,
    ConfigurationInForceQuery,
)


@message
class PartitionsQuery:
    """All partitions of all RMs -> tuple[PartitionView, ...], by (name, RM ID)."""


@message
class QueuesQuery:
    """The queue tree of one partition -> QueueView of root, or None if unknown.

    ``rm_id`` empty: the first RM by ID that has the partition (REST-21).
    """

    partition: str
    rm_id: str = ""


@message
class NodesQuery:
    """The nodes of one partition -> tuple[NodeView, ...], or None if it is unknown."""

    partition: str
    rm_id: str = ""


@message
class ApplicationsQuery:
    """The live applications of one queue -> tuple[ApplicationView, ...].

    None: no such partition. An empty ``queue``: every queue of the partition. A path that
    names no queue: UnknownQueue. A parent queue has no applications (REST-76).
    """

    partition: str
    queue: str = ""
    rm_id: str = ""


@message
class PlacementRulesQuery:
    """The placement rules in force in one partition -> tuple[PlacementRuleConfig, ...] (PLC-16).

    The implicit recovery rule is not among them. None: no such partition.
    """

    partition: str
    rm_id: str = ""


@message
class UsageQuery:
    """Usage and limits of users or groups -> tuple[UsageView, ...], by name.

    None: no such partition.
    """

    partition: str
    groups: bool = False
    rm_id: str = ""


@message
class AccessQuery:
    """Whether a user may submit to a queue, or administer it -> AccessView (ACL-10, ACL-11).

    None: no such partition. The queue need not exist: its nearest existing ancestor decides.
    """

    partition: str
    queue: str
    user: str
    groups: tuple[str, ...] = ()
    admin: bool = False
    rm_id: str = ""


@message
class ConfigurationsQuery:
    """The configuration in force of each RM -> tuple[ConfigurationView, ...], by RM ID."""


@message
class AskPortionQuery:
    """Some asks of an application as they are now -> Rows[RequestView], in the order of ``chosen``.

    ``chosen``: some of ``waiting.asks``. Asks that no longer wait are left out.
    """

    waiting: WaitingAsks[RequestView]
    chosen: tuple[object, ...]


# Queries about one partition.
PartitionQuery: TypeAlias = (
    QueuesQuery
    | NodesQuery
    | NodeRowsQuery
    | ApplicationsQuery
    | ApplicationRowsQuery
    | PartitionRowsQuery
    | PlacementRulesQuery
    | UsageQuery
    | AccessQuery
    | UtilisationQuery
    | PreemptionsQuery
    | EvictionsQuery
    | NodeQuery
    | NodeLoadsQuery
    | AskTraceQuery
    | FairSharesQuery
    | ApplicationQueries
)

# Queries about the whole scheduler, for its metrics.
MeasuresQuery: TypeAlias = TotalsQuery | QueueMeasuresQuery | NodeMeasuresQuery

Query: TypeAlias = (
    PartitionsQuery
    | ConfigurationsQuery
    | ConfigurationInForceQuery
    | PartitionQuery
    | AskPortionQuery
    | HoldingsQuery
    | HealthQuery
    | SelfAuditQuery
    | MeasuresQuery
)


@message
class PartitionView:
    """One partition (REST-67). ``applications``: state name -> count, rejected ones included."""

    rm_id: str
    name: str
    state: str
    state_time_ns: int
    capacity: Resource | None
    allocated: Resource
    node_sort_policy: str
    node_sort_weights: Mapping[str, float]
    total_nodes: int
    total_containers: int
    reservations: int
    applications: Mapping[str, int]
    preemption: bool
    quota_preemption: bool
    user_group_resolver: str
    placeholders: int = 0


@message
class QueueView:
    """One queue with its children (REST-70, REST-71).

    ``max_applications`` 0: not limited. ``template``: the nearest one upwards, None for a leaf or
    without one (TPL-5). ``preemption_policy``: ``default``, ``fence`` or ``disabled``;
    ``quota_preemption_delay_ns`` 0: off.
    """

    path: str
    partition: str
    status: str
    leaf: bool
    managed: bool
    parent: str
    pending: Resource
    allocated: Resource
    preempting: Resource
    maximum: Resource | None
    guaranteed: Resource | None
    headroom: Resource | None
    properties: Mapping[str, str]
    running_applications: int
    max_applications: int
    template: TemplateConfig | None
    current_priority: int
    sort_policy: str
    priority_sorting: bool
    priority_fence: bool
    priority_offset: int
    preemption_policy: str
    preemption_delay_ns: int
    quota_preemption_delay_ns: int
    children: tuple[QueueView, ...]


@message
class ForeignAllocationView:
    """An allocation on a node by another scheduler (CYC-29). ``preemptable`` False: static."""

    allocation_key: str
    tags: Mapping[str, str]
    allocation_time_ns: int
    resource: Resource
    priority: int
    node_id: str
    preemptable: bool


@message
class NodeView:
    """One node (REST-85). ``reservations``: (application ID, allocation key), oldest first.

    ``drained_by_operator``: an operator keeps it from being schedulable (EXT-176).
    """

    node_id: str
    partition: str
    attributes: Mapping[str, str]
    capacity: Resource
    allocated: Resource
    occupied: Resource
    available: Resource
    schedulable: bool
    ready: bool
    allocations: tuple[AllocationView, ...]
    reservations: tuple[tuple[str, str], ...]
    foreign: tuple[ForeignAllocationView, ...]
    drained_by_operator: bool = False


@message
class PartitionRows:
    """One partition at one moment; the sums of its queues, applications and nodes agree (DMP-15).

    ``queues``: the root queue with all below it. ``rules``: the answer to a PlacementRulesQuery.
    """

    partition: PartitionView
    queues: Rows[QueueView]
    applications: Rows[ApplicationView]
    nodes: Rows[NodeView]
    rules: tuple[PlacementRuleConfig, ...]


@message
class QueueUsageView:
    """The usage of one user or group in and below one queue (REST-63).

    ``used`` None: there was never any usage. ``applications``: the counted ones, sorted.
    ``maximum`` None and ``max_applications`` 0: not limited; a user's limit may be the wildcard's
    (REST-66).
    """

    path: str
    used: Resource | None
    applications: tuple[str, ...]
    maximum: Resource | None
    max_applications: int
    children: tuple[QueueUsageView, ...]


@message
class UsageView:
    """One user or group that has usage, counted applications or a limit of its own (REST-65).

    ``applications``: application ID -> group it is tracked under; only linked applications.
    """

    name: str
    applications: Mapping[str, str]
    queues: QueueUsageView


@message
class AccessView:
    """The answer to an AccessQuery."""

    allowed: bool


@message
class ConfigurationView:
    """The configuration in force of one RM. ``text``: as it was read (CHK-1, RM-4, RM-7)."""

    rm_id: str
    policy_group: str
    text: str
    checksum: str
    extra_config: Mapping[str, str]


class UnknownQueue:
    """Answer to an ApplicationsQuery whose path names no queue."""


View: TypeAlias = (
    tuple[PartitionView, ...]
    | QueueView
    | tuple[NodeView, ...]
    | Rows[NodeView]
    | tuple[ApplicationView, ...]
    | Rows[ApplicationView]
    | Rows[RequestView]
    | PartitionRows
    | tuple[PreemptionView, ...]
    | tuple[EvictionView, ...]
    | tuple[HoldingView, ...]
    | tuple[PlacementRuleConfig, ...]
    | tuple[UsageView, ...]
    | tuple[ConfigurationView, ...]
    | Configuration
    | AccessView
    | UtilisationView
    | NodeLoadsView
    | ApplicationIndex
    | LiveIds
    | Submissions
    | tuple[PendingView, ...]
    | AskOrder
    | AskTraceView
    | tuple[FairShareView, ...]
    | TotalsView
    | QueueMeasuresPage
    | NodeMeasures
    | UnknownQueue
    | HealthView
    | SelfAuditView
    | None
)
