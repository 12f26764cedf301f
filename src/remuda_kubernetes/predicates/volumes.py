"""The filters about volumes: restrictions, limits, binding, zones.

Sources: the documentation of Kubernetes, "Persistent Volumes" (binding, access modes), "Storage
Classes" (volume binding mode, allowed topologies), "Storage Capacity", "Node-specific Volume
Limits"; and the texts of kube-scheduler. In-tree volumes have no limits here: Kubernetes migrated
them to CSI drivers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from remuda_kubernetes.objects.pods import Pod, Volume
from remuda_kubernetes.objects.storage import PersistentVolumeClaim
from remuda_kubernetes.predicates.nodes import DiskUse, NodeState
from remuda_kubernetes.predicates.refusals import (
    DISK_CONFLICT,
    NO_STORAGE_ROOM,
    NO_VOLUME,
    NO_VOLUME_ZONE,
    ONE_POD_CLAIM,
    TOO_MANY_VOLUMES,
    UNBOUND_IMMEDIATE,
    VOLUME_ELSEWHERE,
    VOLUME_GONE,
    Refusal,
    unbindable,
)
from remuda_kubernetes.predicates.selection import compile_selector
from remuda_kubernetes.predicates.storage import (
    BOUND,
    ClassEntry,
    Storage,
    VolumeEntry,
    claim_class,
    size_of,
)

_ONE_POD: Final = "ReadWriteOncePod"
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
# The labels of zones and regions, the old with the new.
_ZONES: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
_ZONE_SEPARATOR: Final = "__"


@dataclass(frozen=True, slots=True)
class ClaimUse:
    """A claim that a pod uses. ``owner``: the uid of the pod for which it is made, "" if none."""

    key: str
    name: str
    owner: str = ""


@dataclass(slots=True)
class ResolvedClaims:
    """The claims of a pod, as the objects are at ``version``.

    ``refusal``: set if no node will do. ``bound``: the volumes of bound claims, None where the
    volume does not exist. ``waiting``: claims to bind when the pod is placed, with their storage
    class, the smallest first. ``one_pod``: claims that only one pod may use.
    """

    version: int
    refusal: Refusal | None = None
    bound: list[VolumeEntry | None] = field(default_factory=list)
    waiting: list[tuple[str, PersistentVolumeClaim, ClassEntry]] = field(default_factory=list)
    one_pod: list[str] = field(default_factory=list)
    zones: list[tuple[str, frozenset[str]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class VolumeDecision:
    """What has to happen to a pod's claims before it can be bound to a node.

    ``bindings``: pairs of volume and claim ("namespace/name") to bind. ``provisions``: claims whose
    volume has to be made for the node (annotation ``volume.kubernetes.io/selected-node``).
    """

    node_name: str
    bindings: tuple[tuple[str, str], ...] = ()
    provisions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VolumeProgress:
    """Whether all claims of a decision are bound; ``problem``: why they never will be, "" if none.

    After a problem the decision has to be taken back and the pod judged again.
    """

    done: bool
    problem: str = ""


def claim_uses(pod: Pod) -> tuple[ClaimUse, ...]:
    """Return the claims that a pod uses, those made for its ephemeral volumes included."""
    found = []
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
            found.append(ClaimUse(f"{pod.namespace}/{name}", name))
        elif volume.ephemeral is not None:
            name = f"{pod.name}-{volume.name}"
            found.append(ClaimUse(f"{pod.namespace}/{name}", name, pod.uid))
    return tuple(found)


def disk_uses(pod: Pod) -> tuple[DiskUse, ...]:
    """Return the disks that a pod names itself, each with whether it only reads it."""
    found: list[DiskUse] = []
    for volume in pod.spec.volumes or ():
        found += _disks(volume)
    return tuple(found)


def _disks(volume: Volume) -> list[DiskUse]:
    if volume.gce_persistent_disk is not None:
        disk = volume.gce_persistent_disk
        return [(("gce", disk.pd_name), disk.read_only)]
    if volume.aws_elastic_block_store is not None:
        # Two pods may not even share one of these for reading.
        return [(("aws", volume.aws_elastic_block_store.volume_id), False)]
    if volume.iscsi is not None:
        return [(("iscsi", volume.iscsi.iqn), volume.iscsi.read_only)]
    if volume.rbd is not None:
        image = volume.rbd
        return [
            (("rbd", monitor, image.pool or "rbd", image.image), image.read_only)
            for monitor in image.monitors or ()
        ]
    return []


# ------------------------------------------------------------------------- resolving claims


def resolve(uses: tuple[ClaimUse, ...], storage: Storage) -> ResolvedClaims:
    """Return the claims of a pod with what is known of them."""
    found = ResolvedClaims(storage.version)
    unbound = False
    for use in uses:
        claim = storage.claims.get(use.key)
        problem = _problem(use, claim)
        if problem or claim is None:
            found.refusal = found.refusal or unbindable(problem)
            continue
        if _ONE_POD in (claim.spec.access_modes or ()):
            found.one_pod.append(use.key)
        if claim.spec.volume_name and BOUND in claim.annotations:
            entry = storage.volumes.get(claim.spec.volume_name)
            found.bound.append(entry)
            found.zones += _zones(entry)
            continue
        name = claim_class(claim)
        storage_class = storage.classes.get(name)
        if storage_class is not None and storage_class.waits and not claim.spec.volume_name:
            found.waiting.append((use.key, claim, storage_class))
        elif name and storage_class is None and not claim.spec.volume_name:
            found.refusal = found.refusal or unbindable(
                f'storageclass.storage.k8s.io "{name}" not found'
            )
        else:
            unbound = True
    if unbound:
        found.refusal = found.refusal or UNBOUND_IMMEDIATE
    found.waiting.sort(key=lambda each: _wanted_size(each[1]))
    return found


def _problem(use: ClaimUse, claim: PersistentVolumeClaim | None) -> str:
    """Return what keeps a claim from being used at all; "" if nothing does."""
    if claim is None:
        if use.owner:
            return (
                "waiting for ephemeral volume controller to create the persistentvolumeclaim"
                f' "{use.name}"'
            )
        return f'persistentvolumeclaim "{use.name}" not found'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{use.name}" is being deleted'
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name
        return (
            f'persistentvolumeclaim "{use.name}" bound to non-existent persistentvolume "{volume}"'
        )
    if use.owner and not any(
        each.uid == use.owner for each in claim.metadata.owner_references or ()
    ):
        return f"PVC {use.key} was not created for the pod (pod is not owner)"
    return ""


def _wanted_size(claim: PersistentVolumeClaim) -> int:
    resources = claim.spec.resources
    return size_of(resources.requests) if resources is not None else 0


def _zones(entry: VolumeEntry | None) -> list[tuple[str, frozenset[str]]]:
    """Return the zones and regions that a volume's labels name, by the label's key."""
    if entry is None:
        return []
    return [
        (key, frozenset(value.split(_ZONE_SEPARATOR)))
        for key, value in entry.volume.labels.items()
        if key in _ZONES
    ]


# ------------------------------------------------------------------------------ the filters


def restricted(
    disks: tuple[DiskUse, ...],
    claims: ResolvedClaims | None,
    node: NodeState,
    users: Mapping[str, int],
) -> Refusal | None:
    """Filter VolumeRestrictions. ``users``: claim -> how many pods of the cluster use it."""
    for disk, read_only in disks:
        used = node.disks.get(disk)
        if used is not None and (used[1] or not read_only):
            return DISK_CONFLICT
    if claims is not None:
        for key in claims.one_pod:
            if users.get(key):
                return ONE_POD_CLAIM
    return None


def over_limit(uses: tuple[ClaimUse, ...], node: NodeState, storage: Storage) -> Refusal | None:
    """Filter NodeVolumeLimits: whether a driver on the node has too many volumes with these.

    Cost: one step for each claim in use on the node.
    """
    limits = storage.limits.get(node.name)
    if not limits:
        return None
    new = {found for use in uses if (found := _csi_volume(use.key, storage)) is not None}
    if not any(driver in limits for driver, _ in new):
        return None
    there = {found for key in node.claims if (found := _csi_volume(key, storage)) is not None}
    for name in storage.attached.get(node.name, {}).values():
        entry = storage.volumes.get(name)
        csi = entry.volume.spec.csi if entry is not None else None
        if csi is not None:
            there.add((csi.driver, csi.volume_handle))
    more = new - there
    for driver, limit in limits.items():
        added = sum(each[0] == driver for each in more)
        if added and sum(each[0] == driver for each in there) + added > limit:
            return TOO_MANY_VOLUMES
    return None


def _csi_volume(key: str, storage: Storage) -> tuple[str, str] | None:
    """Return driver and identity of a claim's volume; None if no CSI driver has to do with it."""
    claim = storage.claims.get(key)
    if claim is None:
        return None
    entry = storage.volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
    if entry is not None:
        csi = entry.volume.spec.csi
        return (csi.driver, csi.volume_handle) if csi is not None else None
    storage_class = storage.classes.get(claim_class(claim))
    if storage_class is None:
        return None
    # A volume that is not made yet has no handle; the claim stands for it.
    return (storage_class.storage_class.provisioner, f"claim {key}")


def bind(claims: ResolvedClaims, node: NodeState, storage: Storage) -> Refusal | VolumeDecision:
    """Filter VolumeBinding: how a pod's claims can be had on a node, or why they cannot."""
    if claims.refusal is not None:
        return claims.refusal
    reasons = []
    if any(entry is not None and not _reaches(entry, node) for entry in claims.bound):
        reasons.append(VOLUME_ELSEWHERE)
    made = _bind_waiting(claims, node, storage)
    if isinstance(made, str):
        reasons.append(made)
    if any(entry is None for entry in claims.bound):
        reasons.append(VOLUME_GONE)
    if reasons:
        return unbindable(*reasons)
    assert isinstance(made, VolumeDecision)
    return made


def _reaches(entry: VolumeEntry, node: NodeState) -> bool:
    return entry.choice is None or entry.choice.matches(node.labels, node.name)


def _bind_waiting(
    claims: ResolvedClaims, node: NodeState, storage: Storage
) -> VolumeDecision | str:
    """Return how the claims that wait for a node are bound, or the reason why they cannot be."""
    bindings: list[tuple[str, str]] = []
    provisions: list[tuple[str, PersistentVolumeClaim, ClassEntry]] = []
    chosen: set[str] = set()
    for key, claim, storage_class in claims.waiting:
        selected = storage.selected_node(key, claim)
        if selected:
            if selected != node.name:
                return NO_VOLUME
            provisions.append((key, claim, storage_class))
            continue
        entry = _find_volume(key, claim, node, storage, chosen)
        if entry is None:
            provisions.append((key, claim, storage_class))
        else:
            chosen.add(entry.name)
            bindings.append((entry.name, key))
    for _, claim, storage_class in provisions:
        provisioner = storage_class.storage_class.provisioner
        topologies = storage_class.topologies
        if provisioner in {"", _NO_PROVISIONER}:
            return NO_VOLUME
        if topologies is not None and not topologies.matches(node.labels, node.name):
            return NO_VOLUME
        if not _has_room(claim, storage_class, node, storage):
            return NO_STORAGE_ROOM
    return VolumeDecision(node.name, tuple(bindings), tuple(key for key, _, _ in provisions))


def _find_volume(
    key: str,
    claim: PersistentVolumeClaim,
    node: NodeState,
    storage: Storage,
    chosen: set[str],
) -> VolumeEntry | None:
    """Return the smallest volume that a claim can have on a node, or the one it has already."""
    size = _wanted_size(claim)
    selector = None
    if claim.spec.selector is not None:
        selector = compile_selector(claim.spec.selector)
    best: VolumeEntry | None = None
    for entry in storage.candidates(claim_class(claim), node.labels):
        if entry.name in chosen or not _suits(entry, claim, size) or not _reaches(entry, node):
            continue
        owner = storage.claim_of(entry)
        if owner:
            reference = entry.volume.spec.claim_ref
            uid = reference.uid if reference is not None else ""
            if owner == key and uid in {"", claim.uid}:
                return entry
            continue
        if entry.volume.status.phase != "Available":
            continue
        if selector is not None and not selector.matches(entry.volume.labels):
            continue
        if best is None or (entry.size, entry.name) < (best.size, best.name):
            best = entry
    return best


def _suits(entry: VolumeEntry, claim: PersistentVolumeClaim, size: int) -> bool:
    """Whether a volume is large enough and has the mode and all ways of access."""
    spec = entry.volume.spec
    if entry.size < size or entry.volume.metadata.deletion_timestamp is not None:
        return False
    if (spec.volume_mode or "Filesystem") != (claim.spec.volume_mode or "Filesystem"):
        return False
    modes = spec.access_modes or ()
    return all(mode in modes for mode in claim.spec.access_modes or ())


def _has_room(
    claim: PersistentVolumeClaim, storage_class: ClassEntry, node: NodeState, storage: Storage
) -> bool:
    """Whether a driver that tells its room has enough for a claim where a node is."""
    driver = storage.drivers.get(storage_class.storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return True
    name = storage_class.storage_class.name
    return storage.has_room(name, _wanted_size(claim), node.labels)


def out_of_zone(claims: ResolvedClaims, node: NodeState) -> Refusal | None:
    """Filter VolumeZone: whether a volume's labels name other zones than that of the node."""
    if not claims.zones or not any(key in node.labels for key in _ZONES):
        return None
    for key, values in claims.zones:
        found = node.labels.get(key, node.labels.get(_ZONES[key]))
        if found is None or found not in values:
            return NO_VOLUME_ZONE
    return None


# --------------------------------------------------------------------------- after a decision


def progress(decision: VolumeDecision, node: NodeState | None, storage: Storage) -> VolumeProgress:
    """Return how far the server is with what was decided."""
    done = True
    owners = {key: volume for volume, key in decision.bindings}
    for key in (*owners, *decision.provisions):
        problem, bound = _claim_progress(key, owners.get(key, ""), decision.node_name, storage)
        if bound and node is not None and not problem:
            entry = storage.volumes.get(storage.claims[key].spec.volume_name)
            if entry is not None and not _reaches(entry, node):
                problem = f'claim "{key}": {VOLUME_ELSEWHERE}'
        if problem:
            return VolumeProgress(done=False, problem=problem)
        done = done and bound
    return VolumeProgress(done=done)


def _claim_progress(key: str, volume: str, node: str, storage: Storage) -> tuple[str, bool]:
    """Return what is wrong with a claim, and whether it is bound.

    ``volume``: the one that it was to be bound to; "" if one has to be made.
    """
    claim = storage.claims.get(key)
    if claim is None or claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{key}" is gone or being deleted', False
    if claim.spec.volume_name and BOUND in claim.annotations:
        if volume and claim.spec.volume_name != volume:
            return f'persistentvolumeclaim "{key}" was bound to another volume', True
        return "", True
    if volume:
        entry = storage.volumes.get(volume)
        if entry is None or storage.claim_of(entry) != key:
            return f'persistentvolume "{volume}" is gone or has another claim', False
        return "", False
    selected = storage.selected_node(key, claim)
    if selected != node:
        # The provisioner removes the node that was chosen if it cannot make a volume there.
        return f'persistentvolumeclaim "{key}": no volume could be made for node {node}', False
    return "", False
