"""A core and a resource manager that does what it is told, on a clock that jumps between events.

What the core orders out ends after a while and is confirmed; what was preempted is asked for again
at once. Nothing else happens by itself, so what the core does then comes from preemption alone.
After every command and every step all counters are worked out anew (``check``).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Final

from remuda.base.resources import Resource
from remuda.config.schema import Configuration, PartitionConfig, QueueConfig
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.commands import Ask, Command
from remuda.core.messages.effects import Effect
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import WAITING, Preemption
from remuda.core.scheduler import Scheduler
from tests.unit.core.door import EVERYBODY, PROVIDED, SECOND, START, parent

HOUR: Final = 3600 * SECOND
RM: Final = "rm"
# Steps that one run may have; more means that something never comes to rest.
STEPS_LIMIT: Final = 50_000

# How what was evicted is asked for again: its key once more, or another key each time.
SAME_KEY: Final = "same key"
NEW_KEY: Final = "new key"

Name = tuple[str, str]


@dataclass(frozen=True)
class Eviction:
    """One order to end allocations: when, for which ask, and which they are."""

    at_ns: int
    key: str
    victims: tuple[Name, ...]


@dataclass(frozen=True)
class Running:
    """One allocation. ``ordered``: it was ordered out and has not ended yet."""

    ask: Ask
    node: str
    ordered: int = 0


class Cluster:
    """The RM with all it has.

    ``delays``: seconds a victim takes to end, drawn from these. ``anew``: how what was preempted is
    asked for again. ``reserves``: asks that fit no node reserve one after a while; what is reserved
    by others is no place to preempt (PRE-18).
    """

    def __init__(
        self,
        *queues: QueueConfig,
        nodes: Mapping[str, Resource],
        delays: tuple[float, ...] = (1,),
        seed: int = 0,
        anew: str = SAME_KEY,
        properties: Mapping[str, str] | None = None,
        reserves: bool = True,
    ) -> None:
        self.scheduler = Scheduler(reservation_delay_ns=RESERVATION_DELAY_NS if reserves else None)
        self.now = START
        self.dice = random.Random(seed)
        self.running: dict[Name, Running] = {}
        self.evictions: list[Eviction] = []
        self.placed: Counter[str] = Counter()
        self._delays = delays
        self._anew = anew
        self._totals: Counter[str] = Counter()
        self._steps = 0
        self._number = 0
        # (when, number, name, type): what ends then.
        self._ends: list[tuple[int, int, Name, int]] = []
        root = parent("root", *queues, properties=properties, submit_acl=EVERYBODY)
        partition = PartitionConfig("default", root, placement_rules=(PROVIDED,))
        self.send(c.RegisterResourceManager(RM, Configuration((partition,))))
        for name, capacity in nodes.items():
            self.node(name, capacity)

    # ----------------------------------------------------------------------- what is sent

    def send(self, command: Command) -> None:
        """One command, and what follows from it."""
        self._hear(self.scheduler.handle(command, self.now))

    def node(self, name: str, capacity: Resource) -> None:
        """A node joins."""
        self.send(c.UpdateNodes(RM, (c.NodeUpdate(name, c.CREATE, capacity),)))

    def app(self, name: str, queue: str, **fields: object) -> None:
        """An application is submitted."""
        new = replace(c.NewApplication(name, queue, user="ann", groups=("staff",)), **fields)  # type: ignore[arg-type]
        self.send(c.UpdateApplications(RM, (new,)))

    def ask(self, app: str, key: str, size: Resource, **fields: object) -> None:
        """One ask that may preempt others."""
        ask = Ask(app, key, size, allow_preempt_other=True)
        ask = replace(ask, **fields)  # type: ignore[arg-type]
        self._totals[key] = ask.max_allocations
        self.send(c.UpdateAllocations(RM, asks=(ask,)))

    def end(self, name: Name) -> None:
        """An allocation ends by itself."""
        if self.running.pop(name, None) is not None:
            self.send(c.UpdateAllocations(RM, releases=(c.AllocationRelease(*name),)))

    # ------------------------------------------------------------------------------ time

    def run(self, duration_ns: int) -> None:
        """Let time pass; only confirmations come, and asks in the place of what was preempted."""
        until = self.now + duration_ns
        while True:
            self._decide()
            times = [self._ends[0][0]] if self._ends else []
            deadline = self.scheduler.next_deadline()
            if deadline is not None:
                times.append(max(deadline, self.now))
            if not times or min(times) > until:
                break
            self.now = max(self.now, min(times))
            self._end_due()
            self._step()
        self.now = until

    def _decide(self) -> None:
        while self.scheduler.has_work():
            self._step()

    def _step(self) -> None:
        self._steps += 1
        assert self._steps < STEPS_LIMIT, "the scheduler does not come to rest"
        self._hear(self.scheduler.step(self.now, self.dice.choice((1, 3, 100))))

    def _end_due(self) -> None:
        while self._ends and self._ends[0][0] <= self.now:
            _, _, name, kind = heappop(self._ends)
            gone = self.running.pop(name, None)
            if gone is None:
                continue
            asks = tuple(self._again(gone.ask)) if kind == c.PREEMPTED_BY_SCHEDULER else ()
            release = c.AllocationRelease(*name, termination_type=kind)
            self.send(c.UpdateAllocations(RM, asks=asks, releases=(release,)))

    def _again(self, ask: Ask) -> Iterator[Ask]:
        """Ask for what was evicted, at once."""
        key = ask.allocation_key
        if self._anew == SAME_KEY and not ask.placeholder:
            self._totals[key] += 1
            yield replace(ask, max_allocations=self._totals[key])
        else:
            self._number += 1
            key = f"{key.split('~')[0]}~{self._number}"
            yield replace(ask, allocation_key=key, max_allocations=1)

    # ------------------------------------------------------------------------ what is told

    def _hear(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, e.AllocationNew):
                name = (effect.ask.application_id, effect.allocation_id)
                assert name not in self.running, f"{name} is born twice"
                self.running[name] = Running(effect.ask, effect.node_id)
                self.placed[effect.ask.allocation_key] += 1
            elif isinstance(effect, e.AllocationsReleased):
                self._released(effect)
        self.scheduler.check()

    def _released(self, effect: e.AllocationsReleased) -> None:
        victims: list[Name] = []
        key = ""
        for each in effect.released:
            name = (each.application_id, each.allocation_id)
            held = self.running.get(name)
            if each.termination_type in (c.STOPPED_BY_RM, c.UNKNOWN_TERMINATION_TYPE):
                self.running.pop(name, None)
                continue
            assert held is not None, f"{name} is ordered out and does not run"
            assert held.ordered in (0, each.termination_type), f"{name} is ordered out twice"
            if held.ordered:
                continue
            self.running[name] = replace(held, ordered=each.termination_type)
            self._number += 1
            delay_ns = int(self.dice.choice(self._delays) * SECOND)
            entry = (self.now + delay_ns, self._number, name, each.termination_type)
            heappush(self._ends, entry)
            if each.termination_type == c.PREEMPTED_BY_SCHEDULER:
                victims.append(name)
                key = each.message.rpartition(": ")[2]
        if victims:
            self.evictions.append(Eviction(self.now, key, tuple(victims)))

    # -------------------------------------------------------------------------- questions

    def partition(self) -> Partition:
        """The one partition, with its records of preemptions."""
        (found,) = self.scheduler._cluster.partitions()
        return found

    def records(self) -> list[Preemption]:
        """All preemptions that are remembered, oldest first."""
        return list(self.partition().preempting.made.values())

    def live(self) -> list[Preemption]:
        """The preemptions whose asks have not got their room."""
        return [each for each in self.records() if each.outcome == WAITING]

    def queues(self) -> list[q.QueueView]:
        """All queues, parents first."""
        root = self.scheduler.view(q.QueuesQuery("default", RM))
        assert isinstance(root, q.QueueView)
        found = [root]
        for queue in found:
            found += queue.children
        return found

    def use(self, queue: str) -> dict[str, int]:
        """What runs in a queue, by the allocations the RM has."""
        found: Counter[str] = Counter()
        applications = self.partition().applications
        for (app, _), each in self.running.items():
            path = applications[app].queue_path
            if f"{path}.".startswith(f"{queue}."):
                found.update(each.ask.resource)
        return dict(found)

    def settled(self) -> None:
        """Nothing is ordered out any more, and no queue counts a victim."""
        assert not [name for name, each in self.running.items() if each.ordered]
        for queue in self.queues():
            assert not any(queue.preempting.values()), f"{queue.path} counts victims"
        for record in self.records():
            assert not record.left, f"preemption {record.number} counts victims"
