"""What users and groups use is what their applications hold, after any command.

The edge case 18 of chapter 30: for random sequences each tracker's usage is the sum of the live
allocations below it, and each set of applications holds those that have something there. In the
end, when everything is released and removed, nothing is left but the configured limits.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remuda.config.schema import WILDCARD, Configuration, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.core.scheduler import Scheduler
from tests.long_runs import rotated, usual
from tests.reference.driver import apply
from tests.reference.snapshot import flat, flat_usage, plain
from tests.reference.tastes import refuse_some
from tests.reference.workloads import Run, record

BLOCK = 10
Sums = dict[tuple[str, str], dict[str, int]]
Sets = dict[tuple[str, str], set[str]]


def homes(scheduler: Scheduler) -> list[tuple[str, str]]:
    """Name and RM of every partition that can be named; removed ones are still listed (OBJ-9)."""
    found = scheduler.view(q.PartitionsQuery())
    assert isinstance(found, tuple)
    views = [view for view in found if isinstance(view, q.PartitionView)]
    return [(view.name, view.rm_id) for view in views if view.state != "Draining"]


def applications(scheduler: Scheduler, name: str, rm_id: str) -> list[ApplicationView]:
    """All live applications of a partition."""
    found = scheduler.view(q.ApplicationsQuery(name, "", rm_id))
    assert isinstance(found, tuple)
    return [view for view in found if isinstance(view, ApplicationView)]


def trackers(scheduler: Scheduler, name: str, rm_id: str, *, of_groups: bool) -> list[q.UsageView]:
    """All users or all groups of a partition."""
    found = scheduler.view(q.UsageQuery(name, of_groups, rm_id))
    assert isinstance(found, tuple)
    return [view for view in found if isinstance(view, q.UsageView)]


def above(path: str) -> list[str]:
    """A path and everything above it."""
    names = path.split(".")
    return [".".join(names[:depth]) for depth in range(1, len(names) + 1)]


def held(apps: list[ApplicationView], owner: Mapping[str, str]) -> tuple[Sums, Sets]:
    """What each owner's applications hold on every level, and which hold something."""
    sums: Sums = {}
    sets: Sets = {}
    for app in apps:
        if app.application_id not in owner:
            continue
        for path in above(app.queue):
            name = (owner[app.application_id], path)
            for allocation in app.allocations:
                total = sums.setdefault(name, {})
                for kind, amount in allocation.resource.items():
                    total[kind] = total.get(kind, 0) + amount
                sets.setdefault(name, set()).add(app.application_id)
    return {name: plain(total) for name, total in sums.items() if plain(total)}, sets


def shown(views: list[q.UsageView]) -> tuple[Sums, Sets]:
    """What the trackers say."""
    nodes = [(view.name, node) for view in views for node in flat_usage(view.queues)]
    sums = {(n, node.path): plain(node.used or {}) for n, node in nodes if plain(node.used or {})}
    return sums, {(n, node.path): set(node.applications) for n, node in nodes}


def check_usage(scheduler: Scheduler, name: str, rm_id: str) -> None:
    """Compare the trackers of one partition with its applications."""
    apps = applications(scheduler, name, rm_id)
    users = trackers(scheduler, name, rm_id, of_groups=False)
    links = {app: group for view in users for app, group in view.applications.items()}
    owners: tuple[Mapping[str, str], ...] = ({app.application_id: app.user for app in apps}, links)
    busy = {app.application_id for app in apps if app.allocations or any(plain(app.pending))}
    for owner, of_groups in zip(owners, (False, True), strict=True):
        sums, holders = held(apps, owner)
        used, sets = shown(trackers(scheduler, name, rm_id, of_groups=of_groups))
        assert used == sums
        for place in {*holders, *sets}:
            counted = sets.get(place, set())
            assert holders.get(place, set()) <= counted <= busy
            assert all(owner.get(app) == place[0] for app in counted)


def named(config: QueueConfig, *, groups: bool) -> set[str]:
    """Everybody with a limit of their own in a queue or below."""
    entries = [entry.groups if groups else entry.users for entry in config.limits]
    below = [named(child, groups=groups) for child in config.queues]
    found = {name for names in entries for name in names}.union(*below)
    return found if groups else found - {WILDCARD}


def release_all(scheduler: Scheduler, now: int) -> None:
    """Remove every application."""
    for name, rm_id in homes(scheduler):
        gone = tuple(
            c.ApplicationRemoval(app.application_id, name)
            for app in applications(scheduler, name, rm_id)
        )
        scheduler.handle(c.UpdateApplications(rm_id, remove=gone), now)


def check_nothing_left(scheduler: Scheduler, configs: Mapping[str, Configuration]) -> None:
    """No usage, no running application, no tracker but those of configured limits."""
    for rm_id, config in configs.items():
        for partition in config.partitions:
            for of_groups in (False, True):
                views = trackers(scheduler, partition.name, rm_id, of_groups=of_groups)
                assert {view.name for view in views} == named(partition.root, groups=of_groups)
                assert shown(views)[0] == {}
                assert not any(shown(views)[1].values())
            root = scheduler.view(q.QueuesQuery(partition.name, rm_id))
            assert isinstance(root, q.QueueView)
            for queue in flat(root):
                assert (plain(queue.allocated), plain(queue.pending)) == ({}, {})
                assert queue.running_applications == 0


def check_run(run: Run) -> None:
    """One history, looked at after every input."""
    scheduler = Scheduler(refuse_some)
    for given in run.inputs:
        apply(scheduler, given)
        for name, rm_id in homes(scheduler):
            check_usage(scheduler, name, rm_id)
    now = run.inputs[-1][0]
    release_all(scheduler, now)
    scheduler.check()
    check_nothing_left(scheduler, {rm_id: known[-1] for rm_id, known in run.configs.items()})


@pytest.mark.remuda_rule("LIM-1", "LIM-30", "LIM-31", "LIM-32", "LIM-34", "LIM-36", "LIM-38")
@pytest.mark.remuda_rule("D-U3", "D-U6", "D-U7", "D-U10", "LIM-39", "LIM-46", "REST-65")
@pytest.mark.parametrize("first", usual(range(4000, 4060, BLOCK)))
def test_usage_is_what_live_applications_hold(first: int) -> None:
    for seed in range(first, first + BLOCK):
        check_run(record(seed, 40))


@pytest.mark.long
@pytest.mark.parametrize("first", rotated(range(40_000, 41_000, 100)))
def test_usage_is_what_live_applications_hold_in_many_runs(first: int) -> None:
    for seed in range(first, first + 100):
        check_run(record(seed, 60))
