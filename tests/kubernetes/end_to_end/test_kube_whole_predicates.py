"""Pods that want a node of some kind get it, or are told what the nodes lack.

All tests share three nodes: n1 (zone a, fast) runs the pod `web` with a host port, n2 (zone b) runs
nothing, n3 (zone c) is tainted. In another namespace `store` runs on n2.
Sources: the documentation of Kubernetes, "Assigning Pods to Nodes" and "Taints and Tolerations";
the texts are those of kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.manifests import HOST
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.spaces import Space

OWN, OTHER = "placed", "placed-elsewhere"
ZONE = "zone"
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}

NO_MATCH = "2 node(s) didn't match Pod's node affinity/selector"
TAINTED = "1 node(s) had untolerated taint"
NOT_NEAR = "node(s) didn't match pod affinity rules"
TOO_NEAR = "node(s) didn't match pod anti-affinity rules"
NOT_WANTED = "node(s) didn't satisfy existing pods anti-affinity rules"
PORTS = "node(s) didn't have free ports for the requested pod ports"


@pytest.fixture(scope="module")
def field(cluster: Cluster) -> Iterator[Space]:
    """The nodes and what runs on them."""
    with cluster.space(OTHER) as other, cluster.space(OWN) as own:
        own.node("n1", labels={ZONE: "a", "disk": "fast"})
        own.node("n2", labels={ZONE: "b", "disk": "slow"})
        own.node("n3", labels={ZONE: "c"}, taints=[TAINT])
        ports = {"spec": {"nodeSelector": {HOST: "n1"}}}
        web = own.pod("web", labels={"app": "web", "tier": "front"}, **ports)
        loner = {"podAntiAffinity": must(term(labels={"shy": "no"}))}
        other.pod(
            "store",
            labels={"app": "store"},
            spec={"nodeSelector": {HOST: "n2"}, "affinity": loner},
        )
        assert web["metadata"]["namespace"] == OWN
        own.running("web")
        other.running("store")
        yield own
        other.clear()


def must(*terms: Object) -> Object:
    return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}


def term(
    key: str = "",
    operator: str = "In",
    values: tuple[str, ...] = (),
    *,
    labels: dict[str, str] | None = None,
    **more: Any,
) -> Object:
    """A term about pods in the same zone."""
    selector: Object = {"matchLabels": labels} if labels else {}
    if key:
        expression: Object = {"key": key, "operator": operator}
        selector["matchExpressions"] = [expression | ({"values": list(values)} if values else {})]
    return {"labelSelector": selector, "topologyKey": ZONE, **more}


def near(*terms: Object) -> Object:
    return {"affinity": {"podAffinity": must(*terms)}}


def apart(*terms: Object) -> Object:
    return {"affinity": {"podAntiAffinity": must(*terms)}}


def nodes(operator: str, key: str, *values: str, part: str = "matchExpressions") -> Object:
    expression = {"key": key, "operator": operator} | ({"values": list(values)} if values else {})
    terms = {"nodeSelectorTerms": [{part: [expression]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {"affinity": {"nodeAffinity": required}}


def tolerating(value: str) -> Object:
    toleration = {"key": "dedicated", "operator": "Equal", "value": value, "effect": "NoSchedule"}
    return {"tolerations": [toleration], "nodeSelector": {ZONE: "c"}}


# What a pod asks for, and its node.
PLACED: dict[str, tuple[Object, str]] = {
    "node selector": ({"nodeSelector": {"disk": "fast"}}, "n1"),
    "node affinity": (nodes("NotIn", "disk", "fast", "none"), "n2"),
    "node affinity by name": (nodes("In", "metadata.name", "n1", part="matchFields"), "n1"),
    "taint tolerated": (tolerating("ml"), "n3"),
    "pod affinity In": (near(term("app", "In", ("web", "api"))), "n1"),
    "pod affinity NotIn": (near(term("tier", "NotIn", ("back",), labels={"app": "web"})), "n1"),
    "pod affinity Exists": (near(term("tier", "Exists")), "n1"),
    "pod affinity in a namespace": (near(term(labels={"app": "store"}, namespaces=[OTHER])), "n2"),
    "pod affinity of several terms": (
        near(term(labels={"app": "web"}), term("tier", "In", ("front",))),
        "n1",
    ),
    "pod anti-affinity": (apart(term(labels={"app": "web"})), "n2"),
    "pod anti-affinity in a namespace": (
        apart(term(labels={"app": "store"}, namespaces=[OTHER])),
        "n1",
    ),
    "pod anti-affinity of other namespaces only": (
        apart(term(labels={"app": "store"})) | {"nodeSelector": {ZONE: "b"}},
        "n2",
    ),
}

# What a pod asks for, and what it is told.
REFUSED: dict[str, tuple[Object, str]] = {
    "node selector": ({"nodeSelector": {"disk": "none"}}, NO_MATCH),
    "node affinity": (nodes("In", "disk", "none"), NO_MATCH),
    "node affinity by name": (nodes("In", "metadata.name", "n9", part="matchFields"), NO_MATCH),
    "taint of another value": (tolerating("web"), TAINTED),
    "taint": ({"nodeSelector": {ZONE: "c"}}, TAINTED),
    "pod affinity that nothing matches": (near(term("app", "In", ("none",))), NOT_NEAR),
    "pod affinity of terms that no node matches together": (
        near(term(labels={"app": "web"}), term(labels={"app": "store"}, namespaces=[OTHER])),
        NOT_NEAR,
    ),
    "pod affinity to another namespace": (near(term(labels={"app": "store"})), NOT_NEAR),
    "pod anti-affinity": (
        apart(term(labels={"app": "web"})) | {"nodeSelector": {ZONE: "a"}},
        TOO_NEAR,
    ),
    "pod anti-affinity of several terms": (
        apart(term(labels={"app": "web"}), term(labels={"app": "store"}, namespaces=[OTHER])),
        TOO_NEAR,
    ),
}


@pytest.mark.parametrize("name", PLACED)
def test_a_pod_gets_a_node_that_does(field: Space, name: str) -> None:
    spec, node = PLACED[name]
    field.pod("p", spec=spec)
    try:
        field.running("p")
        assert field.node_of("p") == node
    finally:
        field.delete("p")
        field.gone("p")


def test_a_pod_without_a_node_is_told_what_the_nodes_lack(field: Space) -> None:
    for number, (spec, _) in enumerate(REFUSED.values()):
        field.pod(f"p{number}", spec=spec)
    try:
        for number, (name, (_, text)) in enumerate(REFUSED.items()):
            told = field.waiting(f"p{number}", text)
            assert told.startswith("Unschedulable: 0/3 nodes are available: "), name
    finally:
        names = [f"p{number}" for number in range(len(REFUSED))]
        field.delete(*names)
        field.gone(*names)


def test_a_running_pod_keeps_others_away_by_its_anti_affinity(cluster: Cluster) -> None:
    with cluster.space("kept-away") as space:
        space.node("n4", labels={ZONE: "d"})
        here = {"nodeSelector": {ZONE: "d"}}
        space.pod("quiet", spec=apart(term(labels={"loud": "yes"})) | here)
        space.running("quiet")
        space.pod("loud", labels={"loud": "yes"}, spec=here)
        space.waiting("loud", f"1 {NOT_WANTED}")
        # The one that kept it away goes, and nothing else happens.
        space.delete("quiet")
        space.running("loud")


def test_a_pod_that_names_its_node_is_counted_in_its_queue(field: Space) -> None:
    field.pod("p", app="named", spec={"nodeName": "n2"})
    try:
        field.running("p")
        field.until("the application is known", lambda: field.application("named"))
        found = field.application("named")
        assert found is not None
        (allocation,) = found["allocations"]
        assert allocation["nodeId"] == "n2"
    finally:
        field.delete("p")
        field.gone("p")


def with_port(**port: Any) -> Object:
    """A pod on n1 with a host port."""
    return {
        "nodeSelector": {HOST: "n1"},
        "containers": [
            {"name": "main", "image": "pause", "ports": [{"containerPort": 80, **port}]}
        ],
    }


def test_two_pods_with_equal_host_ports_do_not_share_a_node(field: Space) -> None:
    names = ("p1", "p2", "p3")
    try:
        field.pod("p1", spec=with_port(hostPort=54321))
        field.running("p1")
        field.pod("p2", spec=with_port(hostPort=54321))
        # All addresses of the node include this one.
        field.pod("p3", spec=with_port(hostPort=54321, hostIP="127.0.0.1"))
        assert "1 node(s) didn't have free ports" in field.waiting("p2", PORTS)
        field.waiting("p3", PORTS)
    finally:
        field.delete(*[name for name in names if field.get(name)])
        field.gone(*names)


def test_host_ports_of_other_address_or_protocol_share_a_node(field: Space) -> None:
    names = ("p1", "p2", "p3")
    try:
        field.pod("p1", spec=with_port(hostPort=54322, hostIP="127.0.0.1"))
        field.pod("p2", spec=with_port(hostPort=54322, hostIP="127.0.0.2"))
        field.pod("p3", spec=with_port(hostPort=54322, hostIP="127.0.0.1", protocol="UDP"))
        field.running(*names)
        assert {field.node_of(name) for name in names} == {"n1"}
    finally:
        field.delete(*names)
        field.gone(*names)
