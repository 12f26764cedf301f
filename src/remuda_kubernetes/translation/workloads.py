"""Workloads of batch programs: which objects their pods belong to, as one table of rules.

Pods of a Job, a JobSet, Spark, Ray or Kubeflow say by labels and owner references what they belong
to. A rule of the table says how to read that, and where the object is that tells how many pods
there will be. Rules count only where ``service.workloads`` names them. The manual is
docs/reference/kubernetes-workloads.md.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import msgspec

from remuda_kubernetes.objects.metadata import OwnerReference
from remuda_kubernetes.objects.pods import Pod

ALL: Final = "all"
# Names of objects (DNS subdomains) and of versions, since both become parts of a path.
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
_VERSION: Final = re.compile(r"v[0-9]{1,3}((alpha|beta)[0-9]{1,3})?", re.ASCII)
_IDENTITY_LIMIT: Final = 63
_DIGEST_LENGTH: Final = 10


class Shape(Enum):
    """How an object says which groups of pods it has, and how many of each."""

    JOB = "parallelism and completions"
    JOB_SET = "replicatedJobs"
    REPLICAS = "replicas by role"
    RAY = "headGroupSpec and workerGroupSpecs"
    SPARK = "driver and executor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of workload.

    A pod belongs to an object if its controller is one of this ``group`` and ``kind``, or if it has
    the label ``name_label``, with the object's name, and all ``marks``, which are labels with their
    values. ``direct``: every pod is found by its controller, so that the uid tells apart objects of
    the same name; else the label ``uid_label`` does, where pods have it.

    ``group_labels``: the first of them that a pod has names its task group; ``fixed_group`` where
    there is only one. ``version``: of the object where a pod's controller does not say it.
    ``roles``: the field of the object's spec with replicas by role. ``keeps_id``: a label
    ``spark-app-selector`` stays the application ID.
    """

    name: str
    group: str
    kind: str
    plural: str
    version: str
    shape: Shape
    name_label: str = ""
    marks: dict[str, str] = field(default_factory=dict)
    uid_label: str = ""
    direct: bool = False
    group_labels: tuple[str, ...] = ()
    fixed_group: str = ""
    roles: str = ""
    keeps_id: bool = False


_JOB_SET: Final = "jobset.sigs.k8s.io/"
_KUBEFLOW: Final = "training.kubeflow.org/"


def _kubeflow(name: str, kind: str, roles: str) -> Rule:
    return Rule(
        name=name,
        group="kubeflow.org",
        kind=kind,
        plural=f"{kind.lower()}s",
        version="v1",
        shape=Shape.REPLICAS,
        direct=True,
        group_labels=(f"{_KUBEFLOW}replica-type",),
        roles=roles,
    )


# The first rule that a pod fulfils counts. A JobSet has Jobs, and so has an MPIJob for its
# launcher, so the rule of Jobs is the last.
RULES: Final = (
    Rule(
        name="jobset",
        group="jobset.x-k8s.io",
        kind="JobSet",
        plural="jobsets",
        version="v1alpha2",
        shape=Shape.JOB_SET,
        name_label=f"{_JOB_SET}jobset-name",
        uid_label=f"{_JOB_SET}jobset-uid",
        group_labels=(f"{_JOB_SET}replicatedjob-name",),
    ),
    Rule(
        name="mpi",
        group="kubeflow.org",
        kind="MPIJob",
        plural="mpijobs",
        version="v2beta1",
        shape=Shape.REPLICAS,
        name_label=f"{_KUBEFLOW}job-name",
        marks={f"{_KUBEFLOW}operator-name": "mpi-operator"},
        group_labels=(f"{_KUBEFLOW}replica-type", f"{_KUBEFLOW}job-role"),
        roles="mpiReplicaSpecs",
    ),
    _kubeflow("pytorch", "PyTorchJob", "pytorchReplicaSpecs"),
    _kubeflow("tensorflow", "TFJob", "tfReplicaSpecs"),
    _kubeflow("xgboost", "XGBoostJob", "xgbReplicaSpecs"),
    _kubeflow("paddle", "PaddleJob", "paddleReplicaSpecs"),
    _kubeflow("jax", "JAXJob", "jaxReplicaSpecs"),
    Rule(
        name="ray",
        group="ray.io",
        kind="RayCluster",
        plural="rayclusters",
        version="v1",
        shape=Shape.RAY,
        direct=True,
        group_labels=("ray.io/group",),
    ),
    Rule(
        name="spark",
        group="sparkoperator.k8s.io",
        kind="SparkApplication",
        plural="sparkapplications",
        version="v1beta2",
        shape=Shape.SPARK,
        name_label="sparkoperator.k8s.io/app-name",
        group_labels=("spark-role",),
        keeps_id=True,
    ),
    Rule(
        name="job",
        group="batch",
        kind="Job",
        plural="jobs",
        version="v1",
        shape=Shape.JOB,
        direct=True,
        fixed_group="members",
    ),
)
NAMES: Final = tuple(rule.name for rule in RULES)


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod belongs to. ``uid``: of the object, "" if the pod does not say it.

    ``group``: the pod's task group, "" if it is in none.
    """

    rule: Rule
    namespace: str
    name: str
    version: str
    uid: str = ""
    group: str = ""

    @property
    def application_id(self) -> str:
        """The application ID: RULE.NAMESPACE.NAME-DIGEST, which any label can have.

        Long names are cut; the digest is of all parts and the uid.
        """
        parts = (self.rule.name, self.namespace, self.name)
        identity = "\n".join((*parts, self.uid)).encode()
        digest = hashlib.sha256(identity).hexdigest()[:_DIGEST_LENGTH]
        return f"{'.'.join(parts)[: _IDENTITY_LIMIT - _DIGEST_LENGTH - 1]}-{digest}"

    @property
    def path(self) -> str:
        """Where the API server has the object."""
        rule = self.rule
        root = f"/apis/{rule.group}/{self.version}"
        return f"{root}/namespaces/{self.namespace}/{rule.plural}/{self.name}"

    @property
    def shown(self) -> str:
        """The object, for people: KIND NAMESPACE/NAME."""
        return f"{self.rule.kind} {self.namespace}/{self.name}"


def rules_named(text: str) -> tuple[str, ...] | None:
    """Return the names of rules in a list with commas; None if there is no such rule.

    ``all`` are all rules; nothing is none.
    """
    found = {each.strip() for each in text.split(",")} - {""}
    if found == {ALL}:
        return NAMES
    return tuple(each for each in NAMES if each in found) if found <= set(NAMES) else None


def workload_of(pod: Pod, rules: tuple[str, ...], namespace: str = "") -> Workload | None:
    """Return what a pod belongs to by the rules of these names, None if it is nothing of them.

    ``namespace``: where the pod is about to be created, if it does not say so. Implements: EXT-138.
    """
    if not rules:
        return None
    owner = _controller(pod)
    for rule in RULES:
        if rule.name in rules:
            found = _by_rule(pod, rule, owner, namespace or pod.namespace)
            if found is not None:
                return found
    return None


def _controller(pod: Pod) -> OwnerReference | None:
    for each in pod.metadata.owner_references or ():
        if each.controller:
            return each
    return None


def _by_rule(pod: Pod, rule: Rule, owner: OwnerReference | None, namespace: str) -> Workload | None:
    labels = pod.labels
    version, uid = rule.version, ""
    group, _, owner_version = (owner.api_version if owner else "").partition("/")
    if owner is not None and (group, owner.kind) == (rule.group, rule.kind):
        name, version = owner.name, owner_version
        uid = owner.uid if rule.direct else ""
    elif all(labels.get(label) == text for label, text in rule.marks.items()):
        name = labels.get(rule.name_label, "")
    else:
        return None
    # An owner reference may have any text, and these become parts of a path.
    readable = (_NAME.fullmatch(name), _NAME.fullmatch(namespace), _VERSION.fullmatch(version))
    if not all(readable):
        return None
    return Workload(
        rule=rule,
        namespace=namespace,
        name=name,
        version=version,
        uid=uid or labels.get(rule.uid_label, ""),
        group=rule.fixed_group or next(filter(None, map(labels.get, rule.group_labels)), ""),
    )
