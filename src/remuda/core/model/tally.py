"""What happened so far, as plain counts that only grow (rules: chapter 97).

Nothing is decided by them. They are kept where the thing itself happens, so that they are right
whatever observers saw.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

# RM ID, partition, path.
TallyKey: TypeAlias = tuple[str, str, str]

# Queues that are gone and whose counts are kept for the case that they come back.
KEPT: Final = 10_000


@final
class Totals:
    """What was counted since the start. Rules: MET-6, MET-7, MET-9, MET-17, MET-19.

    Applications: ``submitted``, of these ``accepted`` and ``rejected``; ``completed``, ``failed``.
    Allocations: ``allocated``, among them ``recovered`` ones that resource managers reported;
    ``released`` when the resource manager was told the first time; ``errors``: reported ones that
    could not be taken. Nodes: ``bad_nodes`` that could not be, ``decommissioned``.
    """

    __slots__ = (
        "accepted",
        "allocated",
        "bad_nodes",
        "completed",
        "decommissioned",
        "errors",
        "failed",
        "recovered",
        "rejected",
        "released",
        "submitted",
    )

    def __init__(self) -> None:
        self.submitted: int = 0
        self.accepted: int = 0
        self.rejected: int = 0
        self.completed: int = 0
        self.failed: int = 0
        self.allocated: int = 0
        self.recovered: int = 0
        self.released: int = 0
        self.errors: int = 0
        self.bad_nodes: int = 0
        self.decommissioned: int = 0


@final
class Tally:
    """What was counted in one leaf. Rules: MET-24, MET-27, MET-34, MET-35, MET-42.

    ``allocated`` and ``released``: allocations that came and went, a confirmed replacement of a
    placeholder is neither. ``completed`` and ``failed``: applications that ended so.
    ``preempted``: allocations that were chosen as victims, with what they held by type.
    """

    __slots__ = ("allocated", "completed", "failed", "preempted", "preempted_amounts", "released")

    def __init__(self) -> None:
        self.allocated: int = 0
        self.released: int = 0
        self.completed: int = 0
        self.failed: int = 0
        self.preempted: int = 0
        self.preempted_amounts: dict[str, int] = {}


@final
class Tallies:
    """The totals, and the tallies of queues that are gone, oldest first. Rules: MET-27."""

    __slots__ = ("_gone", "totals")

    def __init__(self) -> None:
        self.totals = Totals()
        self._gone: dict[TallyKey, Tally] = {}

    def enter(self, key: TallyKey) -> Tally:
        """Return what a queue that comes, or comes back, goes on counting with. Rules: MET-27."""
        return self._gone.pop(key, None) or Tally()

    def leave(self, key: TallyKey, tally: Tally) -> None:
        """Keep the counts of a queue that goes, if there are any. Rules: MET-27, MET-33."""
        if tally.allocated or tally.completed or tally.failed:
            self._gone.pop(key, None)
            self._gone[key] = tally
            if len(self._gone) > KEPT:
                del self._gone[next(iter(self._gone))]
