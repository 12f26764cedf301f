"""Read-only questions to the scheduler and the records that answer them.

A view is a copy: it stays true for the moment it was taken, whatever happens next. Resource
maps hold the types that were ever set, sorted by name; None means "not set". Lists are sorted
by ID, path or name (REST-20). Times are Unix nanoseconds, 0 means never.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.config.schema import PlacementRuleConfig, TemplateConfig
from remuda.core.messages.application_queries import (
    ApplicationIndex,
    ApplicationQueries,
    AskOrder,
    LiveIds,
    PendingView,
)
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
    PreemptorView,
)
from remuda.core.messages.rows import (
    ApplicationRowsQuery,
    NodeRowsQuery,
    PartitionRowsQuery,
    Rows,
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
    """The rules in force in one partition -> tuple[PlacementRuleConfig, ...] (PLC-16).

    The implicit recovery rule is not among them. None: no such partition.
    """

    partition: str
    rm_id: str = ""


@message
class UsageQuery:
    """What users or groups use and may use -> tuple[UsageView, ...], by name (REST-63 to REST-66).

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
    """What each RM was configured with -> tuple[ConfigurationView, ...], by RM ID."""


# Those that name one partition.
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
    | ApplicationQueries
)

# Those about the whole scheduler, for its metrics.
MeasuresQuery: TypeAlias = TotalsQuery | QueueMeasuresQuery | NodeMeasuresQuery

Query: TypeAlias = (
    PartitionsQuery
    | ConfigurationsQuery
    | PartitionQuery
    | HoldingsQuery
    | HealthQuery
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
    where there is none (TPL-5). ``preemption_policy``: ``default``, ``fence`` or ``disabled``;
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
class NodeTallyView:
    """Why each node of a partition did not take an ask: every node counts once.

    ``draining``: not schedulable. ``reserved``: closed by a reservation. ``too_small``: the total
    does not hold the ask. ``no_room``: what is available does not. ``refused``: by predicates, with
    ``reasons`` as (text, nodes), sorted. A node is counted under the first of these that applies.
    """

    total: int
    draining: int
    reserved: int
    too_small: int
    no_room: int
    refused: int
    reasons: tuple[tuple[str, int], ...] = ()


@message
class FindingView:
    """Why an ask is not placed (CYC-12, REST-120); found out at ``last_ns``, and true since.

    ``gate``: one of the names in messages.gates. ``subject``: what is in the way: a queue path,
    ``user NAME at PATH``, ``group NAME at PATH`` or a node ID. ``available``: what is left there,
    of the types that are limited; amounts and nodes are those of ``last_ns``. ``since_ns``: when it
    was first found that the ask must wait; ``looks``: how often in a row this was found to be the
    reason. ``until_ns``: when it is tried again at the latest, 0 if nobody knows. ``preemption``:
    why no room was taken from others for it, "" if that was not tried (PRE-58).
    """

    gate: str
    subject: str
    requested: Resource
    available: Resource | None
    nodes: NodeTallyView | None
    since_ns: int
    last_ns: int
    looks: int
    until_ns: int = 0
    preemption: str = ""


@message
class LogEntryView:
    """How often a request failed for one reason, and when last (CYC-24)."""

    message: str
    last_ns: int
    count: int


@message
class RequestView:
    """One ask that still has something pending (REST-79). ``task_group`` "": of no gang.

    ``log``: by message. ``finding`` None: it was not looked at yet. ``reservations``: node IDs,
    oldest reservation first. ``preemption``: the number of the preemption that stands for it, 0 for
    none (PRE-6, PRE-89).
    """

    allocation_key: str
    tags: Mapping[str, str]
    request_time_ns: int
    resource: Resource
    pending_count: int
    priority: int
    required_node: str
    application_id: str
    partition: str
    originator: bool
    scheduling_attempted: bool
    triggered_scale_up: bool
    log: tuple[LogEntryView, ...]
    finding: FindingView | None
    reservations: tuple[str, ...]
    task_group: str = ""
    placeholder: bool = False
    execution_timeout_ms: int = 0
    preemption: int = 0


@message
class AllocationView:
    """One allocation (REST-80).

    ``placeholder_used``: it took the place of a placeholder, which was allocated at
    ``placeholder_request_time_ns`` (GANG-17, REST-80). ``ordered``: why it was ordered out and is
    not confirmed yet, a TerminationType, 0 if it was not (SI-69). ``replacement``: the allocation
    that waits for the end of this placeholder (GANG-14). ``preemption``: the number of the
    preemption whose victim it is, 0 for none (PRE-34); ``preempted_by``: more about that one.
    """

    allocation_key: str
    allocation_id: str
    tags: Mapping[str, str]
    request_time_ns: int
    allocation_time_ns: int
    resource: Resource
    priority: int
    node_id: str
    application_id: str
    partition: str
    originator: bool
    task_group: str = ""
    placeholder: bool = False
    placeholder_used: bool = False
    placeholder_request_time_ns: int = 0
    ordered: int = 0
    replacement: str = ""
    preemption: int = 0
    preempted_by: PreemptorView | None = None


@message
class PlaceholderView:
    """One task group of a gang application (GANG-35).

    ``minimum``: the size of the first placeholder seen. ``count``: distinct members asked for or
    recovered; ``replaced``: confirmed swaps; ``timed_out``: members that went otherwise.
    """

    task_group: str
    minimum: Resource
    count: int
    replaced: int
    timed_out: int


@message
class ApplicationView:
    """One application (REST-77). ``state_log``: (time, state) pairs, oldest first.

    ``used``: real allocations; ``placeholder``: those that only keep room. ``placeholder_data``: by
    task group. ``placeholder_deadline_ns``: when the reservation times out, 0: no timer (GANG-20).
    ``backoff_deadline_ns``: until when none of its asks is tried (CYC-33), 0: they are.
    ``preemptions``: the numbers of those its asks caused, ``evictions``: of those that took
    allocations of it, oldest first, as far as they are known still (PRE-91). ``used_seconds`` and
    the two after it: what its allocations that ended have used, by instance type, as amounts times
    seconds: of all but the others, of victims of preemption, of placeholders (RES-57).
    """

    application_id: str
    partition: str
    queue: str
    user: str
    groups: tuple[str, ...]
    state: str
    submission_time_ns: int
    finished_time_ns: int
    start_time_ns: int
    used: Resource
    max_used: Resource
    pending: Resource
    rejected_message: str
    max_request_priority: int
    state_log: tuple[tuple[int, str], ...]
    backoff_deadline_ns: int
    requests: Sequence[RequestView]
    allocations: Sequence[AllocationView]
    placeholder: Resource = field(default_factory=dict)
    placeholder_deadline_ns: int = 0
    placeholder_data: tuple[PlaceholderView, ...] = ()
    preemptions: tuple[int, ...] = ()
    evictions: tuple[int, ...] = ()
    used_seconds: Mapping[str, Resource] = field(default_factory=dict)
    preempted_seconds: Mapping[str, Resource] = field(default_factory=dict)
    placeholder_seconds: Mapping[str, Resource] = field(default_factory=dict)


@message
class ForeignAllocationView:
    """Something on a node that is not ours (CYC-29). ``preemptable`` False: static."""

    allocation_key: str
    tags: Mapping[str, str]
    allocation_time_ns: int
    resource: Resource
    priority: int
    node_id: str
    preemptable: bool


@message
class NodeView:
    """One node (REST-85). ``reservations``: (application ID, allocation key), oldest first."""

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


@message
class PartitionRows:
    """One partition at one moment: the sums of its queues, applications and nodes agree (DMP-15).

    ``queues``: the root queue with all below it. ``rules``: as the answer to a PlacementRulesQuery.
    """

    partition: PartitionView
    queues: Rows[QueueView]
    applications: Rows[ApplicationView]
    nodes: Rows[NodeView]
    rules: tuple[PlacementRuleConfig, ...]


@message
class QueueUsageView:
    """What one user or group uses in and below one queue (REST-63).

    ``used`` None: nothing was ever used. ``applications``: the counted ones, sorted. ``maximum``
    None and ``max_applications`` 0: not limited; a user's may come from the wildcard (REST-66).
    """

    path: str
    used: Resource | None
    applications: tuple[str, ...]
    maximum: Resource | None
    max_applications: int
    children: tuple[QueueUsageView, ...]


@message
class UsageView:
    """One user or group with usage, with counted applications or with a limit of its own (REST-65).

    ``applications``: application ID -> group it is tracked under, linked applications only.
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
    | PartitionRows
    | tuple[PreemptionView, ...]
    | tuple[EvictionView, ...]
    | tuple[HoldingView, ...]
    | tuple[PlacementRuleConfig, ...]
    | tuple[UsageView, ...]
    | tuple[ConfigurationView, ...]
    | AccessView
    | UtilisationView
    | NodeLoadsView
    | ApplicationIndex
    | LiveIds
    | tuple[PendingView, ...]
    | AskOrder
    | TotalsView
    | QueueMeasuresPage
    | NodeMeasures
    | UnknownQueue
    | HealthView
    | None
)
