"""Adds allocations that end to the history of their application.

The history holds amounts times seconds by kind of machine. The views of applications show it.
"""

from __future__ import annotations

from typing import Final

from remuda.core.messages.tags import INSTANCE_TYPE
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import History
from remuda.core.model.vectors import Vector, add_times

_SECOND_NS: Final = 1_000_000_000

# The kind of a machine whose RM did not name one.
_UNKNOWN_INSTANCE_TYPE: Final = "UNKNOWN"


def book_history(allocation: Allocation, now_ns: int) -> None:
    """Add an allocation that ends now: its amounts, times the whole seconds since it began.

    The caller must call this before ``victim_gone``, which removes the preemption of the
    allocation. Implements: RES-57.
    """
    application = allocation.application
    history = application.history
    if history is None:
        history = application.history = History()
    sums = _sums_for(allocation, history)
    kind = allocation.node.attributes.get(INSTANCE_TYPE, "") or _UNKNOWN_INSTANCE_TYPE
    found = sums.get(kind)
    if found is None:
        found = sums[kind] = Vector()
    seconds = max(0, now_ns - allocation.created_ns) // _SECOND_NS
    add_times(found, allocation.amounts, seconds)


def _sums_for(allocation: Allocation, history: History) -> dict[str, Vector]:
    """Return the sums that an allocation is added to; a victim that is a placeholder is a victim.

    Rules: RES-57.
    """
    if allocation.preemption is not None:
        return history.preempted
    return history.placeholder if allocation.ask.placeholder else history.used
