"""Admission webhooks, as the server calls them before it stores an object.

They are found in the webhook configurations that are stored, and called over TLS by their URL; a
service has no address here, so that calling one fails. Source: the documentation of Kubernetes,
"Dynamic Admission Control".
"""

from __future__ import annotations

import base64
import http.client
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from remuda_kubernetes.testing.identity import new_uid
from remuda_kubernetes.testing.patches import json_patch
from remuda_kubernetes.testing.resources import MUTATING, NAMESPACE, VALIDATING, Resource
from remuda_kubernetes.testing.statuses import Json, Refusal

if TYPE_CHECKING:
    from remuda_kubernetes.testing.cluster import Cluster, Writer

_SECONDS: Final = 10.0
_ANSWER_LIMIT: Final = 3 << 20


class _CallFailed(Exception):  # noqa: N818 - the failure policy decides what it is
    """There is no answer that counts."""


def mutated(
    cluster: Cluster, resource: Resource, item: Json, before: Json | None, writer: Writer
) -> Json:
    """Return an object as the mutating webhooks want it. Raises: Refusal."""
    for webhook in _asked(cluster, MUTATING, resource, item, before):
        response = _answer(webhook, resource, item, before, writer)
        if response is not None and response.get("patch"):
            item = json_patch(item, msgspec.json.decode(base64.b64decode(response["patch"])))
    return item


def validated(
    cluster: Cluster, resource: Resource, item: Json, before: Json | None, writer: Writer
) -> None:
    """Ask the validating webhooks about an object. Raises: Refusal."""
    for webhook in _asked(cluster, VALIDATING, resource, item, before):
        _answer(webhook, resource, item, before, writer)


def _asked(
    cluster: Cluster, kind: Resource, resource: Resource, item: Json, before: Json | None
) -> Iterator[Json]:
    """Yield the webhooks whose rules and selectors an object matches, by name of configuration."""
    if resource in {MUTATING, VALIDATING}:
        return
    now = cluster.store.collection(kind.storage).now
    operation = "CREATE" if before is None else "UPDATE"
    for key in sorted(now.records):
        for webhook in now.records[key].item.get("webhooks") or ():
            rules = any(
                operation in rule["operations"]
                and resource.group in rule["apiGroups"]
                and resource.plural in rule["resources"]
                for rule in webhook.get("rules") or ()
            )
            if rules and _selects(webhook.get("namespaceSelector"), _labels(cluster, item)):
                yield webhook


def _labels(cluster: Cluster, item: Json) -> Json:
    name = item["metadata"].get("namespace", "")
    found = cluster.store.collection(NAMESPACE.storage).get(name)
    return {} if found is None else found.item["metadata"].get("labels") or {}


def _selects(selector: Json | None, labels: Json) -> bool:
    selector = selector or {}
    for name, text in (selector.get("matchLabels") or {}).items():
        if labels.get(name) != text:
            return False
    for each in selector.get("matchExpressions") or ():
        inside = labels.get(each["key"]) in each["values"]
        if inside is (each["operator"] == "NotIn"):
            return False
    return True


def _answer(
    webhook: Json, resource: Resource, item: Json, before: Json | None, writer: Writer
) -> Json | None:
    """Return a webhook's response, None if there is none and that is ignored. Raises: Refusal."""
    name = webhook["name"]
    try:
        response = _called(webhook, _review(resource, item, before, writer))
    except _CallFailed as failure:
        if webhook.get("failurePolicy") == "Ignore":
            return None
        text = f'Internal error occurred: failed calling webhook "{name}": {failure}'
        raise Refusal(500, text, reason="InternalError") from None
    if response.get("allowed"):
        return response
    status = response.get("status") or {}
    told = status.get("message") or "without explanation"
    raise Refusal(
        status.get("code", 403),
        f'admission webhook "{name}" denied the request: {told}',
        reason=status.get("reason", ""),
    )


def _review(resource: Resource, item: Json, before: Json | None, writer: Writer) -> Json:
    kind = {"group": resource.group, "version": resource.versions[0].name, "kind": resource.kind}
    head = {
        "apiVersion": f"{resource.group}/{kind['version']}" if resource.group else kind["version"],
        "kind": resource.kind,
    }
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": new_uid(),
            "kind": kind,
            "name": item["metadata"]["name"],
            "namespace": item["metadata"].get("namespace", ""),
            "operation": "CREATE" if before is None else "UPDATE",
            "userInfo": {"username": writer.user, "groups": list(writer.groups)},
            "object": {**head, **item},
            "oldObject": None if before is None else {**head, **before},
            "dryRun": writer.dry_run,
        },
    }


def _called(webhook: Json, review: Json) -> Json:
    """Return the response to a review. Raises: _CallFailed."""
    client = webhook["clientConfig"]
    if "url" not in client:
        raise _CallFailed(f"service {client['service']['name']!r} has no address here")
    parts = urlsplit(client["url"])
    authorities = base64.b64decode(client.get("caBundle") or "").decode()
    try:
        trust = ssl.create_default_context(cadata=authorities or None)
        connection = http.client.HTTPSConnection(
            parts.hostname or "",
            parts.port or 443,
            context=trust,
            timeout=min(_SECONDS, webhook.get("timeoutSeconds", _SECONDS)),
        )
        try:
            headers = {"content-type": "application/json"}
            connection.request("POST", parts.path, msgspec.json.encode(review), headers)
            answer = connection.getresponse()
            body = answer.read(_ANSWER_LIMIT)
        finally:
            connection.close()
        found: Any = msgspec.json.decode(body) if answer.status == http.HTTPStatus.OK else None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _CallFailed(f"{type(error).__name__}: {error}") from None
    response = found.get("response") if isinstance(found, dict) else None
    if not isinstance(response, dict) or response.get("uid") != review["request"]["uid"]:
        raise _CallFailed(f"status {answer.status}, or no response to the review")
    return response
