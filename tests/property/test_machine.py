"""A machine that sends anything at all; after each command every counter must add up."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.effects import Effect
from remuda.core.scheduler import Scheduler
from tests import strategies as draw

SECOND = 1_000_000_000


class AnyRequests(RuleBasedStateMachine):
    """One RM, small pools of names, time that only goes forward."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Scheduler()
        self.now = 1_700_000_000 * SECOND

    @initialize(configuration=draw.configurations())
    def register(self, configuration: Configuration) -> None:
        command = c.RegisterResourceManager(draw.RM_ID, configuration)
        (answer,) = self.answers(self.scheduler.handle(command, self.now))
        assert answer == e.RegistrationAnswered(draw.RM_ID, "")
        nodes = tuple(
            c.NodeUpdate(name, c.CREATE, {"vcore": 10, "memory": 8, "gpu": 1})
            for name in draw.NODES[:2]
        )
        self.send(c.UpdateNodes(draw.RM_ID, nodes))
        apps = tuple(
            c.NewApplication(name, queue, user="ann", groups=("staff",))
            for name, queue in zip(draw.APPLICATIONS, draw.LEAVES, strict=False)
        )
        self.send(c.UpdateApplications(draw.RM_ID, apps))

    @staticmethod
    def answers(effects: list[Effect]) -> list[Effect]:
        """The effects an RM hears of."""
        return [effect for effect in effects if not isinstance(effect, e.EventRecord)]

    def send(self, command: c.Command) -> None:
        """One command."""
        self.scheduler.handle(command, self.now)

    def running(self) -> list[str]:
        """The identities of everything that runs."""
        nodes = self.scheduler.view(q.NodesQuery("default"))
        assert isinstance(nodes, tuple)
        views = [node for node in nodes if isinstance(node, q.NodeView)]
        return [allocation.allocation_id for node in views for allocation in node.allocations]

    @rule(command=draw.application_updates)
    def applications(self, command: c.UpdateApplications) -> None:
        self.send(command)

    @rule(command=draw.allocation_updates)
    def allocations(self, command: c.UpdateAllocations) -> None:
        self.send(command)

    @rule(command=draw.node_updates)
    def nodes(self, command: c.UpdateNodes) -> None:
        self.send(command)

    @rule(limit=st.sampled_from((0, 1, 2, 1000)))
    def step(self, limit: int) -> None:
        before = self.running()
        effects = self.scheduler.step(self.now, limit)
        placed = [x.allocation_id for x in effects if isinstance(x, e.AllocationNew)]
        assert len(placed) <= limit
        assert sorted(self.running()) == sorted(before + placed)

    @rule()
    def step_until_idle(self) -> None:
        for _ in range(20):
            self.scheduler.step(self.now, 50)
        assert not self.scheduler.has_work()
        assert self.answers(self.scheduler.step(self.now, 1000)) == []

    @rule(seconds=st.sampled_from((1, 29, 30, 300, 86_400, 3 * 86_400)))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * SECOND
        self.scheduler.step(self.now, 0)
        deadline = self.scheduler.next_deadline()
        assert deadline is None or deadline > self.now

    @invariant()
    def everything_adds_up(self) -> None:
        self.scheduler.check()


def check_machine(examples: int, steps: int) -> None:
    """Let the machine run; it raises at the first broken invariant."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        phases=[Phase.reuse, Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
    )
    run_state_machine_as_test(AnyRequests, settings=chosen)


@pytest.mark.remuda_rule("QUE-2", "QUE-28", "NOD-2", "NOD-15", "SI-34", "SI-35", "CYC-17")
def test_every_counter_adds_up_after_any_requests() -> None:
    check_machine(150, 30)


@pytest.mark.long
def test_every_counter_adds_up_after_many_requests() -> None:
    check_machine(3000, 60)
