"""A cluster in memory and a real scheduler around the state machine, one step after the other.

The effects of the state machine are carried out at once: requests go to a scheduler in this
process, calls change the objects, and the changes come back as a watch would bring them. Nothing
waits and nothing is random, so a test says what happens and sees what follows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from remuda.base.errors import ConfigError
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.cluster import ConfigMap, Namespace, PriorityClass
from remuda_kubernetes.objects.kinds import CONFIG_MAP, NAMESPACE, NODE, POD, Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert, plain
from remuda_kubernetes.shim.effects import (
    AnnotatePod,
    BindPod,
    BindVolume,
    CreatePod,
    DeletePod,
    Effect,
    EvictPod,
    FailPod,
    PostEvent,
    ReadObject,
    Reconfigure,
    Register,
    SelectNode,
    SetCondition,
    ToScheduler,
)
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.events import Event
from remuda_kubernetes.translation.settings import Settings

SECOND = 10**9

QUEUES = """
partitions:
  - name: default
    placementrules:
      - name: provided
        create: true
    queues:
      - name: root
        submitacl: '*'
"""


class World:
    """A cluster, its scheduler and the shim between them.

    ``others``: objects of other kinds, by their paths. ``fail``: answers calls in place of the
    cluster where it returns an outcome.
    """

    def __init__(self, queues: str = QUEUES, extra: Mapping[str, str] | None = None) -> None:
        self.now_ns = SECOND
        self.scheduler = InProcessScheduler()
        self.inbox: list[Any] = []
        self.shim = Shim(Settings(), "rm", "yunikorn")
        self.objects: dict[tuple[str, str, str], KubernetesObject] = {}
        self.events: list[Event] = []
        self.calls: list[Effect] = []
        self.conditions: dict[str, SetCondition] = {}
        self.fail: Callable[[Effect], Outcome | None] = lambda _call: None
        self.grace: set[str] = set()
        self.others: dict[str, dict[str, Any]] = {}
        self.number = 0
        self.config({"queues.yaml": queues, **(extra or {})})

    def close(self) -> None:
        self.scheduler.stop()

    # ------------------------------------------------------------------ the cluster

    def node(self, name: str, cpu: str = "10", memory: str = "10Gi", **more: Any) -> Node:
        amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
        node = convert(
            Node,
            {
                "metadata": {"name": name, "uid": f"node-{name}", "labels": more.get("labels", {})},
                "spec": more.get("spec", {}),
                "status": {"allocatable": amounts, "capacity": amounts},
            },
        )
        self.put(NODE, node)
        return node

    def pod(self, name: str, cpu: str = "1", app: str = "app", **more: Any) -> Pod:
        """Create a pod of ours; ``spec``, ``annotations``, ``labels``, ``owners`` add to it."""
        self.number += 1
        space = more.get("namespace", "default")
        if more.get("known", True) and ("Namespace", "", space) not in self.objects:
            self.namespace(space, {})
        labels = {"applicationId": app, "queue": more.get("queue", "root.a")}
        manifest: dict[str, Any] = {
            "metadata": {
                "name": name,
                "namespace": more.get("namespace", "default"),
                "uid": more.get("uid", f"uid-{self.number:04}"),
                "creationTimestamp": f"2026-01-01T00:00:{self.number % 60:02}Z",
                "labels": {**labels, **more.get("labels", {})},
                "annotations": more.get("annotations", {}),
                "ownerReferences": more.get("owners", []),
            },
            "spec": {
                "schedulerName": "yunikorn",
                "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
                **more.get("spec", {}),
            },
            "status": {"phase": "Pending", **more.get("status", {})},
        }
        pod = convert(Pod, manifest)
        self.put(POD, pod)
        return pod

    def config(self, data: dict[str, str], name: str = "yunikorn-configs") -> None:
        meta = {"name": name, "namespace": "yunikorn", "uid": name}
        self.put(CONFIG_MAP, convert(ConfigMap, {"metadata": meta, "data": data}))

    def namespace(self, name: str, annotations: dict[str, str]) -> None:
        meta = {"name": name, "uid": f"ns-{name}", "annotations": annotations}
        self.put(NAMESPACE, convert(Namespace, {"metadata": meta}))

    def put(self, kind: Kind, found: KubernetesObject) -> None:
        key = (kind.name, found.namespace, found.name)
        old = self.objects.get(key)
        self.objects[key] = found
        self.shim.changed(kind, old, found)

    def drop(self, kind: Kind, name: str, namespace: str = "") -> None:
        old = self.objects.pop((kind.name, namespace, name))
        self.shim.changed(kind, old, None)

    def change(self, pod: Pod, **parts: Any) -> Pod:
        """Change a pod: parts of it in the form of JSON, merged one level deep."""
        found = plain(pod)
        for part, fields in parts.items():
            found[part] = {**found.get(part, {}), **fields}
        new = convert(Pod, found)
        self.put(POD, new)
        return new

    def current(self, name: str, namespace: str = "default") -> Pod | None:
        found = self.objects.get(("Pod", namespace, name))
        return found if isinstance(found, Pod) else None

    def where(self, name: str) -> str:
        """The node of a pod, "" while it has none."""
        pod = self.current(name)
        return "" if pod is None else pod.spec.node_name

    def pods(self) -> list[Pod]:
        return [each for each in self.objects.values() if isinstance(each, Pod)]

    # ------------------------------------------------------------------ the course of things

    def start(self) -> None:
        self.shim.synced()
        self.run()

    def run(self, seconds: float = 0.0) -> None:
        """Carry out effects until nothing happens any more; then let time pass and again."""
        self._settle()
        if seconds:
            self.now_ns += int(seconds * SECOND)
            self._settle()

    def _settle(self) -> None:
        for _ in range(200):
            self.shim.tick(self.now_ns)
            effects = self.shim.take()
            for effect in effects:
                self._do(effect)
            self.scheduler.wait_idle(30.0)
            inbox, self.inbox = self.inbox, []
            if inbox:
                self.shim.answered(inbox)
            if not effects and not inbox:
                return
        raise AssertionError("the world does not come to rest")

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, ToScheduler):
            self._send(effect.request)
            # Its thread calls the shim only while this one waits.
            self.scheduler.wait_idle(30.0)
        elif isinstance(effect, PostEvent):
            self.events.append(effect.event)
        elif isinstance(effect, Register):
            request = si.RegisterResourceManagerRequest(
                rmID="rm",
                policyGroup="queues",
                config=effect.queues,
                extraConfig=effect.extra,
                buildInfo={names.LEVEL_KEY: names.INTERFACE_LEVEL},
            )
            self.inbox = []
            try:
                self.scheduler.register_resource_manager(request, Callback(self))
            except ConfigError as error:
                self.shim.registered(str(error), refused=True)
            else:
                self.shim.registered()
        elif isinstance(effect, Reconfigure):
            self._reconfigure(effect)
        else:
            self.calls.append(effect)
            outcome = self.fail(effect) or self._answer(effect)
            self.shim.ended(effect.number, outcome)

    def _send(self, request: Any) -> None:
        if isinstance(request, si.AllocationRequest):
            self.scheduler.update_allocation(request)
        elif isinstance(request, si.ApplicationRequest):
            self.scheduler.update_application(request)
        else:
            self.scheduler.update_node(request)

    def _reconfigure(self, effect: Reconfigure) -> None:
        fault = ""
        try:
            self.scheduler.update_configuration(
                si.UpdateConfigurationRequest(
                    rmID="rm", config=effect.queues, extraConfig=effect.extra
                )
            )
        except ConfigError as error:
            fault = str(error)
        self.shim.reconfigured(effect.about, fault)

    def _answer(self, call: Effect) -> Outcome:
        if not isinstance(call, ReadObject):
            return self._carry_out(call)
        found = self.others.get(call.path)
        if found is None:
            return Outcome(Result.GONE, "not found")
        return Outcome(Result.DONE, content=json.dumps(found).encode())

    def _carry_out(self, call: Any) -> Outcome:
        if isinstance(call, CreatePod):
            return self._create(call)
        if isinstance(call, BindVolume | SelectNode):
            # What the volume controllers make of it is up to the test.
            return Outcome(Result.DONE)
        if isinstance(call, SetCondition):
            self.conditions[call.pod.name] = call
            return Outcome(Result.DONE)
        pod = self._same(call.pod)
        if pod is None:
            return Outcome(Result.GONE, "not found")
        if isinstance(call, AnnotatePod):
            self.change(pod, metadata={"annotations": {**pod.annotations, **call.annotations}})
        elif isinstance(call, BindPod):
            if pod.spec.node_name:
                same = pod.spec.node_name == call.node
                return Outcome(Result.DONE if same else Result.CONFLICT, "bound already")
            self.change(pod, spec={"nodeName": call.node})
        elif isinstance(call, FailPod):
            self.change(pod, status={"phase": "Failed", "reason": call.reason})
        else:
            assert isinstance(call, DeletePod | EvictPod)
            if pod.name in self.grace:
                self.change(pod, metadata={"deletionTimestamp": "2026-01-01T02:00:00Z"})
            else:
                self.drop(POD, pod.name, pod.namespace)
        return Outcome(Result.DONE)

    def _create(self, call: CreatePod) -> Outcome:
        self.number += 1
        made = {**call.manifest}
        made["metadata"] = {
            **made["metadata"],
            "uid": f"made-{self.number:04}",
            # The scheduler counts the time of placeholders from here, by its own clock.
            "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        found = self.objects.get(("PriorityClass", "", made["spec"].get("priorityClassName", "")))
        if isinstance(found, PriorityClass):
            # The server's admission does so.
            made["spec"] = {**made["spec"], "priority": found.value}
        there = self.current(made["metadata"]["name"], call.namespace)
        if there is not None:
            return Outcome(Result.CONFLICT, "exists", pod=there)
        self.put(POD, convert(Pod, made))
        return Outcome(Result.DONE)

    def _same(self, pod: Pod) -> Pod | None:
        found = self.current(pod.name, pod.namespace)
        return found if found is not None and found.uid == pod.uid else None

    def told(self, reason: str) -> list[str]:
        """The messages of events with a reason."""
        return [each.message for each in self.events if each.reason == reason]


def until(world: World, reached: Callable[[], bool]) -> None:
    """Let the world go on until something has happened; the scheduler's own time is real."""
    for _ in range(3_000):
        world.run(seconds=0.01)
        if reached():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within half a minute")


class Callback:
    """What the scheduler calls, on its thread; the world waits meanwhile."""

    def __init__(self, world: World) -> None:
        self._world = world

    def update_allocation(self, response: si.AllocationResponse) -> None:
        self._world.inbox.append(response)
        # As over a session: what was decided is known before the next question.
        self._flush()

    def update_application(self, response: si.ApplicationResponse) -> None:
        self._world.inbox.append(response)

    def update_node(self, response: si.NodeResponse) -> None:
        self._world.inbox.append(response)

    def nodes_predicates(self, items: Iterable[Any]) -> Any:
        return self._world.shim.judge(list(items))

    def preemption_predicates(self, args: Any) -> Any:
        return self._world.shim.victims(args)

    def _flush(self) -> None:
        inbox, self._world.inbox = self._world.inbox, []
        self._world.shim.answered(inbox)
