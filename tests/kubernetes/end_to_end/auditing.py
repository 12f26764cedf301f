"""Roles on a real API server, and its audit log: who asked it for what, and was let in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.kubernetes.end_to_end.calls import Api

_ROLES = "/apis/rbac.authorization.k8s.io/v1"

# Group, resource with its subresource, and verb, as rules of roles have them.
Right = tuple[str, str, str]


def create_roles(api: Api, manifests: list[dict[str, Any]]) -> None:
    """Create accounts, roles and their bindings."""
    for each in manifests:
        space = each["metadata"].get("namespace")
        root = "/api/v1" if each["apiVersion"] == "v1" else _ROLES
        within = f"/namespaces/{space}" if space else ""
        api.create(f"{root}{within}/{each['kind'].lower()}s", each)


def audit_options(folder: Path) -> list[str]:
    """Return the options of a server that writes down every request in a folder."""
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
    (folder / "policy.json").write_text(json.dumps(policy))
    return [
        f"--audit-policy-file={folder / 'policy.json'}",
        f"--audit-log-path={_log(folder)}",
    ]


def audited(folder: Path) -> list[dict[str, Any]]:
    """Return the requests that a server wrote down."""
    return [json.loads(line) for line in _log(folder).read_text().splitlines()]


def used_rights(folder: Path, account: str) -> set[Right]:
    """Return the rights that an account needed for what it was allowed."""
    found = set()
    for each in audited(folder):
        decision = each.get("annotations", {}).get("authorization.k8s.io/decision")
        if each["user"]["username"] == account and decision == "allow" and "objectRef" in each:
            about = each["objectRef"]
            parts = [about["resource"], about.get("subresource", "")]
            found.add((about.get("apiGroup", ""), "/".join(filter(None, parts)), each["verb"]))
    return found


def granted_rights(manifests: list[dict[str, Any]]) -> set[Right]:
    """Return the rights that roles grant."""
    return {
        (group, resource, verb)
        for each in manifests
        if each["kind"] in {"Role", "ClusterRole"}
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def served_rights(api: Api, some: set[Right]) -> set[Right]:
    """Return those of some rights that are about resources which a server has."""
    found = set()
    for group in {right[0] for right in some}:
        known = api.get("/apis")["groups"] if group else []
        versions = [
            f"/apis/{version['groupVersion']}"
            for each in known
            if each["name"] == group
            for version in each["versions"]
        ]
        for path in versions if group else ["/api/v1"]:
            found |= {(group, each["name"]) for each in api.get(path)["resources"]}
    return {right for right in some if right[:2] in found}


def _log(folder: Path) -> Path:
    return folder / "audit.log"
