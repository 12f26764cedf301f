"""What tests of placement ask for: where an application goes, and what is made for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remuda.config.schema import AccessList, FilterConfig, NameFilter, PlacementRuleConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages import queries as q
from remuda.core.messages.effects import Effect
from remuda.core.model.applications.ended import EndedApplication
from tests.unit.core.door import Caller, of

FORCE = {"application.create.force": "true"}
RECOVERY = "root.@recovery@"
NOBODY = AccessList()


def rule(
    name: str,
    value: str = "",
    *,
    create: bool = False,
    above: PlacementRuleConfig | None = None,
    only: FilterConfig | None = None,
) -> PlacementRuleConfig:
    """One placement rule; ``above`` is its parent rule, ``only`` its filter."""
    return PlacementRuleConfig(name, create, value, above, only)


def allow(users: str = "", groups: str = "", *, deny: bool = False) -> FilterConfig:
    """A filter by names, separated by blanks."""
    by_user = NameFilter(tuple(users.split())) if users else None
    by_group = NameFilter(tuple(groups.split())) if groups else None
    return FilterConfig(deny, by_user, by_group)


def searching(users: str = "", groups: str = "", *, deny: bool = False) -> FilterConfig:
    """A filter by expressions."""
    by_user = NameFilter(pattern=users) if users else None
    by_group = NameFilter(pattern=groups) if groups else None
    return FilterConfig(deny, by_user, by_group)


def acl(users: str = "", groups: str = "") -> AccessList:
    """Who is let in; names are separated by blanks, ``*`` is everybody."""
    if users == "*":
        return AccessList(everybody=True)
    return AccessList(False, tuple(sorted(users.split())), tuple(sorted(groups.split())))


def submit(
    door: Caller,
    application_id: str,
    queue: str = "",
    *,
    user: str = "ann",
    groups: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
) -> list[Effect]:
    """One application, without any group unless given."""
    return door.app(application_id, queue, user=user, groups=tuple(groups), tags=dict(tags or {}))


def place(
    door: Caller,
    queue: str = "",
    *,
    user: str = "ann",
    groups: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
) -> str:
    """Submit one application more: the queue it is in, or ``rejected: `` and why."""
    application_id = f"app-{len(door.apps())}-{len(rejected(door))}"
    effects = submit(door, application_id, queue, user=user, groups=groups, tags=tags)
    (answer,) = of(effects, e.ApplicationsAnswered)
    if answer.accepted:
        assert answer.accepted == (application_id,)
        return door.apps()[application_id].queue
    assert application_id in answer.rejected[0].reason
    return f"rejected: {answer.rejected[0].reason}"


def refused(door: Caller, queue: str = "", **who: Any) -> bool:
    """Submit one application more; whether it is rejected because no rule matched."""
    return "no placement rule matched" in place(door, queue, **who)


def rejected(door: Caller) -> list[EndedApplication]:
    """The rejected applications that are kept, oldest first."""
    partition = door.scheduler._cluster.partition(door.rm, "default")
    assert partition is not None
    return list(partition.kept.rejected.applications.values())


def made(effects: Sequence[Effect]) -> list[str]:
    """The dynamic queues that were made, in order."""
    return [
        record.object_id
        for record in of(effects, e.EventRecord)
        if (record.kind, record.change, record.detail) == (ev.QUEUE, ev.ADD, ev.QUEUE_DYNAMIC)
    ]


def paths(door: Caller) -> list[str]:
    """All queues, parents before children."""
    found: list[str] = []
    ahead = [door.queue("root")]
    while ahead:
        view = ahead.pop()
        found.append(view.path)
        ahead.extend(reversed(view.children))
    return found


def may(door: Caller, queue: str, user: str, *groups: str, admin: bool = False) -> bool:
    """Whether a user may submit to a queue, or administer it."""
    view = door.scheduler.view(q.AccessQuery("default", queue, user, groups, admin, door.rm))
    assert isinstance(view, q.AccessView)
    return view.allowed


def gang(ask: Mapping[str, int], queue: str, **other: Any) -> c.UpdateApplications:
    """The request for an application that wants placeholders first."""
    new = c.NewApplication("gang", queue, user="ann", placeholder_ask=dict(ask), **other)
    return c.UpdateApplications("rm", (new,))
