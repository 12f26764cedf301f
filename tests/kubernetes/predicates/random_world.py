"""Random nodes, pods and changes, made of few words so that terms meet pods often."""

from __future__ import annotations

from random import Random
from typing import Any

Json = dict[str, Any]

NAMESPACES = ("one", "two", "three")
ZONES = ("z1", "z2", "z3")
APPS = ("a", "b", "c")
TIERS = ("x", "y")
TAINTS = (
    {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "db", "effect": "NoExecute"},
    {"key": "old", "effect": "PreferNoSchedule"},
)


def node(random: Random, name: str) -> Json:
    labels = {"host": name, "size": str(random.randint(1, 9))}
    if random.random() < 0.85:
        labels["zone"] = random.choice(ZONES)
    if random.random() < 0.5:
        labels["disk"] = random.choice(("ssd", "hdd"))
    spec: Json = {}
    if random.random() < 0.1:
        spec["unschedulable"] = True
    if random.random() < 0.25:
        spec["taints"] = random.sample(TAINTS, random.randint(1, 2))
    allocatable = {"cpu": str(random.randint(4, 16)), "memory": "64", "pods": "12"}
    if random.random() < 0.3:
        allocatable["example.com/gpu"] = "2"
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def selector(random: Random) -> Json:
    found: Json = {}
    if random.random() < 0.7:
        found["matchLabels"] = {"app": random.choice(APPS)}
    if random.random() < 0.4:
        operator = random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
        each: Json = {"key": random.choice(("tier", "app")), "operator": operator}
        if operator in {"In", "NotIn"}:
            words = TIERS if each["key"] == "tier" else APPS
            each["values"] = random.sample(words, random.randint(1, len(words)))
        found["matchExpressions"] = [each]
    return found


def rare_selector(random: Random) -> Json:
    """About a label that is different for each pod."""
    operator = random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    each: Json = {"key": "id", "operator": operator}
    if operator in {"In", "NotIn"}:
        each["values"] = [str(random.randint(1, 40)) for _ in range(20)]
    return {"matchExpressions": [each]}


def term(random: Random) -> Json:
    found: Json = {"topologyKey": random.choice(("zone", "host", "zone", "disk"))}
    found["labelSelector"] = selector(random) if random.random() < 0.95 else None
    if random.random() < 0.02:
        found["labelSelector"] = rare_selector(random)
    if random.random() < 0.2:
        found["namespaces"] = random.sample(NAMESPACES, random.randint(0, 2))
    if random.random() < 0.2:
        found["namespaceSelector"] = random.choice(({}, {"matchLabels": {"team": "red"}}))
    if found["labelSelector"] and random.random() < 0.15:
        found["matchLabelKeys"] = ["tier"]
    if found["labelSelector"] and random.random() < 0.1:
        found["mismatchLabelKeys"] = ["run"]
    return found


def some_terms(random: Random) -> list[Json]:
    return [term(random) for _ in range(random.choice((1, 1, 2)))]


def constraint(random: Random) -> Json:
    found: Json = {
        "maxSkew": random.randint(1, 2),
        "topologyKey": random.choice(("zone", "host", "zone")),
        "whenUnsatisfiable": "DoNotSchedule" if random.random() < 0.85 else "ScheduleAnyway",
        "labelSelector": selector(random),
    }
    if random.random() < 0.2:
        found["minDomains"] = random.randint(1, 4)
    if random.random() < 0.2:
        found["nodeAffinityPolicy"] = random.choice(("Honor", "Ignore"))
    if random.random() < 0.3:
        found["nodeTaintsPolicy"] = random.choice(("Honor", "Ignore"))
    if random.random() < 0.2:
        found["matchLabelKeys"] = ["tier"]
    return found


def node_affinity(random: Random) -> Json:
    terms: list[Json] = []
    for _ in range(random.randint(1, 2)):
        kind = random.choice(("zone", "size", "name", "none"))
        if kind == "zone":
            values = random.sample(ZONES, random.randint(1, 2))
            operator = random.choice(("In", "NotIn"))
            each = [{"key": "zone", "operator": operator, "values": values}]
            terms.append({"matchExpressions": each})
        elif kind == "size":
            operator = random.choice(("Gt", "Lt"))
            values = [str(random.randint(2, 8))]
            terms.append(
                {"matchExpressions": [{"key": "size", "operator": operator, "values": values}]}
            )
        elif kind == "name":
            each = [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]
            terms.append({"matchFields": each})
        else:
            terms.append({})
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def tolerations(random: Random) -> list[Json]:
    return random.choice(
        (
            [{"operator": "Exists"}],
            [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}],
            [{"key": "dedicated", "operator": "Exists"}],
            [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}],
        )
    )


def container(random: Random) -> Json:
    requests: Json = {}
    if random.random() < 0.8:
        requests["cpu"] = random.choice(("500m", "1", "2"))
    if random.random() < 0.5:
        requests["memory"] = str(random.choice((1, 4, 16)))
    if random.random() < 0.1:
        requests["example.com/gpu"] = "1"
    made: Json = {"name": "main", "resources": {"requests": requests}}
    if random.random() < 0.15:
        port: Json = {"hostPort": random.choice((80, 81)), "containerPort": 80}
        if random.random() < 0.5:
            port["hostIP"] = random.choice(("10.0.0.1", "10.0.0.2", "0.0.0.0"))
        if random.random() < 0.3:
            port["protocol"] = "UDP"
        made["ports"] = [port]
    return made


def labels(random: Random, number: int) -> dict[str, str]:
    found = {"app": random.choice(APPS)} if random.random() < 0.9 else {}
    if random.random() < 0.6:
        found["tier"] = random.choice(TIERS)
    if random.random() < 0.4:
        found["run"] = str(number % 3)
    if random.random() < 0.5:
        found["id"] = str(number)
    return found


def plain_pod(random: Random, number: int) -> Json:
    """A pod like many others but for its number."""
    found = {"app": random.choice(APPS)}
    if random.random() < 0.5:
        found["id"] = str(number)
    metadata = {"name": f"p{number}", "namespace": "one", "uid": f"u{number}", "labels": found}
    return {
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "resources": {"requests": {}}}]},
    }


def pod(random: Random, number: int) -> Json:
    if random.random() < 0.2:
        return plain_pod(random, number)
    spec: Json = {"containers": [container(random)]}
    if random.random() < 0.2:
        spec["nodeSelector"] = {"disk": random.choice(("ssd", "hdd"))}
    affinity: Json = {}
    if random.random() < 0.15:
        affinity["nodeAffinity"] = node_affinity(random)
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    if random.random() < 0.25:
        affinity["podAffinity"] = {
            required: [term(random) for _ in range(random.choice((1, 1, 2)))]
        }
    if random.random() < 0.35:
        affinity["podAntiAffinity"] = {required: some_terms(random)}
    if affinity:
        spec["affinity"] = affinity
    if random.random() < 0.3:
        spec["topologySpreadConstraints"] = [
            constraint(random) for _ in range(random.choice((1, 1, 2)))
        ]
    if random.random() < 0.3:
        spec["tolerations"] = tolerations(random)
    return {
        "metadata": {
            "name": f"p{number}",
            "namespace": random.choice(NAMESPACES),
            "uid": f"u{number}",
            "labels": labels(random, number),
        },
        "spec": spec,
    }
