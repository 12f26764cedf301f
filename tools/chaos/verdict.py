"""Compares what resource managers believe with what the scheduler says, after a round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from tools.chaos import wording
from tools.chaos.belief import Belief, Task
from tools.chaos.injection import descriptors
from tools.chaos.processes import Scheduler

# How far a scheduler may grow between the first look at it and any later one.
_MORE_DESCRIPTORS: Final = 24
_MORE_THREADS: Final = 24
_MORE_KILOBYTES: Final = 64 * 1024

View: TypeAlias = "dict[str, Any]"


class Size(msgspec.Struct, frozen=True):
    """What a process takes."""

    descriptors: int
    threads: int
    kilobytes: int

    def growth(self, now: Size) -> Iterator[str]:
        """Yield what has grown too much since."""
        for name, more in (
            ("descriptors", _MORE_DESCRIPTORS),
            ("threads", _MORE_THREADS),
            ("kilobytes", _MORE_KILOBYTES),
        ):
            before, after = getattr(self, name), getattr(now, name)
            if after > before + more:
                yield f"the scheduler leaks {name}: {before} grew to {after}"


def size(pid: int) -> Size:
    """Return what a process takes now."""
    found = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    )
    kilobytes = int(found["VmRSS"].split()[0])
    return Size(descriptors(pid), int(found["Threads"]), kilobytes)


def health(scheduler: Scheduler, *, recording: bool) -> Iterator[str]:
    """Yield the checks of its health that fail.

    ``recording``: whether it should still record. One that lost its disk must say that it does not.
    """
    answer: Any = scheduler.get("/ws/v1/scheduler/healthcheck")
    for check in answer["HealthChecks"]:
        if not check["Succeeded"] and (recording or check["Name"] != "Recording"):
            yield f"health: {check['Name']}: {check['DiagnosisMessage']}"


def differences(rm_id: str, belief: Belief, scheduler: Scheduler) -> Iterator[str]:
    """Yield everything in which a resource manager and the scheduler differ."""

    def get(path: str) -> Any:
        return scheduler.get(f"/ws/v1/partition/default/{path}?rm={rm_id}")

    nodes, applications = get("nodes"), get("applications/active")
    for found in (
        _allocations(belief, nodes),
        _asks(belief, applications),
        _applications(belief, applications),
        _node_sums(belief, nodes),
        _queue_sums(belief, get("queues")),
    ):
        yield from (f"{rm_id}: {text}" for text in found)


def _allocations(belief: Belief, nodes: list[View]) -> Iterator[str]:
    """Every running task is on its node exactly once, and nothing else is on any."""
    listed: Counter[str] = Counter()
    for node in nodes:
        for each in node.get("allocations", []):
            identity = each["allocationID"]
            listed[identity] += 1
            task = belief.running.get(identity)
            if task is None:
                yield f"{identity} runs on {node['nodeID']} for the scheduler only"
                continue
            cores = each["resource"]["vcore"]
            said = Task(each["allocationKey"], each["applicationId"], cores, "", node["nodeID"])
            if said != msgspec.structs.replace(task, role=""):
                yield f"{identity} is {task}, the scheduler says {said}"
    yield from (
        f"{each} is lost: the scheduler does not know it"
        for each in belief.running
        if not listed[each]
    )
    yield from (f"{each} is doubled" for each, count in listed.items() if count > 1)
    yield from (f"{each} ended, which is not acknowledged" for each in belief.ending)


def _asks(belief: Belief, applications: list[View]) -> Iterator[str]:
    """What waits is the same on both sides."""
    found = {
        each["allocationKey"]
        for application in applications
        for each in application.get("requests", [])
    }
    yield from (f"ask {key} is lost" for key in sorted(belief.asks.keys() - found))
    yield from (
        f"ask {key} waits for the scheduler only" for key in sorted(found - belief.asks.keys())
    )


def _applications(belief: Belief, applications: list[View]) -> Iterator[str]:
    """Applications are the same on both sides, each with the sum of its real tasks."""
    found = {each["applicationID"]: each for each in applications}
    yield from (f"application {each} is lost" for each in belief.applications.keys() - found.keys())
    yield from (
        f"application {each} is there for the scheduler only"
        for each in found.keys() - belief.applications.keys()
    )
    tasks = [task for task in belief.running.values() if task.role != "placeholder"]
    for name, application in found.items():
        cores = sum(task.cores for task in tasks if task.application == name)
        yield from _differ(f"application {name}", application.get("usedResource"), cores)


def _node_sums(belief: Belief, nodes: list[View]) -> Iterator[str]:
    """Each node has what runs on it, and not more than it can take."""
    names = {node["nodeID"] for node in nodes}
    if names != belief.nodes.keys():
        yield f"nodes {sorted(belief.nodes)}, the scheduler has {sorted(names)}"
    for node in nodes:
        name = node["nodeID"]
        cores = sum(task.cores for task in belief.running.values() if task.node == name)
        capacity = belief.nodes.get(name, 0)
        yield from _differ(f"node {name}", node.get("allocated"), cores)
        yield from _differ(f"room on {name}", node.get("available"), capacity - cores)
        if cores > capacity:
            yield f"node {name} has {cores} of {capacity}"


def _queue_sums(belief: Belief, root: View) -> Iterator[str]:
    """Each queue has what runs in it, and not more than it may."""
    sums: Counter[str] = Counter()
    for task in belief.running.values():
        path = belief.applications[task.application]
        while path:
            sums[path] += task.cores
            path = path.rpartition(".")[0]
    waiting = [root]
    while waiting:
        queue = waiting.pop()
        waiting += queue.get("children") or []
        name = queue["queuename"]
        yield from _differ(f"queue {name}", queue.get("allocatedResource"), sums[name])
        most = wording.MAXIMA.get(name)
        if most is not None and sums[name] > most:
            yield f"queue {name} has {sums[name]} of {most}"


def _differ(what: str, amounts: Mapping[str, int] | None, cores: int) -> Iterator[str]:
    said = (amounts or {}).get("vcore", 0)
    if said != cores:
        yield f"{what}: {cores} by what runs, the scheduler says {said}"
