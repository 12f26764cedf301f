"""Ask classes: asks that are interchangeable for a node, and their stage of reserving one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, final

from remuda.core.model.nodes.passed_over import PassedOver
from remuda.core.model.ranking import SortKey
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.asks.class_queue import ClassQueue
    from remuda.core.model.asks.predicate_class import PredicateClass
    from remuda.core.model.nodes.node import Node
    from remuda.core.model.queues.bound import Bound

# Stages of asks (RSV-3, CYC-19, CYC-20, CYC-21): too young to reserve; may reserve; has all the
# reservations it may have; has some and may have more; a node it reserved is ready for it. Asks
# from RESERVED on are served in the reserved pass.
YOUNG: Final = 0
AGED: Final = 1
RESERVED: Final = 2
PARTLY: Final = 3
NODE_READY: Final = 4

# Number of the amounts, required node, predicate class, node order ("": the partition's), stage,
# number of the ask if it has a class of its own, else 0; task group of a real ask, whether it is a
# placeholder, number of the amounts of the whole gang if quotas must have room for that first, else
# 0; the priority of an ask that may preempt others now, else None; whether its preemption is in
# effect.
AskClassKey: TypeAlias = tuple[int, str, str, str, int, int, str, bool, int, int | None, bool]
KEY_PREDICATE_CLASS: Final = 2
KEY_GANG_QUOTA: Final = 8


@final
class AskClass:
    """The asks of one partition that have equal requirements on a node.

    ``predicate_class``: asks with the same one get the same answers from the RM; an ask that names
    none has one of its own. ``node_policy`` "": the policy of the partition (NOD-23). ``urgent``:
    served in the reserved pass. ``may_reserve``: the asks may have one reservation more.
    ``ending``: the end of the sort keys of its class queues. ``task_group``: that of real asks, ""
    for none; ``placeholder``: the asks are placeholders. ``total``: the amounts of the whole gang,
    if quotas must have room for them first (GANG-4). ``waiting``: class queues blocked because no
    node took them; ``tried``: the last gain of a node before that; ``at_once``: all of them are
    unblocked together (see ``GainedRoom``). ``preempts``: the asks may preempt others now (PRE-5);
    ``promised``: room is kept for the ask, so promised amounts do not stop it (PRE-89).
    ``passed_over``: the nodes that searches need not look at, None before the first of them.
    """

    __slots__ = (
        "amounts",
        "at_once",
        "ending",
        "groups",
        "key",
        "may_reserve",
        "node_policy",
        "number",
        "passed_over",
        "placeholder",
        "predicate_class",
        "preempts",
        "promised",
        "required_node",
        "stage",
        "task_group",
        "total",
        "tried",
        "urgent",
        "waiting",
    )

    def __init__(
        self,
        number: int,
        key: AskClassKey,
        amounts: Amounts,
        total: Amounts | None,
        predicate_class: PredicateClass,
    ) -> None:
        self.number = number
        self.ending: SortKey = (number,)
        self.key = key
        self.amounts = amounts
        _, required, _, policy, stage, _, task_group, placeholder, _, preempts, promised = key
        self.required_node: str = required
        self.node_policy: str = policy
        self.stage: int = stage
        self.task_group: str = task_group
        self.placeholder: bool = placeholder
        self.preempts: bool = preempts is not None
        self.promised: bool = promised
        # An ask with a preemption in effect has passed the gang quota check (PRE-89).
        self.total = None if self.promised else total
        self.urgent: bool = self.stage >= RESERVED
        self.may_reserve: bool = self.stage in (AGED, PARTLY)
        self.predicate_class = predicate_class
        self.at_once: bool = self.urgent or self.preempts or self.promised
        self.groups: int = 0
        self.tried: int = 0
        self.waiting: dict[int, ClassQueue] = {}
        self.passed_over: PassedOver | None = None

    def fits(self, bound: Bound) -> bool:
        """Whether a limit has room for one such ask. Rules: QUE-8, LIM-53, PRE-89."""
        return bound.takes(self.amounts) if self.promised else bound.fits(self.amounts)

    def reaches(self, node: Node) -> bool:
        """Whether such an ask may use a node; room and predicates are not checked.

        Rules: NOD-8 (a required node may be draining), RSV-7, CYC-21.
        """
        if self.required_node:
            return self.required_node == node.node_id and not self.urgent
        return node.is_open()

    def could_reserve(self, node: Node) -> bool:
        """Whether such an ask may reserve a node if it is large enough.

        Rules: RSV-3, RSV-5, RSV-12.
        """
        if not self.may_reserve:
            return False
        if self.required_node:
            return self.required_node == node.node_id
        return node.schedulable and not node.reservations
