"""Questions about how much there is and what was counted so far, for the metrics (chapter 97).

All are about the whole scheduler. Those whose answer grows with the cluster are answered a part
at a time, so that no answer holds the scheduler up for long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource

# Where a part begins: number of the partition, path. All paths come after "".
Place: TypeAlias = tuple[int, str]

START: Final[Place] = (0, "")


@message
class TotalsQuery:
    """What was counted since the start, and how many nodes there are -> TotalsView."""


@message
class QueueMeasuresQuery:
    """The queues of all partitions -> QueueMeasuresPage, those after ``after``.

    ``limit``: queues, applications and asks to look at; a page ends with the queue that reaches
    it. ``users``: with what users have in each queue.
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
    """One queue (MET-22 to MET-28, MET-42). Own applications and allocations, not those below.

    ``applications``: live ones by state. ``came`` and ``went``: allocations; ``completed`` and
    ``failed``: applications that ended so; ``preempted``: allocations that were chosen as victims,
    with what they held. ``reserved``: what its asks hold reserved. ``pending_asks``: allocations
    that are asked for; ``oldest_pending_ns``: since when the oldest of those is, 0: there is none.
    ``users``: what users hold, if that was asked for.
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
    applications: Mapping[str, int]
    came: int
    went: int
    completed: int
    failed: int
    preempted: int
    preempted_amounts: Resource
    reserved: Resource
    pending_asks: int
    oldest_pending_ns: int
    users: Mapping[str, Resource]


@message
class QueueMeasuresPage:
    """Some queues; ``next`` is where the next page begins, None after the last."""

    queues: tuple[QueueMeasures, ...]
    next: Place | None


@message
class NodeMeasures:
    """How many nodes are used how much: by type ten counts, summed over partitions (MET-21).

    ``behind``: nodes that changed and were not looked at yet.
    """

    ranges: Mapping[str, tuple[int, ...]]
    behind: int
