"""What can be done with pods beside writing them: binding, eviction, resizing.

Source: recordings of a real server, release 1.20; for newer releases the API reference and the
documentation "API-initiated eviction" and "Specifying a Disruption Budget".
"""

from __future__ import annotations

from typing import Any, Final

from remuda_kubernetes.objects.metadata import LabelSelector
from remuda_kubernetes.objects.selectors import matches
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.testing import deletion, pod_rules
from remuda_kubernetes.testing.cluster import Cluster, Writer
from remuda_kubernetes.testing.identity import timestamp
from remuda_kubernetes.testing.resources import BUDGET, POD
from remuda_kubernetes.testing.statuses import (
    Json,
    Refusal,
    bad_request,
    conflict,
    forbidden,
    invalid,
    success,
)
from remuda_kubernetes.testing.store import Record

_DISRUPTED_LIMIT: Final = 2000
_FIRST_WITH_V1: Final = 22
_FIRST_WITH_HEALTH: Final = 27
_RETRY_SECONDS: Final = 10


def bind(cluster: Cluster, namespace: str, name: str, body: Json, *, dry_run: bool) -> Json:
    """Give a pod its node. Raises: Refusal 400, 404, 409, 500."""
    target = body.get("target") or {}
    given = body.get("metadata") or {}
    if given.get("name") and given["name"] != name:
        raise bad_request("name in URL does not match name in Binding object")
    if not isinstance(target.get("name", ""), str):
        raise bad_request("target.name must be a text")
    if not target.get("name"):
        raise Refusal(500, "target.name: Required value", reason="")
    record = cluster.get(POD, namespace, name)
    _check_binding(cluster, record.item, given)
    if not dry_run:
        cluster.modify(POD, record, lambda item: _bound(item, target["name"], given))
    return success()


def _check_binding(cluster: Cluster, pod: Json, given: Json) -> None:
    name = pod["metadata"]["name"]

    def refuse(why: str) -> Refusal:
        return conflict("pods/binding", "", name, why)

    if cluster.settings.checks_binding_uid:
        for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            wanted, found = given.get(field), pod["metadata"][field]
            if wanted and wanted != found:
                raise refuse(
                    f"Precondition failed: {word} in precondition: {wanted}, "
                    f"{word} in object meta: {found}"
                )
    if pod["metadata"].get("deletionTimestamp"):
        raise refuse(f"pod {name} is being deleted, cannot be assigned to a host")
    if node := pod["spec"].get("nodeName"):
        raise refuse(f'pod {name} is already assigned to node "{node}"')
    if pod["spec"].get("schedulingGates"):
        raise refuse(f"pod {name} has non-empty .spec.schedulingGates")


def _bound(item: Json, node: str, given: Json) -> Json:
    metadata = dict(item["metadata"])
    if given.get("annotations"):
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **given["annotations"]}
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(),
    }
    status = item["status"]
    conditions = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
    return {
        **item,
        "metadata": metadata,
        "spec": {**item["spec"], "nodeName": node},
        "status": {**status, "conditions": [*conditions, condition]},
    }


def evict(cluster: Cluster, namespace: str, name: str, body: Json, *, dry_run: bool) -> Json:
    """Delete a pod if its disruption budget allows it. Raises: Refusal 400, 404, 429, 500."""
    _check_eviction(cluster, name, body)
    record = cluster.get(POD, namespace, name)
    how = deletion.options(body.get("deleteOptions") or {}, {})
    dry = dry_run or how.dry_run
    if not _is_free(record.item):
        _spend(cluster, record.item, dry_run=dry)
    if not dry:
        deletion.delete(cluster, POD, record, how)
    return success()


def _check_eviction(cluster: Cluster, name: str, body: Json) -> None:
    version = str(body.get("apiVersion", ""))
    known = {"policy/v1beta1"}
    if cluster.settings.minor >= _FIRST_WITH_V1:
        known.add("policy/v1")
    if body.get("kind") != "Eviction" or version not in known:
        raise bad_request(
            f'Eviction in version "{version.rpartition("/")[2]}" cannot be handled as a Eviction: '
            f'no kind "{body.get("kind")}" is registered for version "{version}" in this server'
        )
    given = (body.get("metadata") or {}).get("name")
    if given and given != name:
        raise bad_request("name in URL does not match name in Eviction object")


def _is_free(pod: Json) -> bool:
    """Whether no budget has to be asked: the pod does not run, or will not much longer."""
    return (
        pod["status"].get("phase") in {"Succeeded", "Failed", "Pending"}
        or pod["metadata"].get("deletionTimestamp") is not None
    )


def _spend(cluster: Cluster, pod: Json, *, dry_run: bool) -> None:
    """Count a disruption in the budget of a pod. Raises: Refusal 429, 500."""
    budgets = _budgets(cluster, pod)
    if len(budgets) > 1:
        raise Refusal(
            500,
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.",
            reason="",
        )
    if not budgets or _unhealthy(cluster, pod, budgets[0].item):
        return
    _check_budget(cluster, budgets[0].item)
    if dry_run:
        return

    def spent(item: Json) -> Json:
        status = dict(item["status"])
        status["disruptionsAllowed"] -= 1
        name = pod["metadata"]["name"]
        status["disruptedPods"] = {**(status.get("disruptedPods") or {}), name: timestamp()}
        return {**item, "status": status}

    cluster.modify(BUDGET, budgets[0], spent)


def _budgets(cluster: Cluster, pod: Json) -> list[Record]:
    collection = cluster.store.collection(BUDGET.storage)
    first, last = collection.now.range(f"{pod['metadata']['namespace']}/")
    records = [collection.now.records[key] for key in collection.now.keys[first:last]]
    labels = pod["metadata"].get("labels") or {}
    return [each for each in records if _selects(each.item, labels)]


def _selects(budget: Json, labels: Any) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    try:
        return matches(convert(LabelSelector, selector) if selector else None, labels)
    except ObjectError:
        return False


def _unhealthy(cluster: Cluster, pod: Json, budget: Json) -> bool:
    """Whether a pod that is not ready may go without being counted."""
    if cluster.settings.minor < _FIRST_WITH_HEALTH:
        return False
    conditions = pod["status"].get("conditions") or ()
    if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget["status"]
    desired = status.get("desiredHealthy", 0)
    return bool(desired > 0 and status.get("currentHealthy", 0) >= desired)


def _check_budget(cluster: Cluster, budget: Json) -> None:
    """Refuse an eviction that a budget does not allow. Raises: Refusal 403, 429."""
    name, status = budget["metadata"]["name"], budget["status"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 1):
        retry = _RETRY_SECONDS if cluster.settings.minor >= _FIRST_WITH_V1 else 0
        text = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(text, retry)
    if status.get("disruptionsAllowed", 0) < 0:
        raise forbidden(
            "poddisruptionbudgets", "policy", name, "pdb disruptions allowed is negative"
        )
    if len(status.get("disruptedPods") or ()) > _DISRUPTED_LIMIT:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden("poddisruptionbudgets", "policy", name, why)
    if not status.get("disruptionsAllowed", 0):
        text = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
            f"and has {status.get('currentHealthy', 0)} currently"
        )
        raise _too_many(text, 0)


def _too_many(text: str, retry: int) -> Refusal:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": text}]}
    if retry:
        details["retryAfterSeconds"] = retry
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return Refusal(429, message, details=details)


def resize(cluster: Cluster, record: Record, after: Json, writer: Writer) -> Record:
    """Change the resources of a pod's containers. Raises: Refusal 422."""
    old_way = cluster.settings.minor < 33
    item, causes = pod_rules.resized(record.item, after, proposed=old_way)
    if causes:
        raise invalid("Pod", "", record.item["metadata"]["name"], causes)
    given = after.get("metadata") or {}
    version = given.get("resourceVersion")
    if version and version != record.item["metadata"]["resourceVersion"]:
        raise conflict("pods", "", record.item["metadata"]["name"])
    if writer.dry_run:
        return record
    metadata = item["metadata"]
    if metadata.get("generation") and item["spec"] != record.item["spec"]:
        item = {**item, "metadata": {**metadata, "generation": metadata["generation"] + 1}}
    return cluster.modify(POD, record, lambda _: item)
