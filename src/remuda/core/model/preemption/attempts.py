"""Fruitless attempts to preempt: when they may be repeated.

Rules: PRE-4, PRE-90.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from remuda.core.ports import PreemptionItem

if TYPE_CHECKING:
    from remuda.core.model.asks.class_queue import ClassQueue

# PRE-5, PRE-90: how long a fruitless attempt is not repeated.
PAUSE_NS: Final = 15 * 10**9

# PRE-90: how often that pause is doubled at most, if preemptions of one ask are lost: 64 minutes.
DOUBLINGS: Final = 8

# PRE-4, PRE-90: the window in which attempts are counted, as long as a cycle of an idle scheduler
# (CYC-1); how many fruitless attempts a leaf may make in it; and how many nodes and allocations all
# attempts of a partition may look at in it.
WINDOW_NS: Final = 100_000_000
LEAF_LIMIT: Final = 10
COST_LIMIT: Final = 50_000


@final
class Tried:
    """A fruitless attempt of a class queue. ``due_ns``: when it may be repeated.

    ``revision``: the revision of the partition at that time; while it is the same, the attempt
    would fail again. None: the RM has not answered yet, or the attempt was cut short or not made;
    it may be repeated anyway.
    """

    __slots__ = ("due_ns", "revision")

    def __init__(self, due_ns: int, revision: int | None) -> None:
        self.due_ns = due_ns
        self.revision = revision


@final
class VictimAnswers:
    """The later answers of an RM about the victims of an attempt (EXT-18).

    ``ticket``: the number of the open question about ``asked``, 0: none is open. ``answered``:
    answered questions with their verdicts: for each item the success and the index of the last
    victim.
    """

    __slots__ = ("answered", "asked", "ticket")

    def __init__(self) -> None:
        self.ticket: int = 0
        self.asked: tuple[PreemptionItem, ...] = ()
        self.answered: list[tuple[tuple[PreemptionItem, ...], tuple[tuple[bool, int], ...]]] = []

    def take(self, verdicts: tuple[tuple[bool, int], ...]) -> None:
        """Keep the answer to the open question."""
        self.ticket = 0
        self.answered.append((self.asked, verdicts))

    def about(self, items: tuple[PreemptionItem, ...]) -> tuple[tuple[bool, int], ...] | None:
        """Return the verdicts on items, None if they were not asked about."""
        for asked, verdicts in self.answered:
            if asked == items:
                return verdicts
        return None


@final
class Attempts:
    """The fruitless attempts of a partition.

    ``fruitless``: class queues that may try again after a change, the first due first;
    ``exhausted``: class queues that the limits of the window stopped; ``blocked``: class queues
    that may try again as soon as a reservation ends. ``timer_ns``: when the timer runs out, 0:
    there is none; ``planned``: the revision of the partition when the timer was last checked.
    ``awaiting_victims``: class queues with an open question, by ticket. ``made``: how many attempts
    were made.
    """

    __slots__ = (
        "_by_leaf",
        "_cost",
        "_since_ns",
        "awaiting_victims",
        "blocked",
        "exhausted",
        "fruitless",
        "made",
        "planned",
        "timer_ns",
    )

    def __init__(self) -> None:
        self.fruitless: dict[int, ClassQueue] = {}
        self.exhausted: dict[int, ClassQueue] = {}
        self.blocked: dict[int, ClassQueue] = {}
        self.awaiting_victims: dict[int, ClassQueue] = {}
        self.timer_ns: int = 0
        self.made: int = 0
        self.planned: int = -1
        self._since_ns: int = 0
        self._cost: int = 0
        self._by_leaf: dict[str, int] = {}

    def may(self, path: str, now_ns: int) -> bool:
        """Whether a leaf may make an attempt now. Implements: PRE-4. Rules: PRE-90."""
        if now_ns >= self._since_ns + WINDOW_NS:
            return True
        return self._cost < COST_LIMIT and self._by_leaf.get(path, 0) < LEAF_LIMIT

    def count(self, path: str, cost: int, now_ns: int, *, fruitful: bool) -> None:
        """Count an attempt of a leaf. Rules: PRE-4, PRE-90."""
        self.made += 1
        if now_ns >= self._since_ns + WINDOW_NS:
            self._since_ns = now_ns
            self._cost = 0
            self._by_leaf = {}
        self._cost += cost
        self._by_leaf[path] = 0 if fruitful else self._by_leaf.get(path, 0) + 1

    def unlist(self, class_queue: ClassQueue) -> None:
        """Remove a class queue from all lists; if it is added again, it is the last one."""
        self.fruitless.pop(class_queue.number, None)
        self.exhausted.pop(class_queue.number, None)
        self.blocked.pop(class_queue.number, None)

    def window_end_ns(self) -> int:
        """Return when the exhausted class queues may try again."""
        return self._since_ns + WINDOW_NS
