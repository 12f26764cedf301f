"""What an RM that is asked over a distance has said about a node and a lane.

It is kept at the node, under a key of the lane, because it is worth nothing once the node changes,
and a node that changes forgets all verdicts anyway (NOD-13, EXT-5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from remuda.core.model.application import Application
from remuda.core.model.node import Node
from remuda.core.model.request import Lane

# The question is on its way.
ASKED: Final = "?"
# The node is acceptable.
PASSED: Final = "+"
# There was no answer, so that the node is not used this time, which says nothing about it (EXT-17).
UNUSABLE: Final = "~"
# Before the reason of a refusal.
_REFUSED: Final = "-"


@final
class Asked:
    """A question without an answer yet: about which lane, and which nodes in their order.

    ``application``: whose placeholders an ask of the lane might replace there, None if that is not
    what it is about.
    """

    __slots__ = ("allocate", "application", "lane", "nodes")

    def __init__(
        self, lane: Lane, nodes: Sequence[Node], allocate: bool, application: Application | None
    ) -> None:
        self.lane = lane
        self.nodes = nodes
        self.allocate = allocate
        self.application = application


@final
class Questions:
    """The questions to the RM of a partition that have no answer yet, and who waits for them.

    ``asked``: by ticket. Aside until the next answer, by number: ``awaiting``, lanes; ``swaps``,
    applications with placeholders. ``postponed``: lanes that are aside until their time, because
    there was no answer. Rules: EXT-14, EXT-17.
    """

    __slots__ = ("asked", "awaiting", "postponed", "swaps")

    def __init__(self) -> None:
        self.asked: dict[int, Asked] = {}
        self.awaiting: dict[int, Lane] = {}
        self.swaps: dict[int, Application] = {}
        self.postponed: dict[int, Lane] = {}

    def waiting(self) -> int:
        """Return how many lanes and applications wait for the next answer."""
        return len(self.awaiting) + len(self.swaps)


def key_of(lane: Lane, *, allocate: bool) -> str:
    """Return under what a node keeps the verdict on a lane; no predicate class is called so.

    Rules: EXT-5, SI-80.
    """
    return f"run {lane.number}" if allocate else f"reserve {lane.number}"


def refusal(reason: str) -> str:
    """Return the verdict that refuses a node. Rules: SI-80."""
    return _REFUSED + reason


def reason_of(verdict: str) -> str:
    """Return why a verdict refuses a node. Rules: SI-80."""
    return verdict[1:]
