"""Each filter as a function of a class and a node, and all of them in kube-scheduler's order.

Source: the documentation of Kubernetes, "Assigning Pods to Nodes", "Taints and Tolerations", "Pod
Topology Spread Constraints", "Scheduling Framework". A filter returns None if it accepts the node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda_kubernetes.predicates.classes import Filter, PodClass, Surroundings
from remuda_kubernetes.predicates.counts import ABSENT, PRESENT, SKEWED
from remuda_kubernetes.predicates.devices import unusable
from remuda_kubernetes.predicates.nodes import NodeState, TaintSet
from remuda_kubernetes.predicates.refusals import (
    DYNAMIC_RESOURCES,
    EXISTING_ANTI_AFFINITY,
    INTER_POD_AFFINITY,
    NO_ADDED_AFFINITY,
    NO_AFFINITY,
    NO_ALLOCATABLE,
    NO_POD_AFFINITY,
    NO_PORTS,
    NO_TOPOLOGY_LABEL,
    NODE_AFFINITY,
    NODE_NAME,
    NODE_PORTS,
    NODE_RESOURCES,
    NODE_UNSCHEDULABLE,
    NODE_VOLUME_LIMITS,
    OTHER_NODE_NAME,
    POD_ANTI_AFFINITY,
    TAINT_TOLERATION,
    TOO_SKEWED,
    TOPOLOGY_SPREAD,
    UNRESOLVABLE,
    UNSCHEDULABLE_NODE,
    VOLUME_BINDING,
    VOLUME_RESTRICTIONS,
    VOLUME_ZONE,
    Refusal,
    insufficient,
    untolerated,
)
from remuda_kubernetes.predicates.taints import CORDON, first_untolerated, tolerates
from remuda_kubernetes.predicates.topology import Topology
from remuda_kubernetes.predicates.volumes import (
    VolumeDecision,
    bind,
    out_of_zone,
    over_limit,
    resolve,
    restricted,
)

_VERDICTS_LIMIT: Final = 10_000
_NOT_SEEN: Final = Refusal(0, "", ())


def first_refusal(
    pods: PodClass, node: NodeState, around: Surroundings, *, allocate: bool
) -> Refusal | None:
    """Return why a node refuses the pods of a class, by the first filter that does; None: it fits.

    ``allocate`` False leaves out what comes when other pods end: room, volumes and devices that
    are in use. Cost: a few look-ups; nothing grows with the pods on other nodes.
    """
    for each in pods.to_allocate if allocate else pods.to_reserve:
        refusal = each(pods, node, around)
        if refusal is not None:
            return refusal
    return None


def plan(pods: PodClass) -> None:
    """Choose the filters that can refuse the pods of a class, in kube-scheduler's order."""
    alone: list[Filter] = [kept_away]
    if pods.node_name:
        alone = [node_unschedulable, node_name, taint_toleration]
    if pods.choice is not None or pods.added is not None:
        alone.append(node_affinity)
    if pods.ports:
        alone.append(node_ports)
    room: list[Filter] = [node_resources]
    if pods.claims:
        room += [volume_restrictions, volume_limits, volume_binding, volume_zone]
    elif pods.disks:
        room.append(volume_restrictions)
    others: list[Filter] = [topology_spread] if pods.spreads else []
    others.append(inter_pod_affinity)
    devices: list[Filter] = [dynamic_resources] if pods.devices else []
    pods.to_allocate = (*alone, *room, *others, *devices)
    lasting = [_LASTING[each] for each in (*room, *devices) if each in _LASTING]
    pods.to_reserve = (*alone, *lasting, *others)


def kept_away(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse cordoned and tainted nodes; nodes with equal taints are judged once."""
    refusal = pods.by_taints.get(node.taint_set, _NOT_SEEN)
    if refusal is _NOT_SEEN:
        taints = node.taint_set
        refusal = _cordoned(pods, taints) or _tainted(pods, taints)
        if len(pods.by_taints) >= _VERDICTS_LIMIT:
            pods.by_taints.clear()
        pods.by_taints[taints] = refusal
    return refusal


def _cordoned(pods: PodClass, taints: TaintSet) -> Refusal | None:
    if taints.unschedulable and not tolerates(pods.pod.spec.tolerations or (), CORDON):
        return UNSCHEDULABLE_NODE
    return None


def _tainted(pods: PodClass, taints: TaintSet) -> Refusal | None:
    found = first_untolerated(pods.pod.spec.tolerations or (), taints.taints)
    return None if found is None else untolerated(found.key, found.value)


def node_unschedulable(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse cordoned nodes."""
    return _cordoned(pods, node.taint_set)


def node_name(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse all nodes but the one that the pod names, if it names one."""
    return OTHER_NODE_NAME if pods.node_name and pods.node_name != node.name else None


def taint_toleration(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes with a taint that the pod does not tolerate."""
    return _tainted(pods, node.taint_set)


def node_affinity(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes that the administrator, the pod's selector or its node affinity exclude."""
    labels = node.labels
    if pods.added is not None and not pods.added.matches(labels, node.name):
        return NO_ADDED_AFFINITY
    if pods.choice is not None and not pods.choice.matches(labels, node.name):
        return NO_AFFINITY
    return None


def node_ports(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes where a port of the host is taken."""
    return NO_PORTS if node.ports_taken(pods.ports) else None


def node_resources(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes without room; the reasons name all resources of which too little is free."""
    free = node.free
    fits = node.free_pods > 0
    if fits:
        for name, value in pods.requests:
            if value > free.get(name, 0):
                fits = False
                break
    if fits:
        return None
    if not node.known:
        return NO_ALLOCATABLE
    lacking = [] if node.free_pods > 0 else ["pods"]
    lacking += [name for name, value in pods.requests if value > free.get(name, 0)]
    return insufficient(tuple(lacking))


def _resolve(pods: PodClass, around: Surroundings) -> None:
    """Look the claims of a class up again if some object about volumes changed."""
    storage = around.storage
    if pods.claims and (pods.resolved is None or pods.resolved.version != storage.version):
        pods.resolved = resolve(pods.claims, storage)


def volume_restrictions(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes where another pod uses a disk or claim that cannot be shared."""
    _resolve(pods, around)
    return restricted(pods.disks, pods.resolved, node, around.claim_users)


def volume_limits(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes that would have more volumes than a driver allows."""
    return over_limit(pods.claims, node, around.storage) if pods.claims else None


def volume_binding(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes from where the volumes cannot be reached, found or made."""
    found = volume_decision(pods, node, around)
    return found if isinstance(found, Refusal) else None


def volume_decision(
    pods: PodClass, node: NodeState, around: Surroundings
) -> Refusal | VolumeDecision:
    """Return what has to happen to the claims of the class on a node, or why they cannot be had."""
    _resolve(pods, around)
    if pods.resolved is None:
        return VolumeDecision(node.name)
    return bind(pods.resolved, node, around.storage)


def volume_zone(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes outside the zones that the volumes' labels name."""
    _resolve(pods, around)
    return out_of_zone(pods.resolved, node) if pods.resolved is not None else None


def topology_spread(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes in domains that would have too many of the counted pods."""
    labels = node.labels
    for check in pods.spreads:
        value = labels.get(check.key)
        if value is None:
            return NO_TOPOLOGY_LABEL
        domains = check.domains
        number = domains.counts.get(value, 0) + check.self_match
        if number <= check.max_skew:
            continue
        lowest = 0 if len(domains.nodes.sizes) < check.min_domains else domains.lowest()
        if number - lowest > check.max_skew:
            domains.refuse(pods.name, SKEWED)
            return TOO_SKEWED
    return None


def inter_pod_affinity(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes too near to, or too far from, other pods."""
    labels = node.labels
    if pods.near and not _near(pods, labels, around.topology):
        return NO_POD_AFFINITY
    for key, domains in pods.anti:
        value = labels.get(key)
        if value is not None and value in domains.counts:
            domains.refuse(pods.name, PRESENT)
            return POD_ANTI_AFFINITY
    topology = around.topology
    held = pods.held if pods.held_version == topology.held_version else pods.held_now(topology)
    for key, domains in held:
        value = labels.get(key)
        if value is not None and value in domains.counts:
            domains.refuse(pods.name, PRESENT)
            return EXISTING_ANTI_AFFINITY
    return None


def _near(pods: PodClass, labels: Mapping[str, str], topology: Topology) -> bool:
    """Whether a matching pod is in each domain, or the pod may be the first of its kind."""
    fits = True
    for key, domains in pods.near:
        value = labels.get(key)
        if value is None:
            return False
        fits = fits and value in domains.counts
    if fits:
        return True
    affinity = pods.affinity
    assert affinity is not None
    if all(not domains.counts for _, domains in pods.near):
        its_labels = topology.namespace_labels(pods.namespace)
        if affinity.matcher.matches(pods.namespace, its_labels, pods.labels):
            return True
    for _, domains in pods.near:
        domains.refuse(pods.name, ABSENT)
    return False


def dynamic_resources(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
    """Refuse nodes where the pod's devices cannot be used."""
    return unusable(pods.devices, pods.pod.uid, node, around.devices)


def _lasting(check: Filter) -> Filter:
    """Return a filter that refuses only what the end of no other pod would change.

    Room that is kept for a pod without its claim would be kept for nothing.
    """

    def refuse(pods: PodClass, node: NodeState, around: Surroundings) -> Refusal | None:
        refusal = check(pods, node, around)
        return refusal if refusal is not None and refusal.verdict == UNRESOLVABLE else None

    return refuse


_LASTING: Final[Mapping[Filter, Filter]] = {
    each: _lasting(each) for each in (volume_binding, volume_zone, dynamic_resources)
}

FILTERS: Final[Mapping[int, Filter]] = {
    NODE_UNSCHEDULABLE: node_unschedulable,
    NODE_NAME: node_name,
    TAINT_TOLERATION: taint_toleration,
    NODE_AFFINITY: node_affinity,
    NODE_PORTS: node_ports,
    NODE_RESOURCES: node_resources,
    VOLUME_RESTRICTIONS: volume_restrictions,
    NODE_VOLUME_LIMITS: volume_limits,
    VOLUME_BINDING: volume_binding,
    VOLUME_ZONE: volume_zone,
    TOPOLOGY_SPREAD: topology_spread,
    INTER_POD_AFFINITY: inter_pod_affinity,
    DYNAMIC_RESOURCES: dynamic_resources,
}
