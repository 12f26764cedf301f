"""Health checks beside a scheduler at full speed find no fault: there is none (HLT-18)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages.effects import AllocationNew, AllocationsReleased, Effect
from remuda.runtime.loop import SchedulerLoop
from remuda.telemetry.health.checker import HealthChecker
from tests.unit.core.door import leaf, partition

NODES = 600
RUNS = 15
WINDOW = 30


class Churn:
    """An RM that ends what was placed and asks for more, for ever; placeholders among it."""

    def __init__(self, core: SchedulerLoop) -> None:
        self._core = core
        self._serial = 0
        self._ended = 0
        self.over = False
        self.placed = 0

    def receive(self, effects: Sequence[Effect]) -> None:
        releases: list[c.AllocationRelease] = []
        for effect in effects:
            if isinstance(effect, AllocationNew):
                self.placed += 1
                if not effect.ask.placeholder:
                    self._ended += 1
                    app, identity = effect.ask.application_id, effect.allocation_id
                    releases.append(c.AllocationRelease(app, identity))
            elif isinstance(effect, AllocationsReleased):
                releases += [
                    c.AllocationRelease(
                        each.application_id,
                        each.allocation_id,
                        termination_type=each.termination_type,
                    )
                    for each in effect.released
                    if each.termination_type == c.PLACEHOLDER_REPLACED
                ]
        if releases and not self.over:
            pairs, self._ended = divmod(self._ended, 2)
            asks = tuple(ask for _ in range(pairs) for ask in self._pair())
            self._core.submit(c.UpdateAllocations("rm", asks=asks, releases=tuple(releases)))

    def begin(self) -> None:
        """Nodes, applications, and the first asks."""
        nodes = [
            c.NodeUpdate(f"n{x}", c.CREATE, {"vcore": 4 + x % 3, "memory": 100})
            for x in range(NODES)
        ]
        self._core.submit(c.UpdateNodes("rm", tuple(nodes)))
        apps = [
            c.NewApplication(f"a{x}", "root.a", user="ann", placeholder_ask={"vcore": 1})
            for x in range(20)
        ]
        self._core.submit(c.UpdateApplications("rm", new=tuple(apps)))
        for _ in range(WINDOW):
            self._core.submit(c.UpdateAllocations("rm", asks=self._pair()))

    def _pair(self) -> tuple[c.Ask, ...]:
        """A placeholder with what replaces it, and something else."""
        self._serial += 1
        app, key = f"a{self._serial % 20}", f"k{self._serial}"
        size = {"vcore": 1, "memory": 3}
        return (
            c.Ask(app, f"p{key}", size, task_group=f"g{key}", placeholder=True),
            c.Ask(app, f"r{key}", size, task_group=f"g{key}"),
            c.Ask(app, key, {"vcore": 1 + self._serial % 2}),
        )


@pytest.mark.remuda_rule("HLT-18", "HLT-1")
def test_no_run_finds_a_fault_while_allocations_come_and_go() -> None:
    core = SchedulerLoop()
    checker = HealthChecker(core)
    churn = Churn(core)
    core.start()
    command = c.RegisterResourceManager("rm", Configuration((partition(leaf("a")),)))
    core.register(command, churn.receive).result(60)
    churn.begin()
    placed: list[int] = []
    bad: list[str] = []
    for _ in range(RUNS):
        health = checker.run()
        placed.append(churn.placed)
        bad += [each.diagnosis for each in health.findings if not each.succeeded]
    churn.over = True
    core.check().result(30)
    core.stop()
    assert bad == []
    assert placed[-1] - placed[0] > 10 * RUNS  # there was something to be mistaken about
