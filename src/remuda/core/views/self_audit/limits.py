"""Compares the usage of users and groups with their applications (part of the self-audit)."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from remuda.core.messages import events
from remuda.core.messages.self_audit import SelfAuditView, SlicePlace
from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queues.trackers import LimitSet, QueueTracker
from remuda.core.model.vectors import Vector, add_vector
from remuda.core.views.self_audit.comparison import LOOKS, PARTS_LIMIT, Slice
from remuda.core.views.sums import column_sums

_LOOKS: Final = 10


def limit_slice(partition: Partition, place: SlicePlace) -> SelfAuditView:
    """Compare the next trackers. Rules: HLT-21, LIM-30, LIM-32, LIM-36, PRE-89.

    Cost: a look at each application, and some for those of the chosen trackers, which are at most
    as many, or those of one tracker.
    """
    found = Slice(partition)
    after, _, _ = place
    following = list(partition.trackers.values())
    del following[: bisect_right(following, after, key=_number)]
    if len(partition.applications) > PARTS_LIMIT or not following:
        return found.end(None)
    room = max(LOOKS, len(partition.applications))
    chosen: dict[int, _Sum] = {}
    for tracker in following:
        if room <= 0:
            break
        room -= _LOOKS + max(0, tracker.running)
        chosen[tracker.number] = _Sum(tracker)
    _add_up(found, chosen)
    for each in chosen.values():
        each.compare(found)
    last = max(chosen)
    return found.end((last, "", 0) if len(chosen) < len(following) else None)


def _number(tracker: QueueTracker) -> int:
    return tracker.number


class _Sum:
    """What the applications of one tracker have."""

    __slots__ = ("_tracker", "allocated", "promised", "running")

    def __init__(self, tracker: QueueTracker) -> None:
        self._tracker = tracker
        self.allocated: list[list[int]] = []
        self.promised = Vector()
        self.running: int = 0

    def compare(self, found: Slice) -> None:
        """Compare the tracker with the sum."""
        tracker = self._tracker
        _, name, path = tracker.key
        kind = events.USERGROUP
        allocated = column_sums(self.allocated)
        kept = tracker.allocated.amounts
        found.amounts(kind, name, f"allocated in {path}", kept, allocated)
        found.number(kind, name, f"running in {path}", tracker.running, self.running)
        kept = [] if tracker.promised is None else tracker.promised.amounts
        found.amounts(kind, name, f"promised in {path}", kept, self.promised.amounts)


def _add_up(found: Slice, chosen: dict[int, _Sum]) -> None:
    """Add the applications of each limit set to those of its trackers that are chosen."""
    members: dict[int, list[Application]] = {}
    sums: dict[int, list[_Sum]] = {}
    sets: list[LimitSet] = []
    for limit_set in found.partition.limit_sets.values():
        own = [chosen[each.number] for each in limit_set.trackers if each.number in chosen]
        if own:
            sets.append(limit_set)
            sums[limit_set.number] = own
            members[limit_set.number] = []
    for application in found.partition.applications.values():
        held = application.limit_set
        if held is not None and held.number in members:
            members[held.number].append(application)
    for limit_set in sets:
        applications = members[limit_set.number]
        if len(applications) != limit_set.references:
            _, name, path = limit_set.trackers[0].key
            text = f"{limit_set.references} are counted, not {len(applications)}"
            found.note(events.USERGROUP, name, f"applications in {path}", text)
        _add_set(applications, sums[limit_set.number])


def _add_set(applications: list[Application], sums: list[_Sum]) -> None:
    """Add the applications of one limit set."""
    rows = [each.allocated.amounts for each in applications]
    rows += [each.gang.usage.amounts for each in applications if each.gang is not None]
    allocated = column_sums(rows)
    running = [each.counted for each in applications].count(True)
    promised = [each.promised for each in applications if each.promised is not None]
    for each in sums:
        each.allocated.append(allocated)
        each.running += running
        for vector in promised:
            add_vector(each.promised, vector)
