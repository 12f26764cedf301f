"""Questions of those who watch over a scheduler, each small enough not to be felt by it.

A large cluster is looked at in slices: an answer says where the next question goes on. What is
compared within one answer is of one moment; between two of them everything may change, so an
object that moves meanwhile may be missed once, but is never found at fault for that (HLT-18).
"""

from __future__ import annotations

from typing import TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource


@message
class PartitionCountsQuery:
    """What each partition counts -> tuple[PartitionCountsView, ...], by (name, RM ID).

    Those that are leaving are among them (OBJ-9). Cost: O(partitions).
    """


@message
class BalanceQuery:
    """A sum of one partition, worked out anew -> BalanceView, or None if it is unknown.

    ``capacity``: its total is meant, else what is allocated. Cost: O(nodes + applications), some
    hundred nanoseconds each.
    """

    partition: str
    rm_id: str
    capacity: bool = False


@message
class NodeAuditQuery:
    """A slice of the nodes of one partition -> NodeAuditView, or None if it is unknown.

    ``start``: how many nodes were looked at before.
    """

    partition: str
    rm_id: str
    start: int = 0


@message
class ApplicationAuditQuery:
    """A slice of the applications of one partition -> ApplicationAuditView, None if it is unknown.

    ``start``: how many applications were looked at before, ``within``: how many allocations of the
    next one. ``now_ns``: the time; the core has no clock.
    """

    partition: str
    rm_id: str
    now_ns: int
    start: int = 0
    within: int = 0


@message
class PartitionCountsView:
    """What a partition counts while it runs (MET-45, HLT-12).

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
    """What a partition has booked, and what its nodes say, at one moment (HLT-6, HLT-8, HLT-9).

    ``booked`` is shown as it is, with negative amounts if there are any. ``on_nodes`` is without
    replacements under way on other nodes (GANG-16). Amounts of 0 are left out.
    """

    booked: Resource
    on_nodes: Resource


@message
class AuditedAllocation:
    """What names an allocation in a message (HLT-16).

    ``result``: ``Allocated``, or ``Replaced`` if it took the place of a placeholder.
    """

    application_id: str
    allocation_id: str
    allocation_key: str
    node_id: str
    result: str


@message
class NodeAuditView:
    """What is wrong in a slice of the nodes (HLT-7, HLT-10, HLT-11, HLT-13).

    ``negative``: node IDs, once for each of allocated, available, capacity and occupied that is
    negative. ``unbalanced``: total is not allocated + occupied + available. ``overcommitted``: more
    is allocated than there is. ``orphans``: allocations that their application does not have.
    ``next_start``: where the next slice begins, None after the last.
    """

    negative: tuple[str, ...]
    unbalanced: tuple[str, ...]
    overcommitted: tuple[str, ...]
    orphans: tuple[AuditedAllocation, ...]
    next_start: int | None


@message
class WaitingApplication:
    """An application that has nothing and asks for nothing, and the state it is in (APP-20)."""

    application_id: str
    state: str


@message
class ApplicationAuditView:
    """What is to be told of a slice of the applications (HLT-14, HLT-20).

    ``orphans``: allocations that their node does not have. ``unconfirmed``: those the RM was told
    to end more than once (SI-69). ``waiting``: for more than an hour (APP-20). ``next_start``:
    where the next slice begins, None after the last; ``next_within`` allocations of that
    application were looked at.
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
