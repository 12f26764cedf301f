"""A node: what it has, what is used, and its score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, final

from remuda.core.messages.tags import READY
from remuda.core.model.allocation import Allocation
from remuda.core.model.foreign import ForeignAllocation
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
class Node:
    """One node of a partition (NOD-1, NOD-2).

    Always available = total - allocated - occupied over the union of their types (NOD-3).
    ``allocations``: with what each holds, in the order in which they came; not by ID, for that is
    unique per application only. ``lent``: an answer under way reads them, so they are copied before
    they change (DMP-15). ``verdicts``: what predicates said of it, until it changes: by class why
    that is refused, and under keys of their own (model/verdicts.py) what lanes have asked.
    ``reservations``: by number, oldest first; ``held``: one of them closes the node to others
    (RSV-7).
    ``weights``: what the score is made of, see ``policy.node_score``. ``changed``: where it notes
    its ID when its total or what is allocated changes (NOD-22), ``noted``: it is there.

    ``occupied`` is what others use: the amount the RM reports or, once it reported one, the sum of
    the ``foreign`` allocations by identity (CYC-29); ``itemised`` says which of the two.
    """

    __slots__ = (
        "allocated",
        "allocations",
        "attributes",
        "available",
        "changed",
        "foreign",
        "held",
        "itemised",
        "lent",
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
        self.node_id = node_id
        self.total = total
        self.occupied = vector_of(occupied)
        self.schedulable = schedulable
        self.attributes: dict[str, str] = {}
        self.allocated = Vector()
        self.available = Vector()
        self.changed: dict[str, None] = {}
        self.noted: bool = False
        self.lent: bool = False
        self.allocations: dict[Allocation, Amounts] = {}
        self.verdicts: dict[str, str] = {}
        self.reservations: dict[int, Reservation] = {}
        self.held: bool = False
        self.foreign: dict[str, ForeignAllocation] = {}
        self.itemised: bool = False
        self.weights: tuple[tuple[int, float, int], ...] = ()
        add(self.available, total)
        subtract(self.available, occupied)

    def is_open(self) -> bool:
        """Whether everybody may use its room. Rules: NOD-8, RSV-7."""
        return self.schedulable and not self.held

    def holds(self, amounts: Amounts) -> bool:
        """Whether amounts fit its capacity. Rules: NOD-9, RSV-5."""
        return fit_within(self.total, amounts)

    def put(self, allocation: Allocation) -> None:
        """Take an allocation in; the fit was checked before, or must not be (SI-41)."""
        if self.lent:
            self._keep()
        self.allocations[allocation] = allocation.amounts
        move(self.available, self.allocated, allocation.amounts)
        self.note()

    def lend(self) -> Mapping[Allocation, Amounts]:
        """Return the allocations with what each holds, as they are now and stay. Rules: DMP-15.

        Whoever reads them later finds this moment: what changes is a copy from then on.
        """
        self.lent = True
        return self.allocations

    def _keep(self) -> None:
        """Leave the allocations to those who read them, and go on with a copy. Rules: DMP-15."""
        self.allocations = dict(self.allocations)
        self.lent = False

    def note(self) -> None:
        """Note that the node changed, for the histogram of how full nodes are. Rules: NOD-22."""
        if not self.noted:
            self.noted = True
            self.changed[self.node_id] = None

    def remove(self, allocation: Allocation) -> None:
        """Give an allocation's room back."""
        if self.lent:
            self._keep()
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
        """Let an allocation that is here hold other amounts from now on. Rules: CYC-28."""
        if self.lent:
            self._keep()
        self.allocations[allocation] = amounts
        move(self.allocated, self.available, allocation.amounts)
        move(self.available, self.allocated, amounts)
        self.note()

    def reoccupy(self, occupied: Amounts) -> None:
        """Change what others use, as the RM reports it. Rules: NOD-5."""
        add_vector(self.available, self.occupied)
        subtract(self.available, occupied)
        self.occupied = vector_of(occupied)

    def put_foreign(self, foreign: ForeignAllocation) -> None:
        """Take a foreign allocation in, or its new amounts; no fit is checked.

        What the RM reported as occupied goes with the first one. Rules: CYC-29, NODE-17.
        """
        if not self.itemised:
            self.itemised = True
            add_vector(self.available, self.occupied)
            self.occupied = Vector()
        self.foreign[foreign.identity] = foreign
        move(self.available, self.occupied, foreign.amounts)

    def remove_foreign(self, foreign: ForeignAllocation) -> None:
        """Give a foreign allocation's room back. Rules: CYC-29."""
        del self.foreign[foreign.identity]
        move(self.occupied, self.available, foreign.amounts)

    def ready(self) -> bool:
        """Return the ready flag; absent or unreadable means ready. Rules: NODE-2."""
        return says_ready(self.attributes)


def says_ready(attributes: Mapping[str, str]) -> bool:
    """Return the ready flag among a node's attributes. Rules: NODE-2."""
    return attributes.get(READY, "true") not in _FALSE
