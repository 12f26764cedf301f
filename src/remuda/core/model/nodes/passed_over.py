"""The first nodes of a node order that are of no use to an ask class, which a search passes over.

Predicates may refuse most nodes. Then the refused ones gather at the beginning of the order, since
asks of the class use the others. So an ask class remembers up to where its searches found only
refused nodes and nodes without room. Later searches begin there. They look at a node before that
place only if it changed since.
Rules: CYC-15, NOD-13, NOD-15.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from remuda.core.model.vectors import Amounts, fits

if TYPE_CHECKING:
    from remuda.core.model.asks.ask_class import AskClass
    from remuda.core.model.nodes.node import Node
    from remuda.core.model.nodes.node_blocks import Entry
    from remuda.core.model.nodes.node_order import NodeOrder

# How many changes of nodes are remembered, at most. An ask class that did not search for so long
# begins at the first node again.
CHANGES_LIMIT: Final = 4_096


@final
class NodeChanges:
    """The last nodes that were put into a place of the node orders, or that lost a refusal.

    ``kept``: some ask class passes nodes over, so changes are noted. ``begin``: how many changes
    are forgotten.
    """

    __slots__ = ("begin", "kept", "nodes")

    def __init__(self) -> None:
        self.kept: bool = False
        self.begin: int = 0
        self.nodes: list[Node] = []

    def note(self, node: Node) -> None:
        """Note that a node changed. Rules: NOD-14."""
        if len(self.nodes) >= CHANGES_LIMIT:
            half = CHANGES_LIMIT // 2
            del self.nodes[:half]
            self.begin += half
        self.nodes.append(node)

    def end(self) -> int:
        """Return how many changes there were."""
        return self.begin + len(self.nodes)

    def forget(self) -> None:
        """Let all ask classes begin at the first node again. Rules: NOD-13."""
        self.begin += len(self.nodes) + 1
        self.nodes.clear()


@final
class PassedOver:
    """The nodes that searches of one ask class pass over.

    Each node of ``order`` up to the entry ``low`` has no room for the class, or the refusal under
    ``refused``, or is one of ``changed``, by ID, or of the changes after ``seen``.
    """

    __slots__ = ("changed", "low", "order", "refused", "seen")

    def __init__(self) -> None:
        self.order: NodeOrder | None = None
        self.refused: str = ""
        self.low: Entry = ()
        self.seen: int = 0
        self.changed: dict[str, Node] = {}

    def refresh(self, ask_class: AskClass, order: NodeOrder, changes: NodeChanges) -> list[Node]:
        """Take the last changes; return the nodes up to ``low`` that may be of use, in order.

        Cost: O(changes since the last call). Rules: CYC-15, NOD-13.
        """
        refused = ask_class.predicate_class.refused()
        if order is not self.order or refused != self.refused or self.seen < changes.begin:
            self.order, self.refused, self.low = order, refused, ()
            self.changed = {}
        elif self.low:
            for node in changes.nodes[self.seen - changes.begin :]:
                self.changed[node.node_id] = node
        self.seen = changes.end()
        return self._useful(ask_class, order) if self.changed else []

    def _useful(self, ask_class: AskClass, order: NodeOrder) -> list[Node]:
        useful: list[tuple[Entry, Node]] = []
        for node in self.changed.values():
            entry = order.entry_of(node.node_id)
            if (
                entry
                and entry <= self.low
                and self.refused not in node.verdicts
                and fits(node.available, ask_class.amounts)
            ):
                useful.append((entry, node))
        useful.sort(key=_entry)
        self.changed = {node.node_id: node for _, node in useful}
        return [node for _, node in useful]

    def advance(self, nodes: list[Node], order: NodeOrder, changes: NodeChanges) -> int:
        """Pass over the first of some nodes that were refused; return how many these are.

        The nodes are the first behind ``low`` that have room.
        """
        count = 0
        for node in nodes:
            if self.refused not in node.verdicts:
                break
            count += 1
        if count:
            self.low = order.entry_of(nodes[count - 1].node_id)
            changes.kept = True
        return count

    def missed(self, ask_class: AskClass, changes: NodeChanges) -> list[str]:
        """Return the IDs of nodes of use that a search would wrongly pass over, for checks."""
        order = self.order
        refused = ask_class.predicate_class.refused()
        if order is None or not self.low or refused != self.refused or self.seen < changes.begin:
            return []
        known = {node.node_id for node in changes.nodes[self.seen - changes.begin :]}
        return [
            node.node_id
            for node in order.fitting_up_to(ask_class.amounts, self.low)
            if self.refused not in node.verdicts
            and node.node_id not in self.changed
            and node.node_id not in known
        ]

    def refusals(self, amounts: Amounts, order: NodeOrder) -> list[tuple[Node, str]]:
        """Return the refused nodes that were passed over and have room, with the reasons."""
        return [
            (node, node.verdicts[self.refused])
            for node in (order.fitting_up_to(amounts, self.low) if self.low else ())
            if self.refused in node.verdicts
        ]


def _entry(useful: tuple[Entry, Node]) -> Entry:
    return useful[0]
