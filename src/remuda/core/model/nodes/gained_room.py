"""Notes the queues and nodes that gained room which many class queues wait for.

A release in a full cluster makes room for one ask, while ten thousand class queues may wait for it.
To unblock them all would cost ten thousand decisions, and all but one of the class queues would be
blocked again. So if more than a few class queues wait, only the queue or node that gained room is
noted. While it has room, the blocked class queues that would fit it are *eligible*: the regular
pass unblocks an eligible class queue when it is served next.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.waiting_classes import WaitingClasses
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import fits

# At most so many class queues are unblocked at once; that costs less than finding the first one.
FEW: Final = 16

# The number of a gain, and the node that gained room.
_Gain: TypeAlias = tuple[int, Node]


@final
class GainedRoom:
    """What gained room, of one partition.

    ``queues``: queues that gained room, by path. ``_nodes``: nodes with room, by ID; ``_free``:
    nodes that may be reserved. ``gains``: how often nodes gained room; an ask class that was tried
    after a gain finds no room there. ``batch``: for how many leaves class queues are unblocked at a
    time; it doubles each time, since usually one is enough. ``unblocked``: the class queues
    unblocked last, by number; they are served before all eligible ones, until a decision does more
    than block asks. Rules: CYC-25, NOD-14 (decision 141 of docs/spec).
    """

    __slots__ = ("_free", "_nodes", "any", "batch", "gains", "queues", "unblocked")

    def __init__(self) -> None:
        self.any: bool = False
        self.batch: int = 1
        self.unblocked: dict[int, ClassQueue] = {}
        self.gains: int = 0
        self.queues: dict[str, Queue] = {}
        self._nodes: dict[str, _Gain] = {}
        self._free: dict[str, _Gain] = {}

    def note_queue(self, queue: Queue) -> None:
        """Note that a queue gained room below its maximum."""
        self.queues[queue.path] = queue
        self.any = True

    def note_node(self, node: Node) -> None:
        """Note that a node gained room."""
        self.gains += 1
        self._nodes[node.node_id] = (self.gains, node)
        self.any = True

    def note_free_node(self, node: Node) -> None:
        """Note that a node may be reserved now, or by larger asks than before."""
        self.gains += 1
        self._free[node.node_id] = (self.gains, node)
        self.any = True

    def forget(self) -> None:
        """Forget everything: no waiting class queue could use the room."""
        self.any = False
        self.batch = 1
        self.unblocked = {}
        self.queues.clear()
        self._nodes.clear()
        self._free.clear()

    def is_eligible(self, class_queue: ClassQueue) -> bool:
        """Whether a blocked class queue is eligible. Rules: CYC-25."""
        blocked = class_queue.blocked
        if blocked is None:
            return False
        queue = blocked.at
        if isinstance(queue, Queue):
            return queue.path in self.queues and queue.has_room_for(class_queue.ask_class)
        return class_queue.waits_for_node() and self._has_node(class_queue.ask_class)

    def any_eligible(self, waiting_classes: WaitingClasses) -> bool:
        """Whether any class queue of the partition is eligible. Rules: CYC-25."""
        for queue in self.queues.values():
            for ask_class in queue.stopped():
                if queue.has_room_for(ask_class):
                    return True
        for _, node in self._nodes.values():
            for ask_class in waiting_classes.within(node.available):
                if self._has_node(ask_class):
                    return True
        for ask_class in waiting_classes.ask_classes.values() if self._free else ():
            if self._has_node(ask_class):
                return True
        return False

    def _has_node(self, ask_class: AskClass) -> bool:
        """Whether the class fits or may reserve a node that gained room after its last try."""
        tried = ask_class.tried
        amounts = ask_class.amounts
        for gain, node in self._nodes.values():
            if gain > tried and ask_class.reaches(node) and fits(node.available, amounts):
                return True
        for gain, node in self._free.values():
            if gain > tried and ask_class.could_reserve(node) and node.holds(amounts):
                return True
        return False
