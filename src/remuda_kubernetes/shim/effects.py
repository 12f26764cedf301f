"""What the shim wants to be done, as values: requests to the scheduler, calls to the API server.

A call to the API server has a number; its result comes back under that number, as an ``Outcome``
of remuda_kubernetes.objects.outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from remuda.si.wire import Request
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.storage import PersistentVolume, PersistentVolumeClaim
from remuda_kubernetes.translation.events import Event


@dataclass(frozen=True, slots=True)
class Register:
    """Register with the scheduler, which forgets all that it knew of this shim.

    ``queues``: the queue configuration in YAML, "" for the scheduler's own. ``extra``: other keys.
    """

    queues: str
    extra: dict[str, str]


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """Give the scheduler another configuration; ``about`` is the ConfigMap that says so."""

    queues: str
    extra: dict[str, str]
    about: KubernetesObject | None


@dataclass(frozen=True, slots=True)
class ToScheduler:
    """Send a request."""

    request: Request


@dataclass(frozen=True, slots=True)
class BindPod:
    """Give a pod its node."""

    number: int
    pod: Pod
    node: str


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create a pod from a manifest."""

    number: int
    namespace: str
    manifest: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete a pod. ``grace_seconds`` None: as the pod says."""

    number: int
    pod: Pod
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class EvictPod:
    """Evict a pod, if budgets allow it."""

    number: int
    pod: Pod


@dataclass(frozen=True, slots=True)
class SetCondition:
    """Say in a pod's condition PodScheduled why it waits."""

    number: int
    pod: Pod
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class FailPod:
    """Mark a pod that was never started as failed."""

    number: int
    pod: Pod
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class AnnotatePod:
    """Add annotations to a pod."""

    number: int
    pod: Pod
    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class BindVolume:
    """Reserve an existing volume for a claim."""

    number: int
    volume: PersistentVolume
    claim: PersistentVolumeClaim


@dataclass(frozen=True, slots=True)
class SelectNode:
    """Tell the provisioner of a claim on which node its volume is needed."""

    number: int
    claim: PersistentVolumeClaim
    node: str


@dataclass(frozen=True, slots=True)
class ReadObject:
    """Read the object at a path of the API server; the outcome has it as it was sent."""

    number: int
    path: str


@dataclass(frozen=True, slots=True)
class PostEvent:
    """Publish an event for people."""

    event: Event


Call: TypeAlias = (
    AnnotatePod
    | BindPod
    | CreatePod
    | DeletePod
    | EvictPod
    | SetCondition
    | FailPod
    | BindVolume
    | SelectNode
    | ReadObject
)
Effect: TypeAlias = Register | Reconfigure | ToScheduler | PostEvent | Call
