"""Worlds with queues as a test describes them, and what happened to their pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from remuda_kubernetes.shim.effects import EvictPod
from tests.kubernetes.shim.world import World

FAST = {"preemption.delay": "10ms"}
Queue = dict[str, Any]


def queue(
    name: str, guaranteed: int | None = None, maximum: int | None = None, **more: Any
) -> Queue:
    """A queue in which nothing waits long before it preempts; amounts are cores."""
    properties = FAST | more.pop("properties", {})
    resources: dict[str, Any] = {}
    if guaranteed is not None:
        resources["guaranteed"] = {"vcore": guaranteed}
    if maximum is not None:
        resources["max"] = {"vcore": maximum}
    return {"name": name, "properties": properties, "resources": resources, **more}


def parent(name: str, queues: list[Queue], **more: Any) -> Queue:
    """A queue with others below it."""
    return {"name": name, "parent": True, "queues": queues, **more}


def document(*queues: Queue, **partition: Any) -> str:
    """A queue file with these queues below root."""
    root = {"name": "root", "submitacl": "*", "queues": list(queues)}
    return yaml.safe_dump({"partitions": [{"name": "default", "queues": [root], **partition}]})


@contextmanager
def running(*queues: Queue, nodes: dict[str, int], **partition: Any) -> Iterator[World]:
    """A world with these queues below root, and nodes with so many cores."""
    world = World(document(*queues, **partition))
    try:
        for name, cores in nodes.items():
            world.node(name, cpu=str(cores))
        world.start()
        yield world
    finally:
        world.close()


def fill(world: World, name: str, count: int, **more: Any) -> None:
    """Let pods of one application run in the queue root.NAME, or another."""
    for number in range(count):
        world.pod(f"{name}-{number}", app=name, **{"queue": f"root.{name}", **more})
    world.run()
    assert all(world.where(f"{name}-{number}") for number in range(count))


def victims(world: World) -> list[str]:
    """Names of the pods that were evicted, in order."""
    return [call.pod.name for call in world.calls if isinstance(call, EvictPod)]


def placed(world: World, *names: str) -> Callable[[], bool]:
    """Whether pods have nodes, to be waited for."""
    return lambda: all(world.where(name) for name in names)
