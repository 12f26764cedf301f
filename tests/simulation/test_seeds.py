"""Two hundred random histories with every invariant checked after every command.

Beside the scheduler's own ``check`` stands the ledger an RM would keep from the answers alone:
it must hear of every allocation once, of its end once, and agree with the scheduler at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.commands import (
    PREEMPTED_BY_SCHEDULER,
    TIMEOUT,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateConfiguration,
    UpdateNodes,
)
from remuda.core.messages.effects import Effect
from remuda.core.scheduler import Scheduler
from tests.long_runs import rotated, usual
from tests.reference.driver import apply
from tests.reference.model import SECOND
from tests.reference.tastes import refuse_some
from tests.reference.workloads import Input, record

BLOCK = 10
Name = tuple[str, str, str]


@dataclass
class Ledger:
    """What the RMs know to run: (RM, partition, allocation) -> node.

    ``leaving``: what ran in removed partitions and is about to be told as ended (OBJ-9).
    """

    running: dict[Name, str] = field(default_factory=dict)
    leaving: set[Name] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)

    def sent(self, given: Input) -> None:
        """Note what the RMs say or confirm themselves."""
        command = given[1]
        if isinstance(command, RegisterResourceManager):
            self.running = {k: v for k, v in self.running.items() if k[0] != command.rm_id}
            self.leaving = {k for k in self.leaving if k[0] != command.rm_id}
        elif isinstance(command, UpdateAllocations):
            self.reported |= {existing.allocation_id for existing in command.allocations}

    def heard(self, effects: list[Effect]) -> None:
        """Note what the scheduler says; a second birth or death is an error."""
        for effect in effects:
            if isinstance(effect, e.AllocationNew) and effect.ask.application_id:
                name = (effect.rm_id, effect.partition, effect.allocation_id)
                known = self.running.get(name)
                again = known == effect.node_id and effect.allocation_id in self.reported
                assert known is None or again, f"{name} was placed twice"
                self.running[name] = effect.node_id
            elif isinstance(effect, e.AllocationsReleased):
                for gone in effect.released:
                    name = (effect.rm_id, gone.partition, gone.allocation_id)
                    if name in self.leaving:
                        self.leaving.remove(name)
                    else:
                        assert self.running.pop(name, None) is not None, f"{name} ended unplaced"

    def removed(self, rm_id: str, config: Configuration, effects: list[Effect]) -> None:
        """Note the partitions that a new configuration takes away."""
        (answer,) = [one for one in effects if isinstance(one, e.ConfigurationAnswered)]
        kept = {partition.name for partition in config.partitions}
        gone = {k for k in self.running if k[0] == rm_id and k[1] not in kept}
        if not answer.reason:
            self.leaving |= gone
            self.running = {k: v for k, v in self.running.items() if k not in gone}


def silent(given: Input) -> bool:
    """Whether allocations may begin or end without an answer (SI-60, NODE-6)."""
    command = given[1]
    if isinstance(command, UpdateNodes):
        return any(node.existing for node in command.nodes)
    if isinstance(command, UpdateAllocations):
        confirmations = (TIMEOUT, PREEMPTED_BY_SCHEDULER)
        return any(r.termination_type in confirmations for r in command.releases)
    return False


def running(scheduler: Scheduler) -> dict[Name, str]:
    """What the scheduler says is running."""
    found: dict[Name, str] = {}
    partitions = scheduler.view(q.PartitionsQuery())
    assert isinstance(partitions, tuple)
    for partition in partitions:
        assert isinstance(partition, q.PartitionView)
        if partition.state == "Draining":
            continue
        nodes = scheduler.view(q.NodesQuery(partition.name, partition.rm_id))
        assert isinstance(nodes, tuple)
        for node in nodes:
            assert isinstance(node, q.NodeView)
            for allocation in node.allocations:
                name = (partition.rm_id, partition.name, allocation.allocation_id)
                assert name not in found
                found[name] = node.node_id
    return found


def check_history(seed: int, length: int) -> None:
    """One history; raises at the first broken invariant."""
    scheduler, ledger = Scheduler(refuse_some), Ledger()
    given: Input = (0, UpdateNodes(""))
    for given in record(seed, length).inputs:
        ledger.sent(given)
        effects = apply(scheduler, given)
        if isinstance(given[1], UpdateConfiguration) and not given[1].dry_run:
            ledger.removed(given[1].rm_id, given[1].config, effects)
        ledger.heard(effects)
        scheduler.check()
        if silent(given):
            ledger.running = running(scheduler)
        assert running(scheduler) == ledger.running
    for second in range(60):
        ledger.heard(scheduler.step(given[0] + second * SECOND, 0))
    assert not ledger.leaving


@pytest.mark.remuda_rule("QUE-2", "NOD-2", "SI-7", "SI-42", "SI-77", "OBJ-9", "SI-87")
@pytest.mark.parametrize("first", usual(range(1000, 1200, BLOCK)))
def test_two_hundred_histories_break_no_invariant(first: int) -> None:
    for seed in range(first, first + BLOCK):
        check_history(seed, 40)


@pytest.mark.long
@pytest.mark.parametrize("first", rotated(range(30_000, 32_000, 100)))
def test_thousands_of_histories_break_no_invariant(first: int) -> None:
    for seed in range(first, first + 100):
        check_history(seed, 60)
