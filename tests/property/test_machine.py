"""A machine that sends anything at all; after each command every counter must add up.

The self-audit must see the same as the complete check: that all is well.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.effects import Effect
from remuda.core.scheduler import Scheduler
from tests import strategies as draw
from tests.audited import violations
from tests.long_runs import usual
from tests.port import one_by_one

SECOND = 1_000_000_000
PLAIN, CHOOSY = draw.MANAGERS


class AnyRequests(RuleBasedStateMachine):
    """Two RMs with two partitions each, small pools of names, time that only goes forward.

    One RM has predicates; ``refused`` are the (class, node) pairs it does not like now. ``age``
    counts the requests since the last registration.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Scheduler(one_by_one(self.predicate))
        self.refused: set[tuple[str, str]] = set()
        self.now = 1_700_000_000 * SECOND
        self.age = 0

    def predicate(self, rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
        assert rm_id == CHOOSY
        return "no" if (draw.class_of(allocation_key), node_id) in self.refused else ""

    @initialize(plain=draw.configurations(), choosy=draw.configurations(), refused=draw.refusals)
    def start(
        self, plain: Configuration, choosy: Configuration, refused: set[tuple[str, str]]
    ) -> None:
        self.refused = refused
        self.register(PLAIN, plain)
        self.register(CHOOSY, choosy)

    def register(self, rm_id: str, configuration: Configuration) -> None:
        """A registration and something to start with."""
        self.age = 0
        command = c.RegisterResourceManager(rm_id, configuration, predicates=rm_id == CHOOSY)
        (answer,) = self.answers(self.send(command))
        assert answer == e.RegistrationAnswered(rm_id, "")
        for home in draw.PARTITIONS:
            nodes = tuple(
                c.NodeUpdate(name, c.CREATE, {"vcore": 5, "memory": 4, "gpu": 2},
                             attributes={"si/node-partition": home})
                for name in draw.NODES
            )  # fmt: skip
            self.send(c.UpdateNodes(rm_id, nodes))
            apps = tuple(
                c.NewApplication(name, queue, home, user, groups=draw.USERS[user], tags=tags)
                for name, queue, user, tags in zip(
                    draw.APPLICATIONS,
                    draw.LEAVES,
                    ("ann", "bob", "ann"),
                    ({}, draw.QUICK, {}),
                    strict=False,
                )
            )
            self.send(c.UpdateApplications(rm_id, apps))

    @staticmethod
    def answers(effects: list[Effect]) -> list[Effect]:
        """The effects an RM hears of."""
        return [effect for effect in effects if not isinstance(effect, e.EventRecord)]

    def send(self, command: c.Command) -> list[Effect]:
        """One command."""
        self.age += 1
        return self.scheduler.handle(command, self.now)

    def applications_of(self, rm_id: str, home: str) -> list[ApplicationView]:
        """The live applications of one partition; none where there is no such partition."""
        found = self.scheduler.view(q.ApplicationsQuery(home, "", rm_id))
        views = found if isinstance(found, tuple) else ()
        return [view for view in views if isinstance(view, ApplicationView)]

    def running(self) -> list[tuple[str, str, str, str]]:
        """Everything that runs: whose, in which partition, on which node, and its identity."""
        return [
            (rm_id, home, allocation.node_id, allocation.allocation_id)
            for rm_id in draw.MANAGERS
            for home in draw.PARTITIONS
            for view in self.applications_of(rm_id, home)
            for allocation in view.allocations
        ]

    def pending(self) -> list[tuple[str, str, str, str, int]]:
        """How many allocations each ask still wants."""
        return [
            (rm_id, home, view.application_id, request.allocation_key, request.pending_count)
            for rm_id in draw.MANAGERS
            for home in draw.PARTITIONS
            for view in self.applications_of(rm_id, home)
            for request in view.requests
        ]

    @rule(command=draw.application_updates)
    def applications(self, command: c.UpdateApplications) -> None:
        self.send(command)

    @rule(command=draw.allocation_updates, limit=st.sampled_from((1000, 1000, 0)))
    def allocations(self, command: c.UpdateAllocations, limit: int) -> None:
        self.send(command)
        self.scheduler.check()
        self.step(limit)

    @rule(command=draw.node_updates)
    def nodes(self, command: c.UpdateNodes) -> None:
        before = self.pending()
        verdicts = [x for x in self.send(command) if isinstance(x, e.NodesAnswered)]
        if not any(verdict.accepted for verdict in verdicts):
            assert self.pending() == before

    @rule(refused=draw.refusals)
    def change_mind(self, refused: set[tuple[str, str]]) -> None:
        self.refused = refused

    @precondition(lambda self: self.age > 12)
    @rule(rm_id=draw.manager_ids, configuration=draw.configurations())
    def register_again(self, rm_id: str, configuration: Configuration) -> None:
        others = [one for one in self.running() if one[0] != rm_id]
        self.register(rm_id, configuration)
        assert self.running() == others

    @rule(rm_id=draw.manager_ids, configuration=draw.changes(), trial=st.booleans())
    def reload(self, rm_id: str, configuration: Configuration, trial: bool) -> None:
        """A change loses nothing that runs in partitions that stay; a refusal, nothing at all."""
        known = self.partitions_of(rm_id)
        left = {one.name for one in configuration.partitions}
        before = self.running()
        command = c.UpdateConfiguration(rm_id, configuration, dry_run=trial)
        effects = self.send(command)
        answers = [one for one in effects if isinstance(one, e.ConfigurationAnswered)]
        if not known and not answers:
            assert [type(one) for one in effects] == [e.RequestRefused]
            return
        (answer,) = answers
        if answer.reason or trial:
            assert effects == [answer]
            assert self.running() == before
        else:
            gone = known - left
            assert self.running() == [
                one for one in before if one[0] != rm_id or one[1] not in gone
            ]

    def partitions_of(self, rm_id: str) -> set[str]:
        """The partitions an RM can name."""
        return {
            home
            for home in draw.PARTITIONS
            if self.scheduler.view(q.QueuesQuery(home, rm_id)) is not None
        }

    @precondition(lambda self: self.age > 20)
    @rule(rm_id=draw.manager_ids)
    def unregister(self, rm_id: str) -> None:
        others = [one for one in self.running() if one[0] != rm_id]
        self.send(c.UnregisterResourceManager(rm_id))
        assert self.running() == others

    @rule(limit=st.sampled_from((0, 1, 2, 1000)))
    def steps(self, limit: int) -> None:
        self.step(limit)

    def step(self, limit: int) -> None:
        """One step; what it says was placed is what runs in addition."""
        before = self.running()
        effects = self.scheduler.step(self.now, limit)
        placed = [
            (x.rm_id, x.partition, x.node_id, x.allocation_id)
            for x in effects
            if isinstance(x, e.AllocationNew)
        ]
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
        assert violations(self.scheduler) == []


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


@pytest.mark.remuda_rule(
    "SEED-224", "QUE-2", "QUE-28", "NOD-2", "NOD-15", "SI-34", "SI-35", "CYC-17"
)
@pytest.mark.remuda_rule("LIM-30", "QUE-23", "SI-86", "RLD-3", "D-U10", "HLT-21")
def test_every_counter_adds_up_after_any_requests() -> None:
    check_machine(len(usual(range(50))), 50)


@pytest.mark.long
def test_every_counter_adds_up_after_many_requests() -> None:
    check_machine(3000, 60)
