"""What no placement may exceed, worked out from requests and configurations alone.

Sums are made anew for each placement over the ledger of the witness. No counter of the core is
read: it tells only the queue of an application, the group it is tracked under, and which
applications hold a reservation, which no message says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from remuda.base.resources import Resource
from remuda.config.schema import Configuration, LimitConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import UsageQuery, UsageView
from remuda.core.messages.rows import Rows
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.scheduler import Scheduler
from tests.simulation.faults.ledger import Held, Identity, Name, home_of
from tests.simulation.faults.members import Members

# Applications in these states count as running (QUE-22).
RUNNING: Final = ("Starting", "Running")

# What an RM says of a task and a node, "" if it takes it there.
Judge: TypeAlias = Callable[[str, str, str, bool], str]


@dataclass
class NodeSeen:
    """A node as its RM describes it."""

    capacity: Resource
    schedulable: bool


@dataclass
class AppSeen:
    """An application. ``gang``: what its placeholders need together; ``placed``: some ran."""

    queue: str
    user: str
    gang: Resource
    placed: bool = False


class Bounds:
    """Checks the placements of one core.

    ``held``: the ledger. ``judge``: what RMs with predicates say of a node. ``states``: of
    applications, by RM and ID, ``before``: at the begin of the step, for a start is told first.
    ``given_up``: those whose reservation timed out; they are gangs no longer (GANG-25).
    ``reserved``: the applications that hold a reservation after the step, ``waited``: before it.
    """

    def __init__(
        self,
        counts: Counter[str],
        scheduler: Scheduler,
        held: dict[Identity, Held],
        judge: Judge,
    ) -> None:
        self.counts = counts
        self.scheduler = scheduler
        self.held = held
        self.judge = judge
        self.nodes: dict[Name, NodeSeen] = {}
        self.apps: dict[Name, AppSeen] = {}
        self.gangs: dict[tuple[str, str], Resource] = {}
        self.states: dict[tuple[str, str], str] = {}
        self.before: dict[tuple[str, str], str] = {}
        self.given_up: set[tuple[str, str]] = set()
        self.reserved: frozenset[Name] = frozenset()
        self.waited: frozenset[Name] = frozenset()
        self.configs: dict[str, Configuration] = {}
        self.predicates: set[str] = set()
        self.members = Members(counts)

    # ------------------------------------------------------------------- what is known

    def registered(self, command: c.RegisterResourceManager) -> None:
        """An RM begins anew, with a configuration."""
        self.forget(command.rm_id)
        self.configs[command.rm_id] = command.config
        if command.predicates:
            self.predicates.add(command.rm_id)

    def reloaded(self, command: c.UpdateConfiguration) -> None:
        """Another configuration is in force; what its partitions do not have is gone."""
        self.configs[command.rm_id] = command.config
        homes = {partition.name for partition in command.config.partitions}
        gone = [n for n in [*self.nodes, *self.apps] if n[0] == command.rm_id and n[1] not in homes]
        for name in gone:
            self.nodes.pop(name, None)
            self.apps.pop(name, None)

    def forget(self, rm_id: str) -> None:
        """An RM is gone with all it had."""
        self.nodes = {name: node for name, node in self.nodes.items() if name[0] != rm_id}
        self.apps = {name: app for name, app in self.apps.items() if name[0] != rm_id}
        self.gangs = {name: gang for name, gang in self.gangs.items() if name[0] != rm_id}
        self.states = {name: state for name, state in self.states.items() if name[0] != rm_id}
        self.given_up = {name for name in self.given_up if name[0] != rm_id}
        self.predicates.discard(rm_id)
        self.members.forget(rm_id)

    def created(self, name: Name, update: c.NodeUpdate) -> None:
        """A node was accepted."""
        self.nodes[name] = NodeSeen(update.capacity or {}, update.action == c.CREATE)

    def changed(self, rm_id: str, update: c.NodeUpdate) -> None:
        """A node changed or went."""
        name = (rm_id, home_of(update), update.node_id)
        node = self.nodes.get(name)
        if node is None:
            return
        if update.action == c.UPDATE and update.capacity is not None:
            node.capacity = update.capacity
        elif update.action == c.DRAIN_NODE:
            node.schedulable = False
        elif update.action == c.DRAIN_TO_SCHEDULABLE:
            node.schedulable = True
        elif update.action == c.DECOMISSION:
            del self.nodes[name]

    def submitted(self, rm_id: str, new: c.NewApplication) -> None:
        """An application was sent; if there was one already, it stays as it is."""
        known = [name for name in self.apps if (name[0], name[2]) == (rm_id, new.application_id)]
        if not known:
            self.gangs[rm_id, new.application_id] = new.placeholder_ask

    def app_ended(self, rm_id: str, application_id: str) -> None:
        """An application is no more; another one may have its name."""
        self.states.pop((rm_id, application_id), None)
        self.given_up.discard((rm_id, application_id))
        self.members.forget(rm_id, application_id)
        for name in [n for n in self.apps if (n[0], n[2]) == (rm_id, application_id)]:
            del self.apps[name]

    def state_is(self, rm_id: str, application_id: str, state: str) -> None:
        """The core told the state of an application."""
        self.states[rm_id, application_id] = state
        if state == "Resuming":
            self.given_up.add((rm_id, application_id))

    # ---------------------------------------------------------------- what is placed

    def begin(self) -> None:
        """A step begins; the core has done it already, and its answers follow."""
        self.before = dict(self.states)
        self.waited, self.reserved = self.reserved, reserved(self.scheduler)

    def placed(self, effect: e.AllocationNew) -> None:
        """Raise unless a decision of the core was allowed; the ledger has it already."""
        decision = Decision(self, effect)
        decision.check_node()
        decision.check_queues()
        decision.check_start()
        decision.check_gang()
        decision.app.placed = True
        self.counts["placement judged"] += 1

    def handled(self) -> None:
        """A command was handled, which may have ended reservations."""
        self.reserved = reserved(self.scheduler)

    def end(self) -> None:
        """A step ends: who got a first reservation in it counts at its queues from now on (I9)."""
        for name in sorted(self.reserved - self.waited):
            rm_id, _, application_id = name
            if self.states.get((rm_id, application_id)) == "Accepted":
                app = self.app(name)
                if not app.placed:
                    self.check_number(name, app, f"{application_id} reserves a node", "reservation")

    def check_number(self, name: Name, app: AppSeen, what: str, kind: str) -> None:
        """One more application may run in all queues of its path (I9, QUE-22)."""
        for path, queue in self.path(name[0], name[1], app.queue):
            if queue.max_applications:
                self.counts[f"{kind} within a number of applications"] += 1
                counting = [each for each in self.counting(name, path) if each != name]
                assert len(counting) < queue.max_applications, f"{what}: {counting} run (I9)"

    def counting(self, name: Name, path: str) -> list[Name]:
        """Return the applications of a partition that count at a queue (QUE-22, QUE-24)."""
        found = []
        early = {each[:3] for each, held in self.held.items() if held.placeholder} | self.reserved
        for each, app in self.apps.items():
            if each[:2] == name[:2] and is_below(app.queue, path):
                state = self.states.get((each[0], each[2]))
                if state in RUNNING or (state == "Accepted" and each in early):
                    found.append(each)
        return found

    def app(self, name: Name) -> AppSeen:
        """Return an application; it is looked up when it is met first."""
        found = self.apps.get(name)
        if found is None:
            rm_id, home, application_id = name
            view = application(self.scheduler, rm_id, home, application_id)
            gang = self.gangs.get((rm_id, application_id), {})
            found = AppSeen(view.queue, view.user, gang)
            self.apps[name] = found
        return found

    def tracked(self, rm_id: str, home: str, group: str) -> Mapping[str, str]:
        """Return the applications that the core tracks under a group (LIM-20)."""
        found = self.scheduler.view(UsageQuery(home, True, rm_id))
        assert isinstance(found, tuple)
        for view in found:
            if isinstance(view, UsageView) and view.name == group:
                return view.applications
        return {}

    def path(self, rm_id: str, home: str, leaf: str) -> Iterator[tuple[str, QueueConfig]]:
        """Yield the configured queues from root to a leaf, each with its path."""
        for partition in self.configs[rm_id].partitions:
            if partition.name == home:
                queue: QueueConfig | None = partition.root
                path = "root"
                while queue is not None:
                    yield path, queue
                    below = [q for q in queue.queues if is_below(leaf, f"{path}.{q.name}")]
                    queue = below[0] if below else None
                    path = f"{path}.{queue.name}" if queue is not None else path


class Decision:
    """One placement that the core decided by itself, and what it may not do."""

    def __init__(self, bounds: Bounds, effect: e.AllocationNew) -> None:
        self.bounds = bounds
        self.counts = bounds.counts
        self.rm_id, self.home = effect.rm_id, effect.partition
        self.ask, self.node_id = effect.ask, effect.node_id
        self.app = bounds.app((self.rm_id, self.home, self.ask.application_id))
        self.state = bounds.before.get((self.rm_id, self.ask.application_id), "New")
        self.what = f"{self.ask.application_id} {self.ask.allocation_key} on {self.node_id}"
        self.wanted = [name for name, amount in self.ask.resource.items() if amount > 0]
        self.others = [
            (bounds.app(name[:3]), name[2], held)
            for name, held in bounds.held.items()
            if name[:2] == (self.rm_id, self.home)
        ]

    def check_node(self) -> None:
        """The node takes it and has room, of the types it asks for (I2, I30, I31)."""
        node = self.bounds.nodes[self.rm_id, self.home, self.node_id]
        required = self.ask.tags.get(REQUIRED_NODE, "")
        assert required in ("", self.node_id), f"{self.what}: it requires {required} (I31)"
        self.counts["placement on a required node"] += required != ""
        assert node.schedulable or required, f"{self.what}: the node is draining (I30)"
        if self.rm_id in self.bounds.predicates:
            key = self.ask.allocation_key
            refused = self.bounds.judge(self.rm_id, key, self.node_id, True)
            assert not refused, f"{self.what}: {refused} (I30)"
        here = (held.resource for _, _, held in self.others if held.node == self.node_id)
        self._within(here, node.capacity, self.node_id, "I2", closed=True)

    def check_queues(self) -> None:
        """No queue of the path, and no limit there, is exceeded (I6, I8)."""
        for path, queue in self.bounds.path(self.rm_id, self.home, self.app.queue):
            below = [each for each in self.others if is_below(each[0].queue, path)]
            if path != "root" and queue.maximum is not None:
                self._within((x.resource for _, _, x in below), queue.maximum, path, "I6")
            limit = limit_of(queue, self.app.user)
            if limit is not None:
                self.counts["placement under a limit of its user"] += 1
                own = (x.resource for app, _, x in below if app.user == self.app.user)
                self._within(own, limit.maximum or {}, f"{self.app.user} at {path}", "I8")
            for limit in queue.limits:
                for group in limit.groups:
                    self._check_group(below, limit.maximum or {}, group, path)

    def _check_group(
        self, below: list[tuple[AppSeen, str, Held]], maximum: Resource, group: str, path: str
    ) -> None:
        tracked = self.bounds.tracked(self.rm_id, self.home, group)
        if self.ask.application_id in tracked:
            self.counts["placement under a limit of its group"] += 1
            own = (held.resource for _, name, held in below if name in tracked)
            self._within(own, maximum, f"{group} at {path}", "I8")

    def check_start(self) -> None:
        """An application that gets its first allocation starts within the numbers (I9).

        One with a reservation counts at its queues already, so they do not stop it, even if others
        run again or the maximum became lower meanwhile (QUE-24). Users' limits may stop it.
        """
        if self.app.placed or self.state != "Accepted":
            return
        name = (self.rm_id, self.home, self.ask.application_id)
        if name in self.bounds.waited:
            self.counts["start after a reservation"] += 1
        else:
            self.bounds.check_number(name, self.app, self.what, "start")
        for path, queue in self.bounds.path(self.rm_id, self.home, self.app.queue):
            limit = limit_of(queue, self.app.user)
            if limit is not None and limit.max_applications:
                self.counts["start within a number of a user's applications"] += 1
                own = {
                    other
                    for app, other, _ in self.others
                    if app.user == self.app.user
                    and app is not self.app
                    and is_below(app.queue, path)
                }
                assert len(own) < limit.max_applications, f"{self.what}: {own} run (I9)"

    def check_gang(self) -> None:
        """No real ask is placed before the placeholders are complete, nor too many (I32, I33)."""
        own = [held for _, name, held in self.others if name == self.ask.application_id]
        holds: Counter[str] = Counter()
        for held in own:
            if held.placeholder:
                holds.update(held.resource)
        if self.ask.placeholder:
            self.bounds.members.check_placed(self.rm_id, self.ask, own)
            return
        if not self.app.gang:
            return
        self.counts["real ask of a gang placed"] += 1
        # The placeholders asked for after the reservation timed out hold no real ask back.
        given_up = (self.rm_id, self.ask.application_id) in self.bounds.given_up
        if not holds or given_up or self.state != "Accepted":
            return
        lacks = {n: a for n, a in self.app.gang.items() if holds[n] < a}
        assert not lacks, f"{self.what}: {lacks} of the gang is not there yet (I32)"

    def _within(
        self,
        parts: Iterator[Resource],
        maximum: Resource,
        whose: str,
        law: str,
        *,
        closed: bool = False,
    ) -> None:
        """The sum exceeds no maximum; ``closed``: a type that is not named has none."""
        used: Counter[str] = Counter()
        for resource in parts:
            used.update(resource)
        for name in self.wanted:
            most = maximum.get(name, 0 if closed else None)
            if most is not None:
                text = f"{self.what}: {whose} would use {used[name]} {name} of {most} ({law})"
                assert used[name] <= most, text


def reserved(scheduler: Scheduler) -> frozenset[Name]:
    """Return the applications that hold a reservation."""
    return frozenset(
        (partition.rm_id, partition.name, each.request.application.application_id)
        for partition in scheduler._cluster.partitions()
        for each in partition.reserving.reservations.values()
    )


def application(scheduler: Scheduler, rm_id: str, home: str, name: str) -> ApplicationView:
    """A live application of a partition."""
    rows = scheduler.view(ApplicationQuery(home, name, rm_id=rm_id))
    assert isinstance(rows, Rows), f"{name} is not there"
    (view,) = rows
    assert isinstance(view, ApplicationView)
    return view


def limit_of(queue: QueueConfig, user: str) -> LimitConfig | None:
    """Return the limit of a queue for a user: the one that names it, or else the wildcard."""
    named = [limit for limit in queue.limits if user in limit.users]
    wild = [limit for limit in queue.limits if "*" in limit.users]
    return next(iter(named or wild), None)


def is_below(path: str, above: str) -> bool:
    """Whether a queue is another one or below it."""
    return path == above or path.startswith(f"{above}.")
