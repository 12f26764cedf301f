"""What the cycle decided. It is data: nothing has changed yet, ``apply`` carries it out."""

from __future__ import annotations

from typing import TypeAlias, final

from remuda.core.model.bound import Bound
from remuda.core.model.node import Node
from remuda.core.model.queue import Queue
from remuda.core.model.request import Lane, Request, Strand
from remuda.core.model.trackers import QueueTracker


@final
class Allocate:
    """Place one allocation of an ask on a node. ``refused``: nodes its predicates refused."""

    __slots__ = ("node", "refused", "request")

    def __init__(self, request: Request, node: Node, refused: list[Node]) -> None:
        self.request = request
        self.node = node
        self.refused = refused


@final
class Park:
    """Nothing of a lane can be placed: a queue's limit is in the way, or no node takes it.

    ``limiting``: the first queue, leaf upwards, whose maximum is too small; None: no node.
    """

    __slots__ = ("lane", "limiting", "refused")

    def __init__(self, lane: Lane, limiting: Queue | None, refused: list[Node]) -> None:
        self.lane = lane
        self.limiting = limiting
        self.refused = refused


@final
class Wait:
    """Nothing of a strand can be placed: its user or group has no room for it."""

    __slots__ = ("strand", "tracker")

    def __init__(self, strand: Strand, tracker: QueueTracker) -> None:
        self.strand = strand
        self.tracker = tracker


@final
class Hold:
    """The applications of a strand may not start: ``queue`` or ``quota`` has all it may have."""

    __slots__ = ("queue", "quota", "strand")

    def __init__(self, strand: Strand, queue: Bound | None, quota: Bound | None) -> None:
        self.strand = strand
        self.queue = queue
        self.quota = quota


Decision: TypeAlias = Allocate | Park | Wait | Hold
