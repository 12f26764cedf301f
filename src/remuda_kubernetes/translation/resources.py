"""Amounts in the words of the scheduler interface.

cpu is called vcore and counted in thousandths, memory in bytes; all other resources keep their
names and are counted in whole units. Each pod takes one of ``pods``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.quantities import CPU, amounts
from remuda_kubernetes.objects.requests import pod_requests
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.translation.findings import shown
from remuda_kubernetes.translation.names import PODS, VCORE

Amounts = dict[str, int]

# The scheduler refuses a whole request for one resource with more than 1,024 types, or with a name
# of more than 1,024 characters. A qualified name of Kubernetes has at most 317.
TYPES_LIMIT: Final = 256
NAME_LIMIT: Final = 317


def check_types(found: Mapping[str, object]) -> None:
    """Refuse amounts that the scheduler cannot take. Raises: ObjectError."""
    if len(found) > TYPES_LIMIT:
        raise ObjectError(f"{len(found)} resources are too many; write at most {TYPES_LIMIT}")
    for name in found:
        if not name or len(name) > NAME_LIMIT or not name.isprintable():
            raise ObjectError(
                f"{shown(name)} is no name of a resource; write one such as cpu or nvidia.com/gpu"
            )


def scheduler_amounts(requests: Mapping[str, int], pods: int = 0) -> Amounts:
    """Return amounts under the scheduler's names, with so many pods; 0 pods are left out."""
    found = {VCORE if name == CPU else name: value for name, value in requests.items()}
    if pods:
        found[PODS] = pods
    return found


def pod_amounts(pod: Pod) -> Amounts:
    """Return what a pod takes of its node, itself included. Raises: ObjectError."""
    found = pod_requests(pod)
    check_types(found)
    return scheduler_amounts(found, 1)


def same_amounts(one: Pod, other: Pod) -> bool:
    """Whether two states of a pod take the same of their node.

    One that cannot be read is no change: what is known of the pod stays.
    """
    mine, theirs = one.spec, other.spec
    if (
        mine.containers == theirs.containers
        and mine.init_containers == theirs.init_containers
        and mine.resources == theirs.resources
        and mine.overhead == theirs.overhead
        and not (one.status.container_statuses or other.status.container_statuses)
    ):
        return True
    try:
        return pod_amounts(one) == pod_amounts(other)
    except ObjectError:
        return True


def pod_resource(pod: Pod) -> si.Resource:
    """Return what a pod takes as a message, shared by all pods that ask for the same.

    The message must not be changed. Raises: ObjectError.
    """
    return shared_resource(tuple(pod_requests(pod).items()))


@lru_cache(maxsize=4096)
def shared_resource(requests: tuple[tuple[str, int], ...]) -> si.Resource:
    """Return the message of one pod's requests, the pod included.

    Pods of one application mostly ask for the same, and filling a message costs more than finding
    it. The message must not be changed. Raises: ObjectError.
    """
    found = dict(requests)
    check_types(found)
    return resource(scheduler_amounts(found, 1))


def node_amounts(node: Node) -> Amounts:
    """Return what pods can have of a node. Raises: ObjectError if it does not say."""
    if not node.status.allocatable:
        raise ObjectError(
            f"node {node.name} has no status.allocatable, so no pod can be placed there; "
            "see whether its kubelet runs and reports its status"
        )
    try:
        check_types(node.status.allocatable)
        found = scheduler_amounts(amounts(node.status.allocatable))
    except ObjectError as error:
        raise ObjectError(f"node {node.name}: status.allocatable: {error}") from None
    for name, value in found.items():
        if value < 0:
            raise ObjectError(
                f"node {node.name}: status.allocatable: {name} is negative; "
                "see what its kubelet or device plugin reports"
            )
    return found
