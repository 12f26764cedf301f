"""What makes asks interchangeable for a node, and how far they got with reserving one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, final

from remuda.core.model.ranking import SortKey
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.bound import Bound
    from remuda.core.model.node import Node
    from remuda.core.model.request import Lane

# Stages of asks (RSV-3, CYC-19 to CYC-21): too young to reserve; may reserve; has all the
# reservations it may have; may have more; its reserved node would take it now. From RESERVED on
# they are served in the reserved pass.
YOUNG: Final = 0
AGED: Final = 1
RESERVED: Final = 2
PARTLY: Final = 3
HOME: Final = 4

# Number of the amounts, required node, predicate class, node order ("": the partition's), stage,
# number of the ask if it is alone, else 0; task group of a real ask, whether it is a placeholder,
# number of the amounts of the whole gang if it is gated, else 0; the priority of an ask that may
# preempt others now, else None; whether its preemption stands.
ShapeKey: TypeAlias = tuple[int, str, str, str, int, int, str, bool, int, int | None, bool]


@final
class Shape:
    """Equal requirements on a node, of one partition.

    ``constraint`` is the predicate class: asks with the same one get the same answers; an ask that
    names none has one of its own. With ``volatile`` the answers may change on their own, so every
    request of the RM wakes the shape. ``node_policy`` "": that of the partition (NOD-23).
    ``urgent``: served in the reserved pass. ``may_reserve``: may have one reservation more.
    ``ending``: what keys of its lanes end in. ``task_group``: of real asks, "" for none;
    ``placeholder``: they keep room for such.
    ``total``: what the whole gang needs, if quotas must have room for that first (GANG-4).
    ``waiting``: lanes parked because no node took them. ``preempts``: they may preempt others now
    (PRE-5); ``promised``: room is kept for them, so what is promised does not stop them (PRE-89).
    """

    __slots__ = (
        "amounts",
        "constraint",
        "ending",
        "groups",
        "key",
        "may_reserve",
        "node_policy",
        "number",
        "placeholder",
        "preempts",
        "promised",
        "required_node",
        "stage",
        "task_group",
        "total",
        "urgent",
        "volatile",
        "waiting",
    )

    def __init__(
        self, number: int, key: ShapeKey, amounts: Amounts, total: Amounts | None, volatile: bool
    ) -> None:
        self.number = number
        self.ending: SortKey = (number,)
        self.key = key
        self.amounts = amounts
        self.required_node: str = key[1]
        self.constraint: str = key[2]
        self.node_policy: str = key[3]
        self.stage: int = key[4]
        self.task_group: str = key[6]
        self.placeholder: bool = key[7]
        self.preempts: bool = key[9] is not None
        self.promised: bool = key[10]
        # What made room for one made it for the gang's start; the gate is behind it (PRE-89).
        self.total = None if self.promised else total
        self.urgent: bool = self.stage >= RESERVED
        self.may_reserve: bool = self.stage in (AGED, PARTLY)
        self.volatile = volatile
        self.groups: int = 0
        self.waiting: dict[int, Lane] = {}

    def fits(self, bound: Bound) -> bool:
        """Whether a limit has room for one such ask. Rules: QUE-8, LIM-53, PRE-89."""
        return bound.takes(self.amounts) if self.promised else bound.fits(self.amounts)

    def reaches(self, node: Node) -> bool:
        """Whether such an ask may use a node at all, room and predicates apart.

        Rules: NOD-8 (a required node may be draining), RSV-7, CYC-21.
        """
        if self.required_node:
            return self.required_node == node.node_id and not self.urgent
        return node.is_open()

    def could_reserve(self, node: Node) -> bool:
        """Whether such an ask might reserve a node, its size apart. Rules: RSV-3, RSV-5, RSV-12."""
        if not self.may_reserve:
            return False
        if self.required_node:
            return self.required_node == node.node_id
        return node.schedulable and not node.reservations
