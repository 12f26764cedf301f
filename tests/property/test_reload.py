"""A changed configuration and back again: nothing is lost, nothing happens that was not said.

Random histories bring a scheduler into some state under a configuration A. Then A becomes B
and B becomes A again, under running applications. Records have to name exactly the differences
(EVT-74), and what is refused or only tried changes nothing that can be seen.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from collections.abc import Iterable

import pytest

from remuda.config.schema import Configuration, QueueConfig
from remuda.config.sharing import share
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.core.scheduler import Scheduler
from tests.long_runs import rotated, usual
from tests.reference import configurations
from tests.reference.access import lineage
from tests.reference.driver import apply
from tests.reference.snapshot import PEOPLE, flat, flat_usage, ordered
from tests.reference.tastes import refuse_some
from tests.reference.workloads import Run, record

BLOCK = 20
Limits = dict[tuple[int, str, str], object]
Change = tuple[int, str, int, int, str]


class World:
    """A scheduler after a history; ``rm_id`` is the RM whose configuration changes.

    ``shares``: a new configuration is made of parts of the one in force, where these are equal.
    """

    def __init__(self, run: Run, *, shares: bool) -> None:
        self.scheduler = Scheduler(refuse_some)
        for given in run.inputs:
            apply(self.scheduler, given)
        self.rm_id = min(run.configs)
        self.config = self.in_force = run.configs[self.rm_id][-1]
        self.shares = shares
        self.now = run.inputs[-1][0]

    def update(self, config: Configuration, *, trial: bool = False) -> list[e.Effect]:
        """A changed configuration."""
        given = share(config, self.in_force) if self.shares else config
        command = c.UpdateConfiguration(self.rm_id, given, dry_run=trial)
        effects = self.scheduler.handle(command, self.now)
        self.scheduler.check()
        if not trial and not refused(effects):
            self.in_force = given
        return effects

    def view(self, query: q.Query) -> object:
        """One view."""
        return self.scheduler.view(query)

    def everything(self) -> list[object]:
        """All that can be seen of all partitions."""
        partitions = self.view(q.PartitionsQuery())
        assert isinstance(partitions, tuple)
        found: list[object] = [partitions, self.view(q.ConfigurationsQuery())]
        for one in partitions:
            assert isinstance(one, q.PartitionView)
            home, rm_id = one.name, one.rm_id
            if one.state == "Draining":
                continue
            root = self.view(q.QueuesQuery(home, rm_id))
            assert isinstance(root, q.QueueView)
            found += [root, self.view(q.NodesQuery(home, rm_id))]
            found += [self.view(q.ApplicationsQuery(home, "", rm_id))]
            found += [self.view(q.PlacementRulesQuery(home, rm_id))]
            found += [self.view(q.UsageQuery(home, groups, rm_id)) for groups in (False, True)]
            found += [
                self.view(q.AccessQuery(home, queue.path, user, names, admin, rm_id))
                for queue in flat(root)
                for user, names in PEOPLE
                for admin in (False, True)
            ]
        return found

    def queues(self, home: str) -> dict[str, q.QueueView]:
        """The queues of a partition."""
        root = self.view(q.QueuesQuery(home, self.rm_id))
        assert isinstance(root, q.QueueView)
        return {queue.path: queue for queue in flat(root)}

    def limits(self, home: str, config: Configuration) -> Limits:
        """Every limit that binds somebody now: (detail, name, path) -> the limit.

        A wildcard binds a user where an application counts (EVT-83 d).
        """
        (root,) = [one.root for one in config.partitions if one.name == home]
        names = named(root)
        found: Limits = {}
        for detail, groups in ((ev.UG_USER_LIMIT, False), (ev.UG_GROUP_LIMIT, True)):
            views = self.view(q.UsageQuery(home, groups, self.rm_id))
            assert isinstance(views, tuple)
            for view in views:
                for node in flat_usage(view.queues):
                    place = (detail, view.name, node.path)
                    limited = node.maximum is not None or node.max_applications
                    if limited and (place in names or node.applications):
                        own = place in names
                        found[place] = (ordered(node.maximum), node.max_applications, own)
        return found


def named(config: QueueConfig, above: str = "") -> set[tuple[int, str, str]]:
    """Everybody with a limit of their own, and where."""
    path = f"{above}.{config.name}" if above else "root"
    users = {(ev.UG_USER_LIMIT, user, path) for one in config.limits for user in one.users}
    groups = {(ev.UG_GROUP_LIMIT, group, path) for one in config.limits for group in one.groups}
    return users.union(groups, *(named(child, path) for child in config.queues))


def same_partitions(rng: random.Random, config: Configuration) -> Configuration:
    """A changed configuration with the partitions of the first."""
    changed = tuple(configurations.changed_partition(rng, one) for one in config.partitions)
    return configurations.stamped(rng, changed)


def again(rng: random.Random, config: Configuration) -> Configuration:
    """The same under another checksum."""
    return configurations.stamped(rng, config.partitions)


def refused(effects: list[e.Effect]) -> bool:
    """Whether an update was refused."""
    (answer,) = [one for one in effects if isinstance(one, e.ConfigurationAnswered)]
    return bool(answer.reason)


def told(effects: Iterable[e.Effect], home: str) -> Counter[Change]:
    """What the records of one partition say about queues and limits.

    A limit of somebody's own that gives way to a wildcard is told to end and to be set.
    """
    found = Counter(
        (one.kind, one.object_id, one.change, one.detail, one.reference_id)
        for one in effects
        if isinstance(one, e.EventRecord)
        and one.partition == home
        and one.kind in (ev.QUEUE, ev.USERGROUP)
        and one.detail not in (ev.UG_APP_LINK, ev.UG_GROUP_RESOURCE)
    )
    for kind, name, change, detail, path in list(found):
        if change == ev.SET and detail == ev.UG_USER_LIMIT:
            del found[kind, name, ev.REMOVE, detail, path]
    return found


def differences(
    before: dict[str, q.QueueView], after: dict[str, q.QueueView], old: Limits, new: Limits
) -> Counter[Change]:
    """What has to be told of the change from one state to another. Rules: EVT-74, EVT-83."""
    found: list[Change] = []
    for path, queue in after.items():
        known = before.get(path)
        if known is None:
            found.append((ev.QUEUE, path, ev.ADD, ev.DETAILS_NONE, ""))
            continue
        if ordered(known.maximum) != ordered(queue.maximum):
            found.append((ev.QUEUE, path, ev.SET, ev.QUEUE_MAX, ""))
        if ordered(known.guaranteed) != ordered(queue.guaranteed):
            found.append((ev.QUEUE, path, ev.SET, ev.QUEUE_GUARANTEED, ""))
        if known.leaf != queue.leaf:
            found.append((ev.QUEUE, path, ev.SET, ev.QUEUE_TYPE, ""))
    for detail, name, path in {**old, **new}:
        limit = new.get((detail, name, path))
        if limit != old.get((detail, name, path)):
            change = ev.REMOVE if limit is None else ev.SET
            found.append((ev.USERGROUP, name, change, detail, path))
    return Counter(found)


def configured(config: QueueConfig, above: str = "") -> set[str]:
    """The paths of a configuration."""
    path = f"{above}.{config.name}" if above else "root"
    return {path}.union(*(configured(child, path) for child in config.queues))


def comparable(queue: q.QueueView, *, leftovers: bool) -> q.QueueView:
    """A queue by itself; leftovers may change the priorities seen above them."""
    priority = 0 if leftovers else queue.current_priority
    return dataclasses.replace(queue, children=(), current_priority=priority)


def links(world: World, home: str) -> dict[str, str]:
    """Under which group each application is tracked."""
    views = world.view(q.UsageQuery(home, rm_id=world.rm_id))
    assert isinstance(views, tuple)
    return {app: group for view in views for app, group in view.applications.items()}


def usage(world: World, home: str) -> list[object]:
    """What users and groups use."""
    return [world.view(q.UsageQuery(home, groups, world.rm_id)) for groups in (False, True)]


def without_looks(application: ApplicationView) -> ApplicationView:
    """An application without what says how often its asks were looked at: a reload adds a look.

    What it has reserved is left out with it.
    """
    requests = [
        dataclasses.replace(each, log=(), finding=None, reservations=())
        for each in application.requests
    ]
    return dataclasses.replace(application, requests=tuple(requests))


def beside_queues(world: World, home: str, paths: set[str]) -> list[object]:
    """Everything else of a partition: work, rules, and who may use these queues.

    A reservation that is too old may go with a limit that was only there for a while (RSV-10).
    """
    rm_id = world.rm_id
    nodes = world.view(q.NodesQuery(home, rm_id))
    assert isinstance(nodes, tuple)
    views: list[object] = [world.view(q.PlacementRulesQuery(home, rm_id))]
    for node in nodes:
        assert isinstance(node, q.NodeView)
        views.append(dataclasses.replace(node, reservations=()))
    applications = world.view(q.ApplicationsQuery(home, "", rm_id))
    assert isinstance(applications, tuple)
    views += [without_looks(one) for one in applications if isinstance(one, ApplicationView)]
    return views + [
        world.view(q.AccessQuery(home, path, user, names, admin, rm_id))
        for path in sorted(paths)
        for user, names in PEOPLE
        for admin in (False, True)
    ]


@dataclasses.dataclass
class Case:
    """One history and a change of its configuration; ``homes``: its partitions."""

    world: World
    other: Configuration
    rng: random.Random

    @property
    def homes(self) -> list[str]:
        return [one.name for one in self.world.config.partitions]

    def kept(self, home: str) -> set[str]:
        """The queues that must be as before: configured by A, or left alone by B."""
        (mine,) = [configured(p.root) for p in self.world.config.partitions if p.name == home]
        (other,) = [configured(p.root) for p in self.other.partitions if p.name == home]
        added = other - mine
        views = self.world.queues(home)
        return mine | {path for path in views if added.isdisjoint(lineage(path))}


def case(seed: int) -> Case:
    """A history of 30 inputs or more, and a change of its configuration."""
    rng, world = random.Random(seed), World(record(seed, 30), shares=seed % 2 == 1)
    return Case(world, same_partitions(rng, world.config), rng)


def check_there_and_back(this: Case) -> bool:
    """A, B, A again: nothing but draining leftovers differs. False: B was refused.

    An application that found another group under B stays with it (LIM-20).
    """
    world = this.world
    kept = {home: this.kept(home) for home in this.homes}
    before = {home: world.queues(home) for home in this.homes}
    beside = {home: beside_queues(world, home, kept[home]) for home in this.homes}
    used = {home: (links(world, home), usage(world, home)) for home in this.homes}
    if refused(world.update(this.other)):
        return False
    between = {home: links(world, home) for home in this.homes}
    assert not refused(world.update(again(this.rng, world.config)))
    for home in this.homes:
        after = world.queues(home)
        more = {path for path in after if path not in kept[home]}
        assert all(after[path].status == "Draining" or not after[path].managed for path in more)
        for path in kept[home]:
            old, new = before[home][path], after[path]
            assert comparable(new, leftovers=bool(more)) == comparable(old, leftovers=bool(more))
        assert beside_queues(world, home, kept[home]) == beside[home]
        linked, before_usage = used[home]
        if between[home].items() <= linked.items():
            assert usage(world, home) == before_usage
    return True


def check_records(this: Case) -> bool:
    """The records of a change and of the way back are the differences. False: refused."""
    world = this.world
    steps = (world.config, this.other, again(this.rng, world.config))
    for old, new in itertools.pairwise(steps):
        queues = {home: world.queues(home) for home in this.homes}
        limits = {home: world.limits(home, old) for home in this.homes}
        effects = world.update(new)
        if refused(effects):
            return False
        for home in this.homes:
            now = (world.queues(home), world.limits(home, new))
            wanted = differences(queues[home], now[0], limits[home], now[1])
            assert told(effects, home) == wanted
    return True


def check_refusals(this: Case) -> bool:
    """What is refused or only tried changes nothing. True: there was a refusal."""
    world = this.world
    before = world.everything()
    trial = world.update(this.other, trial=True)
    assert world.everything() == before
    assert [type(one) for one in trial] == [e.ConfigurationAnswered]
    effects = world.update(this.other)
    assert refused(effects) == refused(trial)
    if refused(effects):
        assert world.everything() == before
        assert [type(one) for one in effects] == [e.ConfigurationAnswered]
    return refused(effects)


@pytest.mark.remuda_rule("RLD-3", "RLD-4", "RLD-21", "RLD-22", "RLD-23", "RLD-24", "RLD-29")
@pytest.mark.remuda_rule("RLD-26", "RLD-27", "OBJ-2", "OBJ-7", "LIM-63", "PRP-7", "D-C10", "D-C20")
@pytest.mark.parametrize("first", usual(range(5000, 5120, BLOCK)))
def test_there_and_back_again(first: int) -> None:
    accepted = [check_there_and_back(case(seed)) for seed in range(first, first + BLOCK)]
    assert accepted.count(True) > BLOCK // 2


@pytest.mark.remuda_rule("EVT-74", "UPD-5", "EVT-62", "EVT-67", "EVT-68", "EVT-69", "EVT-83")
@pytest.mark.parametrize("first", usual(range(5200, 5320, BLOCK)))
def test_records_name_exactly_the_differences(first: int) -> None:
    accepted = [check_records(case(seed)) for seed in range(first, first + BLOCK)]
    assert accepted.count(True) > BLOCK // 2


@pytest.mark.remuda_rule("SI-85", "SI-86", "RLD-5", "RLD-6", "D-C15", "D-C16", "D-C21", "EXT-24")
def test_what_is_refused_or_tried_changes_nothing() -> None:
    refusals = [check_refusals(case(seed)) for seed in range(5400, 5434)]
    assert refusals.count(True) > 3


@pytest.mark.long
@pytest.mark.parametrize("first", rotated(range(50_000, 52_000, 100)))
def test_thousands_of_changes(first: int) -> None:
    for seed in range(first, first + 100):
        check_there_and_back(case(seed))
        check_records(case(seed))
        check_refusals(case(seed))
