"""Classes of equal pods: what the filters look at, worked out once for all of them.

Two pods are in one class if no filter can tell them apart. Labels that no term looks at do not
matter, so the members of a job stay together though each has a number of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import msgspec

from remuda_kubernetes.objects.pods import (
    NodeAffinity,
    Pod,
    TopologySpreadConstraint,
)
from remuda_kubernetes.objects.requests import pod_requests
from remuda_kubernetes.predicates.counts import Domains, NodeRule, PodMatcher
from remuda_kubernetes.predicates.devices import DeviceClaim, DeviceUse, device_uses
from remuda_kubernetes.predicates.keys import DecisiveKeys, HeldTerm
from remuda_kubernetes.predicates.nodes import (
    Amount,
    DiskUse,
    HostPort,
    NodeState,
    TaintSet,
    host_ports,
)
from remuda_kubernetes.predicates.refusals import Refusal
from remuda_kubernetes.predicates.selection import NodeChoice, Selector, pod_choice
from remuda_kubernetes.predicates.storage import Storage
from remuda_kubernetes.predicates.terms import (
    Affinity,
    affinity,
    anti_affinity,
    decisive_keys,
    spreads,
)
from remuda_kubernetes.predicates.topology import Topology
from remuda_kubernetes.predicates.volumes import ClaimUse, ResolvedClaims, claim_uses, disk_uses

_NAME_BYTES: Final = 10
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the filters look at besides the class and the node: the rest of the cluster.

    ``claim_users``: claim ("namespace/name") -> how many pods of the cluster use it. ``devices``:
    the resource claims by "namespace/name".
    """

    topology: Topology
    storage: Storage
    claim_users: Mapping[str, int]
    devices: Mapping[str, DeviceClaim]


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """How an administrator configured the filters, in kube-scheduler's terms.

    ``added_affinity``: what nodes must match besides what pods say. ``default_constraints``: for
    pods without constraints of their own. ``ignored_resources``, ``ignored_groups`` (the part
    before "/"): extended resources that are not looked at.
    """

    added_affinity: NodeAffinity | None = None
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    ignored_resources: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()


@dataclass(slots=True)
class SpreadCheck:
    """A constraint with the numbers that it looks at."""

    key: str
    domains: Domains
    max_skew: int
    min_domains: int
    self_match: int


@dataclass(slots=True, eq=False)
class PodClass:
    """Equal pods, as the filters see them.

    ``by_taints``: the verdict for each set of taints seen. ``held``: the anti-affinity terms of
    running pods that concern the class, valid at ``held_version``. ``refused_by``: the filters
    (bits) that refused it since it was last woken. ``waiting``: how many pods of it wait.
    ``to_allocate``, ``to_reserve``: the filters that can refuse it, in order.
    """

    name: str
    namespace: str
    labels: dict[str, str]
    requests: tuple[Amount, ...]
    ports: tuple[HostPort, ...]
    pod: Pod
    node_name: str
    terms: tuple[HeldTerm, ...]
    choice: NodeChoice | None
    added: NodeChoice | None
    claims: tuple[ClaimUse, ...]
    disks: tuple[DiskUse, ...]
    devices: tuple[DeviceUse, ...]
    by_taints: dict[TaintSet, Refusal | None] = field(default_factory=dict)
    spreads: list[SpreadCheck] = field(default_factory=list)
    anti: list[tuple[str, Domains]] = field(default_factory=list)
    affinity: Affinity | None = None
    near: list[tuple[str, Domains]] = field(default_factory=list)
    held: list[tuple[str, Domains]] = field(default_factory=list)
    held_version: int = -1
    resolved: ResolvedClaims | None = None
    refused_by: int = 0
    waiting: int = 0
    to_allocate: tuple[Filter, ...] = ()
    to_reserve: tuple[Filter, ...] = ()

    def numbers(self) -> list[Domains]:
        """Return all numbers of pods that the class itself keeps."""
        found = [each.domains for each in self.spreads]
        return found + [domains for _, domains in (*self.anti, *self.near)]

    def held_now(self, topology: Topology) -> list[tuple[str, Domains]]:
        """Return the anti-affinity terms of running pods that concern the class."""
        if self.held_version != topology.held_version:
            self.held = topology.held_against(self.namespace, self.labels)
            self.held_version = topology.held_version
        return self.held


# Returns why a node is refused, None if it is accepted.
Filter = Callable[[PodClass, NodeState, Surroundings], Refusal | None]


def class_name(
    pod: Pod, requests: dict[str, int], labels: dict[str, str], settings: FilterSettings
) -> str:
    """Return a short name that equal pods share, the same in every process.

    ``labels``: those that matter. Cost: about ten microseconds.
    """
    spec = pod.spec
    default = settings.default_constraints and not spec.topology_spread_constraints
    content = (
        pod.namespace,
        requests,
        host_ports(pod),
        spec.node_name,
        spec.node_selector or None,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        labels,
        _volumes(pod) if spec.volumes else None,
        [device_uses(pod), pod.uid] if spec.resource_claims else None,
        pod.metadata.owner_references if default else None,
    )
    return blake2b(_ENCODER.encode(content), digest_size=_NAME_BYTES).hexdigest()


def decisive_labels(pod: Pod, keys: DecisiveKeys, settings: FilterSettings) -> dict[str, str]:
    """Return the labels of a pod that some filter may look at.

    ``keys``: those that anti-affinity terms of other pods look at. The pod's own terms may look at
    more, and what the services of a pod choose is not known beforehand.
    """
    labels, spec, namespace = pod.labels, pod.spec, pod.namespace
    if not labels:
        return {}
    wanted, terms = spec.affinity, spec.topology_spread_constraints
    if settings.default_constraints and not terms:
        return dict(labels)
    own: Collection[str] = ()
    if terms or (wanted and (wanted.pod_affinity or wanted.pod_anti_affinity)):
        own = decisive_keys(pod)
    return {
        key: value for key, value in labels.items() if key in own or keys.decides(namespace, key)
    }


def _volumes(pod: Pod) -> tuple[object, ...] | None:
    """Return what the filters see of a pod's volumes; claims made for one pod are its own."""
    claims = tuple((use.key, use.owner) for use in claim_uses(pod))
    disks = disk_uses(pod)
    return (claims, disks) if claims or disks else None


def counted_requests(requests: dict[str, int], settings: FilterSettings) -> tuple[Amount, ...]:
    """Return the requests that a node must have room for, as far as they are more than nothing."""
    return tuple(
        (name, value)
        for name, value in sorted(requests.items(), key=_core_first)
        if value > 0 and _counted(name, settings)
    )


def _core_first(request: tuple[str, int]) -> tuple[bool, str]:
    """Order amounts so that those that lack most often come first."""
    return (request[0] not in _CORE, request[0])


_CORE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_PREFIXES: Final = ("hugepages-", "attachable-volumes-")


def _counted(name: str, settings: FilterSettings) -> bool:
    """Whether kube-scheduler looks at a resource."""
    if name in _CORE or name.startswith(_PREFIXES):
        return True
    group, slash, _ = name.partition("/")
    if not slash:
        return False
    if "kubernetes.io/" in name:
        return True
    return name not in settings.ignored_resources and group not in settings.ignored_groups


def compile_class(
    name: str,
    pod: Pod,
    labels: dict[str, str],
    settings: FilterSettings,
    added: NodeChoice | None,
) -> PodClass:
    """Return what the filters need of a pod, without the numbers. Raises: ObjectError.

    ``labels``: those that matter. Others must not be looked at, since equal pods differ in them.
    """
    spec = pod.spec
    wanted = spec.affinity
    return PodClass(
        name=name,
        namespace=pod.namespace,
        labels=labels,
        requests=counted_requests(pod_requests(pod), settings),
        ports=host_ports(pod),
        pod=pod,
        node_name=spec.node_name,
        terms=anti_affinity(pod),
        choice=pod_choice(spec.node_selector, wanted.node_affinity if wanted else None),
        added=added,
        claims=claim_uses(pod),
        disks=disk_uses(pod),
        devices=device_uses(pod),
        affinity=affinity(pod),
    )


def acquire_numbers(
    pod_class: PodClass,
    topology: Topology,
    settings: FilterSettings,
    default_selector: Selector | None,
) -> None:
    """Have all numbers of other pods kept that a class looks at.

    ``default_selector``: the pods that default constraints count; None: these do not apply.
    """
    pod, acquire = pod_class.pod, topology.acquire
    constraints, selector = pod.spec.topology_spread_constraints or (), None
    if not constraints and default_selector is not None:
        constraints, selector = settings.default_constraints, default_selector
    pod_class.spreads = [
        SpreadCheck(
            each.rule.key,
            acquire(each.matcher, each.rule),
            each.max_skew,
            each.min_domains,
            each.self_match,
        )
        for each in spreads(pod, pod_class.choice, constraints, selector)
    ]
    pod_class.anti = [
        (key, acquire(PodMatcher(((namespaces, selector),)), NodeRule(key)))
        for namespaces, selector, key in pod_class.terms
    ]
    near = pod_class.affinity
    if near is not None:
        pod_class.near = [(key, acquire(near.matcher, NodeRule(key))) for key in near.keys]


def release_numbers(pod_class: PodClass, topology: Topology) -> None:
    """Give back all numbers that a class had kept."""
    for domains in pod_class.numbers():
        domains.refused.pop(pod_class.name, None)
        topology.release(domains)
    pod_class.spreads, pod_class.anti, pod_class.near = [], [], []
