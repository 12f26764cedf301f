"""Requests as the API server makes them, and what an answer makes of the object.

Patches are applied by a library of others (jsonpatch), which knows nothing of how they are made.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import jsonpatch

from remuda_kubernetes.admission.decide import review
from remuda_kubernetes.admission.policy import Policy
from remuda_kubernetes.admission.reviews import Answer, Request, read_request, response_of
from remuda_kubernetes.admission.surroundings import Surroundings
from remuda_kubernetes.objects.cluster import ConfigMap, Namespace, PriorityClass
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.translation.configuration import first_configuration

Object = dict[str, Any]
DOMAIN: Final = "yunikorn.apache.org/"
USER_INFO: Final = DOMAIN + "user.info"
APP_ID: Final = DOMAIN + "app-id"
QUEUE: Final = DOMAIN + "queue"
PREEMPTION: Final = DOMAIN + "allow-preemption"
OWN: Final = "yunikorn"
CONTROLLER: Final = "system:serviceaccount:kube-system:replicaset-controller"
ALICE: Final = ("alice", ("dev", "system:authenticated"))
ALICES_RECORD: Final = {"user": "alice", "groups": ["dev", "system:authenticated"]}
User = tuple[str, Sequence[str]]

GROUPS: Final = {
    "Pod": "",
    "ConfigMap": "",
    "ReplicationController": "",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
    "CronJob": "batch",
}


def body(
    content: Object | None,
    *,
    old: Object | None = None,
    user: User = ALICE,
    namespace: str = "team",
    kind: str = "Pod",
    sub_resource: str = "",
) -> bytes:
    """Return a review as the API server sends it; it is an update if there is an old object."""
    name, groups = user
    metadata = content.get("metadata") if isinstance(content, dict) else None
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": GROUPS[kind], "version": "v1", "kind": kind},
        "resource": {"group": GROUPS[kind], "version": "v1", "resource": f"{kind.lower()}s"},
        "name": metadata.get("name", "") if isinstance(metadata, dict) else "",
        "namespace": namespace,
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": name, "uid": "u", "groups": list(groups)},
        "object": content,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions"},
    }
    if sub_resource:
        request["subResource"] = sub_resource
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()


def request(content: Object | None, **how: Any) -> Request:
    """Return a request as it is read."""
    return read_request(body(content, **how))


def policy(**settings: str) -> Policy:
    """Return the policy of ConfigMap entries; ``a__b`` stands for ``admissionController.a.b``."""
    data = {
        f"admissionController.{name.replace('__', '.')}" if "__" in name else name: text
        for name, text in settings.items()
    }
    configs = convert(ConfigMap, {"metadata": {"name": "yunikorn-configs"}, "data": data})
    found = first_configuration(None, configs)
    assert found.findings == ()
    return Policy(found.settings, OWN)


def around(
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    classes: Mapping[str, Mapping[str, str]] | None = None,
) -> Surroundings:
    """Return a cluster with these annotations of namespaces and priority classes."""

    def named(kind: type[Any], name: str, annotations: Mapping[str, str]) -> Any:
        return convert(kind, {"metadata": {"name": name, "annotations": dict(annotations)}})

    return Surroundings(
        namespaces={n: named(Namespace, n, a) for n, a in (namespaces or {}).items()},
        priority_classes={n: named(PriorityClass, n, a) for n, a in (classes or {}).items()},
    )


def ask(
    content: Object,
    *,
    under: Policy | None = None,
    cluster: Surroundings | None = None,
    **how: Any,
) -> tuple[Answer, Object]:
    """Return the answer to a request, and the object that the server would store."""
    answer = review(request(content, **how), under or policy(), cluster or around())
    return answer, patched(content, answer)


def stored(content: Object, **how: Any) -> Object:
    """Return what the server would store of an object that must be allowed."""
    answer, after = ask(content, **how)
    assert answer.allowed, answer.message
    return after


def refused(content: Object, **how: Any) -> str:
    """Return why an object is refused."""
    answer, _ = ask(content, **how)
    assert not answer.allowed
    assert answer.patch == ()
    return answer.message


def patched(content: Object, answer: Answer) -> Object:
    """Return an object with the patch of an answer, which goes the way over the wire."""
    response = json.loads(response_of("u", answer))["response"]
    if "patch" not in response:
        return content
    found: Object = jsonpatch.apply_patch(
        copy.deepcopy(content), json.loads(base64.b64decode(response["patch"]))
    )
    return found


def pod(
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """Return a pod as the API server sends it."""
    metadata: Object = {"name": "p", "namespace": "team", "creationTimestamp": None}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    if labels is not None:
        metadata["labels"] = dict(labels)
    containers = [{"name": "main", "image": "example/one", "resources": {}}]
    content = {"schedulerName": "default-scheduler", "containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": content}


def workload(kind: str, annotations: Mapping[str, str] | None = None, **spec: Any) -> Object:
    """Return an object with a template of pods."""
    metadata: Object = {"creationTimestamp": None, "labels": {"app": "a"}}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    template = {"metadata": metadata, "spec": {**pod()["spec"], **spec}}
    inner: Object = {"template": template}
    if kind == "CronJob":
        inner = {"schedule": "@daily", "jobTemplate": {"spec": inner}}
    return {"kind": kind, "metadata": {"name": "w", "namespace": "team"}, "spec": inner}


def template(content: Object) -> Object:
    """Return the template of an object."""
    spec = content["spec"]
    found: Object = (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec)["template"]
    return found


def user_info(content: Object) -> Object | None:
    """Return the user that an object names, None if it names none."""
    text = (content["metadata"].get("annotations") or {}).get(USER_INFO)
    return None if text is None else json.loads(text)


def record(user: str, *groups: str) -> str:
    """Return a record as a user would write it."""
    return json.dumps({"user": user, "groups": list(groups)})
