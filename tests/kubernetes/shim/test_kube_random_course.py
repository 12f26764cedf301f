"""Random runs in a hostile world: pods come and go while everything goes wrong that can."""

from __future__ import annotations

import os
from random import Random

import pytest

from remuda_kubernetes.objects.kinds import NODE, POD
from remuda_kubernetes.shim import recovery
from tests.kubernetes.shim.hostile_world import HostileWorld
from tests.kubernetes.shim.queue_worlds import document, queue
from tests.kubernetes.shim.world import until

CORES = {"n1": 3, "n2": 4, "n3": 2, "n4": 3}
ROTATION = int(os.environ.get("REMUDA_ROTATION", "0"))


class Run:
    """One random run."""

    steps = 250

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        queues = document(queue("a"), queue("b", 4))
        self.world = HostileWorld(self.chance, queues, CORES)
        self.number = 0

    def close(self) -> None:
        self.world.close()

    def begin(self) -> None:
        for name in CORES:
            self._add_node(name)
        self.world.start()

    def step(self) -> None:
        """Let one thing happen, then some of what is late."""
        acts = [self._create] * 8 + [self._end] * 3 + [self._delete] * 2 + [self._pass_time] * 3
        acts += [self._lose_scheduler, self._node_goes, self._restart]
        self.chance.choice(acts)()
        for _ in range(self.chance.randrange(6)):
            self.world.deliver()
            self.world.answer()
        self.world.run(seconds=self.chance.choice((0, 0, 0.1, 1)))

    def settle(self) -> None:
        """Let everything go well, and see that each pod has its node and each node its sum."""
        world = self.world
        for name in CORES:
            if world.objects.get(("Node", "", name)) is None:
                self._add_node(name)
        world.calm()
        # Longer than every pause of the shim.
        for _ in range(40):
            world.run(seconds=20)
        until(world, lambda: not world.unbound())
        world.run()
        assert world.used() == world.truly_used()
        states = world.shim.task_counts()
        live = sum(1 for pod in world.pods() if not pod.ended)
        assert states["Bound"] == live == sum(states.values())

    # ------------------------------------------------------------------ what happens

    def _add_node(self, name: str) -> None:
        self.world.node(name, cpu=str(CORES[name]))

    def _create(self) -> None:
        live = [pod for pod in self.world.pods() if not pod.ended]
        if len(live) >= sum(CORES.values()):
            return
        self.number += 1
        name = self.chance.choice("ab")
        app = f"{name}-{self.chance.randrange(4)}"
        self.world.pod(f"p{self.number}", app=app, queue=f"root.{name}")

    def _end(self) -> None:
        running = [pod for pod in self.world.pods() if pod.spec.node_name and not pod.ended]
        if running:
            self.world.change(self.chance.choice(running), status={"phase": "Succeeded"})

    def _delete(self) -> None:
        pods = self.world.pods()
        if pods:
            self.world.drop(POD, self.chance.choice(pods).name, "default")

    def _pass_time(self) -> None:
        self.world.run(seconds=self.chance.choice((1, 5, 20)))

    def _lose_scheduler(self) -> None:
        self.world.shim.lost()
        if self.chance.random() < 0.5:
            self.world.deliver()
        self.world.shim.register_again()

    def _restart(self) -> None:
        self.world.restart()

    def _node_goes(self) -> None:
        """Let a node go, or one come back; the pods on it are gone soon."""
        name = self.chance.choice(sorted(CORES))
        if self.world.objects.get(("Node", "", name)) is None:
            self._add_node(name)
            return
        self.world.drop(NODE, name)
        for pod in self.world.pods():
            if pod.spec.node_name == name and self.chance.random() < 0.7:
                self.world.drop(POD, pod.name, "default")


def one_run(run: Run) -> None:
    """Play a run to its end."""
    try:
        run.begin()
        for _ in range(run.steps):
            run.step()
        run.settle()
    finally:
        run.close()


@pytest.mark.parametrize("seed", range(6))
def test_no_pod_is_lost_doubled_or_miscounted(seed: int) -> None:
    one_run(Run(seed))


@pytest.mark.parametrize("seed", range(6))
def test_it_is_so_if_recoveries_take_many_steps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_STEP", 2)
    one_run(Run(500 + seed))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_no_pod_is_lost_doubled_or_miscounted_in_many_runs(seed: int) -> None:
    one_run(Run(1_000 + ROTATION * 1_000 + seed))
