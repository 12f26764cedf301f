"""Limits of users, groups and applications: chapter 30 sections 4 to 9, chapter 50 section A.5.

Nothing is summed up in advance: usage is what live allocations hold, so it cannot drift
(D-U6, D-U7, D-U10). Only two things are remembered, with the application: under which group
it is tracked, and whether it is counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from remuda.config.schema import WILDCARD, LimitConfig
from tests.reference import arithmetic as res
from tests.reference.access import lineage
from tests.reference.state import LIVE, Application, Partition


def user_limit(partition: Partition, path: str, user: str) -> LimitConfig | None:
    """The entry of a user at one queue: the named one, else the wildcard. Rules: LIM-4."""
    entries = partition.limits.get(path, ())
    for wanted in (user, WILDCARD):
        for entry in entries:
            if wanted in entry.users:
                return entry
    return None


def group_limit(partition: Partition, path: str, group: str) -> LimitConfig | None:
    """The entry of exactly this group at one queue, ``*`` being one. Rules: LIM-5, LIM-67."""
    return next((e for e in partition.limits.get(path, ()) if group in e.groups), None)


def choose_group(partition: Partition, path: str, groups: tuple[str, ...]) -> str:
    """The group an application is tracked under, "" for none. Rules: LIM-20, LIM-21, LIM-22,
    LIM-23, LIM-24, LIM-25."""
    if not groups:
        return ""
    for here in lineage(path):
        named = [group for entry in partition.limits.get(here, ()) for group in entry.groups]
        for group in named:
            if group != WILDCARD and group in groups:
                return group
        if WILDCARD in named:
            return WILDCARD
    return ""


def look(partition: Partition, app: Application) -> None:
    """The first call for an application chooses its group. Rules: LIM-20, LIM-24."""
    if app.group is None:
        app.group = choose_group(partition, app.queue, app.groups)
        app.cut = app.cut and not app.group
        app.first_choice = None


def choose_first(partition: Partition, app: Application) -> None:
    """The first ask or allocation chooses, too, until a decision looks. Rules: LIM-20.

    Not for one whose link was cut: it chose before, and looks again with each later change of the
    limits only. Rules: LIM-64, README decision 43.
    """
    if app.group is None and app.first_choice is None and not app.cut:
        app.first_choice = choose_group(partition, app.queue, app.groups)


def live(partition: Partition) -> list[Application]:
    """All live applications."""
    return [app for app in partition.applications.values() if app.state in LIVE]


def mates(partition: Partition, app: Application, *, by_group: bool) -> list[Application]:
    """The applications tracked together with one, itself included."""
    if by_group:
        return [other for other in live(partition) if other.group == app.group]
    return [other for other in live(partition) if other.user == app.user]


def inside(apps: Iterable[Application], path: str) -> list[Application]:
    """Those of a queue and below."""
    return [a for a in apps if a.queue == path or a.queue.startswith(path + ".")]


def used(apps: Iterable[Application]) -> dict[str, int]:
    """What applications hold. Rules: LIM-1, LIM-32."""
    return res.total(each.resource for app in apps for each in app.allocations.values())


def bounds(
    partition: Partition, app: Application
) -> list[tuple[LimitConfig, str, list[Application]]]:
    """Each limit that concerns an application, its path, and who shares it. Rules: LIM-3."""
    found = []
    users = mates(partition, app, by_group=False)
    members = mates(partition, app, by_group=True) if app.group else []
    for path in lineage(app.queue):
        own = user_limit(partition, path, app.user)
        shared = group_limit(partition, path, app.group) if app.group else None
        found += [(own, path, users)] if own is not None else []
        found += [(shared, path, members)] if shared is not None else []
    return found


def headroom(partition: Partition, app: Application) -> res.Limit:
    """What an application's user and group leave it. Rules: LIM-50, LIM-51, LIM-52, LIM-55."""
    left: res.Limit = None
    for entry, path, sharing in bounds(partition, app):
        if entry.maximum is not None and any(entry.maximum.values()):
            taken = used(inside(sharing, path))
            here = {t: most - taken.get(t, 0) for t, most in entry.maximum.items()}
            left = res.smaller_of_each(left, here)
    return left


def quota_allows(partition: Partition, app: Application) -> bool:
    """Whether user and group let an application start. Rules: LIM-61."""
    for entry, path, sharing in bounds(partition, app):
        counted = {other.identity for other in inside(sharing, path) if other.counted}
        too_many = len(counted) + 1 > entry.max_applications
        if entry.max_applications and too_many and app.identity not in counted:
            return False
    return True


def running(partition: Partition, path: str) -> int:
    """How many applications count for a queue. Rules: QUE-23, APP-19."""
    return sum(a.state in ("Starting", "Running") for a in inside(live(partition), path))


def waiting_with_a_node(partition: Partition, path: str) -> int:
    """How many applications of a queue hold a place by a reservation alone. Rules: QUE-24."""
    return sum(
        app.state == "Accepted" and holds_a_node(partition, app)
        for app in inside(live(partition), path)
    )


def holds_a_node(partition: Partition, app: Application) -> bool:
    """Whether an application has a reservation."""
    return any(one.app is app for one in partition.reservations)


def queue_allows(partition: Partition, app: Application) -> bool:
    """Whether the queues let an application start. Rules: QUE-22, QUE-24."""
    if holds_a_node(partition, app):
        return True
    return all(
        not most or running(partition, path) + waiting_with_a_node(partition, path) + 1 <= most
        for path in lineage(app.queue)
        for most in [partition.queues[path].max_applications]
    )


def may_start(partition: Partition, app: Application) -> bool:
    """Whether an application is not held back; notes by what. Rules: QUE-25, QUE-26, LIM-60."""
    if app.state != "Accepted":
        return True
    by_queue = () if queue_allows(partition, app) else ("queue",)
    by_quota = () if quota_allows(partition, app) else ("quota",)
    app.held_back = by_queue + by_quota
    return not app.held_back


def settle(app: Application) -> None:
    """Forget an application that has nothing any more. Rules: LIM-36, D-U10, D-U11."""
    if not app.allocations and not any(ask.pending for ask in app.asks.values()):
        app.counted = False
        app.group = None
        app.first_choice = None
        app.cut = False


def cut_links(partition: Partition, old: dict[str, tuple[LimitConfig, ...]]) -> None:
    """Applications whose group lost its entry choose again. Rules: LIM-64, LIM-67, D-U6, D-U7.

    Those that find none choose once more at each later change.
    """
    for path, entries in old.items():
        kept = {g for entry in partition.limits.get(path, ()) for g in entry.groups}
        lost = {g for entry in entries for g in entry.groups} - kept
        for app in inside(live(partition), path):
            if app.group in lost or (app.group is None and app.first_choice in lost):
                app.group = None
                app.cut = True
    for app in live(partition):
        if app.group is None and app.first_choice is not None:
            app.first_choice = choose_group(partition, app.queue, app.groups)
            app.cut = app.cut and not app.first_choice
        if app.cut and not app.group:
            app.group = choose_group(partition, app.queue, app.groups) or app.group
            app.cut = not app.group
