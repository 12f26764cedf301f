"""Preemptions that were decided: their asks, their victims and their reasons.

Rules: PRE-34, PRE-89, PRE-91.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

from remuda.core.model.vectors import Amounts, Vector, add

if TYPE_CHECKING:
    from remuda.core.model.allocation import Allocation
    from remuda.core.model.asks.request import Request

# What a preemption is for (PRE-91).
QUEUE: Final = "queue"
REQUIRED_NODE: Final = "required node"
QUOTA: Final = "quota"

# The outcome of a preemption. WAITING: it is in effect (PRE-89). DONE: all victims of a quota
# preemption ended.
WAITING: Final = "waiting"
PLACED: Final = "placed"
DONE: Final = "done"
LOST: Final = "lost"

# How many ended preemptions a partition remembers (PRE-91).
KEPT: Final = 1_000


@final
class Victim:
    """A record of one chosen allocation.

    ``for_queue``: it makes room in a queue, not on the node.

    ``confirmed``: the allocation has ended, for any reason.
    """

    __slots__ = (
        "allocation_id",
        "amounts",
        "application_id",
        "confirmed",
        "for_queue",
        "key",
        "node_id",
        "opted_out",
        "originator",
        "priority",
        "queue_path",
    )

    def __init__(self, allocation: Allocation, *, for_queue: bool) -> None:
        ask = allocation.ask
        self.application_id = allocation.application.application_id
        self.allocation_id = allocation.allocation_id
        self.key = ask.allocation_key
        self.queue_path = allocation.application.queue_path
        self.node_id = allocation.node.node_id
        self.amounts = allocation.amounts
        self.priority = ask.priority
        self.originator = ask.originator
        self.opted_out = not ask.allow_preempt_self
        self.for_queue = for_queue
        self.confirmed: bool = False


@final
class Preemption:
    """One preemption (PRE-91). Times are Unix nanoseconds.

    ``number``: unique in the partition. ``request``: the ask that it makes room for, while it is in
    effect; ``application_number``, ``application_id`` and ``allocation_key`` identify the ask
    afterwards. A quota preemption in ``queue_path`` has none of these. ``node_id``: the node for
    the ask, "" for a quota preemption. ``amounts``: those of the ask, or the excess. ``victims``:
    by (application number, allocation ID), in the order in which they were chosen. ``left``: how
    many victims are not confirmed. ``promised``: room is kept for the ask at its queues, user and
    group (PRE-89).
    """

    __slots__ = (
        "allocation_key",
        "amounts",
        "application_id",
        "application_number",
        "cause",
        "created_ns",
        "ended_ns",
        "kind",
        "left",
        "node_id",
        "number",
        "outcome",
        "promised",
        "queue_path",
        "reasons",
        "request",
        "victims",
    )

    def __init__(
        self,
        number: int,
        *,
        kind: str,
        created_ns: int,
        queue_path: str,
        amounts: Amounts,
        reasons: Sequence[str],
    ) -> None:
        self.number = number
        self.kind = kind
        self.created_ns = created_ns
        self.queue_path = queue_path
        self.amounts = amounts
        self.reasons = tuple(reasons)
        self.request: Request | None = None
        self.application_number: int = 0
        self.application_id: str = ""
        self.allocation_key: str = ""
        self.node_id: str = ""
        self.victims: dict[tuple[int, str], Victim] = {}
        self.left: int = 0
        self.promised: bool = False
        self.outcome: str = WAITING
        self.cause: str = ""
        self.ended_ns: int = 0

    def set_target(self, request: Request, node_id: str) -> None:
        """Set the ask that it makes room for, and its node. Rules: PRE-89, PRE-91."""
        self.request = request
        self.application_number = request.application.number
        self.application_id = request.application.application_id
        self.allocation_key = request.ask.allocation_key
        self.node_id = node_id

    def end(self, outcome: str, now_ns: int, cause: str = "") -> None:
        """Note how it ended. Rules: PRE-6 (Ours), PRE-91."""
        self.request = None
        self.outcome = outcome
        self.cause = cause
        self.ended_ns = now_ns

    def freed(self) -> Vector:
        """Return the sum of the amounts of all victims."""
        sum_of_all = Vector()
        for victim in self.victims.values():
            add(sum_of_all, victim.amounts)
        return sum_of_all
