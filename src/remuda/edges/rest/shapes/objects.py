"""The JSON shapes of the REST edge.

Each Struct is one schema of openapi.yaml, fields in the order of its golden examples. A field
with a default is left out of the JSON while it has that value (REST-19); a field without one is
always there, as those that front ends use without a look have to be. Resource maps are
plain maps of int64 (REST-18), times Unix nanoseconds (REST-20). Keys of releases after 1.5.1 are
shown beside the older ones (REST-71, REST-78, REST-85).
Implements: REST-18, REST-19, REST-143.
"""

from __future__ import annotations

import msgspec

from remuda.edges.questions.shapes import NodeSummary, Shape, amounts


class Capacity(Shape, kw_only=True):
    """PartitionCapacity: all three maps may be missing."""

    capacity: dict[str, int] = amounts()
    used_capacity: dict[str, int] = amounts()
    utilization: dict[str, int] = amounts()


class NodeSortingPolicy(Shape, kw_only=True):
    """How nodes are ordered: ``fair`` or ``binpacking``, and what each type weighs."""

    type: str
    resource_weights: dict[str, int | float]


class Partition(Shape, kw_only=True):
    """One partition (REST-67)."""

    cluster_id: str
    name: str
    capacity: Capacity
    node_sorting_policy: NodeSortingPolicy
    total_nodes: int
    applications: dict[str, int]
    total_containers: int
    state: str
    last_state_transition_time: int
    preemption_enabled: bool
    quota_preemption_enabled: bool


class QueueTemplate(Shape, kw_only=True):
    """What dynamic leaves below a queue take over (REST-70)."""

    max_applications: int = 0
    max_resource: dict[str, int] = amounts()
    guaranteed_resource: dict[str, int] = amounts()
    properties: dict[str, str] = msgspec.field(default_factory=dict)


class Queue(Shape, kw_only=True):
    """One queue (REST-70, REST-71)."""

    queue_name: str = msgspec.field(name="queuename")
    status: str
    partition: str
    pending_resource: dict[str, int] = amounts()
    max_resource: dict[str, int] = amounts()
    guaranteed_resource: dict[str, int] = amounts()
    allocated_resource: dict[str, int] = amounts()
    preempting_resource: dict[str, int] = amounts()
    headroom: dict[str, int] = amounts()
    is_leaf: bool
    is_managed: bool
    properties: dict[str, str] = msgspec.field(default_factory=dict)
    parent: str = ""
    template: QueueTemplate | None = None
    children: list[Queue] = msgspec.field(default_factory=list)
    children_names: list[str] = msgspec.field(default_factory=list)
    child_names: list[str] = msgspec.field(default_factory=list)
    abs_used_capacity: dict[str, int] = amounts()
    max_running_apps: int = 0
    running_apps: int = 0
    current_priority: int
    sorting_policy: str = ""
    priority_sorting: bool
    preemption_enabled: bool
    is_preemption_fence: bool
    is_priority_fence: bool
    preemption_delay: str = ""
    quota_preemption_delay: str = ""
    priority_offset: int = 0


class LogEntry(Shape, kw_only=True):
    """How often an ask failed for one reason, and when last (REST-79, REST-81)."""

    message: str = ""
    last_occurrence: int = 0
    count: int = 0


class Finding(Shape, kw_only=True):
    """What an ask waits for (REST-127).

    ``requested``: where that is not the resource of the ask.

    ``available``: left out where the gate is no question of amounts.
    """

    gate: str
    subject: str = ""
    requested: dict[str, int] = amounts()
    available: dict[str, int] | None = None
    nodes: NodeSummary | None = None
    since: int
    last_occurrence: int
    count: int = 0
    until: int = 0
    preemption: str = ""


class Request(Shape, kw_only=True):
    """One ask with something pending (REST-79); the last two keys are ours (REST-127)."""

    allocation_key: str
    allocation_tags: dict[str, str] = msgspec.field(default_factory=dict)
    request_time: int = 0
    resource: dict[str, int] = amounts()
    pending_count: int = 0
    priority: str = ""
    required_node_id: str = ""
    application_id: str = ""
    partition: str = ""
    placeholder: bool = False
    placeholder_timeout: int = 0
    task_group_name: str = ""
    allocation_log: list[LogEntry] = msgspec.field(default_factory=list)
    triggered_preemption: bool = False
    originator: bool = False
    scheduling_attempted: bool = False
    triggered_scale_up: bool = False
    preemption: int = 0
    finding: Finding | None = None


class PreemptedBy(Shape, kw_only=True):
    """The ask or quota that an allocation was preempted for (REST-127). A quota has no ask."""

    number: int
    kind: str
    application_id: str = ""
    allocation_key: str = ""
    queue_name: str


class Allocation(Shape, kw_only=True):
    """One allocation (REST-80). ``uuid`` and ``allocationID`` are the same identity.

    ``preemptedBy`` is ours (REST-127).
    """

    allocation_key: str
    allocation_tags: dict[str, str] = msgspec.field(default_factory=dict)
    request_time: int = 0
    allocation_time: int = 0
    allocation_delay: int = 0
    uuid: str = ""
    allocation_id: str = msgspec.field(default="", name="allocationID")
    resource: dict[str, int] = amounts()
    priority: str = ""
    node_id: str = ""
    application_id: str = ""
    partition: str = ""
    placeholder: bool = False
    placeholder_used: bool = False
    task_group_name: str = ""
    preempted: bool = False
    originator: bool = False
    preempted_by: PreemptedBy | None = None


class PlaceholderData(Shape, kw_only=True):
    """One task group of an application (REST-77, GANG-35)."""

    task_group_name: str = ""
    count: int = 0
    min_resource: dict[str, int] = amounts()
    replaced: int = 0
    timedout: int = 0


class StateLogEntry(Shape, kw_only=True):
    """When an application entered a state."""

    time: int
    application_state: str


class ResourceHistory(Shape, kw_only=True):
    """Instance type -> resource type -> resource-seconds of what ended (REST-78, RES-57)."""

    resource_usage: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    preempted_resource: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    placeholder_resource: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)


class Application(Shape, kw_only=True):
    """One application (REST-77). ``startTime`` is in milliseconds (REST-78).

    The last two keys are ours: numbers of preemptions (REST-127).
    """

    application_id: str = msgspec.field(name="applicationID")
    used_resource: dict[str, int] = amounts()
    max_used_resource: dict[str, int] = amounts()
    pending_resource: dict[str, int] = amounts()
    partition: str
    queue_name: str
    submission_time: int
    finished_time: int = 0
    requests: list[Request] = msgspec.field(default_factory=list)
    allocations: list[Allocation] = msgspec.field(default_factory=list)
    application_state: str
    user: str
    groups: list[str] = msgspec.field(default_factory=list)
    rejected_message: str = ""
    state_log: list[StateLogEntry]
    placeholder_data: list[PlaceholderData] = msgspec.field(default_factory=list)
    has_reserved: bool = False
    reservations: list[str] = msgspec.field(default_factory=list)
    max_request_priority: int = 0
    start_time: int = 0
    resource_history: ResourceHistory | None = None
    backoff_deadline: str = ""
    preemptions: list[int] = msgspec.field(default_factory=list)
    evictions: list[int] = msgspec.field(default_factory=list)


class ForeignAllocation(Shape, kw_only=True):
    """What others run on a node (REST-85, CYC-29)."""

    allocation_key: str
    allocation_tags: dict[str, str] = msgspec.field(default_factory=dict)
    allocation_time: int = 0
    resource: dict[str, int] = amounts()
    priority: str = ""
    node_id: str = ""
    preemptable: bool = False


class Node(Shape, kw_only=True):
    """One node (REST-85, EXT-176)."""

    node_id: str = msgspec.field(name="nodeID")
    host_name: str = ""
    rack_name: str = ""
    attributes: dict[str, str]
    capacity: dict[str, int] = amounts()
    allocated: dict[str, int] = amounts()
    occupied: dict[str, int] = amounts()
    available: dict[str, int] = amounts()
    utilized: dict[str, int] = amounts()
    allocations: list[Allocation] = msgspec.field(default_factory=list)
    foreign_allocations: list[ForeignAllocation] = msgspec.field(default_factory=list)
    schedulable: bool
    is_reserved: bool
    reservations: list[str] = msgspec.field(default_factory=list)
    ready: bool
    drained_by_operator: bool = False


class ValidateConfResponse(Shape, kw_only=True):
    """Whether a configuration is right, and if not why (REST-61)."""

    allowed: bool
    reason: str = ""
