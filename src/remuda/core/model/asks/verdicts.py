"""The verdicts of a remote RM on nodes, and the questions it has not answered.

A verdict is kept at the node, under a key of the predicate class. When the node changes, it forgets
all verdicts (NOD-13, EXT-5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from remuda.core.model.applications.application import Application
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.asks.predicate_class import PredicateClass
from remuda.core.model.nodes.node import Node

# The question is on its way.
ASKED: Final = "?"
# The node is acceptable.
PASSED: Final = "+"
# The RM gave no answer: the node is skipped this time, but is not refused (EXT-17).
UNUSABLE: Final = "~"
# The prefix of the reason of a refusal.
_REFUSED: Final = "-"


@final
class Asked:
    """A question without an answer yet: its class queue, and its nodes in order.

    ``predicate_class``: that of the class queue; the answer is for all its asks. ``application``:
    the application whose placeholders an ask might replace there, None for other questions.
    """

    __slots__ = ("allocate", "application", "class_queue", "nodes", "predicate_class")

    def __init__(
        self,
        class_queue: ClassQueue,
        nodes: Sequence[Node],
        allocate: bool,
        application: Application | None,
    ) -> None:
        self.class_queue = class_queue
        self.predicate_class: PredicateClass = class_queue.ask_class.predicate_class
        self.nodes = nodes
        self.allocate = allocate
        self.application = application


@final
class Questions:
    """The questions to the RM of a partition without an answer yet, and what waits for them.

    ``asked``: the questions by ticket. ``awaiting``: class queues, by number, that are blocked
    until the next answer; ``swaps``: applications with placeholders that wait for it.
    ``postponed``: class queues that are blocked for a time because there was no answer. ``wanted``:
    how many nodes the waiting asks can use. ``later``: the RM once answered a question later.
    ``together``: how many of the next questions name the same nodes as earlier ones, since some
    nodes were refused and others not (EXT-14). Rules: EXT-14, EXT-17.
    """

    __slots__ = ("asked", "awaiting", "later", "postponed", "swaps", "together", "wanted")

    def __init__(self) -> None:
        self.asked: dict[int, Asked] = {}
        self.awaiting: dict[int, ClassQueue] = {}
        self.swaps: dict[int, Application] = {}
        self.postponed: dict[int, ClassQueue] = {}
        self.wanted: int = 0
        self.later: bool = False
        self.together: int = 0

    def waiting(self) -> int:
        """Return how many class queues and applications wait for the next answer."""
        return len(self.awaiting) + len(self.swaps)


def refusal(reason: str) -> str:
    """Return the verdict of a refusal with a reason. Rules: SI-80."""
    return _REFUSED + reason


def reason_of(verdict: str) -> str:
    """Return the reason in the verdict of a refusal. Rules: SI-80."""
    return verdict[1:]
