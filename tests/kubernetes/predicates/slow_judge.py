"""A judge that scans everything for each question, written from the documentation of Kubernetes.

It works on plain JSON objects and shares no code with the filters. Sources: "Assigning Pods to
Nodes", "Taints and Tolerations", "Pod Topology Spread Constraints", "Labels and Selectors".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

OK = ("", "")
HARD = "UnschedulableAndUnresolvable"
SOFT = "Unschedulable"
SKEWED = "node(s) didn't match pod topology spread constraints"


@dataclass
class World:
    """Nodes by name, pods by uid with the name of their node, labels of namespaces."""

    nodes: dict[str, Json] = field(default_factory=dict)
    pods: dict[str, tuple[Json, str]] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)

    def on(self, node: str) -> list[Json]:
        return [pod for pod, where in self.pods.values() if where == node]

    def running(self) -> list[tuple[Json, Json]]:
        """Pods with their nodes, as far as these exist."""
        return [
            (pod, self.nodes[where]) for pod, where in self.pods.values() if where in self.nodes
        ]


def labels(thing: Json) -> dict[str, str]:
    found: dict[str, str] = thing["metadata"].get("labels") or {}
    return found


def expression(each: Json, found: dict[str, str]) -> bool:
    value, values = found.get(each["key"]), each.get("values") or []
    match each["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(values[0])
        case _:
            raise AssertionError(each)


def selected(selector: Json | None, found: dict[str, str]) -> bool:
    if selector is None:
        return False
    return all(
        found.get(key) == value for key, value in (selector.get("matchLabels") or {}).items()
    ) and all(expression(each, found) for each in selector.get("matchExpressions") or [])


# ------------------------------------------------------------------------- the node by itself


def tolerated(pod: Json, taint: Json) -> bool:
    for each in pod["spec"].get("tolerations") or []:
        if each.get("effect") and each["effect"] != taint["effect"]:
            continue
        if each.get("key") and each["key"] != taint["key"]:
            continue
        if each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", ""):
            return True
    return False


def untolerated(pod: Json, node: Json) -> Json | None:
    for taint in node["spec"].get("taints") or []:
        if taint["effect"] in {"NoSchedule", "NoExecute"} and not tolerated(pod, taint):
            return taint  # type: ignore[no-any-return]
    return None


def wanted_node(pod: Json, node: Json) -> bool:
    spec, found = pod["spec"], labels(node)
    if any(found.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity")
    if not affinity:
        return True
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    name = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(expression(each, found) for each in term.get("matchExpressions") or [])
        and all(expression(each, name) for each in term.get("matchFields") or [])
        for term in terms
    )


def ports(pod: Json) -> list[tuple[str, int, str]]:
    return [
        (port.get("protocol", "TCP"), port["hostPort"], port.get("hostIP") or "0.0.0.0")
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or []
    ]


def ports_collide(pod: Json, others: list[Json]) -> bool:
    for protocol, number, address in ports(pod):
        for other in others:
            for protocol2, number2, address2 in ports(other):
                same = (protocol, number) == (protocol2, number2)
                if same and (address == address2 or "0.0.0.0" in {address, address2}):
                    return True
    return False


def amount(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def requested(pod: Json, name: str) -> int:
    return sum(
        amount(each["resources"]["requests"].get(name, "0")) for each in pod["spec"]["containers"]
    )


def lacking(pod: Json, node: Json, others: list[Json]) -> list[str]:
    has = node["status"]["allocatable"]
    found = ["Too many pods"] if len(others) + 1 > int(has["pods"]) else []
    for name in ("cpu", "memory", "example.com/gpu"):
        wanted = requested(pod, name)
        used = sum(requested(each, name) for each in others)
        if wanted and wanted + used > amount(has.get(name, "0")):
            found.append(f"Insufficient {name}")
    return found


# -------------------------------------------------------------------------------- other pods


def term_matches(world: World, owner: Json, term: Json, pod: Json) -> bool:
    """Whether a term of one pod is about another pod."""
    namespace = pod["metadata"]["namespace"]
    names, of = term.get("namespaces"), term.get("namespaceSelector")
    if not names and of is None:
        within = namespace == owner["metadata"]["namespace"]
    else:
        within = namespace in (names or []) or (
            of is not None and selected(of, world.namespaces.get(namespace, {}))
        )
    if not within or not selected(term.get("labelSelector"), labels(pod)):
        return False
    own = labels(owner)
    for key in term.get("matchLabelKeys") or []:
        if key in own and labels(pod).get(key) != own[key]:
            return False
    for key in term.get("mismatchLabelKeys") or []:
        if key in own and labels(pod).get(key) == own[key]:
            return False
    return True


def terms(pod: Json, kind: str) -> list[Json]:
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []


def same_domain(one: Json, other: Json, key: str) -> bool:
    return key in labels(one) and labels(one).get(key) == labels(other).get(key)


def affinity_holds(world: World, pod: Json, node: Json) -> bool:
    wanted = terms(pod, "podAffinity")
    if any(term["topologyKey"] not in labels(node) for term in wanted):
        return False
    friends = [
        (other, where)
        for other, where in world.running()
        if all(term_matches(world, pod, term, other) for term in wanted)
    ]
    if all(
        any(same_domain(where, node, term["topologyKey"]) for _, where in friends)
        for term in wanted
    ):
        return True
    nowhere = not any(
        term["topologyKey"] in labels(where) for _, where in friends for term in wanted
    )
    return nowhere and all(term_matches(world, pod, term, pod) for term in wanted)


def pods_forbid(world: World, pod: Json, node: Json) -> str:
    for other, where in world.running():
        for term in terms(pod, "podAntiAffinity"):
            if term_matches(world, pod, term, other) and same_domain(
                where, node, term["topologyKey"]
            ):
                return "node(s) didn't match pod anti-affinity rules"
    for other, where in world.running():
        for term in terms(other, "podAntiAffinity"):
            if term_matches(world, other, term, pod) and same_domain(
                where, node, term["topologyKey"]
            ):
                return "node(s) didn't satisfy existing pods anti-affinity rules"
    return ""


def spread_refusal(world: World, pod: Json, node: Json) -> tuple[str, str]:
    hard = [
        each
        for each in pod["spec"].get("topologySpreadConstraints") or []
        if each["whenUnsatisfiable"] == "DoNotSchedule"
    ]
    for each in hard:
        key = each["topologyKey"]
        if key not in labels(node):
            return (
                HARD,
                "node(s) didn't match pod topology spread constraints (missing required label)",
            )
        counts: dict[str, int] = {}
        for where in world.nodes.values():
            if any(other["topologyKey"] not in labels(where) for other in hard):
                continue
            if each.get("nodeAffinityPolicy", "Honor") == "Honor" and not wanted_node(pod, where):
                continue
            if each.get("nodeTaintsPolicy", "Ignore") == "Honor" and untolerated(pod, where):
                continue
            number = sum(counted(pod, each, other) for other in world.on(where["metadata"]["name"]))
            domain = labels(where)[key]
            counts[domain] = counts.get(domain, 0) + number
        least = min(counts.values(), default=0)
        if len(counts) < each.get("minDomains", 1):
            least = 0
        mine = counts.get(labels(node)[key], 0) + counted(pod, each, pod)
        if mine - least > each["maxSkew"]:
            return (SOFT, SKEWED)
    return OK


def counted(pod: Json, constraint: Json, other: Json) -> bool:
    if other["metadata"].get("deletionTimestamp"):
        return False
    if other["metadata"]["namespace"] != pod["metadata"]["namespace"]:
        return False
    own = labels(pod)
    return selected(constraint["labelSelector"], labels(other)) and all(
        labels(other).get(key) == own[key]
        for key in constraint.get("matchLabelKeys") or []
        if key in own
    )


def judge(world: World, pod: Json, name: str, *, allocate: bool) -> tuple[str, str]:
    """Return verdict and reason; two empty texts if the pod fits."""
    node = world.nodes[name]
    others = world.on(name)
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node["spec"].get("unschedulable") and not tolerated(pod, cordon):
        return (HARD, "node(s) were unschedulable")
    taint = untolerated(pod, node)
    if taint is not None:
        text = f"{{{taint['key']}: {taint.get('value', '')}}}"
        return (HARD, f"node(s) had untolerated taint {text}")
    if not wanted_node(pod, node):
        return (HARD, "node(s) didn't match Pod's node affinity/selector")
    if ports_collide(pod, others):
        return (SOFT, "node(s) didn't have free ports for the requested pod ports")
    if allocate and (found := lacking(pod, node, others)):
        return (SOFT, ", ".join(found))
    skewed = spread_refusal(world, pod, node)
    if skewed != OK:
        return skewed
    if terms(pod, "podAffinity") and not affinity_holds(world, pod, node):
        return (HARD, "node(s) didn't match pod affinity rules")
    forbidden = pods_forbid(world, pod, node)
    return (SOFT, forbidden) if forbidden else OK
