"""The door of the filters: a cluster, and what it answers about nodes for pods.

One owner makes all calls, one after the other. Each change updates what the filters look at, so a
question costs about the same in a small and in a large cluster. Bad objects are refused with
ObjectError before anything has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.objects.kinds import Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.predicates.catalogue import Catalogue
from remuda_kubernetes.predicates.classes import FilterSettings, Surroundings
from remuda_kubernetes.predicates.filters import (
    FILTERS,
    first_refusal,
    volume_decision,
)
from remuda_kubernetes.predicates.nodes import NodeState
from remuda_kubernetes.predicates.placements import Placed, Placements
from remuda_kubernetes.predicates.refusals import (
    VOLUME_RESTRICTIONS,
    Refusal,
    unknown_node,
)
from remuda_kubernetes.predicates.storage import Storage
from remuda_kubernetes.predicates.topology import Topology
from remuda_kubernetes.predicates.volumes import VolumeDecision, VolumeProgress, progress
from remuda_kubernetes.predicates.waiting import Waiting
from remuda_kubernetes.predicates.wakes import Wakes, Woken
from remuda_kubernetes.predicates.workloads import Workloads

_DEFAULTS: Final = FilterSettings()


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What became of the first ``judged`` nodes of a question.

    ``fits``: their indexes, ascending. ``refusals``: index and reason of the others.
    """

    fits: list[int]
    refusals: list[tuple[int, Refusal]]
    judged: int


class Cluster:
    """All that the filters know of a cluster."""

    def __init__(self, settings: FilterSettings = _DEFAULTS) -> None:
        self._wakes = Wakes()
        self._nodes: dict[str, NodeState] = {}
        self._topology = Topology(self._nodes, self._wakes)
        self._workloads = Workloads()
        self._storage = Storage()
        self._placements = Placements(self._nodes, self._topology, self._wakes)
        self._waiting = Waiting(self._topology, self._workloads, self._wakes, settings)
        self._catalogue = Catalogue(self._storage, self._workloads, self._topology, self._waiting)
        self._around = Surroundings(
            self._topology,
            self._storage,
            self._placements.claim_users,
            self._catalogue.devices,
        )

    # ------------------------------------------------------------------------------ changes

    def set_node(self, node: Node) -> None:
        """Take a new or changed node. Raises: ObjectError."""
        self._placements.set_node(node)
        self._waiting.part()

    def remove_node(self, name: str) -> None:
        """Note that a node is gone; pods on it stay known and return with it."""
        self._placements.remove_node(name)

    def set_pod(self, pod: Pod, node_name: str) -> None:
        """Note that a pod runs, or is assumed to run, on a node, known or not.

        The same uid again replaces what was known. The pod waits no longer. Leave pods out, or
        remove them, once they have ended. Raises: ObjectError.
        """
        self._placements.set_pod(pod, node_name)
        self._waiting.drop(pod.uid)
        self._waiting.part()
        self._wake_freed_claims()

    def remove_pod(self, uid: str) -> None:
        """Note that a pod is gone from its node, or waits no longer."""
        self._waiting.drop(uid)
        if self._placements.remove_pod(uid) is not None:
            self._wake_freed_claims()

    def _wake_freed_claims(self) -> None:
        freed = self._placements.freed_claims
        if freed:
            self._waiting.wake_claims(VOLUME_RESTRICTIONS, freed.__contains__)
            freed.clear()

    def set_object(self, kind: Kind, found: KubernetesObject) -> None:
        """Take a new or changed object of another kind; kinds that do not matter are ignored.

        Raises: ObjectError.
        """
        self._catalogue.set(kind, found)

    def remove_object(self, kind: Kind, namespace: str, name: str) -> None:
        """Note that an object of another kind is gone."""
        self._catalogue.remove(kind, namespace, name)

    # -------------------------------------------------------------------------------- pods

    def class_of(self, pod: Pod) -> str:
        """Return the name of the class of a pod that waits; equal pods have the same.

        Raises: ObjectError.
        """
        return self._waiting.class_of(pod).name

    def take_renamed(self) -> dict[str, str]:
        """Return waiting pods whose class was parted since class_of: uid -> new name.

        That happens when an anti-affinity term looks at a label that did not matter before.
        """
        return self._waiting.take_renamed()

    def take_woken(self) -> Woken:
        """Return which classes and nodes may have other verdicts, by changes since the last call.

        Only classes with waiting pods are named, and only if a filter refused them that the change
        concerns.
        """
        return self._waiting.take_woken()

    def filters_that_refused(self, class_name: str) -> int:
        """Return the filters (bits of ``refusals``) that refused a class since it was woken."""
        return self._waiting.filters_that_refused(class_name)

    # ---------------------------------------------------------------------------- questions

    def judge(self, pod: Pod, node_names: Sequence[str], *, allocate: bool, want: int) -> Verdicts:
        """Return which of some nodes a pod fits on, in their order, until ``want`` do.

        ``allocate`` False asks for a reservation: what is in use can come free with time.
        Cost: some microseconds a node. Raises: ObjectError.
        """
        verdicts = self._judge(pod, node_names, allocate=allocate, want=want)
        pods = self._waiting.class_of(pod)
        for _, refusal in verdicts.refusals:
            if not pods.refused_by & refusal.filter:
                self._waiting.refused(pods, refusal)
        return verdicts

    def explain(self, pod: Pod, node_names: Sequence[str]) -> Verdicts:
        """Return why nodes refuse a pod, for people: all nodes, to run there.

        The answer is only shown, so it does not decide which changes wake the pod.
        Raises: ObjectError.
        """
        return self._judge(pod, node_names, allocate=True, want=len(node_names))

    def _judge(self, pod: Pod, node_names: Sequence[str], *, allocate: bool, want: int) -> Verdicts:
        pods = self._waiting.class_of(pod)
        nodes, around = self._nodes, self._around
        fits: list[int] = []
        refusals: list[tuple[int, Refusal]] = []
        refusal: Refusal | None
        for index, name in enumerate(node_names):
            node = nodes.get(name)
            if node is None:
                refusal = unknown_node(name)
            else:
                refusal = first_refusal(pods, node, around, allocate=allocate)
            if refusal is not None:
                refusals.append((index, refusal))
                continue
            fits.append(index)
            if len(fits) >= want:
                break
        return Verdicts(fits, refusals, len(fits) + len(refusals))

    def judge_by(self, filter_bit: int, pod: Pod, node_name: str) -> Refusal | None:
        """Return what one filter alone says of a pod on a node. Raises: ObjectError, KeyError."""
        pods = self._waiting.class_of(pod)
        return FILTERS[filter_bit](pods, self._nodes[node_name], self._around)

    def victims(self, pod: Pod, node_name: str, victims: Sequence[str], start: int) -> int:
        """Return the index of the victim with whose end a pod fits on a node, -1 if none does.

        ``victims``: uids in the order of their end; those before ``start`` end together, without a
        question. Nothing is changed. Raises: ObjectError.
        """
        node = self._nodes.get(node_name)
        if node is None:
            return -1
        pods = self._waiting.class_of(pod)
        wakes = self._wakes
        taken: list[tuple[str, Placed]] = []
        wakes.quiet = True
        try:
            for index, uid in enumerate(victims):
                placed = self._placements.placed.get(uid)
                if placed is not None and placed.node_name == node_name:
                    self._placements.remove_pod(uid)
                    taken.append((uid, placed))
                if index < start:
                    continue
                if first_refusal(pods, node, self._around, allocate=True) is None:
                    return index
            return -1
        finally:
            for uid, placed in reversed(taken):
                self._placements.put_back(uid, placed)
            self._placements.freed_claims.clear()
            wakes.quiet = False

    # ------------------------------------------------------------------------------ volumes

    def volumes_for(self, pod: Pod, node_name: str) -> Refusal | VolumeDecision:
        """Return what has to happen to a pod's claims before it is bound to a node.

        A refusal says why they cannot be had there. Raises: ObjectError.
        """
        node = self._nodes.get(node_name)
        if node is None:
            return unknown_node(node_name)
        return volume_decision(self._waiting.class_of(pod), node, self._around)

    def promise(self, decision: VolumeDecision) -> None:
        """Count what was decided as done, until the server's objects say so."""
        self._storage.promise(decision.bindings, decision.provisions, decision.node_name)

    def volume_progress(self, decision: VolumeDecision) -> VolumeProgress:
        """Return how far the server is with a decision that was promised."""
        return progress(decision, self._nodes.get(decision.node_name), self._storage)

    def take_back(self, decision: VolumeDecision) -> None:
        """Count what was decided no longer: it failed, or is not wanted any more."""
        self._storage.take_back(decision.bindings, decision.provisions)
        self._catalogue.storage_changed()
