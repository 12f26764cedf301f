"""A short way to talk to the scheduler through its door.

Tests of single rules should show the rule and nothing else, so everything a command needs and
the rule does not care about is filled in here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from remuda.base.resources import Resource
from remuda.config.process_limits import DEFAULT_LIMITS, Limits
from remuda.config.schema import (
    AccessList,
    Configuration,
    LimitConfig,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
)
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.effects import Effect
from remuda.core.messages.events import USERGROUP
from remuda.core.ports import (
    Predicates,
    PreemptionPredicates,
    always_true,
    first_will_do,
)
from remuda.core.scheduler import Scheduler

E = TypeVar("E", bound=Effect)
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
START = 1_700_000_000 * SECOND
REQUIRED_NODE = "yunikorn.apache.org/requiredNode"
PROVIDED = PlacementRuleConfig("provided")
CREATING = PlacementRuleConfig("provided", create=True)
EVERYBODY = AccessList(everybody=True)

Properties = Mapping[str, str]


def leaf(
    name: str,
    maximum: Resource | None = None,
    guaranteed: Resource | None = None,
    properties: Properties | None = None,
    **other: Any,
) -> QueueConfig:
    """A configured leaf."""
    return QueueConfig(name, False, maximum, guaranteed, dict(properties or {}), **other)


def parent(
    name: str,
    *queues: QueueConfig,
    maximum: Resource | None = None,
    guaranteed: Resource | None = None,
    properties: Properties | None = None,
    **other: Any,
) -> QueueConfig:
    """A configured parent."""
    return QueueConfig(name, True, maximum, guaranteed, dict(properties or {}), queues, **other)


def partition(
    *queues: QueueConfig,
    name: str = "default",
    properties: Properties | None = None,
    root: Mapping[str, Any] | None = None,
    **other: Any,
) -> PartitionConfig:
    """A partition whose root holds these queues.

    Queues are provided and everybody may submit unless said otherwise; ``root`` holds further
    fields of the root queue.
    """
    fields = {"submit_acl": EVERYBODY, **(root or {})}
    top = parent("root", *queues, properties=properties, **fields)
    other.setdefault("placement_rules", (PROVIDED,))
    return PartitionConfig(name, top, **other)


def users(names: str, maximum: Resource | None = None, applications: int = 0) -> LimitConfig:
    """A limit of each of these users; names are separated by blanks."""
    return LimitConfig(tuple(names.split()), (), maximum, applications)


def groups(names: str, maximum: Resource | None = None, applications: int = 0) -> LimitConfig:
    """A limit of each of these groups; names are separated by blanks."""
    return LimitConfig((), tuple(names.split()), maximum, applications)


class Caller:
    """One registered RM and the scheduler it calls; ``now`` is the time of every call."""

    def __init__(
        self,
        *queues: QueueConfig,
        predicates: Predicates = always_true,
        victims_port: PreemptionPredicates = first_will_do,
        partitions: Sequence[PartitionConfig] = (),
        extra_config: Properties | None = None,
        limits: Limits = DEFAULT_LIMITS,
        **other: Any,
    ) -> None:
        self.scheduler = Scheduler(
            predicates, preemption=victims_port, limits=limits, verified=True
        )
        self.now = START
        self.rm = "rm"
        self.reloads = 0
        chosen = tuple(partitions) or (partition(*(queues or (leaf("a"),)), **other),)
        self.first = self.send(
            c.RegisterResourceManager(
                self.rm,
                Configuration(chosen),
                extra_config=extra_config or {},
                predicates=predicates is not always_true,
                preemption_predicates=victims_port is not first_will_do,
            )
        )

    # -------------------------------------------------------------------------- commands

    def reload(self, *queues: QueueConfig, **other: Any) -> list[Effect]:
        """Change the configuration: the default partition, or the ``partitions`` given.

        ``checksum`` differs each time unless given; ``extra_config`` and ``dry_run`` are those of
        the command, everything else belongs to the partition.
        """
        self.reloads += 1
        text = other.pop("checksum", f"{self.reloads:064X}")
        how = {name: other.pop(name) for name in ("extra_config", "dry_run") if name in other}
        chosen = other.pop("partitions", None)
        if chosen is None:
            chosen = (partition(*queues, **other),)
        config = Configuration(tuple(chosen), checksum=text, text=f"# {text}")
        return self.send(c.UpdateConfiguration(self.rm, config, **how))

    def send(self, command: c.Command) -> list[Effect]:
        """One command."""
        return self.scheduler.handle(command, self.now)

    def step(self, limit: int = 1000) -> list[Effect]:
        """Due timers, then decisions."""
        return self.scheduler.step(self.now, limit)

    def wait(self, time_ns: int) -> list[Effect]:
        """Let time pass and timers fire."""
        self.now += time_ns
        return self.step(0)

    def node(
        self,
        node_id: str,
        capacity: Resource | None = None,
        action: int = c.CREATE,
        **other: Any,
    ) -> list[Effect]:
        """One action on one node."""
        attributes = other.pop("attributes", {})
        if "home" in other:
            attributes = {**attributes, "si/node-partition": other.pop("home")}
        update = c.NodeUpdate(node_id, action, capacity, attributes=attributes, **other)
        return self.send(c.UpdateNodes(self.rm, (update,)))

    def app(self, application_id: str, queue: str = "root.a", **other: Any) -> list[Effect]:
        """One new application."""
        other.setdefault("user", "ann")
        other.setdefault("groups", ("staff",))
        new = c.NewApplication(application_id, queue, **other)
        return self.send(c.UpdateApplications(self.rm, (new,)))

    def remove(self, application_id: str, home: str = "") -> list[Effect]:
        """Remove one application."""
        removal = c.ApplicationRemoval(application_id, home)
        return self.send(c.UpdateApplications(self.rm, remove=(removal,)))

    def ask(
        self, app: str, key: str, resource: Resource, count: int = 1, **other: Any
    ) -> list[Effect]:
        """One ask."""
        ask = c.Ask(app, key, resource, max_allocations=count, **other)
        return self.send(c.UpdateAllocations(self.rm, asks=(ask,)))

    def release_ask(self, app: str, key: str = "", kind: int = c.STOPPED_BY_RM) -> list[Effect]:
        """Release one ask or all."""
        release = c.AskRelease(app, key, termination_type=kind)
        return self.send(c.UpdateAllocations(self.rm, ask_releases=(release,)))

    def existing(
        self, app: str, identity: str, node_id: str, resource: Resource, key: str = "", **ask: Any
    ) -> list[Effect]:
        """One allocation the RM runs already; the key is the identity unless given."""
        reported = existing_allocation(app, identity, node_id, resource, key=key, **ask)
        return self.send(c.UpdateAllocations(self.rm, allocations=(reported,)))

    def release(
        self, app: str, identity: str = "", key: str = "", kind: int = c.STOPPED_BY_RM
    ) -> list[Effect]:
        """Release allocations by identity, by key, or all."""
        release = c.AllocationRelease(app, identity, key, termination_type=kind)
        return self.send(c.UpdateAllocations(self.rm, releases=(release,)))

    # ------------------------------------------------------------------------- questions

    def place(self, limit: int = 1000) -> list[tuple[str, str]]:
        """Decide until ``limit`` were placed; what went where, in order."""
        placed: list[tuple[str, str]] = []
        while len(placed) < limit and self.scheduler.has_work():
            placed += [
                (new.allocation_id, new.node_id) for new in of(self.step(1), e.AllocationNew)
            ]
        return placed

    def order(self) -> list[str]:
        """The allocation keys in the order in which everything pending is placed."""
        return [identity.rpartition("-")[0] for identity, _ in self.place()]

    def queue(self, path: str, home: str = "default") -> q.QueueView:
        """One queue."""
        found = self.scheduler.view(q.QueuesQuery(home, self.rm))
        assert isinstance(found, q.QueueView)
        for depth in range(1, path.count(".") + 1):
            wanted = ".".join(path.split(".")[: depth + 1])
            found = next(child for child in found.children if child.path == wanted)
        return found

    def node_view(self, node_id: str) -> q.NodeView:
        """One node."""
        return self.node_views()[node_id]

    def node_views(self) -> dict[str, q.NodeView]:
        """All nodes of the default partition."""
        found = self.scheduler.view(q.NodesQuery("default", self.rm))
        assert isinstance(found, tuple)
        return {node.node_id: node for node in found if isinstance(node, q.NodeView)}

    def apps(self) -> dict[str, ApplicationView]:
        """The live applications of the default partition."""
        found = self.scheduler.view(q.ApplicationsQuery("default", "", self.rm))
        assert isinstance(found, tuple)
        return {a.application_id: a for a in found if isinstance(a, ApplicationView)}

    def usage(self, *, of_groups: bool = False, home: str = "default") -> dict[str, q.UsageView]:
        """What users, or groups, use and may use, by name."""
        found = self.scheduler.view(q.UsageQuery(home, of_groups, self.rm))
        assert isinstance(found, tuple)
        return {view.name: view for view in found if isinstance(view, q.UsageView)}

    def state(self, application_id: str) -> str:
        """The state of a live application, "" if it is not live."""
        found = self.apps().get(application_id)
        return found.state if found else ""


def existing_allocation(
    app: str, identity: str, node_id: str, resource: Resource, key: str = "", **ask: Any
) -> c.ExistingAllocation:
    """An allocation as an RM reports it; further fields are those of its ask."""
    return c.ExistingAllocation(c.Ask(app, key or identity, resource, **ask), identity, node_id)


def of(effects: Sequence[Effect], kind: type[E]) -> list[E]:
    """The effects of one kind."""
    return [effect for effect in effects if isinstance(effect, kind)]


def answers(effects: Sequence[Effect]) -> list[Effect]:
    """Everything but event records."""
    return [effect for effect in effects if not isinstance(effect, e.EventRecord)]


def states(effects: Sequence[Effect]) -> list[tuple[str, str]]:
    """Which application entered which state, in order."""
    return [(u.application_id, u.state) for u in of(effects, e.ApplicationUpdated)]


def released(effects: Sequence[Effect]) -> list[list[str]]:
    """The identities of each release answer."""
    found = of(effects, e.AllocationsReleased)
    return [[gone.allocation_id for gone in answer.released] for answer in found]


def events(effects: Sequence[Effect]) -> list[tuple[int, str, int, int]]:
    """The event records as (kind, object, change, detail)."""
    found = of(effects, e.EventRecord)
    return [(record.kind, record.object_id, record.change, record.detail) for record in found]


def refusal(effects: Sequence[Effect]) -> str:
    """Why a change of the configuration was refused, "" if it is in force."""
    (answer,) = of(effects, e.ConfigurationAnswered)
    return answer.reason


def tracked(effects: Sequence[Effect]) -> list[tuple[str, int, int, str]]:
    """The records about users and groups as (name, change, detail, reference)."""
    found = [record for record in of(effects, e.EventRecord) if record.kind == USERGROUP]
    return [(r.object_id, r.change, r.detail, r.reference_id) for r in found]
