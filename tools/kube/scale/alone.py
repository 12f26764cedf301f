"""The shim alone: its state machine, its calls and its session with a real scheduler.

The scheduler is a process of its own. An object replaces the API server: it answers each
binding at once and delivers the change of the pod, as a watch would.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import structs

from remuda.base.errors import RemudaError
from remuda.bench.services.served import Served
from remuda.bench.throughput.run import resident_of
from remuda.runtime.interpreter import tune_interpreter
from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import JSON, Answer
from remuda_kubernetes.api.discovery import Served as ServedKinds
from remuda_kubernetes.api.events import Events, EventSettings
from remuda_kubernetes.api.leadership import NoFence
from remuda_kubernetes.link.session import SchedulerLink
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.objects.kinds import CONFIG_MAP, NODE, POD
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.service import Service
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.shim.state import Phase
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.settings import Settings
from tools.kube.scale import objects
from tools.kube.scale.objects import Size

# Pods that a watch brings together.
_BATCH: Final = 100
_PATIENCE_SECONDS: Final = 900.0
_DONE: Final = Answer(201, b"{}", {})


@dataclass(frozen=True, slots=True)
class Alone:
    """The measured figures.

    Processor time is in microseconds for each pod: that of the shim's process, of its loop alone,
    and of the scheduler. ``questions`` about nodes, ``verdicts``, ``events``: of all pods together.
    """

    pods: int
    seconds: float
    shim: float
    loop: float
    scheduler: float
    questions: int
    verdicts: int
    events: int
    megabytes: float

    @property
    def rate(self) -> float:
        """Pods decided and bound in one second of the clock."""
        return self.pods / self.seconds


class Answering:
    """Answers bindings and events; the pods of bindings come back bound."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.bound = 0
        self.posted = 0
        self.awaited = 0
        self.all_bound = asyncio.Event()
        self.service: Service | None = None
        self._changes: list[Change] = []
        self._decode = msgspec.json.Decoder(dict[str, Any]).decode

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = 30.0,  # noqa: ASYNC109 - the protocol has it
        paced: bool = True,
        limit: int = 0,
    ) -> Answer:
        """Take a binding or an event."""
        if path.endswith("/binding"):
            assert body is not None
            self._bind(path.split("/")[-2], self._decode(body)["target"]["name"])
        else:
            self.posted += 1
        return _DONE

    def stream(
        self, path: str, query: Mapping[str, str], *, idle: float = 300.0
    ) -> AsyncGenerator[list[bytes]]:
        """Refuse: nothing is watched."""
        raise NotImplementedError(path)

    def _bind(self, name: str, node: str) -> None:
        old = self.pods[name]
        if old.assigned:
            raise RemudaError(f"{name} was bound twice")
        new = structs.replace(old, spec=structs.replace(old.spec, node_name=node))
        self.pods[name] = new
        self._changes.append(Change(POD, old, new))
        if len(self._changes) == 1:
            asyncio.get_running_loop().call_soon(self._tell)
        self.bound += 1

    def _tell(self) -> None:
        changes, self._changes = self._changes, []
        assert self.service is not None
        self.service.deliver(changes)
        if self.bound >= self.awaited:
            self.all_bound.set()


def measure(size: Size) -> Alone:
    """Measure a cluster once. Raises: RemudaError if a pod is not bound exactly once."""
    with Served() as served:
        tune_interpreter()
        found = asyncio.run(_measure(size, served))
        served.judge()
        if (containers := served.containers()) != size.pods:
            raise RemudaError(f"the scheduler has {containers} allocations, not {size.pods}")
    return found


async def _measure(size: Size, served: Served) -> Alone:
    answering = Answering()
    kinds = ServedKinds("v1.32", {POD: "v1"}, checks_uid=True, events="v1")
    events = Events(answering, "v1", EventSettings(instance="scale"))
    shim = Shim(Settings(), "scale", "yunikorn")
    service = Service(shim, Calls(answering, kinds, fence=NoFence()), events)
    answering.service = service
    link = SchedulerLink(
        asyncio.get_running_loop(),
        served.grpc,
        "scale",
        service,
        policy_group="queues",
        build={names.LEVEL_KEY: names.INTERFACE_LEVEL},
    )
    writing = asyncio.create_task(events.run())
    try:
        await _start(service, size, link)
        return await _bind_all(service, answering, size, served)
    finally:
        await service.close()
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def _start(service: Service, size: Size, link: SchedulerLink) -> None:
    """Let the shim begin with the nodes, and wait until the scheduler has them all."""
    config = convert(ConfigMap, {**objects.configuration()})
    service.deliver([Change(CONFIG_MAP, None, config)])
    for number, each in enumerate(objects.nodes(size)):
        each["metadata"]["uid"] = f"node-{number}"
        service.deliver([Change(NODE, None, convert(Node, each))])
    service.begin(lambda _rm_id, _settings: link)
    before = -1
    while service.shim.phase is not Phase.RUNNING or not service.figures.responses:
        await _pause()
    while service.figures.responses != before:
        before = service.figures.responses
        await _pause()


async def _pause() -> None:
    await asyncio.sleep(0.5)


async def _bind_all(service: Service, answering: Answering, size: Size, served: Served) -> Alone:
    made = []
    for number, found in enumerate(objects.pods(size)):
        found["metadata"] |= {"uid": f"uid-{number}", "creationTimestamp": "2026-01-01T00:00:00Z"}
        found["status"] = {"phase": "Pending"}
        made.append(convert(Pod, found))
    answering.pods = {pod.name: pod for pod in made}
    answering.awaited = size.pods
    figures = service.figures
    questions, verdicts = figures.questions, figures.verdicts
    server, process, loop = served.cpu_seconds(), time.process_time(), time.thread_time()
    began = time.perf_counter()
    for start in range(0, size.pods, _BATCH):
        service.deliver([Change(POD, None, pod) for pod in made[start : start + _BATCH]])
        await asyncio.sleep(0)
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await answering.all_bound.wait()
    except TimeoutError:
        raise RemudaError(f"only {answering.bound} of {size.pods} pods were bound") from None
    seconds = time.perf_counter() - began
    each = 1e6 / size.pods
    return Alone(
        pods=size.pods,
        seconds=seconds,
        shim=(time.process_time() - process) * each,
        loop=(time.thread_time() - loop) * each,
        scheduler=(served.cpu_seconds() - server) * each,
        questions=figures.questions - questions,
        verdicts=figures.verdicts - verdicts,
        events=answering.posted,
        megabytes=resident_of("self") / 1e6,
    )
