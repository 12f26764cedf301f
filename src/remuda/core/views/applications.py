"""Answers questions about applications, their asks and their allocations (rules: REST-77 ff.)."""

from __future__ import annotations

from collections.abc import Mapping

from remuda.base.resources import Resource
from remuda.core.messages.queries import (
    AllocationView,
    ApplicationView,
    PlaceholderView,
    RequestView,
    UnknownQueue,
)
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.gang import Gang
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.model.vectors import ResourceTypes, Vector
from remuda.core.views.findings import finding_view, log_view
from remuda.core.views.preemptions import Involved, preemptor_view


def application_views(
    partition: Partition, path: str
) -> tuple[ApplicationView, ...] | UnknownQueue:
    """Return the live applications of a queue, or of all queues, by ID.

    Rules: REST-76, REST-77, PRE-91.
    """
    applications = partition.applications
    if path:
        queue = partition.queue(path)
        if queue is None:
            return UnknownQueue()
        applications = queue.applications
    found = [applications[application_id] for application_id in sorted(applications)]
    involved = Involved(partition)
    return tuple([application_view(partition, each, involved) for each in found])


def allocation_view(partition: Partition, allocation: Allocation) -> AllocationView:
    """Return one allocation. Rules: REST-80, PRE-34, PRE-91."""
    ask = allocation.ask
    preemptor = preemptor_view(allocation.preemption)
    return AllocationView(
        allocation_key=ask.allocation_key,
        allocation_id=allocation.allocation_id,
        tags=dict(ask.tags),
        request_time_ns=allocation.placeholder_ns or allocation.requested_ns,
        allocation_time_ns=allocation.created_ns,
        resource=dict(allocation.amounts.resource),
        priority=ask.priority,
        node_id=allocation.node.node_id,
        application_id=ask.application_id,
        partition=partition.name,
        task_group=ask.task_group,
        placeholder=ask.placeholder,
        placeholder_used=allocation.placeholder_ns > 0,
        placeholder_request_time_ns=allocation.placeholder_ns,
        ordered=allocation.ordered,
        replacement=_replacement(allocation),
        preemption=0 if preemptor is None else preemptor.number,
        preempted_by=preemptor,
        originator=ask.originator,
    )


def _replacement(allocation: Allocation) -> str:
    """Return the ID of what waits to take the place of a placeholder. Rules: GANG-14."""
    gang = allocation.application.gang
    real = None if gang is None else gang.replacing.get(allocation.allocation_id)
    return "" if real is None else real.allocation_id


def _placeholder_data(gang: Gang) -> tuple[PlaceholderView, ...]:
    """Return the task groups that had placeholders, by name. Rules: GANG-35."""
    found: list[PlaceholderView] = []
    for name, group in sorted(gang.groups.items()):
        if group.minimum is not None:
            size = dict(group.minimum.resource)
            counts = (group.count, group.replaced, group.timed_out)
            found.append(PlaceholderView(name, size, *counts))
    return tuple(found)


def application_view(
    partition: Partition, application: Application, involved: Involved
) -> ApplicationView:
    """Return one application, live or ended. Rules: REST-77, REST-78, REST-136, PRE-91."""
    record = application.record
    types = partition.types
    pending = [each for each in application.requests.values() if each.pending]
    pending.sort(key=lambda each: each.ask.allocation_key)
    allocations = sorted(application.allocations.values(), key=lambda each: each.allocation_id)
    gang = application.gang
    history = application.history
    return ApplicationView(
        application_id=record.application_id,
        partition=partition.name,
        queue=application.queue_path,
        user=application.user,
        groups=application.user_groups,
        state=application.state,
        submission_time_ns=application.submitted_ns,
        finished_time_ns=application.finished_ns,
        start_time_ns=application.started_ns,
        used=types.resource(application.allocated),
        max_used=types.resource(application.peak()),
        pending=types.resource(application.pending),
        rejected_message=application.reject_reason,
        max_request_priority=application.priority,
        state_log=tuple(application.state_log),
        backoff_deadline_ns=application.backoff_until_ns,
        placeholder={} if gang is None else types.resource(gang.usage),
        placeholder_deadline_ns=0 if gang is None or gang.timer is None else gang.timer.at_ns,
        placeholder_data=() if gang is None else _placeholder_data(gang),
        preemptions=tuple(involved.caused.get(application.number, ())),
        evictions=tuple(involved.suffered.get(application.number, ())),
        used_seconds={} if history is None else _sums(types, history.used),
        preempted_seconds={} if history is None else _sums(types, history.preempted),
        placeholder_seconds={} if history is None else _sums(types, history.placeholder),
        requests=tuple([_request_view(partition, each) for each in pending]),
        allocations=tuple([allocation_view(partition, each) for each in allocations]),
    )


def _sums(types: ResourceTypes, sums: Mapping[str, Vector]) -> dict[str, Resource]:
    """Return sums by instance type, sorted; each is cut to 64 bits. Rules: RES-57."""
    return {kind: types.resource(vector) for kind, vector in sorted(sums.items())}


def _request_view(partition: Partition, request: Request) -> RequestView:
    ask = request.ask
    return RequestView(
        allocation_key=ask.allocation_key,
        tags=dict(ask.tags),
        request_time_ns=request.created_ns,
        resource=dict(request.amounts.resource),
        pending_count=request.pending,
        priority=ask.priority,
        required_node=request.required_node(),
        application_id=ask.application_id,
        partition=partition.name,
        task_group=ask.task_group,
        placeholder=ask.placeholder,
        execution_timeout_ms=ask.execution_timeout_ms,
        originator=ask.originator,
        scheduling_attempted=request.attempted,
        triggered_scale_up=request.reported,
        log=log_view(request),
        finding=finding_view(partition, request),
        reservations=tuple(request.reservations),
        preemption=0 if request.preemption is None else request.preemption.number,
    )
