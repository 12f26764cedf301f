"""Finds the class queues to unblock when many wait for gained room (rules: CYC-10, CYC-25)."""

from __future__ import annotations

from typing import Final, final

from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.decision import UnblockInTurn
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.pending.head import head

# After so many leaves the walk ends, and all eligible class queues are unblocked.
_LEAVES_LIMIT: Final = 1_000


def next_to_unblock(partition: Partition) -> UnblockInTurn | None:
    """Return the class queues to unblock, None if the next to serve is not blocked.

    Rules: CYC-10, CYC-25, RLD-27.
    """
    unblocked = partition.waiting.gained_room.unblocked
    if unblocked and partition.root.has_ready() and head(partition).number in unblocked:
        return None
    if not partition.waiting.gained_room.any_eligible(partition.waiting.waiting_classes):
        return UnblockInTurn(())
    walk = _Walk(partition)
    ended = walk.look(partition.root)
    if walk.class_queues:
        return UnblockInTurn(walk.class_queues)
    return None if ended else UnblockInTurn(walk.all_eligible())


@final
class _Walk:
    """Goes through the leaves in the order of service to the first ones with something to try.

    ``class_queues``: the eligible class queues found so far: blocked ones that may use the gained
    room. ``_left``: how many more leaves it may look at; ``_wanted``: how many more leaves with
    eligible class queues it looks for.
    """

    __slots__ = ("_left", "_partition", "_wanted", "class_queues")

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._left: int = _LEAVES_LIMIT
        self._wanted: int = partition.waiting.gained_room.batch
        self.class_queues: list[ClassQueue] = []

    def look(self, queue: Queue) -> bool:
        """Look at a queue and all queues below it; True ends the walk.

        If the first leaf found has class queues that are not blocked, the walk ends there.
        Rules: CYC-10, RLD-27.
        """
        if queue.children:
            for name in queue.child_order.served(self._partition.waiting.scale):
                if self.look(queue.children[name]):
                    return True
                if self._left < 0:
                    return False
        if not queue.leaf:
            return False
        self._left -= 1
        eligible = self._eligible(queue)
        self.class_queues += eligible
        if eligible:
            self._wanted -= 1
        return self._wanted == 0 or (not self.class_queues and bool(queue.ready.keys))

    def all_eligible(self) -> list[ClassQueue]:
        """Return all eligible class queues of the partition."""
        partition = self._partition
        found: list[ClassQueue] = []
        for queue in partition.queues(partition.root):
            found += self._eligible(queue)
        return found

    def _eligible(self, leaf: Queue) -> list[ClassQueue]:
        gained_room = self._partition.waiting.gained_room
        return [
            class_queue
            for class_queue in leaf.class_queues.values()
            if gained_room.is_eligible(class_queue)
        ]
