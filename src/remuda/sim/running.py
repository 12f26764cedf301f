"""The tasks that run in a simulation, and when they end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush
from typing import final

from remuda.base.message import message


@message
class Placement:
    """One task (its place in the workload) began: the last of its members got a node.

    ``node_ids``: one for each member, in the order they began; a plain task has one. ``end_ns``
    None: the task never ends. ``preempted``: it was cut short at that time, and begins anew.
    """

    task: int
    node_ids: tuple[str, ...]
    submit_ns: int
    start_ns: int
    end_ns: int | None
    preempted: bool = False


@final
class Running:
    """All starts so far, in the order of the decisions, and the ends of the running tasks."""

    def __init__(self) -> None:
        self.placements: list[Placement] = []
        self.finished = 0
        # (end, number of the start, allocation ID or "" for all): what ends next, oldest first.
        self._ends: list[tuple[int, int, str]] = []
        # Task -> number of the start that is under way.
        self._under_way: dict[int, int] = {}

    def start(self, placement: Placement, allocation_id: str) -> None:
        """Note a start.

        ``allocation_id``: the allocation that ends with it, "" for all of its application.
        """
        number = len(self.placements)
        self.placements.append(placement)
        if placement.end_ns is not None:
            self._under_way[placement.task] = number
            heappush(self._ends, (placement.end_ns, number, allocation_id))

    def next_end(self) -> int | None:
        """Return when the next task ends."""
        ends = self._ends
        while ends and self._under_way.get(self.placements[ends[0][1]].task) != ends[0][1]:
            heappop(ends)  # it was cut short
        return ends[0][0] if ends else None

    def due(self, now_ns: int) -> Iterator[tuple[int, str]]:
        """Yield the tasks that end at an instant, with their allocation IDs."""
        while self.next_end() == now_ns:
            _, number, allocation_id = heappop(self._ends)
            task = self.placements[number].task
            del self._under_way[task]
            self.finished += 1
            yield task, allocation_id

    def cut(self, task: int, now_ns: int) -> bool:
        """Cut a task short; return whether it was running."""
        number = self._under_way.pop(task, None)
        if number is None:
            return False
        self.placements[number] = replace(self.placements[number], end_ns=now_ns, preempted=True)
        return True
