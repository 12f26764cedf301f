"""Queries for the metrics: current amounts and counts since the start (chapter 97).

All are about the whole scheduler. Where the answer grows with the cluster it comes in pages, so
that no answer delays the scheduler for long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource

# The place after which a page begins: number of the partition, path, number of the application in
# that queue, 0 if the queue is complete. All paths come after "".
Place: TypeAlias = tuple[int, str, int]

START: Final[Place] = (0, "", 0)


@message
class TotalsQuery:
    """The counts since the start, and the number of nodes -> TotalsView."""


@message
class QueueMeasuresQuery:
    """The queues of all partitions -> QueueMeasuresPage, those after ``after``.

    ``limit``: the cost of a page in queues, applications and asks, 0: no limit; a page ends with
    the queue or the application that reaches it. ``users``: include the usage of users in each
    queue.
    """

    after: Place = START
    limit: int = 0
    users: bool = False


@message
class NodeMeasuresQuery:
    """How full the nodes of all partitions are -> NodeMeasures.

    ``limit``: how many changed nodes are counted anew, 0: all.
    """

    limit: int = 0


@message
class TotalsView:
    """Counts since the start (chapter 97 sections 2 and 2). See model/totals.py.

    ``nodes``, ``draining_nodes`` and ``unready_nodes`` are the numbers now. ``limit_hits``: by the
    name of the limit, every limit of SI-14.
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
    limit_hits: Mapping[str, int]


@message
class QueueMeasures:
    """One queue (chapter 97 section 3, MET-42). Amounts include the queues below it, counts do not.

    ``came`` and ``went``: allocations that began and ended. ``completed`` and ``failed``:
    applications that ended so. ``preempted``: allocations chosen as victims, with their amounts.
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

    ``after``: the page has the applications with higher numbers, up to the begin of the next page.
    ``states``: the number of applications by state. ``reserved``: amounts their asks have reserved.
    ``pending_asks``: pending allocations; ``oldest_pending_ns``: the wall-clock time of the oldest
    of these, 0: there is none. ``users``: the usage of users, if the query asked for it.
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
    """Some queues and applications.

    The next page begins after ``next``, None after the last page.
    """

    queues: tuple[QueueMeasures, ...]
    applications: tuple[ApplicationMeasures, ...]
    next: Place | None


@message
class NodeMeasures:
    """Nodes by utilisation: for each type ten counts, summed over partitions (MET-21).

    ``behind``: changed nodes that were not counted anew yet.
    """

    ranges: Mapping[str, tuple[int, ...]]
    behind: int
