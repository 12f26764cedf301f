"""Counts of what happened so far; they only grow (rules: chapter 97).

No decision depends on them. The code that makes a change counts it, so the counts do not depend on
observers.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from remuda.config.process_limits import LIMITS, MEMORY

# RM ID, partition, path.
CountsKey: TypeAlias = tuple[str, str, str]

# For how many deleted queues the counts are kept, since a queue may be created again.
KEPT: Final = 10_000


@final
class Totals:
    """Counts since the start. Rules: MET-6, MET-7, MET-9, MET-17, MET-19, MET-51.

    Applications: ``submitted``, of these ``accepted`` and ``rejected``; ``completed``, ``failed``.
    Allocations: ``allocated``, among them ``recovered`` ones that resource managers reported;
    ``released``: counted at the first release request; ``errors``: reported ones that were refused.
    Nodes: refused ones (``bad_nodes``) and ``decommissioned`` ones. ``limit_hits``: how often each
    limit refused something, by its name (MET-51).
    """

    __slots__ = (
        "accepted",
        "allocated",
        "bad_nodes",
        "completed",
        "decommissioned",
        "errors",
        "failed",
        "limit_hits",
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
        self.limit_hits: dict[str, int] = dict.fromkeys([limit.name for limit in LIMITS], 0)
        self.limit_hits[MEMORY] = 0


@final
class LeafCounts:
    """Counts of one leaf. Implements: MET-35. Rules: MET-24, MET-27, MET-34, MET-42.

    ``allocated`` and ``released``: allocations that began and ended; a confirmed replacement of a
    placeholder counts as neither. ``completed`` and ``failed``: applications by the way they ended.
    ``preempted``: allocations that were chosen as victims; ``preempted_amounts``: their amounts by
    type.
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
class KeptCounts:
    """The totals, and the counts of deleted queues, oldest first. Rules: MET-27."""

    __slots__ = ("_gone", "totals")

    def __init__(self) -> None:
        self.totals = Totals()
        self._gone: dict[CountsKey, LeafCounts] = {}

    def enter(self, key: CountsKey) -> LeafCounts:
        """Return the counts of a queue that is created, maybe again. Rules: MET-27."""
        return self._gone.pop(key, None) or LeafCounts()

    def leave(self, key: CountsKey, counts: LeafCounts) -> None:
        """Keep the counts of a deleted queue, if there are any. Rules: MET-27, MET-33."""
        if counts.allocated or counts.completed or counts.failed:
            self._gone.pop(key, None)
            self._gone[key] = counts
            if len(self._gone) > KEPT:
                del self._gone[next(iter(self._gone))]
