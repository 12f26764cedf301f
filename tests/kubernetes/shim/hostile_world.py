"""A world in which calls end late or badly and changes arrive late or twice, at random.

What the API server has is the truth: ``objects``. What the shim knows of it lags behind, kind by
kind, as watches do.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any, TypeAlias

from remuda.core.messages.queries import NodesQuery
from remuda_kubernetes.objects.kinds import NODE, POD, WATCHED, Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.shim.effects import (
    Effect,
    PostEvent,
    Reconfigure,
    Register,
    SetCondition,
    ToScheduler,
)
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation.settings import Settings
from tests.kubernetes.shim.world import World

_Change: TypeAlias = tuple[Kind, KubernetesObject | None, KubernetesObject | None]


class HostileWorld(World):
    """``faults``: the share of calls that go wrong. ``starts``: pods that were bound, by uid."""

    def __init__(self, chance: Random, queues: str, cores: dict[str, int]) -> None:
        self.chance = chance
        self.faults = 0.3
        self.late: deque[Any] = deque()
        self.lagging: dict[str, deque[_Change]] = {}
        self.starts: dict[str, str] = {}
        self.cores = cores
        self.held = True
        super().__init__(queues)

    # ------------------------------------------------------------------ the API server

    def put(self, kind: Kind, found: KubernetesObject) -> None:
        key = (kind.name, found.namespace, found.name)
        old = self.objects.get(key)
        self.objects[key] = found
        self._tell(kind, old, found)
        if isinstance(found, Pod):
            self._look(found)

    def drop(self, kind: Kind, name: str, namespace: str = "") -> None:
        old = self.objects.pop((kind.name, namespace, name))
        self._tell(kind, old, None)

    def _tell(self, *change: Any) -> None:
        if self.held and change[0] in {POD, NODE}:
            self.lagging.setdefault(change[0].name, deque()).append(change)
        else:
            self.shim.changed(*change)

    def _look(self, pod: Pod) -> None:
        """See that a pod has one node in its life, and that no node has more than it can."""
        node = pod.spec.node_name
        if not node:
            return
        assert self.starts.setdefault(pod.uid, node) == node
        here = [each for each in self.pods() if each.spec.node_name == node and not each.ended]
        assert len(here) <= self.cores[node], (node, [each.name for each in here])

    # ------------------------------------------------------------------ what is late

    def deliver(self) -> None:
        """Let the shim see the next change of some kind, or of all."""
        waiting = [name for name, changes in self.lagging.items() if changes]
        if not waiting:
            return
        kind, old, new = self.lagging[self.chance.choice(waiting)].popleft()
        self.shim.changed(kind, old, new)
        if new is not None and self.chance.random() < 0.1:
            self.shim.changed(kind, new, new)

    def answer(self) -> None:
        """Let some call end, the first of those about one pod."""
        if not self.late:
            return
        call = self.chance.choice(self.late)
        about = _about(call)
        first = next(each for each in self.late if _about(each) == about)
        self.late.remove(first)
        self._end(first)

    def calm(self) -> None:
        """Let all calls end, and all changes arrive; nothing goes wrong any more."""
        self.faults = 0.0
        self.held = False
        while self.late or any(self.lagging.values()):
            self.answer()
            self.deliver()

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, ToScheduler | PostEvent | Register | Reconfigure):
            super()._do(effect)
        elif self.held:
            self.late.append(effect)
        else:
            self._end(effect)

    def _end(self, call: Any) -> None:
        luck = self.chance.random()
        failed = Outcome(Result.FAILED, "no answer")
        if luck < self.faults / 2:
            outcome = failed
        else:
            self.calls.append(call)
            outcome = self._carry_out(call)
            if luck < self.faults and not isinstance(call, SetCondition):
                outcome = failed
        self.shim.ended(call.number, outcome)

    def restart(self) -> None:
        """Let the shim be killed, and another one start. Each open call was carried out or lost."""
        for call in self.late:
            if self.chance.random() < 0.5:
                self._carry_out(call)
        self.late.clear()
        self.lagging.clear()
        self.shim = Shim(Settings(), "rm", "yunikorn")
        kinds = {kind.name: kind for kind in WATCHED}
        for (name, _, _), found in list(self.objects.items()):
            self.shim.changed(kinds[name], None, found)
        self.shim.synced()

    # ------------------------------------------------------------------ at the end

    def used(self) -> dict[str, int]:
        """Return how many cores the scheduler believes to be used, by node."""
        self.scheduler.wait_idle(30.0)
        nodes: Any = self.scheduler.core.query(NodesQuery("default", "rm")).result(30.0)
        return {each.node_id: each.allocated.get("vcore", 0) // 1000 for each in nodes}

    def truly_used(self) -> dict[str, int]:
        """Return how many cores are used, by node."""
        found = {each.name: 0 for each in self.objects.values() if isinstance(each, Node)}
        for pod in self.pods():
            if pod.spec.node_name in found and not pod.ended:
                found[pod.spec.node_name] += 1
        return found

    def unbound(self) -> list[str]:
        """Return the names of pods without a node that want one."""
        return [pod.name for pod in self.pods() if not pod.spec.node_name and not pod.ended]


def _about(call: Any) -> str:
    pod = getattr(call, "pod", None)
    return "" if pod is None else str(pod.uid)
