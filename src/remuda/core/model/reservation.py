"""Reservations: nodes kept free for asks that found none (rules: chapter 50 part D)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

from remuda.core.model.bound import Bound
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.node import Node
    from remuda.core.model.request import Request

# Path of the leaf, number of the account, number of the amounts.
ClaimKey: TypeAlias = tuple[str, int, int]


@final
class Claim:
    """Reservations of equal asks under the same limits: all of them fit the headroom, or none.

    ``bounds``: what they must fit: the queues of the path, the trackers of user and group.
    ``reservations``: by number, oldest first.
    Rules: RSV-3, RSV-10.
    """

    __slots__ = ("amounts", "bounds", "fits", "key", "reservations")

    def __init__(self, key: ClaimKey, amounts: Amounts, bounds: tuple[Bound, ...]) -> None:
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


@final
class Reservation:
    """One ask on one node (RSV-1). Nothing is charged for it.

    ``home``: the node would take the ask now, as far as its room and what is known of predicates
    say. ``refusal``: why the predicates refused it since the node changed, "" if they did not.
    ``timed``: a timer runs out when it is too old (RSV-10).
    """

    __slots__ = ("claim", "created_ns", "home", "node", "number", "refusal", "request", "timed")

    def __init__(
        self, number: int, request: Request, node: Node, claim: Claim, created_ns: int
    ) -> None:
        self.number = number
        self.request = request
        self.node = node
        self.claim = claim
        self.created_ns = created_ns
        self.home: bool = False
        self.refusal: str = ""
        self.timed: bool = False

    def holds(self) -> bool:
        """Whether it keeps its node from others. Rules: RSV-7, RSV-10, PRE-89.

        Room that was taken from others for an ask is kept whatever the headroom says.
        """
        standing = self.request.preemption
        return self.claim.fits or (standing is not None and standing.node_id == self.node.node_id)
