"""Random workloads: what many careless and a few malicious RMs would send in a short time.

A workload is drawn from a seed while the reference model runs it, so that later commands can
name things that exist by then: live asks, bound allocations, nodes. Amounts are small and few,
which makes ties, full queues and full nodes the normal case. What the specification leaves
open is not generated.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from tests.reference import configurations
from tests.reference.manners import CROWDED, LARGE, Manner
from tests.reference.model import SECOND, Reference
from tests.reference.outcome import Outcome, Record
from tests.reference.snapshot import Snapshot, expected
from tests.reference.state import Allocation, Application, Node, Partition
from tests.reference.tastes import Taste

START = 1_700_000_000 * SECOND
TYPES = ("gpu", "memory", "vcore")
# Asks that require a node have it, so that nobody has to go for them: the reference model knows
# nothing of preemption, which has a model of its own.
LOWEST = -(2**31)

REQUIRED_NODE = "yunikorn.apache.org/requiredNode"
STATEAWARE = "application.stateaware.disable"
EVERYTHING = 10_000
SPARE = "spare"
REQUESTS = (c.UpdateApplications, c.UpdateAllocations, c.UpdateNodes)
QUOTA = '{"resources":{"vcore":{"value":%d}}}'

NODE_ACTIONS = (
    c.UPDATE,
    c.UPDATE,
    c.DRAIN_NODE,
    c.DRAIN_TO_SCHEDULABLE,
    c.DRAIN_TO_SCHEDULABLE,
    c.DECOMISSION,
    c.UNKNOWN_ACTION,
)
NODE_POLICY = "node.sort.policy"
NODE_POLICIES = ("fair", "binpacking", "", "Fair")
RELEASE_TYPES = (
    c.STOPPED_BY_RM,
    c.TIMEOUT,
    c.UNKNOWN_TERMINATION_TYPE,
    c.PREEMPTED_BY_SCHEDULER,
    c.PLACEHOLDER_REPLACED,
)


@dataclass(frozen=True)
class Step:
    """A call of step instead of a command."""

    limit: int


Input: TypeAlias = tuple[int, "c.Command | Step"]


@dataclass
class Run:
    """A recorded workload: each input with what the reference answered.

    By number of an input: ``snapshots``, what could be seen of each partition after it;
    ``removed``, the partitions and applications it removed. ``configs``: all that were in force,
    of each RM, the last one is still. ``moods``: by number of an input, the RM whose predicates
    changed their mind right before it, and what it is now.
    """

    inputs: list[Input] = field(default_factory=list)
    expected: list[list[Outcome]] = field(default_factory=list)
    records: list[list[Record]] = field(default_factory=list)
    snapshots: dict[int, dict[tuple[str, str], Snapshot]] = field(default_factory=dict)
    removed: dict[int, set[tuple[str, str, str]]] = field(default_factory=dict)
    configs: dict[str, list[Configuration]] = field(default_factory=dict)
    moods: dict[int, tuple[str, int]] = field(default_factory=dict)
    deadlines: list[int | None] = field(default_factory=list)
    reference: Reference = field(default_factory=Reference)


def record(
    seed: int,
    length: int = 50,
    crowd: int = 1,
    *,
    moody: bool = False,
    manner: Manner | None = None,
) -> Run:
    """Draw the workload of a seed and run it on the reference.

    Two of three are crowded unless ``manner`` is given. ``crowd`` multiplies the nodes and asks it
    starts with. ``moody``:
    predicates change their mind between requests.
    """
    if manner is None:
        manner = CROWDED if seed % 3 and crowd == 1 else LARGE
    return Author(seed, manner, moody=moody).write(length, crowd)


class Author:
    """Draws one workload."""

    def __init__(self, seed: int, manner: Manner, *, moody: bool) -> None:
        self.rng = random.Random(seed)
        self.manner = manner
        self.moody = moody
        self.taste = Taste()
        self.run = Run(reference=Reference(self.taste.port, manner.reservation_delay))
        self.now = START
        self.names = 0
        self.past: list[str] = []
        self.single = True
        self.actions = [
            self.add_applications,
            self.send_asks,
            self.send_asks_again,
            self.recover,
            self.release_asks,
            self.release,
            self.remove_applications,
            self.add_nodes,
            self.change_nodes,
            self.reload,
            self.foreign,
            self.stray,
        ]

    # -------------------------------------------------------------------------- the frame

    def write(self, length: int, crowd: int) -> Run:
        """The whole workload: registration, some nodes and applications, then anything."""
        for rm_id in self.rng.choice(self.manner.managers):
            self.register(rm_id)
        if self.manner.spare:
            self.add_spare()
        for _ in range(crowd):
            self.add_nodes()
        if self.manner is not LARGE:
            self.add_nodes()
        self.add_applications()
        self.add_applications()
        for _ in range(crowd):
            self.send_asks()
        for _ in range(length):
            self.rng.choices(self.actions, self.manner.weights)[0]()
            self.pass_time()
            if self.rng.random() < 0.6:
                few = self.single and self.rng.random() < 0.5
                self.step(self.rng.randint(1, 3) if few else EVERYTHING)
        self.settle()
        return self.run

    def settle(self) -> None:
        """Place all that can be placed, and note what can be seen then."""
        self.step(EVERYTHING)
        partitions = self.run.reference.partitions
        snapshots = {name: expected(partition) for name, partition in partitions.items()}
        self.run.snapshots[len(self.run.inputs) - 1] = snapshots

    def register(self, rm_id: str) -> None:
        """A new or a known RM with a new configuration."""
        config = self.manner.draw(self.rng)
        predicates = self.rng.random() < self.manner.predicates
        extra = self.extra() or {}
        self.send(
            c.RegisterResourceManager(rm_id, config, extra_config=extra, predicates=predicates)
        )
        self.run.configs[rm_id] = [config]
        self.single = len(self.run.reference.partitions) == 1

    def extra(self) -> dict[str, str] | None:
        """Now and then another extra map: a limit of reservations, the order of 1.5.1."""
        if self.rng.random() < 0.5:
            return None
        limit = self.rng.choice((*self.manner.limits, ""))
        found = {"scheduler.reservationLimit": limit} if limit else {}
        parity = self.rng.choices(("", "1.5", "none", "1.6"), (9, 4, 1, 1))[0]
        return found | ({"scheduler.parity": parity} if parity else {})

    def reload(self) -> None:
        """A changed configuration, an earlier one, the same, or one only tried."""
        self.settle()
        rm_id = self.rng.choice(sorted(self.run.configs))
        known = self.run.configs[rm_id]
        before = set(self.run.reference.partitions)
        apps = {name: list(p.applications) for name, p in self.run.reference.partitions.items()}
        config = self.manner.changed(self.rng, known[-1])
        if self.rng.random() < 0.25:
            config = self.rng.choice(known)
        trial = self.rng.random() < 0.1
        self.send(c.UpdateConfiguration(rm_id, config, self.extra(), dry_run=trial))
        if not trial and ("configured", rm_id, True) in self.run.expected[-1]:
            known.append(config)
        gone = before - set(self.run.reference.partitions)
        removed = {("partition", *name) for name in gone}
        removed |= {("application", name[0], app) for name in gone for app in apps[name]}
        self.run.removed[len(self.run.inputs) - 1] = removed
        self.single = len(self.run.reference.partitions) == 1
        self.settle()

    def send(self, command: c.Command) -> None:
        """One command at the present time."""
        if self.moody and self.rng.random() < 0.3 and isinstance(command, REQUESTS):
            change = (command.rm_id, self.rng.randint(0, 5))
            self.run.moods[len(self.run.inputs)] = change
            self.taste.change(*change)
            again = c.UpdateNodes(command.rm_id)  # Without it the core looks again later.
            self.note(again, self.run.reference.handle(again, self.now))
        self.note(command, self.run.reference.handle(command, self.now))

    def step(self, limit: int) -> None:
        """One step at the present time."""
        self.note(Step(limit), self.run.reference.step(self.now, limit))

    def note(self, what: c.Command | Step, found: list[Outcome]) -> None:
        """Remember an input with its answer."""
        self.run.inputs.append((self.now, what))
        self.run.expected.append(found)
        self.run.records.append(self.run.reference.records)
        self.run.deadlines.append(self.run.reference.next_deadline())

    def pass_time(self) -> None:
        """Let some time pass, stopping at every timer on the way."""
        rare = (31 * SECOND, 301 * SECOND, 3 * 86400 * SECOND)
        jump = self.rng.choice(rare if self.rng.random() < 0.05 else self.manner.pauses)
        arrival = self.now + jump
        while (deadline := self.run.reference.next_deadline()) is not None and deadline <= arrival:
            self.now = deadline
            self.step(0)
        self.now = arrival

    def name(self, prefix: str, partition: Partition | None = None) -> str:
        """A fresh name whose order is not that of its making, and that tells its partition."""
        self.names += 1
        home = f"{partition.name}/" if partition is not None else ""
        return f"{home}{prefix}-{self.names * 7 % 100:02}-{self.names}"

    def amounts(self, low: int, high: int, chance: float = 0.7) -> dict[str, int]:
        """A random resource with at least one type."""
        chosen = [t for t in TYPES if self.rng.random() < chance] or [self.rng.choice(TYPES)]
        return {t: self.rng.randint(low, high) for t in chosen}

    # ------------------------------------------------------------------- things that exist

    def partition(self) -> Partition:
        """Any partition."""
        return self.rng.choice(list(self.run.reference.partitions.values()))

    def application(self) -> tuple[Partition, Application] | None:
        """Any live application of any partition."""
        partition = self.partition()
        live = list(partition.applications.values())
        return (partition, self.rng.choice(live)) if live else None

    def node(self, partition: Partition) -> Node | None:
        """Any node of a partition."""
        found = [node for node in partition.nodes.values() if node.identity != SPARE]
        return self.rng.choice(found) if found else None

    # -------------------------------------------------------------------------- applications

    def add_applications(self) -> None:
        """One to three applications to queues that may or may not exist."""
        partition = self.partition()
        new = tuple(self.new_application(partition) for _ in range(self.rng.randint(1, 3)))
        self.send(c.UpdateApplications(partition.rm_id, new))

    def new_application(self, partition: Partition) -> c.NewApplication:
        """One application, now and then one that must be refused."""
        queue = self.rng.choice([*partition.queues, *self.manner.queues])
        known = list(partition.applications)
        again = bool(known) and self.rng.random() < 0.05
        user = self.rng.choices(list(configurations.USERS), self.manner.users)[0]
        unknown = self.rng.random() < 0.04
        return c.NewApplication(
            self.rng.choice(known) if again else self.name("app", partition),
            queue="" if queue == "root" else self.rng.choice((queue, queue.upper())),
            partition=partition.name if self.rng.random() < 0.97 else "nowhere",
            user=user,
            groups=() if unknown else configurations.USERS[user],
            tags=self.tags(),
            user_fault="no such user" if unknown else "",
        )

    def tags(self) -> dict[str, str]:
        """A namespace, now and then with a quota, and now and then the tag that forces."""
        found = {"Namespace": self.rng.choice(("red", "green", "a.b", "c", "root.a", "o range"))}
        found |= self.quick()
        if self.rng.random() < 0.05:
            name = self.rng.choice(("application.create.force", "Application.Create.FORCE"))
            found[name] = self.rng.choice(("true", "T", "1", "yes", "tRue"))
        if self.rng.random() < 0.15:
            quotas = ("namespace.resourcequota", "Namespace.ResourceGuaranteed")
            amounts = (QUOTA % 2, QUOTA % 5, QUOTA % 9, QUOTA % 0, QUOTA % -1, "{}", "")
            found |= {q: self.rng.choice(amounts) for q in quotas if self.rng.random() < 0.8}
        if self.rng.random() < 0.2:
            name = self.rng.choice((NODE_POLICY, NODE_POLICY.title()))
            found[name] = self.rng.choices(NODE_POLICIES, (6, 6, 1, 1))[0]
        if self.rng.random() < 0.1:
            found["namespace.resourcemaxapps"] = self.rng.choice(("1", "2", "0", "-1", "many"))
        return found

    def quick(self) -> dict[str, str]:
        """Now and then the tag that makes Starting last no time (APP-16); its name in any case."""
        name = (STATEAWARE, STATEAWARE.title(), "")[self.names % 3]
        return {name: ("true", "false", "")[self.names // 3 % 3]} if name else {}

    def remove_applications(self) -> None:
        """Remove one that lives or one that does not."""
        found = self.application()
        if found is not None:
            partition, app = found
            identity = app.identity if self.rng.random() < 0.9 else "app-unknown"
            removal = c.ApplicationRemoval(identity, partition.name)
            self.send(c.UpdateApplications(partition.rm_id, remove=(removal,)))

    # ----------------------------------------------------------------------------- requests

    def send_asks(self) -> None:
        """Fresh asks of several applications of one partition in one request."""
        found = [self.application() for _ in range(self.rng.randint(1, 4))]
        for partition in self.run.reference.partitions.values():
            apps = [app for where, app in filter(None, found) if where is partition]
            if apps:
                asks = tuple(self.new_ask(partition, app) for app in apps)
                self.send(c.UpdateAllocations(partition.rm_id, asks=asks))

    def new_ask(self, partition: Partition, app: Application) -> c.Ask:
        """One ask under a fresh key, now and then one that must be refused."""
        placeholder = self.rng.random() < 0.02
        low, high = self.rng.choice(self.manner.sizes)
        low = self.rng.choices((low, 0, -1), (40, 2, 1))[0]
        group = self.rng.choice("xyzXYZ")
        ask = c.Ask(
            application_id=app.identity if self.rng.random() < 0.98 else "app-unknown",
            allocation_key=f"{self.name('k', partition)}~{group}",
            resource=self.amounts(low, high),
            partition=partition.name,
            max_allocations=self.rng.choice(self.manner.counts),
            priority=self.priority(),
            tags=self.creation_time(),
            placeholder=placeholder,
            task_group="" if placeholder else "group",
            equivalence=f"class {group}" if group.isupper() else "",
        )
        bound = self.required_node(partition)
        return replace(ask, tags={**bound, **ask.tags}, priority=LOWEST) if bound else ask

    def priority(self) -> int:
        """Mostly equal, sometimes extreme, and above that of asks that require a node."""
        return self.rng.choices((0, 1, -1, 10, 2**31 - 1, LOWEST + 1), (12, 4, 4, 3, 1, 1))[0]

    def required_node(self, partition: Partition) -> dict[str, str]:
        """Now and then a node the ask must go to."""
        node = self.node(partition)
        if node is None or self.rng.random() >= self.manner.required:
            return {}
        names = (*[node.identity] * 4, "node-unknown")
        return {REQUIRED_NODE: self.rng.choice(names)}

    def creation_time(self) -> dict[str, str]:
        """Now and then a time of creation, or what is none."""
        if self.rng.random() < 0.85:
            return {}
        seconds = self.now // SECOND - self.rng.choice((0, 1, 3, 1000, -2))
        return {"creationTime": self.rng.choice((*[str(seconds)] * 5, "soon", f"{seconds:013}"))}

    def send_asks_again(self) -> None:
        """An ask that is or was known, unchanged or changed."""
        found = self.application()
        if found is None or not found[1].asks:
            return
        partition, app = found
        old = self.rng.choice(list(app.asks.values()))
        if partition.reservations and self.rng.random() < 0.5:
            one = self.rng.choice(partition.reservations)
            app, old = one.app, one.ask
        changed = self.rng.random() < 0.7
        live = any(allocation.key == old.key for allocation in app.allocations.values())
        if not live and self.rng.random() < 0.4:
            release = c.AskRelease(app.identity, old.key, partition.name)
            self.send(c.UpdateAllocations(partition.rm_id, ask_releases=(release,)))
            if self.rng.random() < 0.5:
                self.pass_time()
                self.step(EVERYTHING)
        ask = c.Ask(
            application_id=app.identity,
            allocation_key=old.key,
            resource=self.amounts(*self.rng.choice(self.manner.sizes))
            if changed
            else dict(old.resource),
            partition=partition.name,
            max_allocations=self.rng.randint(1, 4) if changed else old.total,
            priority=self.priority() if changed and not old.required_node else old.priority,
            tags={REQUIRED_NODE: old.required_node} if old.required_node else {},
        )
        self.send(c.UpdateAllocations(partition.rm_id, asks=(ask,)))

    def release_asks(self) -> None:
        """One ask, all asks, or one that does not exist."""
        found = self.application()
        if found is None:
            return
        partition, app = found
        key = self.rng.choice([*app.asks, "", "k-unknown"])
        if partition.reservations and self.rng.random() < 0.3:
            one = self.rng.choice(partition.reservations)
            app, key = one.app, one.key
        kind = self.rng.choices((c.STOPPED_BY_RM, c.TIMEOUT), (5, 1))[0]
        release = c.AskRelease(app.identity, key, partition.name, kind)
        self.send(c.UpdateAllocations(partition.rm_id, ask_releases=(release,)))

    # --------------------------------------------------------------------------- allocations

    def recover(self) -> None:
        """Allocations the RM says it runs already: fresh, known, or of a pending ask."""
        found = self.application()
        if found is None:
            return
        partition, app = found
        if partition.reservations and self.rng.random() < 0.2:
            app = self.rng.choice(partition.reservations).app
        known = list(app.allocations.values())
        pending = [ask.key for ask in app.asks.values() if ask.pending]
        node = self.node(partition)
        where = node.identity if node is not None else "node-unknown"
        draw = self.rng.random()
        if known and draw < 0.2:
            again = self.rng.choice(known)
            names = (again.identity, again.key)
            where = self.rng.choice((where, again.node_id))
        elif pending and draw < 0.5:
            key = self.rng.choice(pending)
            names = (self.name("reported", partition), key)
        else:
            key = f"{self.name('k', partition)}~x"
            names = (self.rng.choices((key, ""), (9, 1))[0], key)
        existing = self.existing(partition, app, names, where)
        self.send(c.UpdateAllocations(partition.rm_id, allocations=(existing,)))

    def existing(
        self, partition: Partition, app: Application, names: tuple[str, str], where: str
    ) -> c.ExistingAllocation:
        """One reported allocation."""
        identity, key = names
        low, high = self.rng.choices(((1, 4), (0, 0), (-1, 2)), (20, 1, 1))[0]
        tags = self.creation_time()
        amounts = self.amounts(low, high)
        ask = c.Ask(app.identity, key, amounts, partition=partition.name, tags=tags)
        return c.ExistingAllocation(ask, identity, where)

    def foreign(self) -> None:
        """What others run: new, of another size, moved to another node, or ended."""
        partition = self.partition()
        node = self.node(partition)
        known = [key for one in partition.nodes.values() for key in one.foreign]
        fresh = not known or self.rng.random() < 0.5
        key = self.name("foreign", partition) if fresh else self.rng.choice(known)
        if not fresh and self.rng.random() < 0.4:
            names = self.rng.choice(((key, ""), ("", key)))
            gone = c.AllocationRelease("", *names, partition=partition.name)
            self.send(c.UpdateAllocations(partition.rm_id, releases=(gone,)))
            return
        tags = {"foreign": self.rng.choice(("default", "static", "what"))}
        low = self.rng.choices((1, 0, -1), (12, 2, 1))[0]
        ask = c.Ask("", key, self.amounts(low, 3), partition=partition.name, tags=tags)
        identity = self.rng.choice((key, ""))
        where = node.identity if node is not None else "node-unknown"
        existing = c.ExistingAllocation(ask, identity, where)
        self.send(c.UpdateAllocations(partition.rm_id, allocations=(existing,)))

    def release(self) -> None:
        """Allocations by identity, by key, all of them, or one that does not exist."""
        found = self.application()
        if found is None:
            return
        partition, app = found
        ending = [(app, one) for one in app.allocations.values()]
        if partition.reservations and self.rng.random() < 0.3:
            ending = on_node(partition, self.rng.choice(partition.reservations).node_id)
        releases = []
        for app, allocation in ending[: self.rng.randint(1, 4)]:
            kind = self.rng.choices(RELEASE_TYPES, (8, 1, 1, 1, 1))[0]
            identity, key = allocation.identity, allocation.key
            ways = ((identity, ""), (identity, "other"), ("", key), ("unknown", ""), ("", ""))
            identity, key = self.rng.choices(ways, (8, 1, 3, 1, 1))[0]
            releases.append(
                c.AllocationRelease(
                    app.identity, identity, key, partition=partition.name, termination_type=kind
                )
            )
        self.send(c.UpdateAllocations(partition.rm_id, releases=tuple(releases)))

    # --------------------------------------------------------------------------------- nodes

    def add_spare(self) -> None:
        """The node that always drains."""
        amounts = dict.fromkeys(TYPES, self.manner.spare)
        (partition,) = self.run.reference.partitions.values()
        spare = c.NodeUpdate(SPARE, c.CREATE_DRAIN, amounts)
        self.send(c.UpdateNodes(partition.rm_id, (spare,)))

    def add_nodes(self) -> None:
        """One to three nodes, some draining, some with allocations, some that exist."""
        partition = self.partition()
        nodes = []
        for _ in range(self.rng.randint(1, 3)):
            old = self.node(partition)
            again = old is not None and self.rng.random() < 0.1
            node_id = old.identity if old is not None and again else self.name("node")
            if self.past and self.rng.random() < 0.3:
                node_id = self.rng.choice(self.past)
            update = c.NodeUpdate(
                node_id,
                self.rng.choices((c.CREATE, c.CREATE_DRAIN), (9, 1))[0],
                capacity=self.amounts(*self.manner.nodes, 0.9),
                occupied=self.amounts(0, 2) if self.rng.random() < 0.2 else None,
                attributes={"si/node-partition": partition.name},
                existing=self.brought(partition),
            )
            nodes.append(update)
        self.send(c.UpdateNodes(partition.rm_id, tuple(nodes)))

    def brought(self, partition: Partition) -> tuple[c.ExistingAllocation, ...]:
        """Allocations reported together with a node; a bad one comes first and alone."""
        if self.rng.random() < 0.8 or not partition.applications:
            return ()
        app = self.rng.choice(list(partition.applications.values()))
        key = f"{self.name('k', partition)}~y"
        identity = self.rng.choices((key, ""), (5, 1))[0]
        return (self.existing(partition, app, (identity, key), ""),)

    def change_nodes(self) -> None:
        """Any action on a node that exists or not."""
        partition = self.partition()
        node, action = self.node(partition), self.rng.choice(NODE_ACTIONS)
        if partition.reservations and self.rng.random() < 0.3:
            node = partition.nodes[self.rng.choice(partition.reservations).node_id]
            action = self.rng.choice((c.UPDATE, c.DRAIN_NODE, c.DRAIN_NODE, c.DECOMISSION))
        if action == c.DECOMISSION and node is not None:
            self.past.append(node.identity)
        known = node is not None and self.rng.random() < 0.95
        update = c.NodeUpdate(
            node.identity if node is not None and known else "node-unknown",
            action,
            capacity=self.amounts(*self.manner.nodes, 0.9) if self.rng.random() < 0.7 else None,
            occupied=self.amounts(0, 3) if self.rng.random() < 0.3 else None,
            attributes={"si/node-partition": partition.name},
        )
        self.send(c.UpdateNodes(partition.rm_id, (update,)))

    def stray(self) -> None:
        """A request of an RM nobody knows, an empty one, or a new registration."""
        draw = self.rng.random()
        if draw < 0.4:
            self.send(c.UpdateApplications("stranger", (c.NewApplication("app", user="ann"),)))
        elif draw < 0.9:
            self.send(c.UpdateNodes(self.partition().rm_id))
        else:
            self.register(self.partition().rm_id)


def on_node(partition: Partition, node_id: str) -> list[tuple[Application, Allocation]]:
    """What runs on a node."""
    everything = [
        (app, a) for app in partition.applications.values() for a in app.allocations.values()
    ]
    return [pair for pair in everything if pair[1].node_id == node_id]
