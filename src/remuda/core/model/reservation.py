"""Reservations: nodes kept free for asks that fit no node (rules: chapter 50 part D)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

from remuda.core.model.asks.ages import FOREVER_NS, Ages
from remuda.core.model.queues.bound import Bound
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.asks.class_queue import ClassQueue
    from remuda.core.model.asks.request import Request
    from remuda.core.model.nodes.node import Node

# Path of the leaf, number of the limit set, number of the amounts.
ReservationClassKey: TypeAlias = tuple[str, int, int]


@final
class ReservationClass:
    """Reservations of equal asks under the same limits: all of them fit the headroom, or none.

    ``bounds``: the limits they must fit: queues of the path, trackers of user and group.
    ``reservations``: by number, oldest first.
    Rules: RSV-3, RSV-10.
    """

    __slots__ = ("amounts", "bounds", "fits", "key", "reservations")

    def __init__(
        self, key: ReservationClassKey, amounts: Amounts, bounds: tuple[Bound, ...]
    ) -> None:
        self.key = key
        self.amounts = amounts
        self.bounds = bounds
        self.fits: bool = True
        self.reservations: dict[int, Reservation] = {}

    def fit(self) -> bool:
        """Whether one more such allocation stays within every limit. Rules: RSV-3, CYC-12."""
        for bound in self.bounds:
            if not bound.fits(self.amounts):
                return False
        return True

    def overpromised(self, known: dict[Bound, int]) -> bool:
        """Whether a limit has less room than it promised, of a type of the asks.

        ``known``: the types of which that is so at the limits looked at so far, so that many
        classes together look at each limit once. Rules: PRE-89.
        """
        for bound in self.bounds:
            if bound.promised is None:
                continue
            if bound not in known:
                known[bound] = bound.overpromised()
            if known[bound] & self.amounts.need_types:
                return True
        return False


@final
class Reservation:
    """A reservation of one node for one ask; it adds nothing to usage.

    ``node_ready``: the node has room for the ask now, and no known verdict of predicates refuses
    it. ``refusal``: why predicates refused the node after its last change, "" if they did not.
    ``timed``: a timer for its maximum age is set (RSV-10).
    Implements: RSV-1.
    """

    __slots__ = (
        "created_ns",
        "node",
        "node_ready",
        "number",
        "refusal",
        "request",
        "reservation_class",
        "timed",
    )

    def __init__(
        self,
        number: int,
        request: Request,
        node: Node,
        reservation_class: ReservationClass,
        created_ns: int,
    ) -> None:
        self.number = number
        self.request = request
        self.node = node
        self.reservation_class = reservation_class
        self.created_ns = created_ns
        self.node_ready: bool = False
        self.refusal: str = ""
        self.timed: bool = False

    def holds(self) -> bool:
        """Whether it closes its node to other asks. Rules: RSV-7, RSV-10, PRE-89.

        With a preemption in effect for the node, the room is kept regardless of the headroom.
        """
        preemption = self.request.preemption
        return self.reservation_class.fits or (
            preemption is not None and preemption.node_id == self.node.node_id
        )


@final
class Reservations:
    """The reservations of one partition, and the nodes and classes to review."""

    __slots__ = ("ages", "classes", "due_ns", "nodes_to_review", "refused", "reservations", "stale")

    def __init__(self) -> None:
        # By number, oldest first.
        self.reservations: dict[int, Reservation] = {}
        # Classes of reservations of equal asks under the same limits.
        self.classes: dict[ReservationClassKey, ReservationClass] = {}
        # Whether usage or limits changed since the last review of the classes.
        self.stale: bool = False
        # When the next reservation beyond the headroom reaches its maximum age (RSV-10).
        self.due_ns: int = FOREVER_NS
        # Nodes with reservations that changed since the last decision, by ID.
        self.nodes_to_review: dict[str, Node] = {}
        # Class queues, by number, whose best node to reserve was refused by predicates, and that
        # node.
        self.refused: dict[int, tuple[ClassQueue, Node]] = {}
        # Asks that may not reserve yet (RSV-3).
        self.ages = Ages()
