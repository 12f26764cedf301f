"""Questions of health checks, each small enough not to delay scheduling.

A large cluster is checked in slices: an answer says where the next question goes on. Values
compared within one answer are of one moment. Between two answers everything may change, so an
object that moves meanwhile may be missed once, but is never reported as faulty for that (HLT-18).
"""

from __future__ import annotations

from typing import TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource


@message
class PartitionCountsQuery:
    """The counters of each partition -> tuple[PartitionCountsView, ...], by (name, RM ID).

    Removed partitions that are not empty yet are included (OBJ-9). Cost: O(partitions).
    """


@message
class BalanceQuery:
    """A sum of one partition, worked out anew -> BalanceView, or None if it is unknown.

    ``capacity`` True: the sum of its capacity, False: of what is allocated. Cost: O(nodes +
    applications), some hundred nanoseconds each.
    """

    partition: str
    rm_id: str
    capacity: bool = False


@message
class NodeAuditQuery:
    """A slice of the nodes of one partition -> NodeAuditView, or None if it is unknown.

    ``start``: how many nodes were checked before.
    """

    partition: str
    rm_id: str
    start: int = 0


@message
class ApplicationAuditQuery:
    """A slice of the applications of one partition -> ApplicationAuditView, None if it is unknown.

    ``start``: how many applications were checked before. ``within``: how many allocations of the
    next one were. ``now_ns``: the time; the core has no clock.
    """

    partition: str
    rm_id: str
    now_ns: int
    start: int = 0
    within: int = 0


@message
class PartitionCountsView:
    """The counters that a partition keeps while it runs (MET-45, HLT-12).

    ``running``: applications in Starting or Running. ``allocations``: placeholders included.
    """

    rm_id: str
    name: str
    running: int
    allocations: int
    nodes: int
    reservations: int


@message
class BalanceView:
    """The booked sum of a partition and the sum of its nodes, at one moment (HLT-6, HLT-8, HLT-9).

    ``booked`` may have negative amounts. ``on_nodes`` excludes replacements in flight on other
    nodes (GANG-16). Amounts of 0 are left out.
    """

    booked: Resource
    on_nodes: Resource


@message
class AuditedAllocation:
    """The fields that identify an allocation in a message (HLT-16).

    ``result``: ``Allocated``, or ``Replaced`` if it replaced a placeholder.
    """

    application_id: str
    allocation_id: str
    allocation_key: str
    node_id: str
    result: str


@message
class NodeAuditView:
    """The faults found in a slice of the nodes (HLT-7, HLT-10, HLT-11, HLT-13).

    ``negative``: node IDs, once for each of allocated, available, capacity and occupied that is
    negative. ``unbalanced``: nodes whose capacity is not allocated + occupied + available.
    ``overcommitted``: nodes with more allocated than their capacity. ``orphans``: allocations
    unknown to their application. ``next_start``: where the next slice begins, None after the last.
    """

    negative: tuple[str, ...]
    unbalanced: tuple[str, ...]
    overcommitted: tuple[str, ...]
    orphans: tuple[AuditedAllocation, ...]
    next_start: int | None


@message
class WaitingApplication:
    """An application without allocations and asks, and its state (APP-20)."""

    application_id: str
    state: str


@message
class ApplicationAuditView:
    """The findings in a slice of the applications (HLT-14, HLT-20).

    ``orphans``: allocations unknown to their node. ``unconfirmed``: allocations whose release was
    requested more than once (SI-69). ``waiting``: applications without work for more than an hour
    (APP-20). ``next_start``: where the next slice begins, None after the last; ``next_within``
    allocations of that application were checked.
    """

    orphans: tuple[AuditedAllocation, ...]
    unconfirmed: tuple[AuditedAllocation, ...]
    waiting: tuple[WaitingApplication, ...]
    next_start: int | None
    next_within: int = 0


HealthQuery: TypeAlias = (
    PartitionCountsQuery | BalanceQuery | NodeAuditQuery | ApplicationAuditQuery
)

HealthView: TypeAlias = (
    tuple[PartitionCountsView, ...] | BalanceView | NodeAuditView | ApplicationAuditView | None
)
