"""Filter DynamicResources: devices that a pod claims.

Source: the documentation of Kubernetes, "Dynamic Resource Allocation". A claim that has been
allocated is judged by its allocation. To allocate one means to choose devices by expressions in
CEL, which remuda does not evaluate; the reason says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.objects.devices import ResourceClaim
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.predicates.nodes import NodeState
from remuda_kubernetes.predicates.refusals import Refusal, no_devices
from remuda_kubernetes.predicates.selection import NodeChoice, node_choice

# Kubernetes lets so many pods (or other users) share a claim.
USERS_LIMIT: Final = 256


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A claim that a pod uses; ``key`` "" means that it was not made from its template yet."""

    name: str
    key: str


@dataclass(slots=True, eq=False)
class DeviceClaim:
    """A claim with the nodes that its allocation can be used from."""

    claim: ResourceClaim
    nodes: NodeChoice | None


def device_uses(pod: Pod) -> tuple[DeviceUse, ...]:
    """Return the resource claims of a pod."""
    wanted = pod.spec.resource_claims
    if not wanted:
        return ()
    made = {
        each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses or ()
    }
    found = []
    for each in wanted:
        if each.resource_claim_name is None and each.name in made and made[each.name] is None:
            continue  # The template asks for nothing on purpose.
        name = each.resource_claim_name or made.get(each.name)
        found.append(DeviceUse(each.name, f"{pod.namespace}/{name}" if name else ""))
    return tuple(found)


def device_claim(claim: ResourceClaim) -> DeviceClaim:
    """Return a claim with what is worked out of it once."""
    allocation = claim.status.allocation
    return DeviceClaim(claim, node_choice(allocation.node_selector) if allocation else None)


def unusable(
    uses: tuple[DeviceUse, ...], uid: str, node: NodeState, claims: Mapping[str, DeviceClaim]
) -> Refusal | None:
    """Return why a pod cannot have its devices on a node; None if it can."""
    for use in uses:
        if not use.key:
            return no_devices(
                f'waiting for the resource claim "{use.name}" to be made from its template'
            )
        entry = claims.get(use.key)
        if entry is None:
            return no_devices(f'resourceclaim "{use.key}" not found')
        refusal = _refusal(use, entry, uid, node)
        if refusal is not None:
            return refusal
    return None


def _refusal(use: DeviceUse, entry: DeviceClaim, uid: str, node: NodeState) -> Refusal | None:
    claim = entry.claim
    if claim.metadata.deletion_timestamp is not None:
        return no_devices(f'resourceclaim "{use.key}" is being deleted')
    if claim.status.allocation is None:
        return no_devices(
            f'resourceclaim "{use.key}" is not allocated: remuda does not choose devices, let'
            " another scheduler or a device plugin do it"
        )
    users = claim.status.reserved_for or ()
    if len(users) >= USERS_LIMIT and all(each.uid != uid for each in users):
        return no_devices(
            f'resourceclaim "{use.key}" has {USERS_LIMIT} users already', lasting=False
        )
    if entry.nodes is not None and not entry.nodes.matches(node.labels, node.name):
        return no_devices("resourceclaim not available on the node", lasting=False)
    return None
