"""Claims of devices, as far as they decide about nodes."""

from __future__ import annotations

from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.pods import NodeSelector
from remuda_kubernetes.objects.values import Value


class ClaimUser(Value, frozen=True):
    """Something that may use a claim."""

    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceAllocation(Value, frozen=True):
    """Which devices a claim got; the nodes that can use them, None: all."""

    node_selector: NodeSelector | None = None


class ResourceClaimStatus(Value, frozen=True):
    """What a claim got, and who uses it."""

    allocation: DeviceAllocation | None = None
    reserved_for: tuple[ClaimUser, ...] | None = None


class ResourceClaim(KubernetesObject, frozen=True):
    """A claim of devices."""

    status: ResourceClaimStatus = ResourceClaimStatus()
