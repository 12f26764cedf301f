"""What the shim knows, as JSON for people who look for a fault."""

from __future__ import annotations

from typing import Any

from remuda_kubernetes.objects.kinds import WATCHED
from remuda_kubernetes.shim.records import Application, Task
from remuda_kubernetes.shim.state import State


def dump(state: State) -> dict[str, Any]:
    """Return the state, without the contents of objects."""
    return {
        "phase": state.phase.value,
        "callsOpen": state.calls_open,
        "objects": {kind.name: state.objects.count(kind) for kind in WATCHED},
        "nodes": sorted(state.placed),
        "foreignPods": len(state.foreign),
        "applications": [_application(each) for each in state.applications.values()],
    }


def _application(application: Application) -> dict[str, Any]:
    return {
        "applicationID": application.identity,
        "queue": application.facts.queue,
        "namespace": application.facts.namespace,
        "state": application.state.value,
        "originator": application.originator.key,
        "gang": bool(application.facts.groups),
        "tasks": [_task(each) for each in application.tasks.values()],
    }


def _task(task: Task) -> dict[str, Any]:
    return {
        "pod": task.pod.key,
        "uid": task.key,
        "state": task.state.value,
        "node": task.node,
        "allocationID": task.allocation_id,
        "taskGroup": task.facts.task_group,
        "placeholder": task.placeholder,
        "predicateClass": task.predicate_class,
        "failedBindings": task.tries,
        "says": task.told[1],
    }
