"""The query for the amounts that queues, applications or nodes hold, a page at a time.

The full views have every ask and allocation. A monitor of amounts asks for thousands of objects
repeatedly and needs none of these. So the records here are flat, and an answer has a bounded number
of them.
"""

from __future__ import annotations

from enum import Enum

from remuda.base.message import message
from remuda.base.resources import Resource


class Holder(Enum):
    """The kind of object that is queried. Queues are named by their paths."""

    QUEUE = "queue"
    APPLICATION = "application"
    NODE = "node"


@message
class HoldingsQuery:
    """The amounts held by the objects of one kind -> tuple[HoldingView, ...], by name.

    ``name``: only that object, if it exists; "": the first ``limit`` objects whose names come after
    ``after``. Only live applications are included. ``rm_id`` as in other queries. None: no such
    partition.
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

    ``state``: of a node ``Draining`` if it is not schedulable, ``NotReady`` if it is not ready,
    else ``Ready``; of other objects the state of their state machine. ``capacity``: the maximum of
    a queue, the capacity of a node. ``allocated``: all allocations, with placeholders;
    ``placeholder``: placeholders only. ``occupied``: used by other schedulers.
    """

    name: str
    state: str
    allocated: Resource
    capacity: Resource | None = None
    guaranteed: Resource | None = None
    pending: Resource | None = None
    placeholder: Resource | None = None
    occupied: Resource | None = None
