"""A node: its capacity, its usage, its reservations and the verdicts of predicates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, final

from remuda.core.messages.tags import READY
from remuda.core.model.allocation import Allocation
from remuda.core.model.lending import Lender
from remuda.core.model.nodes.foreign import ForeignAllocation
from remuda.core.model.vectors import (
    Amounts,
    Vector,
    add,
    add_vector,
    fit_within,
    move,
    subtract,
    vector_of,
)

if TYPE_CHECKING:
    from remuda.core.model.reservation import Reservation

_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")


@final
class Node(Lender[Allocation, Amounts]):
    """One node of a partition.

    Always available = total - allocated - occupied over the union of their types. ``allocations``:
    allocation -> its amounts, in the order of arrival; IDs are not used as keys, since they are
    unique per application only. ``verdicts``: the verdicts of predicates, until the node changes:
    lasting refusals and later verdicts, under the keys of ``PredicateClass``. ``reservations``: by
    number, oldest first; ``held``: one of them closes the node to other asks (RSV-7). ``weights``:
    the terms of the score, see ``policy.node_score``. ``changed``: the dictionary to which it adds
    its ID when its total or its usage changes (NOD-22); ``noted``: its ID is in there.
    ``schedulable``: neither of ``drained_by_rm`` and ``drained_by_operator`` (EXT-176).

    ``occupied``: the usage of other schedulers. That is the amount the RM reports or, after it
    reported a foreign allocation, the sum of ``foreign``, by identity (CYC-29); ``itemised``: the
    latter is the case.
    Implements: NOD-1, NOD-2, NOD-3.
    """

    __slots__ = (
        "allocated",
        "attributes",
        "available",
        "changed",
        "drained_by_operator",
        "drained_by_rm",
        "foreign",
        "held",
        "itemised",
        "node_id",
        "noted",
        "occupied",
        "reservations",
        "schedulable",
        "total",
        "verdicts",
        "weights",
    )

    def __init__(self, node_id: str, total: Amounts, occupied: Amounts, schedulable: bool) -> None:
        super().__init__()
        self.node_id = node_id
        self.total = total
        self.occupied = vector_of(occupied)
        self.schedulable = schedulable
        self.drained_by_rm: bool = not schedulable
        self.drained_by_operator: bool = False
        self.attributes: dict[str, str] = {}
        self.allocated = Vector()
        self.available = Vector()
        self.changed: dict[str, None] = {}
        self.noted: bool = False
        self.verdicts: dict[str, str] = {}
        self.reservations: dict[int, Reservation] = {}
        self.held: bool = False
        self.foreign: dict[str, ForeignAllocation] = {}
        self.itemised: bool = False
        self.weights: tuple[tuple[int, float, int], ...] = ()
        add(self.available, total)
        subtract(self.available, occupied)

    def is_open(self) -> bool:
        """Whether all asks may use its room. Implements: NOD-8. Rules: RSV-7."""
        return self.schedulable and not self.held

    def holds(self, amounts: Amounts) -> bool:
        """Whether amounts fit its capacity. Implements: NOD-9. Rules: RSV-5."""
        return fit_within(self.total, amounts)

    def put(self, allocation: Allocation) -> None:
        """Add an allocation; whether it fits is not checked here (SI-41)."""
        if self.lent:
            self.keep()
        self.allocations[allocation] = allocation.amounts
        move(self.available, self.allocated, allocation.amounts)
        self.note()

    def forget_verdicts(self) -> None:
        """Forget all verdicts of predicates, since the node changed. Rules: NOD-13, EXT-5."""
        self.verdicts.clear()
        for reservation in self.reservations.values():
            reservation.refusal = ""

    def note(self) -> None:
        """Note that the node changed, for the histogram of node utilisation. Rules: NOD-22."""
        if not self.noted:
            self.noted = True
            self.changed[self.node_id] = None

    def remove(self, allocation: Allocation) -> None:
        """Remove an allocation."""
        if self.lent:
            self.keep()
        del self.allocations[allocation]
        move(self.allocated, self.available, allocation.amounts)
        self.note()

    def resize(self, total: Amounts) -> None:
        """Change the capacity. Rules: NOD-5."""
        subtract(self.available, self.total)
        add(self.available, total)
        self.total = total
        self.note()

    def exchange(self, allocation: Allocation, amounts: Amounts) -> None:
        """Change the amounts of an allocation. Rules: CYC-28."""
        if self.lent:
            self.keep()
        self.allocations[allocation] = amounts
        move(self.allocated, self.available, allocation.amounts)
        move(self.available, self.allocated, amounts)
        self.note()

    def reoccupy(self, occupied: Amounts) -> None:
        """Change the usage of other schedulers, as the RM reports it. Rules: NOD-5."""
        add_vector(self.available, self.occupied)
        subtract(self.available, occupied)
        self.occupied = vector_of(occupied)

    def put_foreign(self, foreign: ForeignAllocation) -> None:
        """Add a foreign allocation; whether it fits is not checked.

        The first foreign allocation replaces the occupied amount that the RM reported. Rules:
        CYC-29, NODE-17.
        """
        if not self.itemised:
            self.itemised = True
            add_vector(self.available, self.occupied)
            self.occupied = Vector()
        self.foreign[foreign.identity] = foreign
        move(self.available, self.occupied, foreign.amounts)

    def remove_foreign(self, foreign: ForeignAllocation) -> None:
        """Remove a foreign allocation. Rules: CYC-29."""
        del self.foreign[foreign.identity]
        move(self.occupied, self.available, foreign.amounts)

    def ready(self) -> bool:
        """Return the ready flag; absent or unreadable means ready.

        Implements: NODE-12. Rules: NODE-2.
        """
        return says_ready(self.attributes)


def says_ready(attributes: Mapping[str, str]) -> bool:
    """Return the ready flag among a node's attributes. Rules: NODE-2."""
    return attributes.get(READY, "true") not in _FALSE
