"""Compares queues with their children and applications (part of the self-audit).

A queue is compared in three steps, so that a leaf with thousands of applications takes no slice
much longer than others.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from remuda.core.messages import events
from remuda.core.messages.self_audit import SelfAuditView, SlicePlace
from remuda.core.model import states
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts, Vector, add
from remuda.core.views.self_audit.comparison import PARTS_LIMIT, Slice
from remuda.core.views.sums import column_sums, total

_LOOKS: Final = 4
_STEPS: Final = 3


def queue_slice(partition: Partition, place: SlicePlace) -> SelfAuditView:
    """Compare the next queues. Rules: HLT-21, QUE-1, QUE-2, QUE-22, QUE-24, PRE-34, PRE-89."""
    found = Slice(partition)
    _, after, step = place
    queues = partition.queues(partition.root)
    queues.sort(key=_path)
    victims = _victims(partition)
    for queue in queues[bisect_left(queues, after, key=_path) :]:
        if queue.path != after:
            step = 0
        if len(queue.applications) > PARTS_LIMIT:
            continue
        for at in range(step, _STEPS):
            if found.full():
                return found.end((0, queue.path, at))
            found.looks += _LOOKS + (len(queue.applications) + len(queue.children)) // 2
            if at == 0:
                _allocated(found, queue)
            elif at == 1:
                _pending(found, queue, victims.get(queue.path, []))
            else:
                _counts(found, queue)
    return found.end(None)


def _path(queue: Queue) -> str:
    return queue.path


def _victims(partition: Partition) -> dict[str, list[Amounts]]:
    """Return the amounts of the victims that did not end yet, by path of their leaf.

    Rules: PRE-34.
    """
    found: dict[str, list[Amounts]] = {}
    for preemption in partition.preempting.made.values():
        if preemption.left == 0:
            continue
        for victim in preemption.victims.values():
            application = partition.applications.get(victim.application_id)
            if victim.confirmed or application is None:
                continue
            allocation = application.allocations.get(victim.allocation_id)
            if allocation is not None and allocation.preemption is preemption:
                found.setdefault(application.queue.path, []).append(allocation.amounts)
    return found


def _allocated(found: Slice, queue: Queue) -> None:
    """Compare the allocated amount with children and applications, and check parents and paths."""
    applications = queue.applications.values()
    rows = [child.allocated.amounts for child in queue.children.values()]
    rows += [each.allocated.amounts for each in applications]
    rows += [each.gang.usage.amounts for each in applications if each.gang is not None]
    kept = queue.allocated.amounts
    found.amounts(events.QUEUE, queue.path, "allocated", kept, column_sums(rows))
    if found.partition.queue(queue.path) is not queue:
        found.note(events.QUEUE, queue.path, "path", "its path does not lead to it")
    for name, child in queue.children.items():
        if child.parent is not queue or child.path != f"{queue.path}.{name}":
            found.note(events.QUEUE, child.path, "parent", f"{queue.path} is not its parent")


def _pending(found: Slice, queue: Queue, victims: list[Amounts]) -> None:
    """Compare pending, preempting and promised amounts with children and applications."""
    applications, children = queue.applications.values(), queue.children.values()
    path = queue.path
    rows = [each.pending.amounts for each in children]
    rows += [each.pending.amounts for each in applications]
    found.amounts(events.QUEUE, path, "pending", queue.pending.amounts, column_sums(rows))
    rows = [each.preempting.amounts for each in children]
    if victims:
        rows.append(total(victims))
    found.amounts(events.QUEUE, path, "preempting", queue.preempting.amounts, column_sums(rows))
    promised = [each.promised for each in children] + [each.promised for each in applications]
    _optional(found, queue, "promised", queue.promised, promised)
    if queue.parent is not None:
        lacking = [each.lacking for each in children]
        lacking += [_lacks(each.gang.lacks) for each in applications if each.gang is not None]
        _optional(found, queue, "lacking", queue.lacking, lacking)


def _optional(
    found: Slice, queue: Queue, what: str, kept: Vector | None, parts: list[Vector | None]
) -> None:
    """Compare a vector that is mostly missing."""
    rows = [each.amounts for each in parts if each is not None]
    if kept is None and not rows:
        return
    amounts = [] if kept is None else kept.amounts
    found.amounts(events.QUEUE, queue.path, what, amounts, column_sums(rows))


def _lacks(lack: tuple[tuple[int, int], ...]) -> Vector | None:
    """Return what a gang lacks, None for nothing. Rules: GANG-4."""
    if not lack:
        return None
    vector = Vector()
    add(vector, Amounts(0, lack, {}))
    return vector


def _counts(found: Slice, queue: Queue) -> None:
    """Its counts of applications and allocations are those below it. Rules: QUE-22, QUE-24."""
    applications, children = queue.applications.values(), queue.children.values()
    path = queue.path
    live = [each.state for each in applications]
    running = live.count(states.STARTING) + live.count(states.RUNNING)
    running += sum([each.running for each in children])
    found.number(events.QUEUE, path, "running applications", queue.running, running)
    early = [each.counted_early for each in applications].count(True)
    early += sum([each.counted_early for each in children])
    found.number(events.QUEUE, path, "early applications", queue.counted_early, early)
    held = sum([len(each.allocations) for each in applications])
    came = queue.counts.allocated - queue.counts.released
    found.number(events.QUEUE, path, "allocations", came, held)
