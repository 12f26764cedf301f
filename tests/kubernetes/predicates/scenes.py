"""Nodes, pods and other objects for tests of the filters, in the words of Kubernetes."""

from __future__ import annotations

from typing import Any

from remuda_kubernetes.objects import kinds
from remuda_kubernetes.objects.cluster import Namespace
from remuda_kubernetes.objects.kinds import Kind
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.predicates.classes import FilterSettings
from remuda_kubernetes.predicates.cluster import Cluster

Json = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(name: str, labels: Json | None = None, **spec: Any) -> Node:
    """A node with 4 cores, 8 GiB and 10 pods; ``host`` is its own label."""
    allocatable = spec.pop("allocatable", {"cpu": "4", "memory": "8Gi", "pods": "10"})
    metadata = {"name": name, "labels": {"host": name, **(labels or {})}}
    return convert(
        Node, {"metadata": metadata, "spec": spec, "status": {"allocatable": allocatable}}
    )


def pod(uid: str, labels: Json | None = None, *, namespace: str = "one", **spec: Any) -> Pod:
    """A pod; its name is its uid."""
    metadata = {"name": uid, "uid": uid, "namespace": namespace, "labels": labels or {}}
    metadata.update(spec.pop("metadata", {}))
    status = spec.pop("status", {})
    return convert(Pod, {"metadata": metadata, "spec": spec, "status": status})


def asks(**requests: str) -> list[Json]:
    """One container with some requests."""
    return [{"name": "main", "resources": {"requests": requests}}]


def term(key: str = "zone", **rest: Any) -> Json:
    """A term about pods with the label app=a."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "a"}}} | rest


def near(*terms: Json) -> Json:
    return {"podAffinity": {REQUIRED: list(terms)}}


def away(*terms: Json) -> Json:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def on_nodes(*terms: Json) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def spread(key: str = "zone", **rest: Any) -> Json:
    """A constraint about pods with the label app=a."""
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    } | rest


def cluster(*nodes: Node, settings: FilterSettings | None = None) -> Cluster:
    made = Cluster(settings or FilterSettings())
    for each in nodes:
        made.set_node(each)
    return made


def put(found: Cluster, kind: Kind, name: str, *, namespace: str = "", **fields: Any) -> None:
    """Set an object of another kind."""
    metadata = {"name": name, "namespace": namespace, **fields.pop("metadata", {})}
    found.set_object(kind, convert(kind.type, {"metadata": metadata, **fields}))


def put_namespace(found: Cluster, name: str, **labels: str) -> None:
    made = convert(Namespace, {"metadata": {"name": name, "labels": labels}})
    found.set_object(kinds.NAMESPACE, made)


def reason(found: Cluster, asked: Pod, name: str, *, allocate: bool = True) -> str:
    """Why a pod does not fit on a node; "" if it does."""
    verdicts = found.judge(asked, [name], allocate=allocate, want=1)
    assert verdicts.judged == 1
    return verdicts.refusals[0][1].text if verdicts.refusals else ""


def fitting(found: Cluster, asked: Pod, *names: str) -> list[str]:
    """The nodes on which a pod fits."""
    return [names[index] for index in found.judge(asked, names, allocate=True, want=99).fits]
