"""A scheduler without rules, to test what drives it, and collectors of what comes out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from remuda.base.errors import InvariantViolation
from remuda.config.process_limits import NO_LIMITS, Limits
from remuda.config.schema import Configuration, built_in
from remuda.core.messages.commands import (
    Ask,
    Command,
    RegisterResourceManager,
    UnregisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateConfiguration,
)
from remuda.core.messages.effects import (
    AllocationNew,
    ApplicationsAnswered,
    ConfigurationAnswered,
    Effect,
    RegistrationAnswered,
)
from remuda.core.messages.queries import (
    PartitionsQuery,
    PartitionView,
    Query,
    View,
)
from remuda.core.messages.rows import ApplicationRowsQuery
from remuda.core.ports import (
    NodesQuestion,
    Predicates,
    PreemptionItem,
    PreemptionPredicates,
    PreemptionQuestion,
    always_true,
    first_will_do,
)


class FakeScheduler:
    """Places every ask on one node, in order, unless predicates refuse it.

    An application named ``fault`` raises; ``deadline_ns`` is reported until a step reaches it.
    RMs in ``stubborn`` refuse every new configuration; ``configured`` has what is in force.
    """

    def __init__(
        self,
        predicates: Predicates = always_true,
        *,
        preemption: PreemptionPredicates = first_will_do,
        reservation_delay_ns: int | None = None,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self.predicates = predicates
        self.preemption = preemption
        self.reservation_delay_ns = reservation_delay_ns
        self.kept = limits
        self.waiting: deque[tuple[str, Ask]] = deque()
        self.handled: list[Command] = []
        self.moments: list[int] = []
        self.limits: list[int] = []
        self.deadline_ns: int | None = None
        self.expired: list[int] = []
        self.threads: set[str] = set()
        self.stubborn: set[str] = set()
        self.configured: dict[str, tuple[Configuration, Mapping[str, str]]] = {}

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        self.threads.add(threading.current_thread().name)
        self.handled.append(command)
        self.moments.append(now_ns)
        if isinstance(command, RegisterResourceManager):
            reason = "rmID is bad" if command.rm_id.startswith("[") else ""
            self.configured[command.rm_id] = (command.config, command.extra_config)
            return [RegistrationAnswered(command.rm_id, reason, "RM-1" if reason else "")]
        if isinstance(command, UpdateConfiguration):
            return [self.update(command)]
        if isinstance(command, UpdateApplications):
            if any(new.application_id == "fault" for new in command.new):
                raise ZeroDivisionError("a counter went wrong\nsecond line")
            accepted = tuple(new.application_id for new in command.new)
            return [ApplicationsAnswered(command.rm_id, accepted, ())]
        if isinstance(command, UpdateAllocations):
            self.waiting.extend((command.rm_id, ask) for ask in command.asks)
        if isinstance(command, UnregisterResourceManager):
            self.waiting = deque(entry for entry in self.waiting if entry[0] != command.rm_id)
        return []

    def update(self, command: UpdateConfiguration) -> ConfigurationAnswered:
        if command.rm_id in self.stubborn:
            problems = ("queue root.a has applications", "queue root.b has applications")
            return ConfigurationAnswered(command.rm_id, problems[0], "RLD-26", problems)
        if not command.dry_run:
            extra = command.extra_config
            old = self.configured[command.rm_id][1]
            self.configured[command.rm_id] = (command.config, old if extra is None else extra)
        return ConfigurationAnswered(command.rm_id, "")

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        self.limits.append(limit)
        if self.deadline_ns is not None and self.deadline_ns <= now_ns:
            self.expired.append(now_ns)
            self.deadline_ns = None
        effects: list[Effect] = []
        while self.waiting and limit:
            limit -= 1
            rm_id, ask = self.waiting.popleft()
            question = NodesQuestion(rm_id, ask.application_id, ask.allocation_key, True, ("n",))
            if self.predicates(question).passed == 0:
                identity = f"{ask.allocation_key}-0"
                effects.append(AllocationNew(rm_id, "default", identity, "n", ask))
        return effects

    def next_deadline(self) -> int | None:
        return self.deadline_ns

    def has_work(self) -> bool:
        return bool(self.waiting)

    def view(self, query: Query) -> View:
        self.threads.add(threading.current_thread().name)
        if isinstance(query, ApplicationRowsQuery):
            return ()
        if type(query) is not PartitionsQuery:
            raise LookupError("no such view")
        return (
            PartitionView(
                rm_id="rm",
                name="default",
                state="Active",
                state_time_ns=0,
                capacity=None,
                allocated={},
                node_sort_policy="fair",
                node_sort_weights={},
                total_nodes=3,
                total_containers=0,
                reservations=0,
                applications={"Completed": 2, "Rejected": 5},
                preemption=True,
                quota_preemption=False,
                user_group_resolver="",
            ),
        )

    def check(self) -> None:
        if self.waiting:
            raise InvariantViolation("asks are waiting")


class Evicting(FakeScheduler):
    """Asks for each ask of a request about nodes with victims; the choice shows in effects."""

    items: tuple[PreemptionItem, ...] = (
        PreemptionItem("", "n1", ("v1", "v2"), 0),
        PreemptionItem("", "n2", ("v3",), 0),
    )
    first_success = False

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        if not isinstance(command, UpdateAllocations):
            return super().handle(command, now_ns)
        effects: list[Effect] = []
        for ask in command.asks:
            items = tuple([replace(i, allocation_key=ask.allocation_key) for i in self.items])
            answer = self.preemption(PreemptionQuestion(command.rm_id, items, self.first_success))
            told = "".join(f"{int(each.success)}{each.index} " for each in answer.verdicts)
            effects.append(AllocationNew(command.rm_id, "default", told, "n1", ask))
        return effects


class Factory:
    """Builds the fake scheduler a loop asks for, of some kind, and keeps hold of it."""

    scheduler: FakeScheduler

    def __init__(self, kind: type[FakeScheduler] = FakeScheduler) -> None:
        self._kind = kind

    def __call__(
        self,
        predicates: Predicates,
        *,
        preemption: PreemptionPredicates,
        reservation_delay_ns: int | None,
        limits: Limits,
    ) -> FakeScheduler:
        self.scheduler = self._kind(
            predicates,
            preemption=preemption,
            reservation_delay_ns=reservation_delay_ns,
            limits=limits,
        )
        return self.scheduler


class Sink:
    """Collects effects; ``wait`` blocks until enough came. ``then`` runs after each batch."""

    def __init__(self, then: Callable[[Sequence[Effect]], None] | None = None) -> None:
        self.effects: list[Effect] = []
        self.batches: list[int] = []
        self.threads: set[str] = set()
        self._then = then
        self._more = threading.Condition()

    def __call__(self, effects: Sequence[Effect]) -> None:
        with self._more:
            self.threads.add(threading.current_thread().name)
            self.effects.extend(effects)
            self.batches.append(len(effects))
            self._more.notify_all()
        if self._then is not None:
            self._then(effects)

    def wait(self, count: int) -> list[Effect]:
        with self._more:
            assert self._more.wait_for(lambda: len(self.effects) >= count, timeout=60)
            return list(self.effects)

    def keys(self) -> list[str]:
        """The allocation keys placed, in order."""
        return [e.ask.allocation_key for e in self.effects if isinstance(e, AllocationNew)]


def registration(rm_id: str = "rm", *, predicates: bool = False) -> RegisterResourceManager:
    """A registration with the built-in configuration."""
    return RegisterResourceManager(rm_id, built_in(), predicates=predicates)


def asks(*keys: str, rm_id: str = "rm") -> UpdateAllocations:
    """A request with one ask per key."""
    return UpdateAllocations(rm_id, asks=tuple(Ask("a", key, {"vcore": 1}) for key in keys))
