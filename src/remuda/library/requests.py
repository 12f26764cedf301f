"""From calls of the Python API to the records the core takes, checked on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from remuda.base.resources import MAX
from remuda.config.schema import DEFAULT_PARTITION
from remuda.core.messages import commands as c
from remuda.core.messages.tags import NODE_PARTITION, PREDICATE_CLASS
from remuda.library import inputs
from remuda.library.amounts import base_units
from remuda.library.engine import RM_ID
from remuda.library.errors import RequestError
from remuda.library.records import (
    Allocation,
    Amounts,
    Ask,
    Release,
    TaskGroup,
    TerminationType,
)

_STYLES: Final = ("Soft", "Hard")

# Members of one gang; more would be no gang but a mistake.
_MEMBERS_LIMIT: Final = 100_000


def size(resource: Amounts, where: str) -> dict[str, int]:
    """Return the amounts of one allocation, which must not all be 0. Raises: RequestError."""
    amounts = base_units(resource, where)
    if not any(amounts.values()):
        raise RequestError(f"{where}: the resource is empty; ask for more than nothing")
    return amounts


def new_node(
    node_id: str, resource: Amounts, attributes: Mapping[str, str] | None, partition: str
) -> c.NodeUpdate:
    """Return a new node, with what it has. Raises: RequestError."""
    inputs.name(node_id, "node_id")
    where = f"node {node_id!r}"
    known = inputs.texts(attributes, f"{where}: attributes")
    amounts = base_units(resource, where)
    return c.NodeUpdate(node_id, c.CREATE, amounts, attributes=_placed(known, partition))


def node_action(node_id: str, action: int, partition: str) -> c.UpdateNodes:
    """Return the action on a node. Raises: RequestError."""
    inputs.name(node_id, "node_id")
    update = c.NodeUpdate(node_id, action, attributes=_placed({}, partition))
    return c.UpdateNodes(RM_ID, (update,))


def _placed(attributes: dict[str, str], partition: str) -> dict[str, str]:
    """Return attributes that name the partition; the default one needs no name."""
    return (
        attributes if partition == DEFAULT_PARTITION else {NODE_PARTITION: partition} | attributes
    )


def gang(application_id: str, groups: Sequence[TaskGroup]) -> list[Ask]:
    """Return an ask for each placeholder of a gang. Raises: RequestError."""
    if isinstance(groups, TaskGroup) or not isinstance(groups, Sequence):
        raise RequestError(f"task_groups is {groups!r:.80}; it has to be a list of TaskGroup")
    placeholders: list[Ask] = []
    seen: set[str] = set()
    for group in groups:
        if not isinstance(group, TaskGroup):
            raise RequestError(f"task_groups: {group!r:.80} is no TaskGroup")
        inputs.name(group.name, "the name of a task group")
        where = f"task group {group.name!r}"
        if group.name in seen:
            raise RequestError(f"{where} is given twice; give each group a name of its own")
        seen.add(group.name)
        members = inputs.whole(group.min_member, f"{where}: min_member", 1, _MEMBERS_LIMIT)
        resource = size(group.min_resource, where)
        priority = inputs.whole(group.priority, f"{where}: priority", inputs.INT32_MIN)
        tags = inputs.texts(group.tags, f"{where}: tags")
        placeholders += [
            Ask(
                application_id,
                inputs.text(f"tg-{group.name}-{number}", f"{where}: the key of a placeholder"),
                resource,
                priority=priority,
                task_group=group.name,
                placeholder=True,
                tags=tags,
            )
            for number in range(members)
        ]
    return placeholders


def new_application(
    application_id: str,
    *,
    queue: str,
    user: str,
    groups: Iterable[str],
    tags: Mapping[str, str] | None,
    gang: Sequence[Ask],
    gang_scheduling_style: str,
    execution_timeout_ms: int,
    partition: str,
) -> c.NewApplication:
    """Return a new application; ``gang``: its placeholders. Raises: RequestError."""
    inputs.name(application_id, "application_id")
    where = f"application {application_id!r}"
    if gang_scheduling_style not in _STYLES:
        raise RequestError(
            f"{where}: gang_scheduling_style is {gang_scheduling_style!r:.80}; "
            f"it has to be one of {', '.join(_STYLES)}"
        )
    return c.NewApplication(
        application_id,
        queue=inputs.text(queue, f"{where}: queue"),
        partition=partition,
        user=inputs.text(user, f"{where}: user"),
        groups=inputs.names(groups, f"{where}: groups"),
        tags=inputs.texts(tags, f"{where}: tags"),
        execution_timeout_ms=inputs.whole(
            execution_timeout_ms, f"{where}: execution_timeout_ms", 0, inputs.INT64_MAX
        ),
        placeholder_ask=_total(gang, where),
        gang_scheduling_style=gang_scheduling_style if gang else "",
    )


def _total(gang: Sequence[Ask], where: str) -> dict[str, int]:
    """Return what all placeholders take together. Raises: RequestError."""
    total: dict[str, int] = {}
    for placeholder in gang:
        for name, amount in placeholder.resource.items():
            total[name] = total.get(name, 0) + amount
    for name, amount in total.items():
        if amount > MAX:
            raise RequestError(f"{where}: its gang needs {amount} of {name}, at most {MAX}")
    return total


def asks(wanted: Sequence[Ask], partition: str) -> tuple[c.Ask, ...]:
    """Return asks as the core takes them, with what counts where nothing else is said."""
    return tuple([ask(each, partition) for each in wanted])


def ask(
    wanted: Ask,
    partition: str,
    *,
    allow_preempt_self: bool = True,
    allow_preempt_other: bool = False,
    execution_timeout_ms: int = 0,
) -> c.Ask:
    """Return an ask as the core takes it, which shares nothing that the caller could change."""
    return c.Ask(
        wanted.application_id,
        wanted.allocation_key,
        dict(wanted.resource),
        partition,
        wanted.max_allocations,
        wanted.priority,
        dict(wanted.tags),
        execution_timeout_ms,
        wanted.task_group,
        wanted.placeholder,
        allow_preempt_self=allow_preempt_self,
        allow_preempt_other=allow_preempt_other,
        equivalence=wanted.tags.get(PREDICATE_CLASS, ""),
    )


def release(ended: object, partition: str) -> c.UpdateAllocations:
    """Return the release of an allocation, or of the pending rest of an ask.

    Raises: RequestError.
    """
    if isinstance(ended, Allocation):
        return _end(ended, partition, c.STOPPED_BY_RM)
    if isinstance(ended, Ask):
        drop = c.AskRelease(
            inputs.name(ended.application_id, "application_id of the ask"),
            inputs.name(ended.allocation_key, "allocation_key of the ask"),
            partition,
        )
        return c.UpdateAllocations(RM_ID, ask_releases=(drop,))
    raise RequestError(f"{ended!r:.80} cannot be released; pass an Allocation or an Ask")


def confirmation(order: object, partition: str) -> c.UpdateAllocations:
    """Return the confirmation of a release request. Raises: RequestError."""
    if not isinstance(order, Release) or not order.ordered:
        raise RequestError(f"{order!r:.80} is no order; pass a Release that is ordered")
    if not isinstance(order.termination_type, TerminationType):
        raise RequestError(f"{order.termination_type!r:.80} is no TerminationType")
    return _end(order, partition, int(order.termination_type))


def _end(ended: Allocation | Release, partition: str, kind: int) -> c.UpdateAllocations:
    """Return the release of one allocation; an empty identity would mean all there are (SI-61)."""
    end = c.AllocationRelease(
        inputs.name(ended.application_id, "application_id of the allocation"),
        inputs.name(ended.allocation_id, "allocation_id of the allocation"),
        inputs.text(ended.allocation_key, "allocation_key of the allocation"),
        partition,
        kind,
    )
    return c.UpdateAllocations(RM_ID, releases=(end,))
