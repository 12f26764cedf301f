"""The waiting asks of a partition: their classes, where they wait, and what to recompute."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.model.asks.ask_class import AskClass, AskClassKey
from remuda.core.model.asks.outstanding import Outstanding
from remuda.core.model.asks.past_asks import PastAsks
from remuda.core.model.asks.predicate_class import PredicateClass
from remuda.core.model.asks.retries import Retries
from remuda.core.model.asks.verdicts import Questions
from remuda.core.model.nodes.gained_room import GainedRoom
from remuda.core.model.nodes.waiting_classes import WaitingClasses
from remuda.core.model.queues.demand import NO_SCALE, Scale
from remuda.core.model.queues.queue import Queue

if TYPE_CHECKING:
    from remuda.core.model.allocation import Allocation
    from remuda.core.model.applications.application import Application


@final
class WaitingAsks:
    """The state that core/pending keeps for one partition."""

    __slots__ = (
        "ask_classes",
        "changes",
        "failed_swaps",
        "gained_room",
        "leaves_to_reorder",
        "outstanding",
        "own_tags",
        "past",
        "predicate_classes",
        "questions",
        "retries",
        "scale",
        "shares_stale",
        "swapping",
        "urgent",
        "waiting_classes",
    )

    def __init__(self, root: Queue) -> None:
        # Classes with pending asks.
        self.ask_classes: dict[AskClassKey, AskClass] = {}
        # Their predicate classes, by name (EXT-15).
        self.predicate_classes: dict[str, PredicateClass] = {}
        # Classes that have class queues which wait for a node.
        self.waiting_classes = WaitingClasses()
        # Queues and nodes that gained room which many class queues wait for.
        self.gained_room = GainedRoom()
        # Leaves that get a new sort key before the next decision, by path.
        self.leaves_to_reorder: dict[str, Queue] = {}
        # Queues whose divisors, and those of all queues below, are forgotten before that, by path.
        self.shares_stale: dict[str, Queue] = {root.path: root}
        # The units by which the demands of equal queues are compared (QUE-35).
        self.scale: Scale = NO_SCALE
        # Leaves with something to try in the reserved pass, by path (CYC-19).
        self.urgent: dict[str, Queue] = {}
        # Leaves with applications that may replace placeholders, by path (GANG-10).
        self.swapping: dict[str, Queue] = {}
        # Applications whose last try to replace a placeholder failed, by number (GANG-16).
        self.failed_swaps: dict[int, Application] = {}
        # Counts the changes after which such a try may succeed.
        self.changes: int = 0
        # Questions to the RM without an answer yet, and what waits for them (EXT-14).
        self.questions = Questions()
        # Refused predicate classes that the RM is asked about again (EXT-15).
        self.retries = Retries()
        # Asks that may have to be reported to the RM (CYC-30).
        self.outstanding = Outstanding()
        # Characters of the tags of allocations that run, although their ask is gone or has other
        # tags now (SI-14).
        self.own_tags: dict[Allocation, int] = {}
        # Asks that ended (SI-34).
        self.past = PastAsks()
