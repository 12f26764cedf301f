"""Questions about how much there is and what was counted so far, for the metrics (chapter 97).

All are about the whole scheduler. Those whose answer grows with the cluster are answered a part
at a time, so that no answer holds the scheduler up for long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource

# After what a part begins: number of the partition, path, number of the application in that queue,
# 0 if all of the queue was told. All paths come after "".
Place: TypeAlias = tuple[int, str, int]

START: Final[Place] = (0, "", 0)


@message
class TotalsQuery:
    """What was counted since the start, and how many nodes there are -> TotalsView."""


@message
class QueueMeasuresQuery:
    """The queues of all partitions -> QueueMeasuresPage, those after ``after``.

    ``limit``: what to look at in queues, applications and asks, 0: at all; a page ends with the
    queue or the application that reaches it. ``users``: with what users have in each queue.
    """

    after: Place = START
    limit: int = 0
    users: bool = False


@message
class NodeMeasuresQuery:
    """How full the nodes of all partitions are -> NodeMeasures.

    ``limit``: nodes that changed to look at, 0: all.
    """

    limit: int = 0


@message
class TotalsView:
    """Counts since the start (MET-6 to MET-9, MET-16 to MET-20). See model/tally.py.

    ``nodes``, ``draining_nodes`` and ``unready_nodes`` are true now.
    """

    submitted: int
    accepted: int
    rejected: int
    completed: int
    failed: int
    allocated: int
    recovered: int
    released: int
    errors: int
    bad_nodes: int
    decommissioned: int
    nodes: int
    draining_nodes: int
    unready_nodes: int


@message
class QueueMeasures:
    """One queue (MET-24 to MET-28, MET-42). Resources with those below it, counts without.

    ``came`` and ``went``: allocations; ``completed`` and ``failed``: applications that ended so;
    ``preempted``: allocations that were chosen as victims, with what they held.
    """

    rm_id: str
    partition: str
    path: str
    leaf: bool
    guaranteed: Resource | None
    maximum: Resource | None
    allocated: Resource
    pending: Resource
    preempting: Resource
    max_applications: int
    came: int
    went: int
    completed: int
    failed: int
    preempted: int
    preempted_amounts: Resource


@message
class ApplicationMeasures:
    """Live applications of one queue, all or some of them (MET-22, MET-42).

    ``after``: those with higher numbers, up to where the next part begins. ``states``: how many by
    state. ``reserved``: what their asks hold reserved. ``pending_asks``: allocations that are asked
    for; ``oldest_pending_ns``: since when the oldest of those is, 0: there is none. ``users``: what
    users hold, if that was asked for.
    """

    rm_id: str
    partition: str
    path: str
    after: int
    states: Mapping[str, int]
    reserved: Resource
    pending_asks: int
    oldest_pending_ns: int
    users: Mapping[str, Resource]


@message
class QueueMeasuresPage:
    """Some queues and applications; ``next`` is where the next page begins, None after the last."""

    queues: tuple[QueueMeasures, ...]
    applications: tuple[ApplicationMeasures, ...]
    next: Place | None


@message
class NodeMeasures:
    """How many nodes are used how much: by type ten counts, summed over partitions (MET-21).

    ``behind``: nodes that changed and were not looked at yet.
    """

    ranges: Mapping[str, tuple[int, ...]]
    behind: int
