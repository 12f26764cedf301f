"""What becomes of a template of pods: it says for whom its pods are.

The pods of a Deployment are created by a controller, who is nobody's user. So the user is written
into the template, and the controller copies it into each pod. A controller is believed. Therefore
everything that has a template is looked at, when it is created and when it is changed.
"""

from __future__ import annotations

from typing import Any, Final

from remuda_kubernetes.admission import users
from remuda_kubernetes.admission.patching import Path, setting
from remuda_kubernetes.admission.pods import ANNOTATIONS, pod_of
from remuda_kubernetes.admission.policy import Policy
from remuda_kubernetes.admission.reviews import (
    CREATE,
    UPDATE,
    Answer,
    Json,
    Request,
    content_of,
)
from remuda_kubernetes.admission.surroundings import Surroundings
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.translation import names

_TEMPLATE: Final = ("spec", "template")
# Where the template is, by group and kind.
TEMPLATES: Final[dict[tuple[str, str], Path]] = {
    ("", "ReplicationController"): _TEMPLATE,
    ("apps", "DaemonSet"): _TEMPLATE,
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("batch", "CronJob"): ("spec", "jobTemplate", *_TEMPLATE),
    ("batch", "Job"): _TEMPLATE,
}
_REPLICA_SET: Final = "ReplicaSet"


def review_template(request: Request, policy: Policy, around: Surroundings) -> Answer:
    """Return the answer to a request about an object with a template. Raises: RefusedError."""
    path = TEMPLATES.get((request.kind.group, request.kind.kind))
    looked_at = request.operation in {CREATE, UPDATE} and not request.sub_resource
    if path is None or not looked_at or not policy.checks_users:
        return Answer()
    processed = policy.processes(request.space, around.annotations(request.space))
    content = content_of(request.object)
    template = _at(content, path)
    pod = None if template is None else pod_of(template)
    if pod is None or not (processed or policy.is_ours(pod)):
        return Answer()
    before = _before(request, path)
    if before is not None and not (processed or policy.is_ours(pod_of(before))):
        # Nobody has looked at it until now.
        before = None
    text = _new_record(request, policy, pod, changed=template != before, before=before)
    place = (*path, *ANNOTATIONS, names.USER_RECORD)
    return Answer(patch=setting(content, {place: text} if text else {}))


def _new_record(
    request: Request, policy: Policy, pod: Pod, *, changed: bool, before: Json | None
) -> str:
    """Return the record that the template has to get, "" if it is right. Raises: RefusedError."""
    requester = request.user_info
    system = policy.is_system(requester)
    written = pod.annotations.get(names.USER_RECORD)
    kept = pod_of(before).annotations.get(names.USER_RECORD) if before is not None else None
    if written is not None:
        # The controller of Deployments compares the template with its own, and what it may not
        # write is refused in the pods.
        if written != kept and not (system and request.kind.kind == _REPLICA_SET):
            users.check_record(written, requester, policy)
        return ""
    if system or not changed:
        return ""
    # A change that leaves the record out, as a replacement by a file does, changes nothing of it.
    return kept if kept is not None else users.record_of(requester)


def _before(request: Request, path: Path) -> Json | None:
    return _at(content_of(request.old_object), path) if request.operation == UPDATE else None


def _at(content: Any, path: Path) -> Json | None:
    """Return the part of an object at a path, None if there is none."""
    for part in path:
        content = content.get(part) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else None
