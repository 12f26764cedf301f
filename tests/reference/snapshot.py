"""What can be seen of a partition from outside, as plain values under plain names.

``expected`` computes it from the reference's facts, ``seen`` reads it from the scheduler's
views; the two dicts have to be equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from remuda.config.schema import WILDCARD, LimitConfig, TemplateConfig
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.core.scheduler import Scheduler
from tests.reference import access, limits, queues, reserving, sums
from tests.reference.access import lineage
from tests.reference.state import LIVE, Application, Partition

Snapshot: TypeAlias = dict[tuple[str, ...], object]

# Who is asked about access to each queue.
PEOPLE = (("ann", ("staff", "dev")), ("bob", ("qa",)), ("zoe", ()))


def plain(resource: Mapping[str, int]) -> dict[str, int]:
    """A resource without the types it has nothing of."""
    return {t: v for t, v in resource.items() if v}


def ordered(resource: Mapping[str, int] | None) -> object:
    """A limit as a value; a type with 0 counts."""
    return None if resource is None else sorted(resource.items())


# ------------------------------------------------------------------------------ the reference


def expected(partition: Partition) -> Snapshot:
    """What the facts of a partition add up to."""
    found: Snapshot = {}
    for path, queue in partition.queues.items():
        above = TemplateConfig() if queue.leaf else queue.template
        if above is None:
            above = queues.template(partition, path + ".new")
        found["queue", path] = (
            plain(sums.allocated(partition, path)),
            plain(sums.pending(partition, path)),
            limits.running(partition, path),
            queue.leaf,
            queue.managed,
            "Draining" if queue.draining else "Active",
            None if path == "root" else ordered(queue.maximum),
            ordered(queue.guaranteed),
            queue.max_applications,
            queue.properties,
            above,
            ordered(sums.headroom(partition, path)),
            sums.current_priority(partition, queue),
        )
    free = sums.available(partition)
    for node in partition.nodes.values():
        found["node", node.identity] = (
            plain(free[node.identity]),
            plain(sums.occupied(node)),
            sorted(node.foreign.items()),
            node.schedulable,
            [(one.app.identity, one.key) for one in reserving.on_node(partition, node.identity)],
        )
    for app in partition.applications.values():
        if app.state in LIVE:
            who = (app.queue, app.user, app.groups, app.state)
            found["application", app.identity] = (*who, *requests(partition, app))
    found["rules",] = partition.rules
    for path in partition.queues:
        for user, groups in PEOPLE:
            found["submit", path, user] = access.may_submit(partition, path, user, groups)
            found["admin", path, user] = access.may_administer(partition, path, user, groups)
    return found | user_usage(partition) | group_usage(partition) | links(partition)


def requests(partition: Partition, app: Application) -> tuple[object, ...]:
    """When an application was submitted, and what it waits for. Rules: QUE-42, QUE-44, RSV-1."""
    waiting = {ask.key: ask for ask in app.asks.values() if ask.pending}
    found = [
        (
            key,
            ask.pending,
            ask.created,
            [one.node_id for one in reserving.of_ask(partition, app, key)],
        )
        for key, ask in sorted(waiting.items())
    ]
    return app.submitted, found


def user_usage(partition: Partition) -> Snapshot:
    """What each user uses and may use. Rules: LIM-39, LIM-46, REST-65, REST-66."""
    named = {
        user
        for entries in partition.limits.values()
        for entry in entries
        for user in entry.users
        if user != WILDCARD
    }
    found: Snapshot = {}
    for user in sorted(named | {app.user for app in limits.live(partition)}):
        mine = [app for app in limits.live(partition) if app.user == user]
        for path in paths(partition, mine):
            entry = limits.user_limit(partition, path, user)
            by_name = entry is not None and user in entry.users
            if by_name or any(app.counted for app in limits.inside(mine, path)):
                found["user", user, path] = used_and_allowed(limits.inside(mine, path), entry)
    return found


def group_usage(partition: Partition) -> Snapshot:
    """What each group uses and may use."""
    named = {g for entries in partition.limits.values() for e in entries for g in e.groups}
    tracked = {app.group for app in limits.live(partition) if app.group}
    found: Snapshot = {}
    for group in sorted(named | tracked):
        ours = [app for app in limits.live(partition) if app.group == group]
        for path in paths(partition, ours):
            entry = limits.group_limit(partition, path, group)
            if entry is not None or any(app.counted for app in limits.inside(ours, path)):
                found["group", group, path] = used_and_allowed(limits.inside(ours, path), entry)
    return found


def paths(partition: Partition, apps: list[Application]) -> list[str]:
    """Every path with a limit or with one of these applications below it."""
    return sorted({*partition.limits, *(here for app in apps for here in lineage(app.queue))})


def used_and_allowed(apps: list[Application], entry: LimitConfig | None) -> object:
    """What is used and counted, and the limits."""
    counted = tuple(sorted(app.identity for app in apps if app.counted))
    entry = entry or LimitConfig()
    return plain(limits.used(apps)), counted, ordered(entry.maximum), entry.max_applications


def links(partition: Partition) -> Snapshot:
    """Under which group each counted application is tracked. Rules: LIM-20, LIM-39."""
    return {
        ("link", app.identity): app.group or "" for app in limits.live(partition) if app.counted
    }


# ------------------------------------------------------------------------------ the scheduler


def seen(scheduler: Scheduler, rm_id: str, name: str, wanted: Snapshot) -> Snapshot:
    """The same from the views; of users and links only what has to be there."""
    found: Snapshot = {}
    root = scheduler.view(q.QueuesQuery(name, rm_id))
    nodes = scheduler.view(q.NodesQuery(name, rm_id))
    apps = scheduler.view(q.ApplicationsQuery(name, "", rm_id))
    if not isinstance(root, q.QueueView):
        return found
    assert isinstance(nodes, tuple)
    assert isinstance(apps, tuple)
    for queue in flat(root):
        found["queue", queue.path] = queue_seen(queue)
    for node in nodes:
        assert isinstance(node, q.NodeView)
        found["node", node.node_id] = (
            plain(node.available),
            plain(node.occupied),
            sorted((one.allocation_key, dict(one.resource)) for one in node.foreign),
            node.schedulable,
            list(node.reservations),
        )
    for app in apps:
        assert isinstance(app, ApplicationView)
        whose = (app.queue, app.user, app.groups, app.state)
        waiting = [
            (one.allocation_key, one.pending_count, one.request_time_ns, list(one.reservations))
            for one in app.requests
        ]
        found["application", app.application_id] = (*whose, app.submission_time_ns, waiting)
    found["rules",] = scheduler.view(q.PlacementRulesQuery(name, rm_id))
    for queue in flat(root):
        for user, groups in PEOPLE:
            for admin in (False, True):
                who = q.AccessQuery(name, queue.path, user, groups, admin, rm_id)
                answer = scheduler.view(who)
                assert isinstance(answer, q.AccessView)
                found["admin" if admin else "submit", queue.path, user] = answer.allowed
    return found | usage_seen(scheduler, rm_id, name, wanted)


def queue_seen(queue: q.QueueView) -> object:
    """One queue."""
    return (
        plain(queue.allocated),
        plain(queue.pending),
        queue.running_applications,
        queue.leaf,
        queue.managed,
        queue.status,
        None if queue.path == "root" else ordered(queue.maximum),
        ordered(queue.guaranteed),
        queue.max_applications,
        dict(queue.properties),
        queue.template or TemplateConfig(),
        ordered(queue.headroom),
        queue.current_priority,
    )


def flat(queue: q.QueueView) -> list[q.QueueView]:
    """A queue and everything below it."""
    return [queue, *(below for child in queue.children for below in flat(child))]


def usage_seen(scheduler: Scheduler, rm_id: str, name: str, wanted: Snapshot) -> Snapshot:
    """Users, groups and links; what is empty and not wanted is left out."""
    found: Snapshot = {}
    linked: dict[str, str] = {}
    for kind in ("user", "group"):
        views = scheduler.view(q.UsageQuery(name, kind == "group", rm_id))
        assert isinstance(views, tuple)
        for view in views:
            assert isinstance(view, q.UsageView)
            linked |= view.applications if kind == "user" else {}
            for one in flat_usage(view.queues):
                key = (kind, view.name, one.path)
                if key in wanted or plain(one.used or {}) or one.applications:
                    found[key] = usage_of(one)
    counted = [name[1] for name in wanted if name[0] == "link"]
    return found | {("link", app): linked.get(app, "") for app in counted}


def usage_of(one: q.QueueUsageView) -> object:
    """One queue of one user or group."""
    maximum = ordered(one.maximum)
    return plain(one.used or {}), one.applications, maximum, one.max_applications


def flat_usage(usage: q.QueueUsageView) -> list[q.QueueUsageView]:
    """A node of a usage tree and everything below it."""
    return [usage, *(below for child in usage.children for below in flat_usage(child))]


def compare(wanted: Snapshot, found: Snapshot) -> str:
    """Where the two differ, "" if they do not."""
    wrong = sorted(k for k in {*found, *wanted} if found.get(k) != wanted.get(k))
    lines = [f"  {k}: reference {wanted.get(k)}, scheduler {found.get(k)}" for k in wrong]
    return "\n".join(lines)
