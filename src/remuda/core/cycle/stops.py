"""Checks a limit group must pass before queues and nodes are checked (rules: CYC-11, CYC-12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from remuda.core.model.asks.class_queue import ClassQueue, LimitGroup
from remuda.core.model.decision import ApplicationLimitReached, UserQuotaReached
from remuda.core.model.queues.bound import Bound

B = TypeVar("B", bound=Bound)


def stop_of(limit_group: LimitGroup) -> ApplicationLimitReached | UserQuotaReached | None:
    """Return the limit that stops a limit group, None if nothing stops it.

    The start of applications is checked first, then the limits of user and group, leaf upwards.
    Implements: CYC-11, LIM-71, LIM-53. Rules: CYC-12, LIM-54, QUE-22, LIM-61.
    """
    if limit_group.admission:
        queue_full = _first_full(limit_group.start_queues)
        quota_full = _first_full(limit_group.start_trackers)
        if queue_full is not None or quota_full is not None:
            return ApplicationLimitReached(limit_group, queue_full, quota_full)
    ask_class = limit_group.class_queue.ask_class
    for tracker in limit_group.limit_set.limited:
        if not ask_class.fits(tracker):
            return UserQuotaReached(limit_group, tracker)
    return None


def stops_of_others(class_queue: ClassQueue) -> list[ApplicationLimitReached | UserQuotaReached]:
    """Return what stops the limit groups with new asks of a class queue, the first one apart.

    Rules: CYC-12 (decision 51 of docs/spec).
    """
    first = class_queue.first()
    found: list[ApplicationLimitReached | UserQuotaReached] = []
    for limit_group in class_queue.fresh.values():
        stop = None if limit_group is first or limit_group.waits() else stop_of(limit_group)
        if stop is not None:
            found.append(stop)
    return found


def _first_full(bounds: Sequence[B]) -> B | None:
    """Return the first bound where no further application may start.

    Implements: QUE-22, LIM-61, LIM-62.
    """
    for bound in bounds:
        if bound.full():
            return bound
    return None
