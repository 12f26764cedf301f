"""A hollow kubelet: nodes that run nothing, and pods that look as if they ran.

It registers nodes, marks pods that are bound to them as running, ends them after a while, agrees to
resizes that fit, and lets deleted pods go. It works with any API server.
Source: the documentation of Kubernetes, "Pod Lifecycle" and "Nodes".
"""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import httpx2

from remuda_kubernetes.objects.quantities import amounts
from remuda_kubernetes.testing.client import STRATEGIC, Api, ApiFailure
from remuda_kubernetes.testing.identity import timestamp
from remuda_kubernetes.testing.mirrors import Mirror, key_of
from remuda_kubernetes.testing.statuses import Json

# Annotations of pods: how long one runs, in seconds, and the code that its containers end with.
RUN_SECONDS: Final = "testing.remuda/run-seconds"
EXIT_CODE: Final = "testing.remuda/exit-code"
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_RETRIES: Final = 30
_RETRY_SECONDS: Final = 0.2
_HOST_ADDRESS: Final = "127.0.0.1"
_ABOUT: Final = {
    "kubeletVersion": "hollow",
    "osImage": "none",
    "kernelVersion": "none",
    "containerRuntimeVersion": "none",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


@dataclass(kw_only=True)
class Habits:
    """How the kubelets behave.

    ``start_seconds``: from bound to running. ``stop_seconds``: what the containers of a deleted
    pod take to end, at most its grace period. ``run_seconds``: how long pods run that do not say
    it; None: for ever. ``heartbeat_seconds`` None: nodes are reported once. ``rejects``: a pod for
    which one of the ``nodes`` has no room fails at once, as on a real kubelet.
    """

    start_seconds: float = 0.0
    stop_seconds: float = 0.0
    run_seconds: float | None = None
    heartbeat_seconds: float | None = None
    in_flight: int = 32
    rejects: bool = False


@dataclass(eq=False)
class HollowKubelet:
    """The kubelets of some nodes. ``nodes``: whole objects, with capacity in their status.

    Without nodes it runs the pods of all nodes that there are.
    """

    api: Api
    nodes: Sequence[Json] = ()
    habits: Habits = field(default_factory=Habits)

    def __post_init__(self) -> None:
        """Prepare for what is seen later."""
        self._names = {each["metadata"]["name"] for each in self.nodes}
        self._rooms = {each["metadata"]["name"]: _allocatable(each) for each in self.nodes}
        # What the pods on each node ask for that were not rejected and have not ended.
        self._used: dict[str, dict[str, dict[str, int]]] = {name: {} for name in self._names}
        self._limit = asyncio.Semaphore(self.habits.in_flight)
        self._started: set[str] = set()
        self._stopping: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.pods = Mirror(self.api, "/api/v1/pods", fieldSelector="spec.nodeName!=")
        self.pods.listeners.append(self._seen)

    async def run(self) -> None:
        """Register the nodes and run pods until cancelled."""
        async with asyncio.TaskGroup() as group:
            for node in self.nodes:
                group.create_task(self._limited(partial(self._register, node)))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.pods.run())
                if self.habits.heartbeat_seconds is not None:
                    group.create_task(self._heartbeats(self.habits.heartbeat_seconds))
        finally:
            for task in self._tasks:
                task.cancel()

    async def end(self, namespace: str, name: str, exit_code: int = 0) -> None:
        """End the containers of a running pod. Raises: ApiFailure."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        pod = await self.api.get(path)
        await self.api.patch(f"{path}/status", _ended(pod, exit_code), STRATEGIC)

    async def _register(self, node: Json) -> None:
        """Create a node, or report one that exists, as ready."""
        name = node["metadata"]["name"]
        with contextlib.suppress(ApiFailure):
            await self.api.create("/api/v1/nodes", {**node, "apiVersion": "v1", "kind": "Node"})
        status = {
            "nodeInfo": _ABOUT,
            "addresses": [
                {"type": "InternalIP", "address": _HOST_ADDRESS},
                {"type": "Hostname", "address": name},
            ],
            **(node.get("status") or {}),
            "conditions": [_ready_node()],
        }
        await self.api.patch(f"/api/v1/nodes/{name}/status", {"status": status}, STRATEGIC)

    async def _heartbeats(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            async with asyncio.TaskGroup() as group:
                for name in self._names:
                    group.create_task(self._limited(partial(self._beat, name)))

    async def _beat(self, name: str) -> None:
        body = {"status": {"conditions": [_ready_node()]}}
        await self.api.patch(f"/api/v1/nodes/{name}/status", body, STRATEGIC)

    def _seen(self, kind: str, pod: Json) -> None:
        """Begin what a change of a pod asks for."""
        uid = pod["metadata"]["uid"]
        if self._names and pod["spec"]["nodeName"] not in self._names:
            return
        if kind == "DELETED" or pod["status"].get("phase") in _ENDED:
            self._used.get(pod["spec"]["nodeName"], {}).pop(uid, None)
        if kind == "DELETED":
            self._started.discard(uid)
            self._stopping.discard(uid)
            return
        if pod["metadata"].get("deletionTimestamp"):
            if uid not in self._stopping:
                self._stopping.add(uid)
                self._begin(self._stop(pod))
        elif pod["status"].get("phase") not in _ENDED:
            if uid not in self._started:
                self._started.add(uid)
                lacking = self._admit(pod) if self.habits.rejects else ""
                self._begin(self._report(pod, _rejected(lacking)) if lacking else self._start(pod))
            elif _is_resized(pod):
                self._begin(self._resize(pod))

    def _admit(self, pod: Json) -> str:
        """Count a pod on its node; return what the node has too little of, "" if it has room."""
        node = pod["spec"]["nodeName"]
        if node not in self._rooms:
            return ""
        asked, used = _requests(pod), self._used[node]
        for name, amount in asked.items():
            taken = sum(each.get(name, 0) for each in used.values())
            if taken + amount > self._rooms[node].get(name, 0):
                return name
        used[pod["metadata"]["uid"]] = asked
        return ""

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self, pod: Json) -> None:
        """Let a pod run, and end if it says when."""
        if pod["status"].get("phase") != "Running":
            await asyncio.sleep(self.habits.start_seconds)
            await self._report(pod, _running(pod))
        seconds = _run_seconds(pod, self.habits.run_seconds)
        if seconds is None:
            return
        await asyncio.sleep(seconds)
        if pod["metadata"]["uid"] not in self._stopping:
            current = self.pods.items.get(key_of(pod), pod)
            code = int(pod["metadata"].get("annotations", {}).get(EXIT_CODE, "0"))
            await self._report(current, _ended(current, code))

    async def _stop(self, pod: Json) -> None:
        """Let a deleted pod go."""
        grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
        await asyncio.sleep(min(self.habits.stop_seconds, grace))
        uid = pod["metadata"]["uid"]
        await self._limited(lambda: self.api.delete(_path(pod), grace=0, uid=uid))

    async def _resize(self, pod: Json) -> None:
        """Agree to new resources if the node has room for them."""
        room = self._rooms.get(pod["spec"]["nodeName"])
        if room is not None and not _fits(pod, room):
            if pod["status"].get("resize") != "Infeasible":
                await self._report(pod, {"status": {"resize": "Infeasible"}})
            return
        statuses = [_container_status(each, {"running": {}}) for each in pod["spec"]["containers"]]
        known = {each["name"]: each for each in pod["status"].get("containerStatuses") or ()}
        for each in statuses:
            each["state"] = known.get(each["name"], each)["state"]
        await self._report(pod, {"status": {"containerStatuses": statuses, "resize": None}})

    async def _report(self, pod: Json, body: Json) -> None:
        body = {**body, "metadata": {"uid": pod["metadata"]["uid"]}}
        await self._limited(lambda: self.api.patch(f"{_path(pod)}/status", body, STRATEGIC))

    async def _limited(self, call: Callable[[], Awaitable[Any]]) -> None:
        """Make a call, again if the server cannot answer it; give up what it does not want."""
        for _ in range(_RETRIES):
            try:
                async with self._limit:
                    await call()
            except (httpx2.HTTPError, ApiFailure) as failure:
                if isinstance(failure, ApiFailure) and failure.code < 500 and failure.code != 429:
                    return
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return


def hollow_node(name: str, *, labels: dict[str, str] | None = None, **capacity: str) -> Json:
    """Return a node to register; ``capacity``: cpu="8", memory="32Gi" and so on."""
    full = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "1Ti", **capacity}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {},
        "status": {"capacity": full, "allocatable": full},
    }


def _path(pod: Json) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def _allocatable(node: Json) -> dict[str, int]:
    status = node.get("status") or {}
    return amounts(status.get("allocatable") or status.get("capacity"))


def _ready_node() -> Json:
    now = timestamp()
    return {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "hollow kubelet is ready",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _run_seconds(pod: Json, usual: float | None) -> float | None:
    text = (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS)
    return usual if text is None else float(text)


def _container_status(container: Json, state: Json, *, ready: bool = True) -> Json:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
        "allocatedResources": (container.get("resources") or {}).get("requests") or {},
        "resources": container.get("resources") or {},
    }


def _conditions(status: str, reason: str = "") -> list[Json]:
    more = {"reason": reason} if reason else {}
    now = timestamp()
    return [
        {"type": kind, "status": "True" if kind == "Initialized" else status, **more}
        | {"lastTransitionTime": now}
        for kind in ("Initialized", "Ready", "ContainersReady")
    ]


def _running(pod: Json) -> Json:
    now = timestamp()
    state = {"running": {"startedAt": now}}
    return {
        "status": {
            "phase": "Running",
            "startTime": now,
            "hostIP": _HOST_ADDRESS,
            "podIP": _address(pod["metadata"]["uid"]),
            "conditions": _conditions("True"),
            "containerStatuses": [_container_status(c, state) for c in pod["spec"]["containers"]],
        }
    }


def _address(uid: str) -> str:
    """Return an address for a pod; two pods rarely have the same."""
    number = zlib.crc32(uid.encode())
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _ended(pod: Json, exit_code: int) -> Json:
    now = timestamp()
    reason = "Error" if exit_code else "Completed"
    state = {"terminated": {"exitCode": exit_code, "reason": reason, "finishedAt": now}}
    statuses = [_container_status(c, state, ready=False) for c in pod["spec"]["containers"]]
    return {
        "status": {
            "phase": "Failed" if exit_code else "Succeeded",
            "conditions": _conditions("False", "PodFailed" if exit_code else "PodCompleted"),
            "containerStatuses": statuses,
        }
    }


def _is_resized(pod: Json) -> bool:
    """Whether containers of a running pod are to have other resources than they have."""
    known = {
        each["name"]: each.get("resources") for each in pod["status"].get("containerStatuses") or ()
    }
    return any(
        known.get(each["name"]) is not None and known[each["name"]] != (each.get("resources") or {})
        for each in pod["spec"]["containers"]
    )


def _fits(pod: Json, room: dict[str, int]) -> bool:
    return all(amount <= room.get(name, 0) for name, amount in _requests(pod).items())


def _requests(pod: Json) -> dict[str, int]:
    """Return what the containers of a pod ask for together."""
    total: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        requests = amounts((container.get("resources") or {}).get("requests"))
        for name, amount in requests.items():
            total[name] = total.get(name, 0) + amount
    return total


def _rejected(lacking: str) -> Json:
    message = f"Pod Node didn't have enough resource: {lacking}"
    status = {"phase": "Failed", "reason": f"OutOf{lacking}", "message": message}
    return {"status": {**status, "startTime": timestamp()}}
