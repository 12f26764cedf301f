"""Attempts to preempt that chose nobody: why they are not repeated, and when.

Rules: PRE-4, PRE-90.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from remuda.core.ports import PreemptionItem

if TYPE_CHECKING:
    from remuda.core.model.request import Lane

# PRE-5, PRE-90: how long a fruitless attempt is not repeated.
PAUSE_NS: Final = 15 * 10**9

# PRE-4, PRE-90: what is counted together, as a cycle of an idle scheduler is that long (CYC-1); how
# many fruitless attempts a leaf has in it, and how much the attempts of a partition may look at.
WINDOW_NS: Final = 100_000_000
LEAF_LIMIT: Final = 10
COST_LIMIT: Final = 50_000


@final
class Tried:
    """A fruitless attempt of a lane. ``due_ns``: when it may be repeated.

    ``revision``: that of the partition then; while it is the same there is no reason to. None:
    there is one, it just was not its turn.
    """

    __slots__ = ("due_ns", "revision")

    def __init__(self, due_ns: int, revision: int | None) -> None:
        self.due_ns = due_ns
        self.revision = revision


@final
class Hearing:
    """What an RM that answers later said about the victims of an attempt (EXT-18).

    ``ticket``: the number of the question about ``asked``, 0: none is open. ``heard``: questions
    with their verdicts, per item whether the node would do and the index of the last victim.
    """

    __slots__ = ("asked", "heard", "ticket")

    def __init__(self) -> None:
        self.ticket: int = 0
        self.asked: tuple[PreemptionItem, ...] = ()
        self.heard: list[tuple[tuple[PreemptionItem, ...], tuple[tuple[bool, int], ...]]] = []

    def take(self, verdicts: tuple[tuple[bool, int], ...]) -> None:
        """Keep the answer to the question that is open."""
        self.ticket = 0
        self.heard.append((self.asked, verdicts))

    def about(self, items: tuple[PreemptionItem, ...]) -> tuple[tuple[bool, int], ...] | None:
        """Return what was said of these items, None if they were not asked about."""
        for asked, verdicts in self.heard:
            if asked == items:
                return verdicts
        return None


@final
class Attempts:
    """The fruitless attempts of a partition.

    ``fruitless``: lanes that may try again when something changed, the first due first;
    ``exhausted``: those whose turn has not come; ``blocked``: those that may try again as soon as a
    reservation ends. ``timer_ns``: when the timer runs out, 0: there is none; ``planned``: the
    revision of the partition it was last thought about. ``hearings``: lanes with an open question,
    by ticket. ``made``: how many attempts there were.
    """

    __slots__ = (
        "_by_leaf",
        "_cost",
        "_since_ns",
        "blocked",
        "exhausted",
        "fruitless",
        "hearings",
        "made",
        "planned",
        "timer_ns",
    )

    def __init__(self) -> None:
        self.fruitless: dict[int, Lane] = {}
        self.exhausted: dict[int, Lane] = {}
        self.blocked: dict[int, Lane] = {}
        self.hearings: dict[int, Lane] = {}
        self.timer_ns: int = 0
        self.made: int = 0
        self.planned: int = -1
        self._since_ns: int = 0
        self._cost: int = 0
        self._by_leaf: dict[str, int] = {}

    def may(self, path: str, now_ns: int) -> bool:
        """Whether a leaf may make an attempt now. Rules: PRE-4, PRE-90."""
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

    def unlist(self, lane: Lane) -> None:
        """Forget that a lane waits to try again, so that it is listed anew behind the others."""
        self.fruitless.pop(lane.number, None)
        self.exhausted.pop(lane.number, None)
        self.blocked.pop(lane.number, None)

    def window_end_ns(self) -> int:
        """Return when those may try whose turn has not come."""
        return self._since_ns + WINDOW_NS
