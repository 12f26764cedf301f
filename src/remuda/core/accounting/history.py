"""Adds allocations that end to the history of their application (rules: RES-57)."""

from __future__ import annotations

from typing import Final

from remuda.base.tracked import UNKNOWN_INSTANCE_TYPE, tracker_of
from remuda.core.messages.tags import INSTANCE_TYPE
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import History
from remuda.core.model.vectors import Vector, add_times

_SECOND_NS: Final = 1_000_000_000


def book_history(allocation: Allocation, now_ns: int) -> None:
    """Add an allocation that ends now: its amounts, times the whole seconds since it began.

    The caller must call this before ``victim_gone``, which removes the preemption of the
    allocation. Rules: RES-57.
    """
    application = allocation.application
    history = application.history
    if history is None:
        history = application.history = History()
    tracker = tracker_of(
        preempted=allocation.preemption is not None, placeholder=allocation.ask.placeholder
    )
    sums = history.used
    if tracker == "preempted":
        sums = history.preempted
    elif tracker == "placeholder":
        sums = history.placeholder
    kind = allocation.node.attributes.get(INSTANCE_TYPE, "") or UNKNOWN_INSTANCE_TYPE
    found = sums.get(kind)
    if found is None:
        found = sums[kind] = Vector()
    seconds = max(0, now_ns - allocation.created_ns) // _SECOND_NS
    add_times(found, allocation.amounts, seconds)
