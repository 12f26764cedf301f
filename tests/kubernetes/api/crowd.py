"""Two programs for measurements: a server with many pods and nodes, and a shim's reading of them.

Run as `python -m tests.kubernetes.api.crowd serve PODS NODES` and `... sync URL`. Each is a process
of its own, so that the memory of one is not counted with the other's.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.api.kubeconfig import Access
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import NODE, POD
from tests.kubernetes.api.scripted import Reply, Request, Server, Stream
from tests.memory import peak_kilobytes

TIME = "2026-11-21T{:02}:{:02}:{:02}Z"


def pod(number: int) -> dict[str, Any]:
    """A pod of a job of a hundred, in the form and size of one of a real server."""
    job, when = number // 100, TIME.format(number % 24, number % 60, number // 60 % 60)
    token = f"kube-api-access-{number:05x}"
    ready = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "metadata": {
            "name": f"job-{job}-worker-{number}",
            "generateName": f"job-{job}-worker-",
            "namespace": f"team-{number % 40}",
            "uid": f"{number:08x}-7cfb-4642-9a1e-308ffb400fe3",
            "resourceVersion": str(1000 + number),
            "creationTimestamp": when,
            "labels": {"app": "x", "applicationId": f"app-{job}", "queue": "root.default"},
            "annotations": {"example/checksum": f"{number:064x}"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": f"job-{job}",
                    "uid": f"{job:08x}-0000-4642-9a1e-308ffb400fe3",
                    "controller": True,
                }
            ],
            "managedFields": [
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {f"f:field-{each}": {".": {}, "f:x": {}} for each in range(20)},
                }
            ],
        },
        "spec": {
            "volumes": [{"name": token, "projected": {"defaultMode": 420}}],
            "containers": [
                {
                    "name": "c",
                    "image": "registry.example/team/worker:1.2.3",
                    "resources": {
                        "requests": {"cpu": "500m", "memory": "128Mi"},
                        "limits": {"cpu": "1", "memory": "256Mi"},
                    },
                    "volumeMounts": [{"name": token, "mountPath": "/var/run/secrets"}],
                }
            ],
            "restartPolicy": "Never",
            "nodeName": f"node-{number % 5000}" if number % 2 else "",
            "schedulerName": "yunikorn",
            "tolerations": [
                {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
                for key in ("not-ready", "unreachable")
            ],
            "priority": 0,
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": each, "status": "True", "lastTransitionTime": when} for each in ready
            ],
            "startTime": when,
            "containerStatuses": [{"name": "c", "ready": True, "image": "worker:1.2.3"}],
        },
    }


def node(number: int) -> dict[str, Any]:
    """A node with sixty-four processors and ten images."""
    amounts = {"cpu": "63", "memory": "250Gi", "pods": "110", "nvidia.com/gpu": "8"}
    conditions = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    return {
        "metadata": {
            "name": f"node-{number}",
            "uid": f"{number:08x}-aaaa-4642-9a1e-308ffb400fe3",
            "resourceVersion": str(10 + number),
            "labels": {
                "kubernetes.io/hostname": f"node-{number}",
                "topology.kubernetes.io/zone": f"z{number % 3}",
                "kubernetes.io/os": "linux",
            },
        },
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [
                {"type": each, "status": "False", "reason": "KubeletHasSufficient"}
                for each in conditions
            ],
            "images": [
                {"names": [f"registry.example/i{each}:1"], "sizeBytes": 12345678}
                for each in range(10)
            ],
        },
    }


def pages(count: int, make: Callable[[int], dict[str, Any]]) -> Callable[[Request], Reply]:
    """Return the answers to a list, encoded once."""
    items = [json.dumps(make(number)).encode() for number in range(count)]

    def answer(request: Request) -> Reply:
        start = int(request.query.get("continue", 0))
        end = start + int(request.query["limit"])
        token = b'"continue":"%d",' % end if end < count else b""
        body = b",".join(items[start:end])
        return Reply(200, b'{"metadata":{%s"resourceVersion":"9"},"items":[%s]}' % (token, body))

    return answer


async def serve(pods: int, nodes: int) -> None:
    """Serve until killed; the address is the first line of the output."""

    async def quiet(stream: Stream) -> None:
        await stream.begin()
        await asyncio.sleep(3600)

    async with Server() as server:
        server.on("GET", "/api/v1/pods", pages(pods, pod))
        server.on("GET", "/api/v1/nodes", pages(nodes, node))
        for plural in ("pods", "nodes"):
            server.on("WATCH", f"/api/v1/{plural}", quiet)
        print(server.url, flush=True)
        await asyncio.sleep(3600)


async def sync(url: str) -> None:
    """Read everything; print how much, the processor time in seconds, the memory in MB."""
    count = 0

    def deliver(changes: Sequence[Change]) -> None:
        nonlocal count
        count += len(changes)

    served = Served("v1.30.0", {POD: "v1", NODE: "v1"})
    async with Connection(Access(server=url, source="a measurement")) as connection:
        reflectors = Reflectors(
            connection, served, deliver, namespace="remuda", kinds=(NODE, POD), ended_pods=True
        )
        started = time.process_time()
        reflectors.start()
        await reflectors.wait_synced()
        seconds = time.process_time() - started
        await reflectors.aclose()
    memory = peak_kilobytes() / 1024
    print(json.dumps({"objects": count, "seconds": seconds, "megabytes": memory}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(int(sys.argv[2]), int(sys.argv[3])))
    else:
        asyncio.run(sync(sys.argv[2]))
