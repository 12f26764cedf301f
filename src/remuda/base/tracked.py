"""Tracked usage: what an application has used, in amount x seconds, by kind of machine.

The sums are part of the application summary. They only grow when an allocation ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from remuda.base.resources import Resource, add, multiply

# Instance type -> resource type -> amount x seconds.
TrackedUsage: TypeAlias = Mapping[str, Resource]

Tracker: TypeAlias = Literal["used", "preempted", "placeholder"]

UNKNOWN_INSTANCE_TYPE: Final = "UNKNOWN"

_NS_PER_SECOND: Final = 1_000_000_000


def track(
    tracked: TrackedUsage,
    instance_type: str,
    resource: Resource | None,
    *,
    bound_ns: int,
    released_ns: int,
) -> dict[str, Resource]:
    """Return the tracked usage with one ended allocation added.

    ``instance_type`` is the node's attribute ``si/instance-type``, "" if it has none. Times are
    nanoseconds; only whole seconds count. Sums saturate. Implements: RES-57.
    """
    seconds = max(0, released_ns - bound_ns) // _NS_PER_SECOND
    kind = instance_type or UNKNOWN_INSTANCE_TYPE
    spent = dict.fromkeys(resource or {}, 0) | multiply(resource, seconds)
    return {**tracked, kind: add(tracked.get(kind), spent)}


def tracker_of(*, preempted: bool, placeholder: bool) -> Tracker:
    """Name the one of the three trackers a released allocation is booked to. Rules: RES-57."""
    if preempted:
        return "preempted"
    return "placeholder" if placeholder else "used"
