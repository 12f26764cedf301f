"""The question what queues, applications or nodes hold, a page at a time.

The full views have every ask and allocation. Who watches amounts asks for thousands of objects
again and again and wants none of that, so these records are flat, and a question is answered with
a bounded number of them.
"""

from __future__ import annotations

from enum import Enum

from remuda.base.message import message
from remuda.base.resources import Resource


class Holder(Enum):
    """What is asked about. Queues are named by their paths."""

    QUEUE = "queue"
    APPLICATION = "application"
    NODE = "node"


@message
class HoldingsQuery:
    """What the holders of one kind hold -> tuple[HoldingView, ...], by name.

    ``name``: that one alone, none if it is not there; "": those whose names come after ``after``,
    the first ``limit`` of them. Applications are those that live. ``rm_id`` as in other questions.
    None: no such partition.
    """

    partition: str
    holder: Holder
    limit: int
    name: str = ""
    after: str = ""
    rm_id: str = ""


@message
class HoldingView:
    """The amounts of one queue, application or node, in base units; None: it has no such amount.

    ``state``: of a node ``Draining`` if it takes nothing, ``NotReady`` if it is not ready, else
    ``Ready``; of the others that of their state machine. ``capacity``: the maximum of a queue, the
    total of a node. ``allocated``: real and placeholder allocations; ``placeholder``: the latter.
    ``occupied``: what others use.
    """

    name: str
    state: str
    allocated: Resource
    capacity: Resource | None = None
    guaranteed: Resource | None = None
    pending: Resource | None = None
    placeholder: Resource | None = None
    occupied: Resource | None = None
