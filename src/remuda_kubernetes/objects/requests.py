"""What a pod asks a node for, as one amount a resource.

Sources: the documentation of Kubernetes, "Resource Management for Pods and Containers" (with
pod-level resources), "Sidecar Containers" (resource sharing within containers), "Pod Overhead" and
"Resize CPU and Memory Resources assigned to Containers". ``translation`` and ``predicates`` both
need these amounts, so they stand here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from remuda_kubernetes.objects.pods import Container, ContainerStatus, Pod, ResourceRequirements
from remuda_kubernetes.objects.quantities import LARGEST, amounts
from remuda_kubernetes.objects.values import ObjectError

Totals = dict[str, int]

_PODS: Final = "pods"
_POD_LEVEL: Final = frozenset({"cpu", "memory"})
_HUGE_PAGES: Final = "hugepages-"
_RESIZE_PENDING: Final = "PodResizePending"
_INFEASIBLE: Final = "Infeasible"


def pod_requests(pod: Pod) -> Totals:
    """Return the amounts a pod occupies on its node: cpu in thousandths, others in whole units.

    Resources that nothing names are absent. The one unit of ``pods`` that each pod takes is not in
    it. Cost: one step a container and resource. Raises: ObjectError naming the container.
    """
    spec = pod.spec
    containers = spec.containers or ()
    if spec.init_containers or spec.overhead or spec.resources or pod.status.container_statuses:
        return _composed(pod, containers)
    if len(containers) == 1:
        return _without_pods(_container(containers[0]))
    totals: Totals = {}
    for each in containers:
        _add(totals, _container(each))
    return _without_pods(totals)


def _composed(pod: Pod, containers: Iterable[Container]) -> Totals:
    """Return the amounts of a pod that has more than containers without a status."""
    given = _given(pod)
    infeasible = _resize_infeasible(pod)
    totals: Totals = {}
    for each in containers:
        _add(totals, _resized(_container(each), given.get(each.name), infeasible=infeasible))
    sidecars: Totals = {}
    starting: Totals = {}
    for each in pod.spec.init_containers or ():
        wanted = _resized(_container(each), given.get(each.name), infeasible=infeasible)
        if each.restart_policy == "Always":
            # A sidecar runs from its start on, beside all later containers of both lists.
            _add(totals, wanted)
            _add(sidecars, wanted)
            _raise_to(starting, sidecars)
        else:
            beside = dict(sidecars)
            _add(beside, wanted)
            _raise_to(starting, beside)
    _raise_to(totals, starting)
    _apply_pod_level(totals, pod.spec.resources)
    try:
        _add(totals, amounts(pod.spec.overhead))
    except ObjectError as error:
        raise ObjectError(f"overhead: {error}") from None
    return _without_pods(totals)


def _container(container: Container) -> Totals:
    """Return what a container requests; a limit without a request is its request, too."""
    wanted = container.resources
    if wanted is None:
        return {}
    try:
        found = amounts(wanted.requests)
        if wanted.limits:
            for name, value in amounts(wanted.limits).items():
                found.setdefault(name, value)
    except ObjectError as error:
        raise ObjectError(f"container {container.name}: {error}") from None
    return found


def _given(pod: Pod) -> Mapping[str, ContainerStatus]:
    status = pod.status
    every = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    return {each.name: each for each in every}


def _resize_infeasible(pod: Pod) -> bool:
    """Whether the kubelet refused for good the amounts that the spec asks for now."""
    if pod.status.resize == _INFEASIBLE:
        return True
    return any(
        each.type == _RESIZE_PENDING and each.reason == _INFEASIBLE
        for each in pod.status.conditions or ()
    )


def _resized(wanted: Totals, status: ContainerStatus | None, *, infeasible: bool) -> Totals:
    """Return what a container counts for: while a resize lasts, the larger of all its amounts."""
    if status is None:
        return wanted
    actual = amounts(status.resources.requests) if status.resources else {}
    allocated = amounts(status.allocated_resources)
    if not actual and not allocated:
        return wanted
    largest = {} if infeasible else dict(wanted)
    _raise_to(largest, actual)
    _raise_to(largest, allocated)
    return largest


def _apply_pod_level(totals: Totals, level: ResourceRequirements | None) -> None:
    """Put pod-level requests in the place of the sums of the containers.

    A pod-level limit without a request counts for resources that no container requests.
    """
    if level is None:
        return
    try:
        requests, limits = amounts(level.requests), amounts(level.limits)
    except ObjectError as error:
        raise ObjectError(f"resources of the pod: {error}") from None
    for name, value in limits.items():
        if _pod_level(name) and name not in requests and name not in totals:
            totals[name] = value
    for name, value in requests.items():
        if _pod_level(name):
            totals[name] = value


def _pod_level(name: str) -> bool:
    return name in _POD_LEVEL or name.startswith(_HUGE_PAGES)


def _without_pods(totals: Totals) -> Totals:
    totals.pop(_PODS, None)
    return totals


def _add(totals: Totals, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        totals[name] = min(LARGEST, totals.get(name, 0) + value)


def _raise_to(totals: Totals, other: Mapping[str, int]) -> None:
    for name, value in other.items():
        if value > totals.get(name, -1):
            totals[name] = value
