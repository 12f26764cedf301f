"""What the measurements themselves ask of an API server: make objects, bind pods, at a pace."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from remuda_kubernetes.api import bodies
from remuda_kubernetes.api.connection import Connection
from tools.kube.scale.objects import Json

_NODES: Final = "/api/v1/nodes"
_PATHS: Final = {"Node": _NODES, "Namespace": "/api/v1/namespaces"}
_PLURALS: Final = {"Pod": "pods", "ConfigMap": "configmaps"}
_CONNECTIONS: Final = 16


def path_of(made: Json) -> str:
    """Return where an object is created."""
    kind = made["kind"]
    if kind in _PATHS:
        return _PATHS[kind]
    return f"/api/v1/namespaces/{made['metadata']['namespace']}/{_PLURALS[kind]}"


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Connection]:
    """Have a connection to the server of a kubeconfig."""
    async with Connection.from_kubeconfig(kubeconfig) as connection:
        yield connection


def make(kubeconfig: Path, objects: Iterable[Json]) -> float:
    """Create objects over 16 connections; return the seconds it took. Raises: ApiError."""
    requests = ((path_of(each), msgspec.json.encode(each)) for each in objects)
    return asyncio.run(_post(kubeconfig, requests))


def bind(kubeconfig: Path, pods: Iterable[tuple[str, str, str]]) -> float:
    """Bind pods, each as namespace, name and node, over 16 connections; return the seconds."""
    requests = (
        (
            f"/api/v1/namespaces/{namespace}/pods/{name}/binding",
            bodies.binding(namespace, name, "", node),
        )
        for namespace, name, node in pods
    )
    return asyncio.run(_post(kubeconfig, requests))


async def _post(kubeconfig: Path, requests: Iterator[tuple[str, bytes]]) -> float:
    async with connected(kubeconfig) as connection:

        async def work() -> None:
            for path, body in requests:
                await connection.request("POST", path, body=body)

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(_CONNECTIONS)))
        return time.perf_counter() - began


def make_steadily(kubeconfig: Path, pod: Callable[[int], Json], count: int, rate: float) -> None:
    """Create pods, so many a second, whether or not the server keeps up. Raises: ApiError."""
    asyncio.run(_make_steadily(kubeconfig, pod, count, rate))


async def _make_steadily(
    kubeconfig: Path, pod: Callable[[int], Json], count: int, rate: float
) -> None:
    async with connected(kubeconfig) as connection, asyncio.TaskGroup() as running:
        began = time.perf_counter()
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            made = pod(number)
            body = msgspec.json.encode(made)
            running.create_task(_request(connection, path_of(made), body))


async def _request(connection: Connection, path: str, body: bytes) -> None:
    await connection.request("POST", path, body=body)


def untaint(kubeconfig: Path, nodes: Iterable[Json]) -> None:
    """Give nodes the taints that were asked for: a real server adds that they are not ready."""
    asyncio.run(_untaint(kubeconfig, iter(nodes)))


async def _untaint(kubeconfig: Path, nodes: Iterator[Json]) -> None:
    async with connected(kubeconfig) as connection:

        async def work() -> None:
            for each in nodes:
                body = msgspec.json.encode({"spec": {"taints": each["spec"].get("taints")}})
                path = f"{_NODES}/{each['metadata']['name']}"
                await connection.request("PATCH", path, body=body, content_type=bodies.MERGE)

        await asyncio.gather(*(work() for _ in range(_CONNECTIONS)))
