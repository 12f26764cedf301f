"""How views become the JSON of the REST edge.

Each view of the core becomes a shape, a record with the fields of the answer. All shapes are
encoded in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from remuda.base.go_text import escape_json
from remuda.base.scores import abs_used_capacity
from remuda.config.queue_properties import DISABLED, FENCE
from remuda.config.schema import TemplateConfig
from remuda.core.messages.application_views import AllocationView, ApplicationView, PlaceholderView
from remuda.core.messages.ask_views import LogEntryView, RequestView
from remuda.core.messages.preemption_queries import PreemptorView
from remuda.core.messages.queries import ForeignAllocationView, NodeView, PartitionView, QueueView
from remuda.edges.questions.shapes import node_summary, plain
from remuda.edges.rest.shapes.go_duration import duration_text
from remuda.edges.rest.shapes.objects import (
    Allocation,
    Application,
    Capacity,
    Finding,
    ForeignAllocation,
    LogEntry,
    Node,
    NodeSortingPolicy,
    Partition,
    PlaceholderData,
    PreemptedBy,
    Queue,
    QueueTemplate,
    Request,
    ResourceHistory,
    StateLogEntry,
)

# From here on not every whole number is a float of its own.
_EXACT: Final = 2**53

# The largest count an int32 shows (REST-81).
_INT32_MAX: Final = 2**31 - 1

JSON_TYPE: Final = "application/json; charset=UTF-8"

_encoder = msgspec.json.Encoder(order="deterministic")


def encode(shape: object) -> bytes:
    """Return JSON with sorted maps, ``<>&`` escaped and one newline at the end.

    Implements: REST-11.
    """
    return escape_json(_encoder.encode(shape)) + b"\n"


def partition(view: PartitionView) -> Partition:
    """Return the shape of one partition. Implements: REST-67, REST-69, REST-131."""
    applications = dict(view.applications)
    applications["total"] = sum(view.applications.values())
    weights = {name: short(weight) for name, weight in view.node_sort_weights.items()}
    return Partition(
        cluster_id=view.rm_id,
        name=view.name,
        capacity=Capacity(
            capacity=plain(view.capacity),
            used_capacity=plain(view.allocated),
            utilization=abs_used_capacity(view.capacity, view.allocated),
        ),
        node_sorting_policy=NodeSortingPolicy(type=view.node_sort_policy, resource_weights=weights),
        total_nodes=view.total_nodes,
        applications=applications,
        total_containers=view.total_containers,
        state=view.state,
        last_state_transition_time=view.state_time_ns,
        preemption_enabled=view.preemption,
        quota_preemption_enabled=view.quota_preemption,
    )


def queue(view: QueueView, subtree: bool) -> Queue:
    """Return the shape of one queue, with all below it if ``subtree`` (chapter 95 section 8).

    The names of the children are always there, under the key of both releases. The fields
    on preemption show the settings of the queue.
    Implements: PRE-74, REST-70, REST-71, REST-74.
    """
    quota_delay = view.quota_preemption_delay_ns
    names = [child.path for child in view.children]
    return Queue(
        queue_name=view.path,
        status=view.status,
        partition=view.partition,
        pending_resource=plain(view.pending),
        max_resource=plain(view.maximum),
        guaranteed_resource=plain(view.guaranteed),
        allocated_resource=plain(view.allocated),
        preempting_resource=plain(view.preempting),
        headroom=plain(view.headroom),
        is_leaf=view.leaf,
        is_managed=view.managed,
        properties=dict(view.properties),
        parent=view.parent,
        template=_template(view.template),
        children=[queue(child, True) for child in view.children] if subtree else [],
        children_names=names,
        child_names=names,
        abs_used_capacity=abs_used_capacity(view.maximum, view.allocated),
        max_running_apps=view.max_applications,
        running_apps=view.running_applications,
        current_priority=view.current_priority,
        sorting_policy=view.sort_policy,
        priority_sorting=view.priority_sorting,
        preemption_enabled=view.preemption_policy != DISABLED,
        is_preemption_fence=view.preemption_policy == FENCE,
        is_priority_fence=view.priority_fence,
        preemption_delay=duration_text(view.preemption_delay_ns),
        quota_preemption_delay=duration_text(quota_delay) if quota_delay else "",
        priority_offset=view.priority_offset,
    )


def _template(template: TemplateConfig | None) -> QueueTemplate | None:
    if template is None:
        return None
    return QueueTemplate(
        max_applications=template.max_applications,
        max_resource=plain(template.maximum),
        guaranteed_resource=plain(template.guaranteed),
        properties=dict(template.properties),
    )


def application(view: ApplicationView) -> Application:
    """Return the shape of one application (REST-78, REST-127).

    Its reservations are sorted by node; a node lists the other half of the pair (REST-137).
    Implements: REST-77, REST-135, REST-136.
    """
    shape = application_head(view, [pair for ask in view.requests for pair in reserved(ask)])
    shape.requests = [request(each) for each in view.requests]
    shape.allocations = [allocation(each) for each in view.allocations]
    return shape


def application_head(view: ApplicationView, held: Iterable[tuple[str, str]]) -> Application:
    """Return the shape of one application without its asks and allocations.

    ``held``: the reservations of its asks.
    """
    held = sorted(held)
    return Application(
        application_id=view.application_id,
        used_resource=plain(view.used),
        max_used_resource=plain(view.max_used),
        pending_resource=plain(view.pending),
        partition=view.partition,
        queue_name=view.queue,
        submission_time=view.submission_time_ns,
        finished_time=view.finished_time_ns,
        application_state=view.state,
        user=view.user,
        groups=list(view.groups),
        rejected_message=view.rejected_message,
        state_log=[
            StateLogEntry(time=time_ns, application_state=state)
            for time_ns, state in view.state_log
        ],
        placeholder_data=[_placeholders(group) for group in view.placeholder_data],
        has_reserved=bool(held),
        reservations=[f"{node_id}|{key}" for node_id, key in held],
        max_request_priority=view.max_request_priority,
        start_time=view.start_time_ns // 1_000_000,
        resource_history=_history(view),
        backoff_deadline=rfc3339(view.backoff_deadline_ns) if view.backoff_deadline_ns else "",
        preemptions=list(view.preemptions),
        evictions=list(view.evictions),
    )


def _history(view: ApplicationView) -> ResourceHistory | None:
    """Return the resource-seconds of an application's ended allocations, None without any.

    Implements: REST-78.
    """
    found = ResourceHistory(
        resource_usage=_by_kind(view.used_seconds),
        preempted_resource=_by_kind(view.preempted_seconds),
        placeholder_resource=_by_kind(view.placeholder_seconds),
    )
    return None if found == ResourceHistory() else found


def _by_kind(sums: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {kind: dict(resource) for kind, resource in sums.items()}


def node(view: NodeView) -> Node:
    """Return the shape of one node. Implements: REST-85, REST-137."""
    advertised = {name: value for name, value in view.capacity.items() if value > 0}
    return Node(
        node_id=view.node_id,
        host_name=view.attributes.get("si/hostname", ""),
        rack_name=view.attributes.get("si/rackname", ""),
        attributes=dict(view.attributes),
        capacity=plain(view.capacity),
        allocated=plain(view.allocated),
        occupied=plain(view.occupied),
        available=plain(view.available),
        utilized=abs_used_capacity(advertised, view.allocated),
        allocations=[allocation(each) for each in view.allocations],
        foreign_allocations=[_foreign(foreign) for foreign in view.foreign],
        schedulable=view.schedulable,
        is_reserved=bool(view.reservations),
        reservations=[f"{application_id}|{key}" for application_id, key in view.reservations],
        ready=view.ready,
        drained_by_operator=view.drained_by_operator,
    )


def _foreign(view: ForeignAllocationView) -> ForeignAllocation:
    return ForeignAllocation(
        allocation_key=view.allocation_key,
        allocation_tags=dict(view.tags),
        allocation_time=view.allocation_time_ns,
        resource=plain(view.resource),
        priority=str(view.priority),
        node_id=view.node_id,
        preemptable=view.preemptable,
    )


def request(view: RequestView) -> Request:
    """Return the shape of one ask (REST-127). Implements: REST-79."""
    return Request(
        allocation_key=view.allocation_key,
        allocation_tags=dict(view.tags),
        request_time=view.request_time_ns,
        resource=plain(view.resource),
        pending_count=view.pending_count,
        priority=str(view.priority),
        required_node_id=view.required_node,
        application_id=view.application_id,
        partition=view.partition,
        placeholder=view.placeholder,
        placeholder_timeout=view.execution_timeout_ms * 1_000_000 if view.placeholder else 0,
        task_group_name=view.task_group,
        allocation_log=allocation_log(view.log),
        originator=view.originator,
        scheduling_attempted=view.scheduling_attempted,
        triggered_scale_up=view.triggered_scale_up,
        triggered_preemption=view.preemption > 0,
        preemption=view.preemption,
        finding=finding(view),
    )


def allocation_log(log: Sequence[LogEntryView]) -> list[LogEntry]:
    """Return the shape of the log of an ask, the latest entry last (REST-79)."""
    ordered = sorted(log, key=lambda entry: (entry.last_ns, entry.message))
    return [log_entry(entry) for entry in ordered]


def log_entry(entry: LogEntryView) -> LogEntry:
    """Return the shape of one entry of the log of an ask (REST-79). Implements: REST-81."""
    count = min(entry.count, _INT32_MAX)
    return LogEntry(message=entry.message, last_occurrence=entry.last_ns, count=count)


def reserved(view: RequestView) -> list[tuple[str, str]]:
    """Return what an ask has reserved: nodes, each with the ask's key."""
    return [(node_id, view.allocation_key) for node_id in view.reservations]


def finding(view: RequestView) -> Finding | None:
    """Return why an ask waits, None if it was not examined yet (REST-127)."""
    found = view.finding
    if found is None:
        return None
    return Finding(
        gate=found.gate,
        subject=found.subject,
        requested={} if found.requested == view.resource else plain(found.requested),
        available=None if found.available is None else plain(found.available),
        nodes=None if found.nodes is None else node_summary(found.nodes),
        since=found.since_ns,
        last_occurrence=found.last_ns,
        count=found.looks,
        until=found.until_ns,
        preemption=found.preemption,
    )


def allocation(view: AllocationView) -> Allocation:
    """Return the shape of one allocation. Implements: GANG-36, REST-80, REST-127."""
    requested = view.request_time_ns
    return Allocation(
        allocation_key=view.allocation_key,
        allocation_tags=dict(view.tags),
        request_time=requested,
        allocation_time=view.allocation_time_ns,
        allocation_delay=view.allocation_time_ns - requested if requested else 0,
        uuid=view.allocation_id,
        allocation_id=view.allocation_id,
        resource=plain(view.resource),
        priority=str(view.priority),
        node_id=view.node_id,
        application_id=view.application_id,
        partition=view.partition,
        placeholder=view.placeholder,
        placeholder_used=view.placeholder_used,
        task_group_name=view.task_group,
        preempted=view.preemption > 0,
        originator=view.originator,
        preempted_by=_preemptor(view.preempted_by),
    )


def _preemptor(view: PreemptorView | None) -> PreemptedBy | None:
    if view is None:
        return None
    return PreemptedBy(
        number=view.number,
        kind=view.kind,
        application_id=view.application_id,
        allocation_key=view.allocation_key,
        queue_name=view.queue,
    )


def _placeholders(view: PlaceholderView) -> PlaceholderData:
    return PlaceholderData(
        task_group_name=view.task_group,
        count=view.count,
        min_resource=plain(view.minimum),
        replaced=view.replaced,
        timedout=view.timed_out,
    )


def rfc3339(time_ns: int) -> str:
    """Return Unix nanoseconds as RFC 3339 in UTC, the fraction without zeros at its end.

    Rules: REST-78.
    """
    seconds, rest = divmod(time_ns, 1_000_000_000)
    text = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{text}{fraction}Z"


def short(weight: float) -> int | float:
    """Return a whole weight without its fraction, as the golden examples show it.

    A weight that is not a number counts as 0 (CFG-91).
    """
    if math.isnan(weight):
        return 0
    return int(weight) if weight.is_integer() and weight < _EXACT else weight
