"""What tests of gangs start from: who holds a place, and what the RM hears, as one line each.

The lines are those of the message sequences of chapter 80. After every command and every step all
counters are worked out anew (``check``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import AllocationView, ApplicationView
from remuda.core.messages.effects import Effect
from remuda.core.ports import Predicates, always_true
from tests.unit.core.door import MINUTE, SECOND, Caller, groups, leaf, of
from tests.unit.core.rules.crowd import Reluctant

ONE: Resource = {"vcore": 1}
TWO: Resource = {"vcore": 2}
TEN: Resource = {"vcore": 10}
TIMEOUT = 15 * MINUTE  # SI-28
WAITING = 30 * SECOND  # how long an application is Completing (APP-16)
GREEDY = {"application.gang.admission": "greedy"}
FAIR = {"application.sort.policy": "fair"}

# Change details of events (EVT-4).
REQUEST_TIMEOUT = 102
ALLOC_REPLACED = 503

NAMES = {
    c.STOPPED_BY_RM: "STOPPED",
    c.TIMEOUT: "TIMEOUT",
    c.PREEMPTED_BY_SCHEDULER: "PREEMPTED",
    c.PLACEHOLDER_REPLACED: "REPLACED",
}
# States that are told with a cause, and the causes with a fixed text (SI-78).
CAUSED = ("Failing", "Resuming")
CAUSES = ("ResourceReservationTimeout", "PartitionRemoved", "ExecutionTimeout")


class Gang(Caller):
    """An RM with gangs; every test says which nodes there are.

    What is done returns the lines the RM hears; ``last`` are the whole effects of it.
    """

    def __init__(
        self, *queues: QueueConfig, predicates: Predicates = always_true, **other: Any
    ) -> None:
        self.last: list[Effect] = []
        super().__init__(*(queues or (counting("a"),)), predicates=predicates, **other)

    # -------------------------------------------------------------------------- commands

    def send(self, command: c.Command) -> list[Effect]:
        """One command; all counters are right after it."""
        self.last = super().send(command)
        self.scheduler.check()
        return self.last

    def step(self, limit: int = 1000) -> list[Effect]:
        """Due timers, then decisions; all counters are right after it."""
        self.last = super().step(limit)
        self.scheduler.check()
        return self.last

    def nodes(self, **cores: int) -> None:
        """More nodes with so many cores."""
        for node_id, amount in cores.items():
            self.node(node_id, {"vcore": amount})

    def submit(
        self,
        app: str = "app",
        placeholder_ask: Resource | None = None,
        style: str = "",
        **other: Any,
    ) -> list[str]:
        """One new application, a gang if it says what its placeholders need."""
        ask = placeholder_ask or {}
        return heard(self.app(app, placeholder_ask=ask, gang_scheduling_style=style, **other))

    def hold(
        self, *keys: str, app: str = "app", group: str = "g", size: Resource = ONE, **other: Any
    ) -> list[str]:
        """Ask for placeholders, in one request."""
        return self.want(*keys, app=app, group=group, size=size, placeholder=True, **other)

    def want(
        self, *keys: str, app: str = "app", group: str = "g", size: Resource = ONE, **other: Any
    ) -> list[str]:
        """Ask for what is to run, in one request."""
        asks = tuple(c.Ask(app, key, size, task_group=group, **other) for key in keys)
        return heard(self.send(c.UpdateAllocations(self.rm, asks=asks)))

    def confirm(
        self, *identities: str, app: str = "app", kind: int = c.PLACEHOLDER_REPLACED
    ) -> list[str]:
        """Releases of that type, in one request."""
        releases = tuple(
            c.AllocationRelease(app, identity, termination_type=kind) for identity in identities
        )
        return heard(self.send(c.UpdateAllocations(self.rm, releases=releases)))

    def timed_out(self, *identities: str, app: str = "app") -> list[str]:
        """Confirm the end of what was ordered out."""
        return self.confirm(*identities, app=app, kind=c.TIMEOUT)

    def recover(self, *reported: c.ExistingAllocation) -> list[str]:
        """Allocations the RM has already, in one request."""
        return heard(self.send(c.UpdateAllocations(self.rm, allocations=reported)))

    def run(self, after_ns: int = 0) -> list[str]:
        """Let time pass, then decide until there is nothing left to decide."""
        self.now += after_ns
        effects = self.step()
        assert not self.scheduler.has_work()
        return heard(effects)

    # ------------------------------------------------------------------------- questions

    def application(self, app: str = "app") -> ApplicationView:
        """One live application."""
        return self.apps()[app]

    def data(self, group: str = "g", app: str = "app") -> tuple[int, int, int]:
        """Of one task group: members, replaced ones, and those that went otherwise (GANG-35)."""
        (found,) = [x for x in self.application(app).placeholder_data if x.task_group == group]
        return found.count, found.replaced, found.timed_out

    def allocation(self, identity: str, app: str = "app") -> AllocationView:
        """One allocation of an application."""
        (found,) = [a for a in self.application(app).allocations if a.allocation_id == identity]
        return found

    def holds(self, app: str = "app") -> list[str]:
        """The placeholders an application has, sorted."""
        found = self.application(app).allocations
        return sorted(a.allocation_id for a in found if a.placeholder)

    def runs(self, app: str = "app") -> list[str]:
        """What an application really runs, sorted."""
        found = self.application(app).allocations
        return sorted(a.allocation_id for a in found if not a.placeholder)

    def pending(self, app: str = "app") -> dict[str, int]:
        """How many allocations each waiting ask still wants."""
        return {r.allocation_key: r.pending_count for r in self.application(app).requests}

    def deadline(self, app: str = "app") -> int:
        """When the reservation times out, 0 without timer."""
        return self.application(app).placeholder_deadline_ns

    def home(self) -> q.PartitionView:
        """The default partition."""
        found = self.scheduler.view(q.PartitionsQuery())
        assert isinstance(found, tuple)
        (view,) = [p for p in found if isinstance(p, q.PartitionView) and p.name == "default"]
        return view

    def on(self, node_id: str) -> dict[str, int]:
        """What is allocated on a node, without zeros."""
        return amounts(self.node_view(node_id).allocated)

    def in_queue(self, path: str = "root.a") -> dict[str, int]:
        """What is allocated in a queue, without zeros."""
        return amounts(self.queue(path).allocated)

    def of_user(self, name: str = "ann") -> dict[str, int]:
        """What a user uses, without zeros."""
        found = self.usage().get(name)
        return amounts(found.queues.used) if found is not None else {}

    def of_group(self, name: str = "staff") -> dict[str, int]:
        """What a group uses, without zeros."""
        found = self.usage(of_groups=True).get(name)
        return amounts(found.queues.used) if found is not None else {}

    def totals(self) -> dict[str, object]:
        """Everything that is counted, to compare two ways to one state."""
        home = self.home()
        found: dict[str, object] = {
            "partition": (amounts(home.allocated), home.total_containers, home.placeholders),
            "user": self.of_user(),
            "group": self.of_group(),
        }
        self._of_queues(self.queue("root"), found)
        for node_id in sorted(self.node_views()):
            found[node_id] = self.on(node_id)
        for app, view in sorted(self.apps().items()):
            sums = [amounts(each) for each in (view.used, view.placeholder, view.pending)]
            data = [(x.task_group, x.count, x.replaced) for x in view.placeholder_data]
            found[f"application {app}"] = (view.state, sums, data)
        return found

    def _of_queues(self, view: q.QueueView, found: dict[str, object]) -> None:
        """What is counted in a queue and below."""
        found[view.path] = (
            amounts(view.allocated),
            amounts(view.pending),
            view.running_applications,
        )
        for child in view.children:
            self._of_queues(child, found)


def counting(name: str) -> QueueConfig:
    """A leaf in which what the group staff uses is counted; its limit is out of reach."""
    return leaf(name, limits=(groups("staff", {"vcore": 1_000_000}),))


def amounts(resource: Mapping[str, int] | None) -> dict[str, int]:
    """A resource without zeros."""
    return {name: amount for name, amount in (resource or {}).items() if amount}


def existing(
    app: str, identity: str, node_id: str, group: str = "", size: Resource = ONE, **other: Any
) -> c.ExistingAllocation:
    """An allocation as the RM reports it; the key is the identity without its number."""
    key = identity.partition("-")[0]
    return c.ExistingAllocation(c.Ask(app, key, size, task_group=group, **other), identity, node_id)


def heard(effects: Sequence[Effect]) -> list[str]:
    """What the RM hears, one line per verdict, state, allocation or release, in order."""
    lines: list[str] = []
    for effect in effects:
        lines += _lines(effect)
    return lines


def _lines(effect: Effect) -> list[str]:
    """The lines of one effect; hints and records for observers have none."""
    if isinstance(effect, (e.ApplicationsAnswered, e.NodesAnswered)):
        refused = [verdict.subject for verdict in effect.rejected]
        pairs = (("accepted", effect.accepted), ("rejected", refused))
        return [f"{word}[{', '.join(subjects)}]" for word, subjects in pairs if subjects]
    if isinstance(effect, e.ApplicationUpdated):
        known = effect.state in CAUSED and effect.message in CAUSES
        cause = f" {effect.message}" if known else ""
        return [f"updated[{effect.application_id} {effect.state}{cause}]"]
    if isinstance(effect, e.AllocationNew):
        return [f"new[{effect.allocation_id} {effect.node_id}]"]
    if isinstance(effect, e.AllocationsReleased):
        return [f"released[{x.allocation_id} {NAMES[x.termination_type]}]" for x in effect.released]
    if isinstance(effect, e.AsksReleased):
        return [
            f"releasedAsk[{x.allocation_key} {NAMES[x.termination_type]}]" for x in effect.released
        ]
    if isinstance(effect, (e.AsksRejected, e.AllocationsRejected)):
        return [f"refused[{', '.join(verdict.subject for verdict in effect.rejected)}]"]
    return []


def records(effects: Sequence[Effect], *details: int) -> list[tuple[str, str, int]]:
    """Event records with one of these details, as (object, reference, detail), in order."""
    found = of(effects, e.EventRecord)
    return [(r.object_id, r.reference_id, r.detail) for r in found if r.detail in details]


# ---------------------------------------------------------------------- ready situations


def pair(*queues: QueueConfig, style: str = "", size: Resource = ONE, **other: Any) -> Gang:
    """A complete gang of two: p1-0 on n1 and p2-0 on n2, of ten cores each; Starting."""
    gang = Gang(*queues)
    gang.nodes(n1=10, n2=10)
    total = {name: 2 * amount for name, amount in size.items()}
    gang.submit("app", total, style, **other)
    gang.hold("p1", "p2", size=size)
    expected = ["new[p1-0 n1]", "updated[app Starting]", "new[p2-0 n2]"]
    assert gang.run() == expected
    return gang


def half(*queues: QueueConfig, style: str = "", **other: Any) -> Gang:
    """A gang of two of which only p1-0 found a place, on n1, which has one core; Accepted."""
    gang = Gang(*queues)
    gang.nodes(n1=1)
    gang.submit("app", TWO, style, **other)
    gang.hold("p1", "p2")
    assert gang.run() == ["new[p1-0 n1]"]
    assert gang.state("app") == "Accepted"
    return gang


def swapping(size: Resource = ONE, real: Resource = ONE, **other: Any) -> Gang:
    """A gang of one: p1-0 on n1 is about to be replaced by r1 on the spot; n2 is empty."""
    gang = Gang()
    gang.nodes(n1=10, n2=10)
    gang.submit("app", size, **other)
    gang.hold("p1", size=size)
    assert gang.run() == ["updated[app Starting]", "new[p1-0 n1]"]
    gang.want("r1", size=real)
    assert gang.run() == ["released[p1-0 REPLACED]"]
    return gang


def moving(size: Resource = ONE, real: Resource = ONE, **other: Any) -> Gang:
    """As ``swapping``, but r1 goes to n2, because the RM does not want it on n1."""
    judge = Reluctant({("r1", "n1", False): "not here", ("r1", "n1", True): "not here"})
    gang = Gang(predicates=judge)
    gang.nodes(n1=10, n2=10)
    gang.submit("app", size, **other)
    gang.hold("p1", size=size)
    assert gang.run() == ["updated[app Starting]", "new[p1-0 n1]"]
    gang.want("r1", size=real)
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.on("n2") == amounts(real)
    return gang
