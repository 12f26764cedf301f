"""Lists refused predicate classes by the time when their RM is asked about them again.

The answers of an RM may change without a request to the core, for example because a label or a
volume changed. So the core asks again about refused nodes after a time: one class after another, in
slices of nodes, and within a maximum rate (decision 135 of docs/spec).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, final

from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.asks.predicate_class import PredicateClass
from remuda.core.model.deadlines import SECOND_NS
from remuda.core.model.nodes.node import Node

# The first pause, which doubles each time while nothing changes, and the longest one.
FIRST_NS: Final = SECOND_NS
LONGEST_NS: Final = 15 * SECOND_NS

# How many nodes an RM is asked about again per second, and in one question.
PER_SECOND: Final = 10_000
SLICE: Final = 256

# How many stale entries are tolerated before the heap is rebuilt.
_SMALL: Final = 64


@final
class Retries:
    """The refused classes of a partition, by the time when they are asked about again.

    ``count``: how many classes are listed; a class is listed while its ``due_ns`` is not 0.
    ``current``: the class of this round. ``left``: its ask classes that are not done. The first
    one is done on all nodes up to ``after``, or with ``reserving`` on all but the one to reserve.
    ``done``: the nodes asked about in this round, by ID. ``ready``: the next slice may be asked
    about now. ``ticket``: the number of the open question about the nodes ``asked``, 0: none.
    ``restart_ns``: when all pauses begin again because something changed, 0: never.
    ``others_due_ns``: when refused reservations, swaps and attempts to preempt are tried again, 0:
    never; ``others_delay_ns``: the pause before that; ``swaps_left``: how many applications are
    left to try this time. ``timer_ns``: when the timer runs out, 0: none is set; ``stale``: the
    timer must be checked.
    """

    __slots__ = (
        "_heap",
        "_number",
        "after",
        "asked",
        "count",
        "current",
        "done",
        "left",
        "others_delay_ns",
        "others_due_ns",
        "ready",
        "reserving",
        "restart_ns",
        "stale",
        "swaps_left",
        "ticket",
        "timer_ns",
    )

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, PredicateClass]] = []
        self._number: int = 0
        self.count: int = 0
        self.current: PredicateClass | None = None
        self.left: list[AskClass] = []
        self.done: dict[str, Node] = {}
        self.after: Node | None = None
        self.reserving: bool = False
        self.ready: bool = False
        self.ticket: int = 0
        self.asked: list[Node] = []
        self.restart_ns: int = 0
        self.others_due_ns: int = 0
        self.others_delay_ns: int = FIRST_NS
        self.swaps_left: int = 0
        self.timer_ns: int = 0
        self.stale: bool = False

    def put(self, predicate_class: PredicateClass, due_ns: int) -> None:
        """List a class, or change its time. Cost: O(log n). Rules: EXT-15."""
        if not predicate_class.due_ns:
            self.count += 1
        predicate_class.due_ns = due_ns
        self._number += 1
        heappush(self._heap, (due_ns, self._number, predicate_class))
        self.stale = True

    def drop(self, predicate_class: PredicateClass) -> None:
        """Remove a class: it ended, or no class queue of it waits. Rules: EXT-15."""
        if predicate_class.due_ns:
            predicate_class.due_ns = 0
            self.count -= 1
            if len(self._heap) > 2 * self.count + _SMALL:
                self._heap = [each for each in self._heap if each[2].due_ns == each[0]]
                heapify(self._heap)
        if predicate_class is self.current and self.ready:
            # In a partition without nodes no decision would end this round.
            self.end_round()
            self.ready = False
            self.stale = True

    def earliest(self) -> int:
        """Return when the next class is due, 0 if none is listed. Rules: EXT-15."""
        heap = self._heap
        while heap and heap[0][2].due_ns != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else 0

    def pop_due(self, now_ns: int) -> PredicateClass | None:
        """Return the first class that is due by now, None if there is none; it stays listed.

        Rules: EXT-15.
        """
        due_ns = self.earliest()
        if not 0 < due_ns <= now_ns:
            return None
        return heappop(self._heap)[2]

    def begin_round(self, now_ns: int) -> None:
        """Begin the round of the first class that is due, if there is one. Rules: EXT-15."""
        self.current = self.pop_due(now_ns)
        self.left = self.current.waiting_ask_classes() if self.current is not None else []
        self.after = None
        self.reserving = False

    def end_round(self) -> None:
        """End the round of the current class. Rules: EXT-15."""
        self.current = None
        self.left = []
        self.done = {}

    def begin_anew(self, now_ns: int) -> None:
        """Make all classes due now, with the shortest pause afterwards. Rules: EXT-15."""
        self.restart_ns = 0
        self.others_delay_ns = FIRST_NS
        if self.others_due_ns:
            self.others_due_ns = now_ns
        live = sorted([each for each in self._heap if each[2].due_ns == each[0]], key=_sort_key)
        self._heap = []
        for _, number, predicate_class in live:
            predicate_class.delay_ns = FIRST_NS
            predicate_class.due_ns = min(predicate_class.due_ns, now_ns)
            self._heap.append((predicate_class.due_ns, number, predicate_class))


def _sort_key(entry: tuple[int, int, PredicateClass]) -> tuple[int, int]:
    return entry[0], entry[1]
