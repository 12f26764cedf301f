"""What stops the asks of a strand before queues and nodes are asked (rules: CYC-11, CYC-12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from remuda.core.model.bound import Bound
from remuda.core.model.decision import Hold, Wait
from remuda.core.model.request import Lane, Strand

B = TypeVar("B", bound=Bound)


def stop_of(strand: Strand) -> Hold | Wait | None:
    """Return why the asks of a strand may not be tried, None if they may.

    First whether its applications may start, then the limits of user and group, leaf upwards.
    Rules: CYC-11, CYC-12, LIM-54, LIM-71, QUE-22, LIM-61.
    """
    if strand.gate:
        queue_full = _first_full(strand.queue_gates)
        quota_full = _first_full(strand.quota_gates)
        if queue_full is not None or quota_full is not None:
            return Hold(strand, queue_full, quota_full)
    shape = strand.lane.shape
    for tracker in strand.account.limited:
        if not shape.fits(tracker):
            return Wait(strand, tracker)
    return None


def stops_of_others(lane: Lane) -> list[Hold | Wait]:
    """Return which new strands of a lane would not have got as far as its first one, and why.

    Rules: CYC-12 (decision 51 of docs/spec).
    """
    first = lane.first()
    found: list[Hold | Wait] = []
    for strand in lane.fresh.values():
        stop = None if strand is first or strand.waits() else stop_of(strand)
        if stop is not None:
            found.append(stop)
    return found


def _first_full(bounds: Sequence[B]) -> B | None:
    """Return the first of these where no further application may start. Rules: QUE-22, LIM-61."""
    for bound in bounds:
        if bound.full():
            return bound
    return None
