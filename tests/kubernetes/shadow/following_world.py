"""A world whose pods somebody else binds, and a shadow of it; time is what a test says."""

from __future__ import annotations

from typing import Any

from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import POD, Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.shadow.following import adapted
from remuda_kubernetes.shadow.ledger import Example, Ledger
from remuda_kubernetes.shadow.ledger import Kind as Found
from remuda_kubernetes.shadow.truth import Truth, queue_of
from remuda_kubernetes.shim.effects import (
    BindPod,
    CreatePod,
    DeletePod,
    Effect,
    EvictPod,
    FailPod,
    PostEvent,
)
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation import events
from remuda_kubernetes.translation.settings import Settings
from tests.kubernetes.shim.world import QUEUES, SECOND, World

GRACE = 1
HOLD = 30


class FollowingWorld(World):
    """The state machine is told of pods by a `Truth`, and its calls are not carried out.

    ``bind`` is what the scheduler in charge does.
    """

    def __init__(self, queues: str = QUEUES, *, gangs: bool = False) -> None:
        self.ledger = Ledger()
        self.open: dict[str, tuple[Effect, int]] = {}
        self.written: list[Effect] = []
        self.truth: Truth | None = None
        super().__init__("")
        self.shim = Shim(
            Settings(),
            "rm",
            "yunikorn",
            adapt=lambda read: adapted(read, ("in-charge",), queues, gangs=gangs),
        )
        self.truth = Truth(self.shim, self.ledger, ("in-charge",), GRACE * SECOND)

    def pod(self, name: str, cpu: str = "1", app: str = "app", **more: Any) -> Pod:
        spec = {"schedulerName": "in-charge", **more.pop("spec", {})}
        return super().pod(name, cpu, app, spec=spec, **more)

    def bind(self, name: str, node: str) -> None:
        """Do as the scheduler in charge: give a pod its node."""
        pod = self.current(name)
        assert pod is not None
        self.change(pod, spec={"nodeName": node})

    def end(self, name: str) -> None:
        """Let a pod be gone."""
        self.drop(POD, name, "default")

    # ------------------------------------------------------------------ the shadow

    def put(self, kind: Kind, found: KubernetesObject) -> None:
        key = (kind.name, found.namespace, found.name)
        old = self.objects.get(key)
        self.objects[key] = found
        self.tell([Change(kind, old, found)])

    def drop(self, kind: Kind, name: str, namespace: str = "") -> None:
        old = self.objects.pop((kind.name, namespace, name))
        self.tell([Change(kind, old, None)])

    def tell(self, changes: list[Change]) -> None:
        if self.truth is None:
            # The first configuration, which the shadow's own takes the place of.
            return
        self.pass_on(self.truth.take_in(changes, self.now_ns))

    def pass_on(self, changes: list[Change]) -> None:
        for change in changes:
            self.shim.changed(change.kind, change.old, change.new)

    def run(self, seconds: float = 0.0) -> None:
        super().run()
        end = self.now_ns + int(seconds * SECOND)
        while self.now_ns < end:
            self.now_ns = min(end, self.now_ns + SECOND // 2)
            assert self.truth is not None
            self.pass_on(self.truth.over(self.now_ns))
            for number, (_, since) in list(self.calls_open()):
                if self.now_ns - since >= HOLD * SECOND:
                    self.answer(number)
            super().run()

    def calls_open(self) -> list[tuple[str, tuple[Effect, int]]]:
        return [each for each in self.open.items() if isinstance(each[1][0], BindPod)]

    def answer(self, key: str) -> None:
        call, _ = self.open.pop(key)
        assert isinstance(call, BindPod)
        self.shim.ended(call.number, Outcome(Result.CONFLICT, "not bound"))

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, PostEvent):
            self.events.append(effect.event)
            self.told_of(effect)
        elif isinstance(effect, BindPod | EvictPod | DeletePod):
            self.written.append(effect)
            self.open[f"{type(effect).__name__} {effect.pod.name}"] = (effect, self.now_ns)
        elif isinstance(effect, CreatePod):
            self.written.append(effect)
            self.shim.ended(effect.number, Outcome(Result.REFUSED, "a shadow does nothing"))
        elif isinstance(effect, FailPod):
            self.written.append(effect)
            self.ledger.refused(effect.pod.uid, effect.message, self.now_ns)
            self.shim.ended(effect.number, Outcome(Result.DONE))
        else:
            super()._do(effect)

    def told_of(self, effect: PostEvent) -> None:
        event = effect.event
        uid = event.about.uid
        task = self.shim.tasks.get(uid)
        if task is None:
            if event.reason == events.FAILED:
                self.ledger.refused(uid, event.message, self.now_ns)
            return
        if event.reason == events.SCHEDULED and self.truth is not None:
            self.pass_on(self.truth.decided(uid, task.node, self.now_ns))
        elif event.reason == events.PREEMPTED:
            pod = task.pod
            example = Example(pod.key, queue_of(pod), task.node, "", event.message, 0, self.now_ns)
            self.ledger.evicted(uid, example)

    # ------------------------------------------------------------------ what was found

    def kinds(self) -> dict[str, int]:
        """How often each kind was found, without those that were not."""
        totals = self.ledger.totals(self.now_ns)
        return {kind.value: count for kind, count in totals.kinds.items() if count}

    def example(self, kind: Found) -> Example:
        """The last example of a kind."""
        return self.ledger.totals(self.now_ns).examples[kind][-1]

    def decision(self, name: str) -> str:
        """Where the shadow wants a pod that it waits for."""
        pod = self.current(name)
        assert pod is not None
        task = self.shim.tasks.get(pod.uid)
        return "" if task is None else task.node
