"""Counts what started gangs still lack, at every queue of the path (rules: GANG-4).

A gang that starts later must not take the quota that a started gang needs to become complete. So a
queue lets another gang start only if it has room beyond what its started gangs still lack. Asks
outside gangs are not restricted.
"""

from __future__ import annotations

from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import Lack
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector, define
from remuda.core.pending.changes import path_gained_room


def renew_lack(partition: Partition, application: Application) -> None:
    """Note what a gang lacks now; when it lacks nothing, try the gangs that wait for room.

    Until then the gang uses what it gets, so other gangs gain no room.

    Rules: GANG-4.
    """
    gang, leaf = application.gang, application.queue
    if gang is None:
        return
    before, now = gang.lacks, gang.still_lacks(application.state)
    if before == now:
        return
    gang.lacks = now
    for queue in leaf.path_up:
        if queue.parent is not None:
            _add(queue, before, -1)
            _add(queue, now, 1)
            if queue.lacking is not None and not any(queue.lacking.amounts):
                queue.lacking = None
    if not now:
        path_gained_room(partition, leaf, ())


def _add(queue: Queue, lack: Lack, sign: int) -> None:
    for index, amount in lack:
        if queue.lacking is None:
            queue.lacking = Vector()
        define(queue.lacking, 1 << index)
        queue.lacking.amounts[index] += sign * amount
