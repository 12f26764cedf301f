"""What tests of changed maximums start from: leaves that run something, and who is ordered out.

After every command and every step all counters are worked out anew (``check``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages.effects import Effect
from tests.unit.core.door import MINUTE, REQUIRED_NODE, START, Caller, leaf, of, parent, refusal

DELAY = 10 * MINUTE
ON = {"quota.preemption.delay": "10m"}
OFF: Mapping[str, str] = {"quota.preemption.delay": "0"}
BOUND = {REQUIRED_NODE: "n1"}


def bytes_of(amount: int) -> Resource:
    """So much memory, and nothing else."""
    return {"memory": amount}


def queue(name: str, maximum: int = 0, guaranteed: int = 0, **other: Any) -> QueueConfig:
    """A leaf with a delay of ten minutes that may use so much memory, 0 for unlimited."""
    other.setdefault("properties", ON)
    most = bytes_of(maximum) if maximum else None
    least = bytes_of(guaranteed) if guaranteed else None
    return leaf(name, most, least, **other)


def above(
    name: str, *queues: QueueConfig, maximum: int = 0, guaranteed: int = 0, **other: Any
) -> QueueConfig:
    """A parent with a delay of ten minutes; those below inherit it or have their own."""
    other.setdefault("properties", ON)
    most = bytes_of(maximum) if maximum else None
    least = bytes_of(guaranteed) if guaranteed else None
    return parent(name, *queues, maximum=most, guaranteed=least, **other)


class Quotas(Caller):
    """A partition that enforces changed maximums, and two large nodes."""

    def __init__(self, *queues: QueueConfig, **other: Any) -> None:
        self.last: list[Effect] = []
        self.orders: list[tuple[str, str]] = []
        other.setdefault("quota_preemption", True)
        super().__init__(*queues, **other)
        for node_id in ("n1", "n2"):
            self.node(node_id, {"memory": 10_000, "vcore": 10_000, "gpu": 10_000})

    def send(self, command: c.Command) -> list[Effect]:
        """One command; all counters are right after it."""
        return self._heard(super().send(command))

    def step(self, limit: int = 1000) -> list[Effect]:
        """Due timers, then decisions; all counters are right after it."""
        return self._heard(super().step(limit))

    def _heard(self, effects: list[Effect]) -> list[Effect]:
        self.last = effects
        for answer in of(effects, e.AllocationsReleased):
            self.orders += [
                (gone.application_id, gone.allocation_id)
                for gone in answer.released
                if gone.termination_type == c.PREEMPTED_BY_SCHEDULER
                and not gone.message.startswith("release requested again")
            ]
        self.scheduler.check()
        return effects

    def change(self, *queues: QueueConfig, **other: Any) -> None:
        """Another configuration, which is accepted."""
        other.setdefault("quota_preemption", True)
        assert refusal(self.reload(*queues, **other)) == ""

    def run(
        self, path: str, *keys: str, size: Resource | int = 20, app: str = "", **ask: Any
    ) -> None:
        """Let these allocations run in a leaf, in its application unless another is named."""
        app = app or path
        if app not in self.apps():
            self.app(app, path)
        amounts = bytes_of(size) if isinstance(size, int) else size
        reported = tuple(
            c.ExistingAllocation(c.Ask(app, key, amounts, **ask), key, "n1") for key in keys
        )
        assert len(of(self.recover(*reported), e.AllocationNew)) == len(keys)

    def fill(self, path: str, count: int, size: Resource | int = 20) -> None:
        """Let so many equal allocations run in a leaf, named after it and a number from 1."""
        name = path.rpartition(".")[2]
        self.run(path, *[f"{name}{number:02}" for number in range(1, count + 1)], size=size)

    def recover(self, *reported: c.ExistingAllocation) -> list[Effect]:
        """Allocations that exist, in one request."""
        return self.send(c.UpdateAllocations(self.rm, allocations=reported))

    def resize(self, app: str, key: str, size: int) -> None:
        """Another size of an allocation that runs."""
        self.recover(c.ExistingAllocation(c.Ask(app, key, bytes_of(size)), key, "n1"))

    def evicted(self, after_ns: int = 0) -> list[str]:
        """Let time pass; who is ordered out then, sorted."""
        before = len(self.orders)
        self.wait(after_ns)
        return sorted(identity for _, identity in self.orders[before:])

    def at(self, since_start_ns: int) -> list[str]:
        """Let time pass until so long after the start of the test; who is ordered out, sorted."""
        return self.evicted(START + since_start_ns - self.now)

    def begins_at(self, since_start_ns: int) -> bool:
        """Whether somebody is ordered out then, and nobody a nanosecond earlier."""
        return self.at(since_start_ns - 1) == [] != self.at(since_start_ns)

    def confirm(self, *identities: str) -> None:
        """Confirm the end of these, or of all that was ordered out and still runs."""
        running = {
            (app, each.allocation_id)
            for app, view in self.apps().items()
            for each in view.allocations
        }
        for app, identity in self.orders:
            if (app, identity) in running and (not identities or identity in identities):
                self.release(app, identity, kind=c.PREEMPTED_BY_SCHEDULER)

    def used(self, path: str) -> Resource:
        """What a queue holds, without what it has nothing of."""
        held = self.queue(path).allocated
        return {name: amount for name, amount in held.items() if amount}


def summaries(effects: Sequence[Effect]) -> list[e.EventRecord]:
    """The events that tell what was done for a changed maximum, in order."""
    return [record for record in of(effects, e.EventRecord) if record.detail == ev.QUEUE_PREEMPTION]


def planned(effects: Sequence[Effect]) -> str:
    """What was to go, from the one event that tells it."""
    (record,) = summaries(effects)
    return record.message.removeprefix(
        "Quota Preemption results summary: preemptable resources: "
    ).split(", claimed")[0]
