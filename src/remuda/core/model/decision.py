"""What the cycle decided. It is data: nothing has changed yet, ``apply`` carries it out."""

from __future__ import annotations

from typing import TypeAlias, final

from remuda.core.model.bound import Bound
from remuda.core.model.node import Node
from remuda.core.model.request import Lane, Request


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
    """Nothing of a lane can be placed: a limit is in the way, or no node takes it.

    ``limiting``: the first limit that is too small, of user and group, then of the queues, each
    leaf upwards; None: no node.
    """

    __slots__ = ("lane", "limiting", "refused")

    def __init__(self, lane: Lane, limiting: Bound | None, refused: list[Node]) -> None:
        self.lane = lane
        self.limiting = limiting
        self.refused = refused


@final
class Hold:
    """The applications of a lane may not start: ``queue`` or ``quota`` has all it may have."""

    __slots__ = ("lane", "queue", "quota")

    def __init__(self, lane: Lane, queue: Bound | None, quota: Bound | None) -> None:
        self.lane = lane
        self.queue = queue
        self.quota = quota


Decision: TypeAlias = Allocate | Park | Hold
