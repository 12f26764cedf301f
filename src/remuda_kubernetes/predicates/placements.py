"""Which pods run, or are assumed to run, on which nodes, with all sums that follow from it.

All changes of nodes and of pods on them go through here, so that the sums of the node, the numbers
of pods by domain and the users of claims always belong to the same state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.objects.nodes import Node, Taint
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.quantities import amounts
from remuda_kubernetes.objects.requests import pod_requests
from remuda_kubernetes.predicates.keys import HeldTerm
from remuda_kubernetes.predicates.nodes import (
    Amount,
    DiskUse,
    HostPort,
    NodeState,
    TaintSet,
    host_ports,
)
from remuda_kubernetes.predicates.refusals import (
    DYNAMIC_RESOURCES,
    INTER_POD_AFFINITY,
    NODE_AFFINITY,
    NODE_NAME,
    NODE_PORTS,
    NODE_RESOURCES,
    NODE_UNSCHEDULABLE,
    NODE_VOLUME_LIMITS,
    TAINT_TOLERATION,
    TOPOLOGY_SPREAD,
    VOLUME_BINDING,
    VOLUME_RESTRICTIONS,
    VOLUME_ZONE,
)
from remuda_kubernetes.predicates.terms import anti_affinity
from remuda_kubernetes.predicates.topology import Profile, Topology
from remuda_kubernetes.predicates.volumes import claim_uses, disk_uses
from remuda_kubernetes.predicates.wakes import Wakes

# Refusals that end, perhaps, when a node gets another label or fewer taints.
_BY_LABELS: Final = (
    NODE_AFFINITY
    | TOPOLOGY_SPREAD
    | INTER_POD_AFFINITY
    | VOLUME_BINDING
    | VOLUME_ZONE
    | DYNAMIC_RESOURCES
)
_BY_TAINTS: Final = TAINT_TOLERATION | NODE_UNSCHEDULABLE
_SHARED_LIMIT: Final = 10_000


@dataclass(slots=True)
class Placed:
    """A pod on a node, as far as the filters of other pods see it.

    ``pod``: what this was read from.
    """

    pod: Pod
    node_name: str
    profile: Profile
    requests: tuple[Amount, ...]
    ports: tuple[HostPort, ...]
    claims: tuple[str, ...]
    disks: tuple[DiskUse, ...]
    terms: tuple[HeldTerm, ...]

    def same(self, other: Placed) -> bool:
        """Whether filters see no difference."""
        mine, theirs = self.profile, other.profile
        return (
            self.node_name == other.node_name
            and self.requests == other.requests
            and mine.pairs == theirs.pairs
            and mine.namespace == theirs.namespace
            and mine.deleted == theirs.deleted
            and self.ports == other.ports
            and self.claims == other.claims
            and self.disks == other.disks
            and self.terms == other.terms
        )


class Placements:
    """Nodes and the pods on them. Pods on nodes that are not known yet wait for these.

    ``claim_users``: claim ("namespace/name") -> how many pods on known nodes use it.
    ``freed_claims``: those that lost their last user since somebody looked.
    """

    def __init__(self, nodes: dict[str, NodeState], topology: Topology, wakes: Wakes) -> None:
        self.nodes = nodes
        self.claim_users: dict[str, int] = {}
        self.freed_claims: set[str] = set()
        self.placed: dict[str, Placed] = {}
        self._topology = topology
        self._wakes = wakes
        # node -> uids of pods that name it though it is not known
        self._orphans: dict[str, dict[str, None]] = {}
        self._taint_sets: dict[tuple[bool, tuple[Taint, ...]], TaintSet] = {}
        self._requests: dict[tuple[Amount, ...], tuple[Amount, ...]] = {}

    # -------------------------------------------------------------------------------- nodes

    def set_node(self, node: Node) -> None:
        """Take a new or changed node. Raises: ObjectError before anything has changed."""
        known = self.nodes.get(node.name)
        if known is not None:
            self._change_node(known, node)
            return
        state = NodeState(node, self._taint_set(node))
        self.nodes[node.name] = state
        self._topology.node_changed(state)
        self._wakes.wake_node_for(node.name, NODE_NAME)
        for uid in self._orphans.pop(node.name, ()):
            self._enter(uid, self.placed[uid], state)

    def _taint_set(self, node: Node) -> TaintSet:
        """Return the one copy of equal taints."""
        key = (node.spec.unschedulable, node.spec.taints or ())
        found = self._taint_sets.get(key)
        if found is None:
            if len(self._taint_sets) >= _SHARED_LIMIT:
                self._taint_sets.clear()
            found = self._taint_sets[key] = TaintSet(*key)
        return found

    def _change_node(self, state: NodeState, node: Node) -> None:
        allocatable = amounts(node.status.allocatable)
        known = bool(node.status.allocatable)
        helped = 0
        if (allocatable != state.allocatable or known != state.known) and state.resize(
            allocatable, known=known
        ):
            helped |= NODE_RESOURCES
        taints = self._taint_set(node)
        topology_changed = False
        if taints is not state.taint_set:
            state.taint_set, topology_changed = taints, True
            helped |= _BY_TAINTS
        if node.labels != state.labels:
            state.labels, topology_changed = node.labels, True
            helped |= _BY_LABELS
        if topology_changed:
            self._topology.node_changed(state)
        if helped:
            self._wakes.wake_node_for(node.name, helped)

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods wait for it to come back, or for their own end."""
        state = self.nodes.get(name)
        if state is None:
            return
        orphans = dict(state.pods)
        for uid in orphans:
            self._leave(uid, self.placed[uid], state)
        del self.nodes[name]
        if orphans:
            self._orphans[name] = orphans
        self._topology.node_gone(name)

    # --------------------------------------------------------------------------------- pods

    def set_pod(self, pod: Pod, node_name: str) -> None:
        """Note that a pod is on a node, with what it is now. Raises: ObjectError."""
        known = self.placed.get(pod.uid)
        if known is not None and known.node_name == node_name and _reads_alike(known.pod, pod):
            known.pod = pod
            return
        made = self._compile(pod, node_name)
        if known is not None:
            if known.same(made):
                known.pod = pod
                return
            self.remove_pod(pod.uid)
        self.placed[pod.uid] = made
        state = self.nodes.get(node_name)
        if state is None:
            self._orphans.setdefault(node_name, {})[pod.uid] = None
        else:
            self._enter(pod.uid, made, state)

    def remove_pod(self, uid: str) -> Placed | None:
        """Note that a pod has left its node. Returns what it was, None if it was not there."""
        placed = self.placed.pop(uid, None)
        if placed is None:
            return None
        state = self.nodes.get(placed.node_name)
        if state is not None:
            self._leave(uid, placed, state)
            return placed
        orphans = self._orphans[placed.node_name]
        del orphans[uid]
        if not orphans:
            del self._orphans[placed.node_name]
        return placed

    def put_back(self, uid: str, placed: Placed) -> None:
        """Undo a removal, while no other change came between."""
        self.placed[uid] = placed
        self._enter(uid, placed, self.nodes[placed.node_name])

    def _compile(self, pod: Pod, node_name: str) -> Placed:
        requests = tuple(pod_requests(pod).items())
        volumes = pod.spec.volumes
        return Placed(
            pod=pod,
            node_name=node_name,
            profile=self._topology.profile(pod.namespace, pod.labels, deleted=pod.deleted),
            requests=self._share(requests),
            ports=host_ports(pod),
            claims=tuple(dict.fromkeys(each.key for each in claim_uses(pod))) if volumes else (),
            disks=disk_uses(pod) if volumes else (),
            terms=anti_affinity(pod),
        )

    def _share(self, requests: tuple[Amount, ...]) -> tuple[Amount, ...]:
        """Return the one copy of equal amounts, so that equal pods take little memory."""
        if len(self._requests) >= _SHARED_LIMIT:
            self._requests.clear()
        return self._requests.setdefault(requests, requests)

    def _enter(self, uid: str, placed: Placed, state: NodeState) -> None:
        name = state.name
        state.pods[uid] = None
        state.request(placed.requests, 1)
        placed.profile = self._topology.place(placed.profile, name)
        if placed.ports:
            state.use_ports(placed.ports, 1)
        if placed.disks:
            state.use_disks(placed.disks, 1)
        if placed.claims:
            self._use_claims(placed, state, 1)
        for term in placed.terms:
            self._topology.hold(term, name)

    def _leave(self, uid: str, placed: Placed, state: NodeState) -> None:
        name = state.name
        del state.pods[uid]
        state.request(placed.requests, -1)
        self._topology.displace(placed.profile, name)
        helped = NODE_RESOURCES
        if placed.ports:
            state.use_ports(placed.ports, -1)
            helped |= NODE_PORTS
        if placed.disks:
            state.use_disks(placed.disks, -1)
            helped |= VOLUME_RESTRICTIONS
        if placed.claims:
            self._use_claims(placed, state, -1)
            helped |= NODE_VOLUME_LIMITS
        for term in placed.terms:
            self._topology.unhold(term, name)
        self._wakes.wake_node_for(name, helped)

    def _use_claims(self, placed: Placed, state: NodeState, by: int) -> None:
        state.use_claims(placed.claims, by)
        for claim in placed.claims:
            left = self.claim_users.get(claim, 0) + by
            if left:
                self.claim_users[claim] = left
            else:
                del self.claim_users[claim]
                self.freed_claims.add(claim)


def _reads_alike(one: Pod, other: Pod) -> bool:
    """Whether two states of a pod differ in nothing that is read of it.

    A bound pod comes back from the server as it was but for its node, so this saves half the work.
    The status of containers is read, too, because it can change the amounts that they count for.
    """
    mine, theirs = one.spec, other.spec
    return (
        mine.containers == theirs.containers
        and mine.init_containers == theirs.init_containers
        and mine.affinity == theirs.affinity
        and mine.volumes == theirs.volumes
        and mine.host_network == theirs.host_network
        and mine.overhead == theirs.overhead
        and mine.resources == theirs.resources
        and one.metadata.labels == other.metadata.labels
        and one.deleted == other.deleted
        and one.namespace == other.namespace
        and not (one.status.container_statuses or other.status.container_statuses)
        and not (one.status.init_container_statuses or other.status.init_container_statuses)
    )
