"""Volumes, claims, classes and drivers of the cluster, with indexes for the filters.

A decision for a pod (a volume promised to a claim, a node chosen for a claim) counts before the
server's objects show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from remuda_kubernetes.objects.pods import Amounts
from remuda_kubernetes.objects.quantities import whole
from remuda_kubernetes.objects.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from remuda_kubernetes.predicates.selection import (
    Labels,
    NodeChoice,
    NodeTerm,
    Pair,
    Selector,
    compile_selector,
    node_choice,
)
from remuda_kubernetes.predicates.topology import PairIndex

T = TypeVar("T")

_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BOUND: Final = "pv.kubernetes.io/bind-completed"
_WAIT: Final = "WaitForFirstConsumer"
_STORAGE: Final = "storage"


@dataclass(slots=True, eq=False)
class VolumeEntry:
    """A volume with what is worked out of it once; ``size`` in bytes."""

    volume: PersistentVolume
    choice: NodeChoice | None
    size: int
    claim: str

    @property
    def name(self) -> str:
        """Its name."""
        return self.volume.name


@dataclass(slots=True, eq=False)
class ClassEntry:
    """A storage class; ``topologies``: where volumes can be made, None: everywhere."""

    storage_class: StorageClass
    topologies: NodeChoice | None

    @property
    def waits(self) -> bool:
        """Whether claims are bound only when a pod is placed."""
        return self.storage_class.volume_binding_mode == _WAIT


@dataclass(slots=True, eq=False)
class CapacityEntry:
    """The largest volume, in bytes, that a storage class can make on the nodes that match."""

    storage_class: str
    nodes: Selector
    largest: int


class Storage:
    """All objects about volumes. ``version`` changes with each of them."""

    def __init__(self) -> None:
        self.version = 0
        self.volumes: dict[str, VolumeEntry] = {}
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.classes: dict[str, ClassEntry] = {}
        self.limits: dict[str, Mapping[str, int]] = {}
        self.drivers: dict[str, CsiDriver] = {}
        self.capacities: dict[str, CapacityEntry] = {}
        # node -> attachment -> name of the volume
        self.attached: dict[str, dict[str, str]] = {}
        # volume -> claim; claim -> node: promises that the server does not show yet.
        self.promised: dict[str, str] = {}
        self.selected: dict[str, str] = {}
        self._attachments: dict[str, str] = {}
        self._by_class: dict[str, PairIndex[VolumeEntry]] = {}
        self._room: dict[str, PairIndex[CapacityEntry]] = {}

    # ------------------------------------------------------------------------------ changes

    def set_volume(self, volume: PersistentVolume) -> None:
        """Take a volume. Raises: ObjectError if its size is no quantity."""
        spec = volume.spec
        affinity = spec.node_affinity
        claim = ""
        if spec.claim_ref is not None:
            claim = f"{spec.claim_ref.namespace}/{spec.claim_ref.name}"
        choice = node_choice(affinity.required) if affinity else None
        entry = VolumeEntry(volume, choice, size_of(spec.capacity), claim)
        self.remove_volume(volume.name)
        self.volumes[volume.name] = entry
        index = self._by_class.setdefault(volume_class(volume), PairIndex())
        index.add(entry, _alternatives(entry.choice))
        if claim:
            self.promised.pop(volume.name, None)

    def remove_volume(self, name: str) -> None:
        """Forget a volume, but not whom it was promised to."""
        self.version += 1
        entry = self.volumes.pop(name, None)
        if entry is not None:
            _discard(self._by_class, volume_class(entry.volume), entry)

    def set_claim(self, claim: PersistentVolumeClaim) -> None:
        """Take a claim."""
        self.version += 1
        key = f"{claim.namespace}/{claim.name}"
        self.claims[key] = claim
        if claim.spec.volume_name or SELECTED_NODE in claim.annotations:
            self.selected.pop(key, None)

    def set_class(self, storage_class: StorageClass) -> None:
        """Take a storage class."""
        self.version += 1
        terms = storage_class.allowed_topologies
        topologies = None
        if terms:
            topologies = NodeChoice(
                terms=tuple(
                    NodeTerm(
                        tuple(
                            ("In", each.key, tuple(each.values or ()))
                            for each in term.match_label_expressions or ()
                        ),
                        (),
                    )
                    for term in terms
                )
            )
        self.classes[storage_class.name] = ClassEntry(storage_class, topologies)

    def set_csi_node(self, node: CsiNode) -> None:
        """Take how many volumes of each driver a node can have."""
        self.version += 1
        self.limits[node.name] = {
            each.name: each.allocatable.count
            for each in node.spec.drivers or ()
            if each.allocatable is not None and each.allocatable.count is not None
        }

    def set_driver(self, driver: CsiDriver) -> None:
        """Take a driver."""
        self.version += 1
        self.drivers[driver.name] = driver

    def set_capacity(self, capacity: CsiStorageCapacity) -> None:
        """Take how much room a storage class has somewhere. Raises: ObjectError."""
        found = capacity.maximum_volume_size
        found = capacity.capacity if found is None else found
        largest = None if found is None else whole(found)
        key = f"{capacity.namespace}/{capacity.name}"
        self.remove_capacity(key)
        # Without a topology no node has access, without an amount nothing is known.
        if capacity.node_topology is not None and largest is not None:
            nodes = compile_selector(capacity.node_topology)
            entry = CapacityEntry(capacity.storage_class_name, nodes, largest)
            self.capacities[key] = entry
            index = self._room.setdefault(entry.storage_class, PairIndex())
            index.add(entry, nodes.alternatives())

    def remove_capacity(self, key: str) -> None:
        """Forget how much room there is."""
        self.version += 1
        entry = self.capacities.pop(key, None)
        if entry is not None:
            _discard(self._room, entry.storage_class, entry)

    def set_attachment(self, attachment: VolumeAttachment) -> None:
        """Note that a volume is attached to a node."""
        self.remove_attachment(attachment.name)
        volume = attachment.spec.source.persistent_volume_name
        if volume:
            node = attachment.spec.node_name
            self._attachments[attachment.name] = node
            self.attached.setdefault(node, {})[attachment.name] = volume

    def remove_attachment(self, name: str) -> str:
        """Forget an attachment. Returns its node, "" if it was not known."""
        self.version += 1
        node = self._attachments.pop(name, "")
        if node:
            self.attached[node].pop(name)
            if not self.attached[node]:
                del self.attached[node]
        return node

    def forget(self, what: dict[str, T], key: str) -> None:
        """Remove an entry from one of the tables."""
        self.version += 1
        what.pop(key, None)

    def promise(
        self, bindings: Iterable[tuple[str, str]], provisions: Iterable[str], node: str
    ) -> None:
        """Count volumes as those of claims, and claims as having a node."""
        self.version += 1
        self.promised.update(bindings)
        self.selected.update(dict.fromkeys(provisions, node))

    def take_back(self, bindings: Iterable[tuple[str, str]], provisions: Iterable[str]) -> None:
        """Count promises no longer."""
        self.version += 1
        for volume, claim in bindings:
            if self.promised.get(volume) == claim:
                del self.promised[volume]
        for claim in provisions:
            self.selected.pop(claim, None)

    # ---------------------------------------------------------------------------- questions

    def claim_of(self, entry: VolumeEntry) -> str:
        """Return the claim that has a volume, or was promised it; "" if none."""
        return entry.claim or self.promised.get(entry.name, "")

    def candidates(self, storage_class: str, labels: Labels) -> Iterator[VolumeEntry]:
        """Return the volumes of a class that a node with some labels may reach."""
        index = self._by_class.get(storage_class)
        return index.candidates(labels.items()) if index is not None else iter(())

    def wants_class(self, storage_class: str, key: str) -> bool:
        """Whether a claim is not bound and has some storage class."""
        claim = self.claims.get(key)
        if claim is None or claim.spec.volume_name:
            return False
        return claim_class(claim) == storage_class

    def may_have(self, entry: VolumeEntry, key: str) -> bool:
        """Whether a claim has a volume, or may get it."""
        claim = self.claims.get(key)
        if claim is None:
            return False
        if claim.spec.volume_name:
            return claim.spec.volume_name == entry.name
        owner = self.claim_of(entry)
        if owner:
            return owner == key
        return claim_class(claim) == volume_class(entry.volume)

    def has_room(self, storage_class: str, size: int, labels: Labels) -> bool:
        """Whether a storage class says that it can make a volume for a node with some labels."""
        index = self._room.get(storage_class)
        if index is None:
            return False
        for each in index.candidates(labels.items()):
            if each.largest >= size and each.nodes.matches(labels):
                return True
        return False

    def selected_node(self, key: str, claim: PersistentVolumeClaim) -> str:
        """Return the node for which a volume of a claim is being made; "" if none."""
        return claim.annotations.get(SELECTED_NODE) or self.selected.get(key, "")


def _discard(indexes: dict[str, PairIndex[T]], storage_class: str, entry: T) -> None:
    index = indexes[storage_class]
    index.discard(entry)
    if not index:
        del indexes[storage_class]


def volume_class(volume: PersistentVolume) -> str:
    """Return the storage class of a volume; the old annotation wins."""
    return volume.annotations.get(_OLD_CLASS, volume.spec.storage_class_name)


def claim_class(claim: PersistentVolumeClaim) -> str:
    """Return the storage class of a claim; the old annotation wins. "" means none."""
    old = claim.annotations.get(_OLD_CLASS)
    return (claim.spec.storage_class_name or "") if old is None else old


def size_of(amounts: Amounts | None) -> int:
    """Return an amount of storage in bytes; 0 if none is given. Raises: ObjectError."""
    return whole((amounts or {}).get(_STORAGE, 0))


def _alternatives(choice: NodeChoice | None) -> list[tuple[Pair, ...]]:
    """Return at most one group of labels: a node that reaches a volume has one of the group."""
    if choice is None or choice.terms is None:
        return []
    found: list[Pair] = []
    for term in choice.terms:
        pairs = _first_in(term)
        if not pairs:
            return []
        found += pairs
    return [tuple(dict.fromkeys(found))]


def _first_in(term: NodeTerm) -> list[Pair]:
    for operator, key, values in term.labels:
        if operator == "In":
            return [(key, value) for value in values]
    return []
