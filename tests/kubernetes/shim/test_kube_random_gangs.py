"""Random runs with gangs, in which others bind, resize and delete pods and make nodes anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from remuda_kubernetes.objects.kinds import NODE, POD
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert, plain
from remuda_kubernetes.shim.effects import BindPod
from tests.kubernetes.shim.hostile_world import HostileWorld
from tests.kubernetes.shim.queue_worlds import document, queue
from tests.kubernetes.shim.test_kube_random_course import CORES, ROTATION, Run, one_run
from tests.kubernetes.shim.world import until

DELETED = "2026-01-01T02:00:00Z"
PREFIX = "yunikorn.apache.org/"
# A gang without room goes on soon, and one that lost members, too.
POLICY = {f"{PREFIX}schedulingPolicyParameters": "placeholderTimeoutInSeconds=1"}


def cores(pod: Pod) -> int:
    (container,) = pod.spec.containers or ()
    resources = container.resources
    assert resources is not None
    return int(str((resources.requests or {})["cpu"]))


class _World(HostileWorld):
    """A world in which others bind pods too, so a node may have more than it can."""

    def _look(self, pod: Pod) -> None:
        if pod.spec.node_name:
            assert self.starts.setdefault(pod.uid, pod.spec.node_name) == pod.spec.node_name

    def _carry_out(self, call: Any) -> Outcome:
        if isinstance(call, BindPod):
            pod = self._same(call.pod)
            if pod is not None and (pod.deleted or pod.ended):
                return Outcome(Result.CONFLICT, "the pod is being deleted, or has ended")
        return super()._carry_out(call)

    def truly_used(self) -> dict[str, int]:
        found = {each.name: 0 for each in self.objects.values() if isinstance(each, Node)}
        for pod in self.pods():
            if pod.spec.node_name in found and not pod.ended:
                found[pod.spec.node_name] += cores(pod)
        return found


class _Run(Run):
    """One random run."""

    steps = 120

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.world.close()
        queues = document(queue("a"), queue("b", 4))
        self.world: HostileWorld = _World(self.chance, queues, CORES)

    def step(self) -> None:
        more = (self._gang, self._bind, self._resize, self._delete_slowly, self._made_anew)
        for act in (self.chance.choice((*more, super().step)), super().step):
            act()

    def settle(self) -> None:
        for name in CORES:
            self.world.node(name, cpu="40")
        for pod in self._live(lambda pod: pod.deleted):
            self.world.drop(POD, pod.name, "default")
        self._collect()
        self.world.calm()
        for _ in range(40):
            self.world.run(seconds=20)
            self._collect()
        until(self.world, self._all_have_nodes)
        self.world.run()
        assert self.world.used() == self.world.truly_used()
        states = self.world.shim.task_counts()
        assert states["Bound"] == len(self._live()) == sum(states.values())

    def _live(self, wanted: Callable[[Pod], bool] = lambda _pod: True) -> list[Pod]:
        return [pod for pod in self.world.pods() if not pod.ended and wanted(pod)]

    def _any(self, wanted: Callable[[Pod], bool]) -> list[Pod]:
        found = self._live(wanted)
        return [self.chance.choice(found)] if found else []

    def _all_have_nodes(self) -> bool:
        self._collect()
        return not self.world.unbound()

    def _collect(self) -> None:
        """Delete placeholders whose owner is gone, as the garbage collector does."""
        there = {pod.uid for pod in self._live()}
        for pod in self._live(lambda pod: pod.name.startswith("tg-")):
            owners = pod.metadata.owner_references or ()
            if not any(owner.uid in there for owner in owners):
                self.world.drop(POD, pod.name, "default")

    # ------------------------------------------------------------------ what happens

    def _gang(self) -> None:
        if len(self._live()) > sum(CORES.values()):
            return
        self.number += 1
        count = self.chance.choice((1, 2, 3))
        group = {"name": "w", "minMember": count, "minResource": {"cpu": "1"}}
        notes = {f"{PREFIX}task-groups": json.dumps([group])} | POLICY
        member = {f"{PREFIX}task-group-name": "w"}
        first = notes | (member if self.chance.random() < 0.5 else {})
        for number, said in enumerate([first, *[member] * count]):
            name = f"g{self.number}-{number}"
            self.world.pod(name, app=f"gang-{self.number}", annotations=said)

    def _bind(self) -> None:
        for pod in self._any(lambda pod: not (pod.spec.node_name or pod.deleted)):
            self.world.change(pod, spec={"nodeName": self.chance.choice(sorted(CORES))})

    def _resize(self) -> None:
        amounts = {"requests": {"cpu": self.chance.choice(("1", "2"))}}
        for pod in self._any(lambda pod: not pod.deleted):
            self.world.change(pod, spec={"containers": [{"name": "c", "resources": amounts}]})

    def _delete_slowly(self) -> None:
        for pod in self._any(lambda pod: not pod.deleted):
            self.world.change(pod, metadata={"deletionTimestamp": DELETED})
        for pod in self._any(lambda pod: pod.deleted):
            self.world.drop(POD, pod.name, "default")

    def _made_anew(self) -> None:
        """Let a node go and come at once, with another uid, cordoned or not."""
        name = self.chance.choice(sorted(CORES))
        before = self.world.objects.get(("Node", "", name))
        if before is not None:
            self.number += 1
            made = plain(before)
            made["metadata"]["uid"] = f"node-{name}-{self.number}"
            made["spec"]["unschedulable"] = self.chance.random() < 0.3
            self.world.drop(NODE, name)
            self.world.put(NODE, convert(Node, made))


@pytest.mark.parametrize("seed", range(4))
def test_no_pod_waits_for_ever_and_all_that_runs_is_counted(seed: int) -> None:
    one_run(_Run(seed))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_it_is_so_in_many_runs(seed: int) -> None:
    one_run(_Run(1_000 + ROTATION * 1_000 + seed))
