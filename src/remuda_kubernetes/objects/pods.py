"""Pods: the fields that decide where a pod may run, and what became of it.

Fields that only the kubelet needs are left out, since reading them would cost most of the time.
"""

from __future__ import annotations

from msgspec import field

from remuda_kubernetes.objects.metadata import KubernetesObject, LabelSelector
from remuda_kubernetes.objects.values import Value

# Amounts by the name of the resource, as texts ("500m") or, where a person wrote YAML, numbers.
Amounts = dict[str, str | int | float]


class ContainerPort(Value, frozen=True):
    """A port of a container, and of the host if ``host_port`` is not 0."""

    host_port: int = 0
    container_port: int = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class ResourceRequirements(Value, frozen=True):
    """What a container wants at least, and may use at most."""

    requests: Amounts | None = None
    limits: Amounts | None = None


class Container(Value, frozen=True):
    """A container. ``restart_policy`` "Always" makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements | None = None
    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str = ""


class NodeSelectorRequirement(Value, frozen=True):
    """One expression about a node: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class NodeSelectorTerm(Value, frozen=True):
    """Expressions about labels and fields of a node that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] | None = None
    match_fields: tuple[NodeSelectorRequirement, ...] | None = None


class NodeSelector(Value, frozen=True):
    """Terms, of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class NodeAffinity(Value, frozen=True):
    """The nodes that a pod requires."""

    required: NodeSelector | None = field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Value, frozen=True):
    """Pods that this pod wants to be near to, or far from, within a topology."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class PodAffinity(Value, frozen=True):
    """Terms that must all hold; used for affinity and anti-affinity."""

    required: tuple[PodAffinityTerm, ...] | None = field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Value, frozen=True):
    """All affinities of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Value, frozen=True):
    """A taint that does not keep the pod away. Operators: Equal (also ""), Exists."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Value, frozen=True):
    """How evenly matching pods are spread over the domains of a topology."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None


class ClaimSource(Value, frozen=True):
    """A volume that is a claim of the pod's namespace."""

    claim_name: str = ""
    read_only: bool = False


class EphemeralSource(Value, frozen=True):
    """A volume whose claim is made with the pod, named POD-VOLUME."""


class GceDiskSource(Value, frozen=True):
    """A disk of Google's cloud."""

    pd_name: str = ""
    read_only: bool = False


class AwsDiskSource(Value, frozen=True):
    """A disk of Amazon's cloud."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class RbdSource(Value, frozen=True):
    """An image of Ceph."""

    monitors: tuple[str, ...] | None = None
    image: str = ""
    pool: str = ""
    read_only: bool = False


class IscsiSource(Value, frozen=True):
    """A unit of iSCSI."""

    iqn: str = ""
    read_only: bool = False


class Volume(Value, frozen=True):
    """A volume of a pod; only the sources that decide about nodes."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None
    gce_persistent_disk: GceDiskSource | None = None
    aws_elastic_block_store: AwsDiskSource | None = None
    rbd: RbdSource | None = None
    iscsi: IscsiSource | None = None


class PodSchedulingGate(Value, frozen=True):
    """Something that has to happen before the pod may be scheduled."""

    name: str = ""


class PodResourceClaim(Value, frozen=True):
    """Devices that the pod needs: a claim, or a template of one."""

    name: str = ""
    resource_claim_name: str | None = None


class LocalReference(Value, frozen=True):
    """A pointer to an object of the same namespace."""

    name: str = ""


class PodSpec(Value, frozen=True):
    """What a pod wants."""

    node_name: str = ""
    scheduler_name: str = ""
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    resources: ResourceRequirements | None = None
    overhead: Amounts | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] | None = None
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    host_network: bool = False
    restart_policy: str = ""
    image_pull_secrets: tuple[LocalReference, ...] | None = None


class PodCondition(Value, frozen=True):
    """One condition of a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class ContainerStatus(Value, frozen=True):
    """What a container was given; both change while it is resized."""

    name: str = ""
    allocated_resources: Amounts | None = None
    resources: ResourceRequirements | None = None


class PodClaimStatus(Value, frozen=True):
    """The claim that was made from a template."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(Value, frozen=True):
    """What became of a pod. Phases: Pending, Running, Succeeded, Failed, Unknown."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[PodCondition, ...] | None = None
    resize: str = ""
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    resource_claim_statuses: tuple[PodClaimStatus, ...] | None = None


class Pod(KubernetesObject, frozen=True):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """The name in the cluster at this moment: NAMESPACE/NAME."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def ended(self) -> bool:
        """Whether all its containers have ended for good."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def assigned(self) -> bool:
        """Whether it has a node."""
        return bool(self.spec.node_name)

    @property
    def deleted(self) -> bool:
        """Whether its deletion was asked for; it may still run for its grace period."""
        return self.metadata.deletion_timestamp is not None
