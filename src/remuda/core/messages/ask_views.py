"""Views of one ask: its amounts, its log, and why it waits (REST-79, REST-120)."""

from __future__ import annotations

from collections.abc import Mapping

from remuda.base.message import message
from remuda.base.resources import Resource


@message
class NodeSummaryView:
    """Why the nodes of a partition did not take an ask: the number of nodes by reason.

    ``draining``: not schedulable. ``reserved``: closed by a reservation. ``too_small``: the
    capacity is too small for the ask. ``no_room``: the available amount is. ``refused``: by
    predicates, with ``reasons`` as (text, nodes), sorted. Each node is counted once, under the
    first of these that applies.
    """

    total: int
    draining: int
    reserved: int
    too_small: int
    no_room: int
    refused: int
    reasons: tuple[tuple[str, int], ...] = ()


@message
class FindingView:
    """Why an ask is not placed (CYC-12, REST-120): found at ``last_ns``, and true since then.

    ``gate``: one of the names in messages.gates. ``subject``: the object in the way: a queue path,
    ``user NAME at PATH``, ``group NAME at PATH`` or a node ID. ``available``: what is left there,
    for the limited types; amounts and nodes are those of ``last_ns``. ``since_ns``: when the ask
    was first found to wait. ``looks``: how often in a row this reason was found. ``until_ns``: when
    it is tried again at the latest, 0 if unknown. ``preemption``: why it could not preempt, "" if
    that was not tried (PRE-58).
    """

    gate: str
    subject: str
    requested: Resource
    available: Resource | None
    nodes: NodeSummaryView | None
    since_ns: int
    last_ns: int
    looks: int
    until_ns: int = 0
    preemption: str = ""


@message
class LogEntryView:
    """How often a request failed for one reason, and when last (CYC-24)."""

    message: str
    last_ns: int
    count: int


@message
class RequestView:
    """One pending ask (REST-79). ``task_group`` "": it belongs to no gang.

    ``log``: sorted by message. ``finding`` None: it was not examined yet. ``reservations``: node
    IDs, oldest reservation first. ``preemption``: the number of the preemption in effect for it, 0
    for none (PRE-6, PRE-89).
    """

    allocation_key: str
    tags: Mapping[str, str]
    request_time_ns: int
    resource: Resource
    pending_count: int
    priority: int
    required_node: str
    application_id: str
    partition: str
    originator: bool
    scheduling_attempted: bool
    triggered_scale_up: bool
    log: tuple[LogEntryView, ...]
    finding: FindingView | None
    reservations: tuple[str, ...]
    task_group: str = ""
    placeholder: bool = False
    execution_timeout_ms: int = 0
    preemption: int = 0
