"""Which queues are to be cut down to a changed maximum, and when (rules: PRE-64 to PRE-66)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from remuda.core.model.preemption import Preemption
    from remuda.core.model.queue import Queue


@final
class QuotaChanges:
    """What a partition knows of maximums that are below use.

    ``armed``: queues with a start time (``quota_due_ns``), by path. ``running``: those where
    victims are not confirmed yet (``quota_run``), by the number of the preemption. ``ended``: runs
    whose last victim is gone, until the call is over. ``tick_ns``: when to look at the queues next,
    always a whole second of Unix time; 0: no timer is set.
    """

    __slots__ = ("armed", "ended", "running", "tick_ns")

    def __init__(self) -> None:
        self.armed: dict[str, Queue] = {}
        self.running: dict[int, Queue] = {}
        self.ended: list[Preemption] = []
        self.tick_ns: int = 0

    def arm(self, queue: Queue, due_ns: int) -> None:
        """Give a queue a start time, or another one. Rules: PRE-64."""
        queue.quota_due_ns = max(1, due_ns)
        self.armed[queue.path] = queue

    def disarm(self, queue: Queue) -> None:
        """Take a queue's start time away, if it has one. Rules: PRE-64, PRE-66."""
        queue.quota_due_ns = 0
        self.armed.pop(queue.path, None)

    def disarm_all(self) -> None:
        """Take every start time away; there is nothing more to look at. Rules: OBJ-9."""
        for queue in list(self.armed.values()):
            self.disarm(queue)
        self.tick_ns = 0
