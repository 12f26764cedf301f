"""What a new configuration means for the queues: amounts before and after, compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from remuda.base.resources import Resource
from remuda.core.messages.application_queries import LiveIds, LiveIdsQuery
from remuda.core.messages.queries import PartitionView, QueuesQuery, QueueView
from remuda.core.scheduler import Scheduler
from remuda.insight.impact_result import QueueAmount, QueueGone

_DRAINING: Final = "Draining"
_DISABLED: Final = "disabled"


@dataclass(frozen=True, slots=True)
class QueueNow:
    """A queue under one configuration.

    ``goes``: it is draining, or its partition is. ``applications``: the live ones in it and below.
    ``needed``: its guarantee, or by type the sum of what is needed below it, if that is more.
    ``room``: the most that it can have, by the capacity of the partition and all maxima down to it.
    ``exposed``: for a leaf, the usage that its guarantee does not protect.
    """

    view: QueueView
    goes: bool
    applications: int
    needed: Resource
    room: Resource
    exposed: Resource


Queues: TypeAlias = Mapping[tuple[str, str], QueueNow]


def queues_now(scheduler: Scheduler, partition: PartitionView) -> list[QueueNow]:
    """Return all queues of a partition, children before their parents; none if it is going."""
    root = scheduler.view(QueuesQuery(partition.name, partition.rm_id))
    if root is None:
        return []
    assert isinstance(root, QueueView)
    found: list[QueueNow] = []
    _add(scheduler, partition, root, dict(partition.capacity or {}), found)
    return found


def _add(
    scheduler: Scheduler,
    partition: PartitionView,
    view: QueueView,
    above: Resource,
    found: list[QueueNow],
) -> QueueNow:
    """Add a queue and all below it. ``above``: the most that its parent can have."""
    room = dict(above)
    for name, amount in (view.maximum or {}).items():
        room[name] = min(amount, room.get(name, 0))
    children = [_add(scheduler, partition, each, room, found) for each in view.children]
    needed = dict(view.guaranteed or {})
    for name in sorted({name for child in children for name in child.needed}):
        below = sum(child.needed.get(name, 0) for child in children)
        needed[name] = max(needed.get(name, 0), below)
    applications = sum(child.applications for child in children)
    if view.leaf:
        ids = scheduler.view(LiveIdsQuery(partition.name, view.path, partition.rm_id))
        applications += len(ids.ids) if isinstance(ids, LiveIds) else 0
    goes = _DRAINING in (view.status, partition.state)
    now = QueueNow(view, goes, applications, needed, room, _exposed(partition, view))
    found.append(now)
    return now


def _exposed(partition: PartitionView, view: QueueView) -> Resource:
    """Return the usage of a leaf that its own guarantee does not protect from preemption."""
    if not view.leaf or not partition.preemption or view.preemption_policy == _DISABLED:
        return {}
    guaranteed = view.guaranteed or {}
    return {
        name: amount - guaranteed.get(name, 0)
        for name, amount in view.allocated.items()
        if amount > guaranteed.get(name, 0)
    }


def queues_gone(before: Queues, after: Queues) -> Iterator[QueueGone]:
    """Yield the queues that would be drained or removed, by partition and path."""
    for (partition, path), was in sorted(before.items()):
        will = after.get((partition, path))
        if not was.goes and (will is None or will.goes):
            yield QueueGone(partition, path, was.applications, was.view.allocated)


def quotas_below_usage(before: Queues, after: Queues) -> Iterator[QueueAmount]:
    """Yield the new maxima that are below what the queue uses."""
    for key, will in sorted(after.items()):
        was = before.get(key)
        old = (was.view.maximum or {}) if was is not None else {}
        for name, maximum in sorted((will.view.maximum or {}).items()):
            used = will.view.allocated.get(name, 0)
            if used > maximum != old.get(name):
                yield QueueAmount(*key, name, old.get(name), maximum, used)


def unmet(before: Queues, after: Queues) -> Iterator[QueueAmount]:
    """Yield the guarantees that exceed what the queue can have, if that is new or changed."""
    for key, will in sorted(after.items()):
        was = before.get(key)
        for name, needed in sorted(will.needed.items()):
            room = will.room.get(name, 0)
            old = None if was is None else was.needed.get(name)
            old_room = None if was is None else was.room.get(name, 0)
            if needed > room and (needed, room) != (old, old_room):
                yield QueueAmount(*key, name, old, needed, room)


def now_preemptible(before: Queues, after: Queues) -> Iterator[QueueAmount]:
    """Yield the leaves of which more could be preempted. Rules: PRE-12."""
    for key, will in sorted(after.items()):
        was = before.get(key)
        for name, amount in sorted(will.exposed.items()):
            old = 0 if was is None else was.exposed.get(name, 0)
            if amount > old:
                yield QueueAmount(*key, name, old, amount, will.view.allocated[name])
