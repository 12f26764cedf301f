"""The JSON shapes of the REST edge and how views become them.

Each Struct is one schema of openapi.yaml, fields in the order of its golden examples. A field
with a default is left out of the JSON while it has that value (REST-19); a field without one is
always there. Resource maps are plain maps of int64 (REST-18), times Unix nanoseconds (REST-20).
Keys of releases after 1.5.1 are shown beside the older ones (REST-71, REST-78, REST-85).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from remuda.base.scores import abs_used_capacity
from remuda.core.messages.queries import (
    AllocationView,
    ApplicationView,
    NodeView,
    PartitionView,
    QueueView,
    RequestView,
)


class _Shape(msgspec.Struct, omit_defaults=True, rename="camel"):
    """Base of all shapes: camel-case keys, values equal to their default left out."""


def _map() -> dict[str, int]:
    return msgspec.field(default_factory=dict)


class Capacity(_Shape, kw_only=True):
    """PartitionCapacity: all three maps may be missing."""

    capacity: dict[str, int] = _map()
    used_capacity: dict[str, int] = _map()
    utilization: dict[str, int] = _map()


class NodeSortingPolicy(_Shape, kw_only=True):
    """How nodes are ordered: ``fair`` or ``binpacking``, and what each type weighs."""

    type: str
    resource_weights: dict[str, int | float]


class Partition(_Shape, kw_only=True):
    """One partition (REST-67)."""

    cluster_id: str
    name: str
    capacity: Capacity
    node_sorting_policy: NodeSortingPolicy
    total_nodes: int = 0
    applications: dict[str, int]
    total_containers: int = 0
    state: str
    last_state_transition_time: int
    preemption_enabled: bool
    quota_preemption_enabled: bool


class Queue(_Shape, kw_only=True):
    """One queue (REST-70, REST-71)."""

    queue_name: str = msgspec.field(name="queuename")
    status: str
    partition: str
    pending_resource: dict[str, int] = _map()
    max_resource: dict[str, int] = _map()
    guaranteed_resource: dict[str, int] = _map()
    allocated_resource: dict[str, int] = _map()
    preempting_resource: dict[str, int] = _map()
    headroom: dict[str, int] = _map()
    is_leaf: bool
    is_managed: bool
    properties: dict[str, str] = msgspec.field(default_factory=dict)
    parent: str = ""
    children: list[Queue] = msgspec.field(default_factory=list)
    children_names: list[str] = msgspec.field(default_factory=list)
    child_names: list[str] = msgspec.field(default_factory=list)
    abs_used_capacity: dict[str, int] = _map()
    running_apps: int = 0
    current_priority: int
    sorting_policy: str = ""
    priority_sorting: bool
    preemption_enabled: bool
    is_preemption_fence: bool
    is_priority_fence: bool
    priority_offset: int = 0


class Request(_Shape, kw_only=True):
    """One ask with something pending (REST-79)."""

    allocation_key: str
    allocation_tags: dict[str, str] = msgspec.field(default_factory=dict)
    request_time: int = 0
    resource: dict[str, int] = _map()
    pending_count: int = 0
    priority: str = ""
    required_node_id: str = ""
    application_id: str = ""
    partition: str = ""
    originator: bool = False
    scheduling_attempted: bool = False


class Allocation(_Shape, kw_only=True):
    """One allocation (REST-80). ``uuid`` and ``allocationID`` are the same identity."""

    allocation_key: str
    allocation_tags: dict[str, str] = msgspec.field(default_factory=dict)
    request_time: int = 0
    allocation_time: int = 0
    allocation_delay: int = 0
    uuid: str = ""
    allocation_id: str = msgspec.field(default="", name="allocationID")
    resource: dict[str, int] = _map()
    priority: str = ""
    node_id: str = ""
    application_id: str = ""
    partition: str = ""
    originator: bool = False


class StateLogEntry(_Shape, kw_only=True):
    """When an application entered a state."""

    time: int
    application_state: str


class Application(_Shape, kw_only=True):
    """One application (REST-77). ``startTime`` is in milliseconds (REST-78)."""

    application_id: str = msgspec.field(name="applicationID")
    used_resource: dict[str, int] = _map()
    max_used_resource: dict[str, int] = _map()
    pending_resource: dict[str, int] = _map()
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
    state_log: list[StateLogEntry] = msgspec.field(default_factory=list)
    max_request_priority: int = 0
    start_time: int = 0


class Node(_Shape, kw_only=True):
    """One node (REST-85)."""

    node_id: str = msgspec.field(name="nodeID")
    host_name: str = ""
    rack_name: str = ""
    attributes: dict[str, str] = msgspec.field(default_factory=dict)
    capacity: dict[str, int] = _map()
    allocated: dict[str, int] = _map()
    occupied: dict[str, int] = _map()
    available: dict[str, int] = _map()
    utilized: dict[str, int] = _map()
    allocations: list[Allocation] = msgspec.field(default_factory=list)
    schedulable: bool
    is_reserved: bool
    ready: bool


_encoder = msgspec.json.Encoder(order="deterministic")


def encode(shape: object) -> bytes:
    r"""Return JSON with sorted maps, ``<>&`` escaped and one newline at the end (REST-11).

    The three characters can only stand inside strings, so replacing the bytes is safe.
    """
    text = _encoder.encode(shape)
    for plain, escaped in ((b"&", b"\\u0026"), (b"<", b"\\u003c"), (b">", b"\\u003e")):
        text = text.replace(plain, escaped)
    return text + b"\n"


def partition(view: PartitionView) -> Partition:
    """Dress one partition (REST-67, REST-69, REST-131).

    No preemption runs in this version, hence the two flags.
    """
    applications = dict(view.applications)
    applications["total"] = sum(view.applications.values())
    weights = {name: _short(weight) for name, weight in view.node_sort_weights.items()}
    return Partition(
        cluster_id=view.rm_id,
        name=view.name,
        capacity=Capacity(
            capacity=_plain(view.capacity),
            used_capacity=_plain(view.allocated),
            utilization=abs_used_capacity(view.capacity, view.allocated),
        ),
        node_sorting_policy=NodeSortingPolicy(type=view.node_sort_policy, resource_weights=weights),
        total_nodes=view.total_nodes,
        applications=applications,
        total_containers=view.total_containers,
        state=view.state,
        last_state_transition_time=view.state_time_ns,
        preemption_enabled=False,
        quota_preemption_enabled=False,
    )


def queue(view: QueueView, subtree: bool) -> Queue:
    """Dress one queue, with everything below it if ``subtree`` (REST-70 to REST-75).

    The names of the children are always there, under the key of both releases (REST-71). No
    preemption runs in this version, hence its two flags.
    """
    names = [child.path for child in view.children]
    return Queue(
        queue_name=view.path,
        status=view.status,
        partition=view.partition,
        pending_resource=_plain(view.pending),
        max_resource=_plain(view.maximum),
        guaranteed_resource=_plain(view.guaranteed),
        allocated_resource=_plain(view.allocated),
        preempting_resource=_plain(view.preempting),
        headroom=_plain(view.headroom),
        is_leaf=view.leaf,
        is_managed=view.managed,
        properties=dict(view.properties),
        parent=view.parent,
        children=[queue(child, True) for child in view.children] if subtree else [],
        children_names=names,
        child_names=names,
        abs_used_capacity=abs_used_capacity(view.maximum, view.allocated),
        running_apps=view.running_applications,
        current_priority=view.current_priority,
        sorting_policy=view.sort_policy,
        priority_sorting=view.priority_sorting,
        preemption_enabled=False,
        is_preemption_fence=False,
        is_priority_fence=view.priority_fence,
        priority_offset=view.priority_offset,
    )


def application(view: ApplicationView) -> Application:
    """Dress one application (REST-77, REST-78)."""
    return Application(
        application_id=view.application_id,
        used_resource=_plain(view.used),
        max_used_resource=_plain(view.max_used),
        pending_resource=_plain(view.pending),
        partition=view.partition,
        queue_name=view.queue,
        submission_time=view.submission_time_ns,
        finished_time=view.finished_time_ns,
        requests=[_request(request) for request in view.requests],
        allocations=[_allocation(allocation) for allocation in view.allocations],
        application_state=view.state,
        user=view.user,
        groups=list(view.groups),
        rejected_message=view.rejected_message,
        state_log=[
            StateLogEntry(time=time_ns, application_state=state)
            for time_ns, state in view.state_log
        ],
        max_request_priority=view.max_request_priority,
        start_time=view.start_time_ns // 1_000_000,
    )


def node(view: NodeView) -> Node:
    """Dress one node (REST-85). Nothing reserves nodes in this version."""
    advertised = {name: value for name, value in view.capacity.items() if value > 0}
    return Node(
        node_id=view.node_id,
        host_name=view.attributes.get("si/hostname", ""),
        rack_name=view.attributes.get("si/rackname", ""),
        attributes=dict(view.attributes),
        capacity=_plain(view.capacity),
        allocated=_plain(view.allocated),
        occupied=_plain(view.occupied),
        available=_plain(view.available),
        utilized=abs_used_capacity(advertised, view.allocated),
        allocations=[_allocation(allocation) for allocation in view.allocations],
        schedulable=view.schedulable,
        is_reserved=False,
        ready=view.ready,
    )


def _request(view: RequestView) -> Request:
    return Request(
        allocation_key=view.allocation_key,
        allocation_tags=dict(view.tags),
        request_time=view.request_time_ns,
        resource=_plain(view.resource),
        pending_count=view.pending_count,
        priority=str(view.priority),
        required_node_id=view.required_node,
        application_id=view.application_id,
        partition=view.partition,
        originator=view.originator,
        scheduling_attempted=view.scheduling_attempted,
    )


def _allocation(view: AllocationView) -> Allocation:
    requested = view.request_time_ns
    return Allocation(
        allocation_key=view.allocation_key,
        allocation_tags=dict(view.tags),
        request_time=requested,
        allocation_time=view.allocation_time_ns,
        allocation_delay=view.allocation_time_ns - requested if requested else 0,
        uuid=view.allocation_id,
        allocation_id=view.allocation_id,
        resource=_plain(view.resource),
        priority=str(view.priority),
        node_id=view.node_id,
        application_id=view.application_id,
        partition=view.partition,
        originator=view.originator,
    )


def _plain(resource: Mapping[str, int] | None) -> dict[str, int]:
    return dict(resource) if resource else {}


def _short(weight: float) -> int | float:
    """Return a whole weight without its fraction, as the golden examples show it."""
    return int(weight) if float(weight).is_integer() else weight
