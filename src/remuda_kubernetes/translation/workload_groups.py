"""The gang of a workload: how many pods its object wants at least, and what each of them needs.

The groups come in the form of the annotation ``yunikorn.apache.org/task-groups``, so that they pass
the same checks as those that people write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

import msgspec

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.quantities import CPU
from remuda_kubernetes.objects.requests import pod_requests
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.translation.findings import shown
from remuda_kubernetes.translation.task_groups import TaskGroup, task_groups
from remuda_kubernetes.translation.workloads import Shape, Workload

Json = dict[str, Any]

# On a Job: so many of its pods are enough to begin.
_MINIMUM: Final = "kueue.x-k8s.io/job-min-parallelism"
_RULES_ABOUT_NODES: Final = (
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
)
_FEWEST: Final = 2
_RAY_HEAD: Final = "headgroup"
_DRIVER, _EXECUTOR = "driver", "executor"
# Spark's own amounts, in MiB.
_JVM_TYPES: Final = frozenset({"", "Java", "Scala"})
_LEAST_OVERHEAD: Final = 384
_MIB: Final = 2**20
_FACTOR: Final = re.compile(r"[0-9]{0,3}(\.[0-9]{0,9})?")
_SPARK_MEMORY: Final = re.compile(r"([0-9]{1,12})([kmgtp]?)(i?b)?")
_SPARK_UNITS: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50, "": _MIB}


class _Part(msgspec.Struct, frozen=True):
    """One group: a template of its pods, or their amounts where there is no template."""

    name: str
    members: int
    template: Json


def groups_of(workload: Workload, content: Any, pod: Pod) -> tuple[tuple[TaskGroup, ...], str]:
    """Return the gang of a workload, and the same as a text of the annotation; "" if it is none.

    ``content``: the object as the server has it. ``pod``: one of its pods, whose amounts count
    before those of the template, since the server may have added to them. One member alone is no
    gang. Elastic workloads begin with their minimum. Raises: ObjectError. Implements: EXT-139.
    """
    try:
        parts = [each for each in _SHAPES[workload.rule.shape](workload, content) if each.members]
        if sum(each.members for each in parts) < _FEWEST:
            return (), ""
        found = [_group(each, pod if each.name == workload.group else None) for each in parts]
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        raise ObjectError(f"{workload.shown} cannot be read: {error!r:.200}") from None
    text = msgspec.json.encode(found).decode()
    groups, _ = task_groups(text)
    return groups, text


def _group(part: _Part, pod: Pod | None) -> Json:
    spec = part.template.get("spec") or {}
    group: Json = {
        "name": part.name,
        "minMember": part.members,
        "minResource": _quantities(pod or convert(Pod, {"spec": spec})),
    }
    group.update({field: spec[field] for field in _RULES_ABOUT_NODES if spec.get(field)})
    return group


def _quantities(pod: Pod) -> dict[str, str]:
    return {
        name: f"{value}m" if name == CPU else str(value)
        for name, value in pod_requests(pod).items()
    }


def _jobs(workload: Workload, content: Json) -> Iterator[_Part]:
    spec = content["spec"]
    members = _parallel(spec, (content.get("status") or {}).get("succeeded") or 0)
    minimum = ((content.get("metadata") or {}).get("annotations") or {}).get(_MINIMUM, "")
    if minimum.isascii() and minimum.isdecimal():
        members = min(members, int(minimum[:10]))
    yield _Part(workload.rule.fixed_group, members, spec["template"])


def _parallel(spec: Json, done: int = 0) -> int:
    """Return how many pods of a Job run at once, if there is room."""
    parallelism = _count(spec.get("parallelism"), 1)
    completions = spec.get("completions")
    return parallelism if completions is None else max(0, min(parallelism, completions - done))


def _job_sets(_workload: Workload, content: Json) -> Iterator[_Part]:
    for each in content["spec"].get("replicatedJobs") or ():
        # One that begins after another has ended needs no room beside it.
        later = any(one.get("status") == "Complete" for one in each.get("dependsOn") or ())
        job = each["template"]["spec"]
        replicas = 0 if later else _count(each.get("replicas"), 1)
        yield _Part(each["name"], replicas * _parallel(job), job["template"])


def _replicas(workload: Workload, content: Json) -> Iterator[_Part]:
    spec = content["spec"]
    elastic = (spec.get("elasticPolicy") or {}).get("minReplicas")
    for role, each in (spec.get(workload.rule.roles) or {}).items():
        name = role.lower()
        members = _count(each.get("replicas"), 1)
        if name == "worker" and elastic is not None:
            members = min(members, _count(elastic, members))
        yield _Part(name, members, each["template"])


def _ray(_workload: Workload, content: Json) -> Iterator[_Part]:
    spec = content["spec"]
    yield _Part(_RAY_HEAD, 1, spec["headGroupSpec"]["template"])
    elastic = spec.get("enableInTreeAutoscaling") is True
    for each in spec.get("workerGroupSpecs") or ():
        least = _count(each.get("minReplicas"), 0)
        wanted = least if elastic else max(least, _count(each.get("replicas"), least))
        if each.get("suspend") is True:
            wanted = 0
        hosts = _count(each.get("numOfHosts"), 1)
        yield _Part(each["groupName"], wanted * hosts, each["template"])


def _spark(_workload: Workload, content: Json) -> Iterator[_Part]:
    spec = content["spec"]
    executor = spec.get("executor") or {}
    elastic = spec.get("dynamicAllocation") or {}
    if elastic.get("enabled") is True:
        members = _count(elastic.get("minExecutors"), 0)
    else:
        members = _count(executor.get("instances"), 1)
    yield _Part(_DRIVER, 1, _spark_pod(spec, spec.get("driver") or {}))
    yield _Part(_EXECUTOR, members, _spark_pod(spec, executor))


def _spark_pod(spec: Json, role: Json) -> Json:
    """Return what a pod of Spark becomes, as far as it decides about nodes."""
    amounts: Json = {
        CPU: str(role.get("coreRequest") or role.get("cores") or 1),
        "memory": str(_spark_memory(spec, role)),
    }
    gpu = role.get("gpu")
    if gpu:
        amounts[gpu["name"]] = gpu["quantity"]
    found: Json = {"containers": [{"name": "spark", "resources": {"requests": amounts}}]}
    found["nodeSelector"] = role.get("nodeSelector") or spec.get("nodeSelector")
    found["tolerations"] = role.get("tolerations")
    found["affinity"] = role.get("affinity")
    return {"spec": found}


def _spark_memory(spec: Json, role: Json) -> int:
    """Return the bytes of a pod: the heap, and what Spark adds for all the rest."""
    heap = _spark_bytes(role.get("memory") or "1g")
    given = role.get("memoryOverhead")
    if given:
        return heap + _spark_bytes(given)
    factor = spec.get("memoryOverheadFactor") or (
        "0.1" if spec.get("type", "") in _JVM_TYPES else "0.4"
    )
    if not _FACTOR.fullmatch(factor):
        raise ValueError(f"{shown(factor)} is no factor")
    return heap + max(_LEAST_OVERHEAD, int(Fraction(factor) * heap // _MIB)) * _MIB


def _spark_bytes(text: str) -> int:
    """Return an amount of memory as Java programs write it. Raises: ValueError."""
    found = _SPARK_MEMORY.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"{shown(text)} is no amount of memory")
    return int(found[1]) * _SPARK_UNITS[found[2]]


def _count(value: object, default: int) -> int:
    """Return a number of pods. Raises: ValueError."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{shown(value)} is no number of pods")
    return value


_SHAPES: Final[Mapping[Shape, Callable[[Workload, Json], Iterator[_Part]]]] = {
    Shape.JOB: _jobs,
    Shape.JOB_SET: _job_sets,
    Shape.REPLICAS: _replicas,
    Shape.RAY: _ray,
    Shape.SPARK: _spark,
}
