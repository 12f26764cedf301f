"""What the accounts of an installation may do, and nothing else.

docs/reference/kubernetes-api-server.md says what each right is for; tests on a real API server show
that these are enough, and that others are refused.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from remuda_kubernetes.translation.workloads import RULES

Object: TypeAlias = dict[str, Any]

_GROUP: Final = "rbac.authorization.k8s.io"
_READ: Final = ["list", "watch"]


def _rule(groups: list[str], resources: list[str], verbs: list[str], name: str = "") -> Object:
    found: Object = {"apiGroups": groups, "resources": resources}
    if name:
        found["resourceNames"] = [name]
    return {**found, "verbs": verbs}


def scheduler(namespace: str) -> list[Object]:
    """Return the account of ``remuda kubernetes`` and its roles."""
    everywhere = [
        *_followed(),
        _rule([""], ["pods"], ["get", "create", "delete", "patch"]),
        _rule([""], ["pods/binding", "pods/eviction"], ["create"]),
        _rule([""], ["pods/status", "persistentvolumeclaims", "persistentvolumes"], ["patch"]),
        # Placeholders are owned by a pod; some clusters ask for this right then.
        _rule([""], ["pods/finalizers"], ["update"]),
        _rule(["", "events.k8s.io"], ["events"], ["create", "patch"]),
    ]
    own = [
        _rule([""], ["configmaps"], _READ),
        *_kept("coordination.k8s.io", "leases", "remuda-kubernetes"),
    ]
    return _granted("remuda", "remuda-kubernetes", namespace, everywhere, own)


def shadow(namespace: str) -> list[Object]:
    """Return the account of ``remuda kubernetes shadow`` and its roles, which only read."""
    own = [_rule([""], ["configmaps"], _READ)]
    return _granted("remuda-shadow", "remuda-shadow", namespace, _followed(), own)


def _followed() -> list[Object]:
    """Return the rules by which a scheduler knows a cluster."""
    core = ["namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "pods"]
    storage = ["csidrivers", "csinodes", "csistoragecapacities", "storageclasses"]
    return [
        _rule([""], [*core, "replicationcontrollers", "services"], _READ),
        _rule(["apps"], ["replicasets", "statefulsets"], _READ),
        _rule(["policy"], ["poddisruptionbudgets"], _READ),
        _rule(["resource.k8s.io"], ["resourceclaims"], _READ),
        _rule(["scheduling.k8s.io"], ["priorityclasses"], _READ),
        _rule(["storage.k8s.io"], [*storage, "volumeattachments"], _READ),
    ]


def workloads(namespace: str) -> list[Object]:
    """Return the role by which the scheduler reads workloads, to derive their gangs."""
    plurals: dict[str, list[str]] = {}
    for rule in RULES:
        plurals.setdefault(rule.group, []).append(rule.plural)
    rules = [_rule([group], sorted(found), ["get"]) for group, found in sorted(plurals.items())]
    subject = {"kind": "ServiceAccount", "name": "remuda", "namespace": namespace}
    name = "remuda-kubernetes-workloads"
    return [
        _role("ClusterRole", {"name": name}, rules),
        _binding("ClusterRoleBinding", {"name": name}, "ClusterRole", subject),
    ]


def admission(namespace: str) -> list[Object]:
    """Return the account of ``remuda kubernetes admission`` and its roles."""
    webhooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
    name = "remuda-admission"
    everywhere = [
        _rule([""], ["namespaces"], ["get", *_READ]),
        _rule(["scheduling.k8s.io"], ["priorityclasses"], _READ),
        # The name of an object that is created cannot be limited.
        _rule(["admissionregistration.k8s.io"], webhooks, ["create"]),
        _rule(["admissionregistration.k8s.io"], webhooks, ["get", "update"], name),
    ]
    own = [
        _rule([""], ["configmaps"], _READ),
        *_kept("", "secrets", name),
        *_kept("coordination.k8s.io", "leases", name),
    ]
    return _granted(name, name, namespace, everywhere, own)


def _kept(group: str, resources: str, name: str) -> list[Object]:
    """Return the rules by which one object of a name is made and kept."""
    return [
        _rule([group], [resources], ["create"]),
        _rule([group], [resources], ["get", "update"], name),
    ]


def _granted(
    account: str, role: str, namespace: str, everywhere: list[Object], own: list[Object]
) -> list[Object]:
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    inside = {"name": role, "namespace": namespace}
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": namespace},
        },
        _role("ClusterRole", {"name": role}, everywhere),
        _binding("ClusterRoleBinding", {"name": role}, "ClusterRole", subject),
        _role("Role", inside, own),
        _binding("RoleBinding", inside, "Role", subject),
    ]


def _role(kind: str, metadata: Object, rules: list[Object]) -> Object:
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata, "rules": rules}


def _binding(kind: str, metadata: Object, of: str, subject: Object) -> Object:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": of, "name": metadata["name"]},
        "subjects": [subject],
    }
