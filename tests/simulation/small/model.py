"""A resource manager and a core, small enough to try everything that can happen between them.

The manager knows what runs in its cluster. Its script has a few messages on three streams; they
keep their order on a stream only. Between two events the core may decide or not, a confirmation may
be on its way or not. Once the core may die, also before its answers arrive, or the manager may
register again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.effects import Effect
from remuda.core.scheduler import Scheduler
from tests.simulation.small.explore import Choices
from tests.unit.core.door import START

RM: Final = "rm"
MILLISECOND: Final = 1_000_000
WAIT: Final = 20 * 60 * 1_000 * MILLISECOND
ROOM: Final = {"vcore": 4}
ONE: Final = {"vcore": 1}

# An order to end an allocation, which the manager confirms.
ORDERS: Final = (c.TIMEOUT, c.PREEMPTED_BY_SCHEDULER, c.PLACEHOLDER_REPLACED)

# More events than any history has.
_EVENTS: Final = 200


@dataclass(frozen=True)
class Container:
    """Something that runs in the cluster."""

    ask: c.Ask
    allocation_id: str
    node_id: str

    @property
    def identity(self) -> Identity:
        """Its application and its allocation."""
        return (self.ask.application_id, self.allocation_id)

    @property
    def name(self) -> Identity:
        """Its application and its ask."""
        return (self.ask.application_id, self.ask.allocation_key)


# An application and one of its allocations, or of its asks.
Identity: TypeAlias = tuple[str, str]
Message: TypeAlias = "Callable[[History], None]"


@dataclass
class Manager:
    """The truth of the cluster, and what the core was told of it."""

    containers: dict[Identity, Container] = field(default_factory=dict)
    nodes: dict[str, None] = field(default_factory=dict)
    applications: dict[str, c.NewApplication] = field(default_factory=dict)
    over: dict[str, str] = field(default_factory=dict)
    asks: dict[tuple[str, str], c.Ask] = field(default_factory=dict)
    refused: dict[tuple[str, str], None] = field(default_factory=dict)
    confirmations: deque[c.AllocationRelease] = field(default_factory=deque)


class History:
    """One run: a script, and a choice wherever something else might happen first.

    ``death``: once the core may die, or the manager may register again.
    """

    def __init__(
        self,
        script: Mapping[str, Sequence[Message]],
        config: Configuration,
        choices: Choices,
        *,
        death: bool,
    ) -> None:
        self.streams = {name: deque(messages) for name, messages in script.items()}
        self.config = config
        self.choices = choices
        self.manager = Manager()
        self.now = START
        self.crashed = not death
        self.events: list[str] = []
        self._deaf = False
        self.scheduler = Scheduler(verified=True)
        self._begin()

    # ---------------------------------------------------------------------- what happens

    def run(self) -> None:
        """Everything that can happen, in one order; then both sides must agree."""
        for _ in range(_EVENTS):
            options = self._options()
            if not options:
                break
            name = self.choices.of(options) if len(options) > 1 else options[0]
            self.events.append(name)
            self._do(name)
        else:
            raise AssertionError("it never comes to rest")
        self._rest()
        if self.missing():
            # A gang that lost members waits for them, for a while (GANG-20).
            self.now += WAIT
            self._hear(self.scheduler.step(self.now, 0))
            self._rest()
        self.judge()

    def _options(self) -> list[str]:
        streams = [name for name, waiting in self.streams.items() if waiting]
        options = []
        if self.scheduler.has_work():
            options.append("decide")
            if not self.crashed:
                options.append("decide, then die")
        messages = [*streams, *(["confirm"] if self.manager.confirmations else [])]
        options += messages
        if messages and not self.crashed:
            options += ["die", "register again", *[f"{name}, then die" for name in messages]]
        return options

    def _do(self, name: str) -> None:
        """Let something happen; "then die": the core dies before its answers arrive."""
        self.now += MILLISECOND
        what, dies, _ = name.partition(", then die")
        if what == "decide":
            effects = self._steps()
            if not dies:
                self._hear(effects)
        elif what == "register again":
            self._replay()
        elif what != "die":
            self._deaf = bool(dies)
            self._send_next(what)
        if dies or what == "die":
            self._crash()

    def _send_next(self, stream: str) -> None:
        """The next message of a stream, or the next confirmation, arrives."""
        if stream == "confirm":
            release = self.manager.confirmations.popleft()
            self.send(c.UpdateAllocations(RM, releases=(release,)))
        else:
            self.streams[stream].popleft()(self)

    def _steps(self) -> list[Effect]:
        effects = []
        while self.scheduler.has_work():
            effects += self.scheduler.step(self.now, 1)
        return effects

    def send(self, command: c.Command) -> None:
        """One message arrives, and its answer."""
        effects = self.scheduler.handle(command, self.now)
        self.scheduler.check()
        if not self._deaf:
            self._hear(effects)

    # ------------------------------------------------------------------- lives of the core

    def _begin(self) -> None:
        """Register, which ends an earlier registration (RM-9)."""
        (answer,) = [
            effect
            for effect in self.scheduler.handle(
                c.RegisterResourceManager(RM, self.config), self.now
            )
            if isinstance(effect, e.RegistrationAnswered)
        ]
        assert answer.reason == ""

    def _crash(self) -> None:
        """The core is gone; the next one is told what the cluster has (REC-1)."""
        self.scheduler = Scheduler(verified=True)
        self._replay()

    def _replay(self) -> None:
        """Register, and tell everything again (REC-2, REC-3)."""
        self.crashed = True
        self._deaf = False
        manager = self.manager
        manager.confirmations.clear()
        manager.refused.clear()
        self._begin()
        live = [app for name, app in manager.applications.items() if name not in manager.over]
        if live:
            self.send(c.UpdateApplications(RM, tuple(live)))
        for node_id in manager.nodes:
            existing = tuple(
                [
                    c.ExistingAllocation(each.ask, each.allocation_id, node_id)
                    for each in manager.containers.values()
                    if each.node_id == node_id
                ]
            )
            self.send(c.UpdateNodes(RM, (created(node_id, existing),)))
        self._ask_again()

    def _ask_again(self) -> None:
        """Ask for all that is wanted and does not run."""
        running = {each.name for each in self.live()}
        waiting = [ask for name, ask in self.manager.asks.items() if name not in running]
        if waiting:
            self.send(c.UpdateAllocations(RM, asks=tuple(waiting)))

    def _rest(self) -> None:
        """Let everything arrive and be decided; send again what came too early (SI-104)."""
        for _ in range(_EVENTS):
            self.now += MILLISECOND
            if self.manager.refused:
                self.manager.refused.clear()
                self._ask_again()
            if self.manager.confirmations:
                self._do("confirm")
            elif self.scheduler.has_work():
                self._do("decide")
            else:
                return
        raise AssertionError("it never comes to rest")

    # ------------------------------------------------------------------------ the manager

    def live(self) -> list[Container]:
        """What runs."""
        return list(self.manager.containers.values())

    def _hear(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case e.AllocationNew():
                    self._start(effect)
                case e.AllocationsReleased():
                    for gone in effect.released:
                        self._end(gone)
                case e.AsksReleased() | e.AsksRejected():
                    self._note_asks(effect)
                case e.ApplicationUpdated() if effect.state in ("Failed", "Completed"):
                    self.finish(effect.application_id, effect.state)
                case _:
                    pass

    def _note_asks(self, effect: e.AsksReleased | e.AsksRejected) -> None:
        """Asks end, or came too early."""
        if isinstance(effect, e.AsksReleased):
            for ask in effect.released:
                self.manager.asks.pop((ask.application_id, ask.allocation_key), None)
            return
        for refusal in effect.rejected:
            if refusal.application_id not in self.manager.over:
                self.manager.refused[refusal.application_id, refusal.subject] = None

    def _start(self, new: e.AllocationNew) -> None:
        name = (new.ask.application_id, new.ask.allocation_key)
        identity = (new.ask.application_id, new.allocation_id)
        if identity in self.manager.containers:
            return  # the answer to a report (SI-42)
        same = [each for each in self.live() if each.name == name]
        assert same == [], f"{name} runs twice (I22)"
        assert new.node_id in self.manager.nodes, f"{name} is placed on a node that is gone (I30)"
        assert name in self.manager.asks, f"{name} was not asked for (I21)"
        self.manager.containers[identity] = Container(new.ask, new.allocation_id, new.node_id)

    def _end(self, gone: e.ReleasedAllocation) -> None:
        identity = (gone.application_id, gone.allocation_id)
        container = self.manager.containers.pop(identity, None)
        if container is not None and gone.termination_type != c.STOPPED_BY_RM:
            # What the scheduler ends is not asked for again, as a pod that was deleted.
            key = (gone.application_id, container.ask.allocation_key)
            self.manager.asks.pop(key, None)
        if gone.termination_type in ORDERS:
            self.manager.confirmations.append(
                c.AllocationRelease(
                    gone.application_id,
                    gone.allocation_id,
                    partition=gone.partition,
                    termination_type=gone.termination_type,
                )
            )

    def finish(self, application_id: str, why: str) -> None:
        """An application is over: nothing of it is wanted, and nothing of it runs."""
        manager = self.manager
        manager.over[application_id] = why
        for name in [name for name in manager.asks if name[0] == application_id]:
            del manager.asks[name]
        for each in self.live():
            if each.ask.application_id == application_id:
                del manager.containers[each.identity]

    def lose(self, node_id: str) -> None:
        """A node is gone with what ran on it, which nobody starts again."""
        del self.manager.nodes[node_id]
        for each in self.live():
            if each.node_id == node_id:
                self.stop(each)

    def stop(self, container: Container) -> None:
        """The cluster stops something, and it is not wanted any more."""
        ask = container.ask
        del self.manager.containers[container.identity]
        self.manager.asks.pop((ask.application_id, ask.allocation_key), None)

    # ------------------------------------------------------------------------- the verdict

    def judge(self) -> None:
        """Both sides agree, and what fits runs."""
        self.scheduler.check()
        held = {}
        views = self.scheduler.view(q.NodesQuery("default", RM))
        assert isinstance(views, tuple)
        for node in views:
            assert isinstance(node, q.NodeView)
            for each in node.allocations:
                identity = (each.application_id, each.allocation_id)
                held[identity] = (each.allocation_key, node.node_id)
        runs = {each.identity: (each.ask.allocation_key, each.node_id) for each in self.live()}
        assert held == runs, f"the core has {held}, the cluster {runs} (I45)"
        assert self.missing() == [], f"{self.missing()} would fit and do not run (I37)"

    def missing(self) -> list[Identity]:
        """What is wanted and does not run, placeholders apart."""
        running = {each.name for each in self.live()}
        asks = self.manager.asks.items()
        return [name for name, ask in asks if name not in running and not ask.placeholder]


def created(node_id: str, existing: tuple[c.ExistingAllocation, ...] = ()) -> c.NodeUpdate:
    """A node with room for four."""
    return c.NodeUpdate(node_id, c.CREATE, ROOM, existing=existing)
