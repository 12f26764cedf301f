"""Predicate classes: waiting asks that get the same answers from the predicates of their RM.

An ask that names no class has a class of its own. The verdict of the RM on a node is kept at the
node, under a key of the class, since it is void when the node changes (NOD-13, EXT-5). So one
question serves all asks of the class, in any leaf and with any amounts.
Rules: NOD-13, EXT-5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from remuda.core.model.asks.ask_class import AskClass
    from remuda.core.model.nodes.node import Node

# For how many nodes one ask of a class is taken to need verdicts, at most (see ``spread_now``).
_SPREAD_LIMIT: Final = 64

# How many times more nodes are named if all of the last ones were refused, and at most.
_REACH_GROWTH: Final = 4
_REACH_LIMIT: Final = 1_024

# Shared by classes without questions, to save memory; never changed.
NO_NODES: Final[dict[str, Node]] = {}


@final
class PredicateClass:
    """One predicate class, with its ask classes that have pending asks, by number.

    ``name``: as in the key of its ask classes. ``lasting``: nodes keep refusals, since the asks
    named the class. ``number``: part of the keys under which nodes keep verdicts; it is never used
    twice. ``ticket``: the number of the open question, 0: none; ``judged``: nodes that a remote RM
    was asked about, by ID; ``wanted``: how many of them the waiting asks can use. ``used``: its
    allocations since the last question; ``spread``: for each of those before, how many judged nodes
    were taken, by any class. ``reach``: how many nodes were judged for each that passed.
    ``due_ns``: when the RM is asked about it again, 0: it is not listed (see ``Retries``);
    ``delay_ns``: the pause before that; ``rounds``: how often the RM was asked again.
    """

    __slots__ = (
        "ask_classes",
        "delay_ns",
        "due_ns",
        "judged",
        "lasting",
        "name",
        "number",
        "reach",
        "rounds",
        "spread",
        "ticket",
        "used",
        "wanted",
    )

    def __init__(self, number: int, name: str, *, lasting: bool) -> None:
        self.number = number
        self.name = name
        self.lasting = lasting
        self.ask_classes: dict[int, AskClass] = {}
        self.ticket: int = 0
        self.judged: dict[str, Node] = NO_NODES
        self.wanted: int = 0
        self.used: int = 0
        self.spread: int = 1
        self.reach: int = 1
        self.due_ns: int = 0
        self.delay_ns: int = 0
        self.rounds: int = 0

    def waiting_ask_classes(self) -> list[AskClass]:
        """Return the ask classes that wait for a node; each round begins with another one.

        Rules: EXT-15.
        """
        waiting = [ask_class for ask_class in self.ask_classes.values() if ask_class.waiting]
        first = self.rounds % len(waiting) if waiting else 0
        return waiting[first:] + waiting[:first]

    def waits(self) -> bool:
        """Whether a class queue of it waits for a node. Rules: EXT-15."""
        return any(ask_class.waiting for ask_class in self.ask_classes.values())

    def refused(self) -> str:
        """Return the key under which a node keeps a lasting refusal."""
        return f"refused {self.number}"

    def key_of(self, *, allocate: bool) -> str:
        """Return the key under which a node keeps a later verdict of the RM. Rules: EXT-5."""
        return f"run {self.number}" if allocate else f"reserve {self.number}"

    def spread_now(self) -> int:
        """Return how many judged nodes were taken lately for each allocation of this class.

        More than one if other classes take turns with it, since they take nodes, too. Cost: O(the
        judged nodes). Rules: EXT-13.
        """
        if not self.used:
            return self.spread
        own = self.key_of(allocate=True)
        taken = sum([own not in node.verdicts for node in self.judged.values()])
        return max(1, min(taken // self.used, _SPREAD_LIMIT))

    def note_answer(self, passed: int, refused: int) -> None:
        """Note how many nodes an answer accepts and refuses. Rules: EXT-13."""
        if passed:
            self.reach = (passed + refused) // passed
        elif refused:
            self.reach = min(self.reach * _REACH_GROWTH, _REACH_LIMIT)

    def note_question(self, ticket: int, nodes: Sequence[Node]) -> None:
        """Note that the RM is asked about nodes. Rules: EXT-5, EXT-13, EXT-14."""
        self.ticket = ticket
        if self.used:
            self.spread = self.spread_now()
            self.used = 0
            own, other = self.key_of(allocate=True), self.key_of(allocate=False)
            self.judged = {
                node_id: node
                for node_id, node in self.judged.items()
                if own in node.verdicts or other in node.verdicts
            }
        if not self.judged:
            self.judged = {}
        for node in nodes:
            self.judged[node.node_id] = node

    def forget(self) -> None:
        """Forget the later verdicts of the RM, and the open question.

        Rules: EXT-5.
        """
        self.ticket = 0
        if self.judged:
            run, reserve = self.key_of(allocate=True), self.key_of(allocate=False)
            for node in self.judged.values():
                node.verdicts.pop(run, None)
                node.verdicts.pop(reserve, None)
            self.judged = NO_NODES

    def renew(self, number: int) -> None:
        """Make all verdicts so far void; ``number`` is the new number of the class.

        Verdicts under the old keys are never read again; a node drops them when it changes. Rules:
        NOD-13.
        """
        self.forget()
        self.number = number
