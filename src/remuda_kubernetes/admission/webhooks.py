"""What the API server is told to ask: the two webhook configurations, as pure functions.

Where nothing answers, objects are stored as they are (failure policy ``Ignore``), unless the
operator chose otherwise. The API server never asks about objects of the namespaces of the system
and of the controller, so that both can always start.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from remuda_kubernetes.admission.reviews import Json
from remuda_kubernetes.admission.templates import TEMPLATES

NAME: Final = "remuda-admission"
MUTATE: Final = "/mutate"
VALIDATE: Final = "/validate-conf"
GROUP: Final = "admissionregistration.k8s.io/v1"
IGNORE: Final = "Ignore"
FAIL: Final = "Fail"
# Namespaces with this label are never asked about.
EXEMPT_LABEL: Final = "remuda/admission"
EXEMPT: Final = "exempt"
# The API server gives it to each namespace since 1.21.
NAME_LABEL: Final = "kubernetes.io/metadata.name"
_SYSTEM: Final = "kube-system"
# What a request waits at most for us. The answer takes thousandths of it.
_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Rule:
    """Kinds of objects."""

    groups: tuple[str, ...]
    versions: tuple[str, ...]
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Webhook:
    """What is asked under one name. ``again``: once more if another webhook changed the object."""

    name: str
    path: str
    rules: tuple[Rule, ...]
    again: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """Where the API server finds the controller, and how it knows it.

    ``url``: https://HOST:PORT for an API server outside of the cluster's network, "" for the
    service. ``authorities``: certificates in PEM; None leaves what is there to another program,
    such as cert-manager. ``named``: whether namespaces have the label with their name.
    """

    namespace: str
    service: str
    url: str = ""
    authorities: bytes | None = None
    failure_policy: str = IGNORE
    named: bool = True


def _templates() -> tuple[Rule, ...]:
    """Return the kinds with templates. Servers before 1.21 have CronJobs as v1beta1 only."""
    found: dict[str, list[str]] = {}
    for group, kind in TEMPLATES:
        found.setdefault(group, []).append(f"{kind.lower()}s")
    return tuple(
        Rule((group,), ("v1", "v1beta1") if group == "batch" else ("v1",), tuple(resources))
        for group, resources in found.items()
    )


MUTATING: Final = (
    Webhook("pods.admission.remuda", MUTATE, (Rule(("",), ("v1",), ("pods",)),), again=True),
    Webhook("templates.admission.remuda", MUTATE, _templates(), again=True),
)
VALIDATING: Final = (
    Webhook("config-maps.admission.remuda", VALIDATE, (Rule(("",), ("v1",), ("configmaps",)),)),
)
# The kinds of configurations by the plural in their path.
PLURALS: Final[Mapping[str, str]] = {
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
}


def wanted(plural: str, target: Target) -> list[Json]:
    """Return the webhooks of one configuration, with every field that the server would fill in."""
    if PLURALS[plural].startswith("Mutating"):
        return [
            {
                **_webhook(each, target),
                "failurePolicy": target.failure_policy,
                "namespaceSelector": _but_exempt(target),
                "reinvocationPolicy": "IfNeeded" if each.again else "Never",
            }
            for each in MUTATING
        ]
    return [
        {
            **_webhook(each, target),
            # A fault in a ConfigMap is found by the scheduler, too.
            "failurePolicy": IGNORE,
            "namespaceSelector": _only_own(target),
        }
        for each in VALIDATING
    ]


def _webhook(webhook: Webhook, target: Target) -> Json:
    return {
        "name": webhook.name,
        "clientConfig": _client(webhook, target),
        "rules": [
            {
                "operations": ["CREATE", "UPDATE"],
                "apiGroups": list(rule.groups),
                "apiVersions": list(rule.versions),
                "resources": list(rule.resources),
                "scope": "Namespaced",
            }
            for rule in webhook.rules
        ],
        "matchPolicy": "Equivalent",
        "objectSelector": {},
        "sideEffects": "None",
        "timeoutSeconds": _SECONDS,
        "admissionReviewVersions": ["v1"],
    }


def _client(webhook: Webhook, target: Target) -> Json:
    found: Json = {}
    if target.url:
        found["url"] = target.url + webhook.path
    else:
        found["service"] = {
            "namespace": target.namespace,
            "name": target.service,
            "path": webhook.path,
            "port": 443,
        }
    if target.authorities is not None:
        found["caBundle"] = base64.b64encode(target.authorities).decode()
    return found


def _but_exempt(target: Target) -> Json:
    own = sorted({_SYSTEM, target.namespace})
    return {
        "matchExpressions": [
            {"key": NAME_LABEL, "operator": "NotIn", "values": own},
            {"key": EXEMPT_LABEL, "operator": "NotIn", "values": [EXEMPT]},
        ]
    }


def _only_own(target: Target) -> Json:
    if not target.named:
        return {}
    return {"matchLabels": {NAME_LABEL: target.namespace}}


def merged(found: Json | None, plural: str, target: Target) -> Json | None:
    """Return the configuration to write, None if the one that was found is right.

    What others wrote beside our webhooks stays: labels, annotations, and the authorities if the
    target leaves them to another program.
    """
    hooks = wanted(plural, target)
    if found is None:
        return {
            "apiVersion": GROUP,
            "kind": PLURALS[plural],
            "metadata": {"name": NAME, "labels": {"app.kubernetes.io/name": "remuda"}},
            "webhooks": hooks,
        }
    present = found.get("webhooks") or []
    if target.authorities is None:
        bundles = {each.get("name"): _bundle(each) for each in present}
        for each in hooks:
            if bundle := bundles.get(each["name"]):
                each["clientConfig"]["caBundle"] = bundle
    return None if present == hooks else {**found, "webhooks": hooks}


def _bundle(webhook: Any) -> Any:
    return (webhook.get("clientConfig") or {}).get("caBundle")


def trusted(found: Json | None) -> bytes:
    """Return the authorities, in PEM, by which a configuration knows the controller."""
    return bundle_of(found) or b""


def bundle_of(found: Json | None) -> bytes | None:
    """Return the authorities, in PEM, that all webhooks of a configuration have.

    None if there is no webhook, or they differ; nothing if they leave it to the client's system.
    """
    bundles = {_bundle(each) or "" for each in (found or {}).get("webhooks") or ()}
    return base64.b64decode(bundles.pop()) if len(bundles) == 1 else None
