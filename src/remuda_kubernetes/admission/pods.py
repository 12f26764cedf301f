"""What becomes of a pod: its scheduler, application, queue, user and whether it may be preempted.

A pod that has all of it is left as it is, so that a second review changes nothing.
"""

from __future__ import annotations

import re
from typing import Any, Final

from remuda.base.go_text import parse_bool
from remuda_kubernetes.admission import users
from remuda_kubernetes.admission.patching import Path, setting
from remuda_kubernetes.admission.policy import Policy
from remuda_kubernetes.admission.reviews import (
    CREATE,
    INVALID,
    UPDATE,
    Answer,
    RefusedError,
    Request,
    content_of,
)
from remuda_kubernetes.admission.surroundings import Surroundings
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.findings import shown
from remuda_kubernetes.translation.metadata import (
    generated_application,
    named_application,
    named_queue,
)
from remuda_kubernetes.translation.workloads import workload_of

LABELS: Final = ("metadata", "labels")
ANNOTATIONS: Final = ("metadata", "annotations")
_SCHEDULER: Final = ("spec", "schedulerName")
# What the kubelet creates to show a pod that it read from a file.
_MIRROR: Final = "kubernetes.io/config.mirror"
_NODES: Final = "system:nodes"
# Values of labels, as the API server checks them.
_LABEL: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)


def review_pod(request: Request, policy: Policy, around: Surroundings) -> Answer:
    """Return the answer to a request about a pod. Raises: RefusedError."""
    if request.sub_resource:
        return Answer()
    if request.operation == UPDATE:
        return _review_change(request, policy, around)
    if request.operation != CREATE:
        return Answer()
    content = content_of(request.object)
    pod = pod_of(content)
    annotations = around.annotations(request.space)
    processed = policy.processes(request.space, annotations)
    if not (processed or policy.is_ours(pod)) or _is_mirror(pod, request):
        return Answer()
    wanted: dict[Path, str] = {}
    warnings: tuple[str, ...] = ()
    if policy.checks_users:
        written = pod.annotations.get(names.USER_RECORD)
        if written is None:
            wanted[*ANNOTATIONS, names.USER_RECORD] = users.record_of(request.user_info)
        else:
            users.check_record(written, request.user_info, policy)
    if processed:
        if not policy.is_ours(pod):
            wanted[_SCHEDULER] = policy.settings.scheduler_names[0]
        if policy.labels(request.space, annotations):
            wanted |= _application(pod, request.space, policy)
            preemption, warnings = _preemption(pod, around)
            wanted |= preemption
    return Answer(patch=setting(content, wanted), warnings=warnings)


def pod_of(content: Any) -> Pod:
    """Return a pod, or a template of one. Raises: RefusedError."""
    try:
        return convert(Pod, content)
    except ObjectError as error:
        raise RefusedError(f"the object cannot be read: {error}", INVALID) from None


def _review_change(request: Request, policy: Policy, around: Surroundings) -> Answer:
    """Refuse a change of the user: it was decided when the pod was created."""
    new, old = pod_of(content_of(request.object)), pod_of(content_of(request.old_object))
    ours = policy.processes(request.space, around.annotations(request.space)) or policy.is_ours(new)
    before, after = (each.annotations.get(names.USER_RECORD) for each in (old, new))
    if ours and policy.checks_users and before != after:
        raise RefusedError(
            f"the annotation {names.USER_RECORD} of a pod cannot be changed: "
            "leave it as it is, or create another pod"
        )
    return Answer()


def _application(pod: Pod, namespace: str, policy: Policy) -> dict[Path, str]:
    """Return the application and the queue of a pod that does not name them."""
    found: dict[Path, str] = {}
    if not named_application(pod):
        unique = policy.settings.unique_application_ids
        workload = workload_of(pod, policy.settings.workloads, namespace)
        text = (
            workload.application_id
            if workload is not None
            else generated_application(namespace, unique=unique)
        )
        found[_place(names.APPLICATION_ID, text)] = text
    queue = policy.settings.admission.default_queue
    if queue and not named_queue(pod):
        found[_place(names.QUEUE, queue)] = queue
    return found


def _place(name: str, text: str) -> Path:
    """Return where a text belongs: into a label, or an annotation if labels cannot have it."""
    return (*(LABELS if _LABEL.fullmatch(text) else ANNOTATIONS), name)


def _preemption(pod: Pod, around: Surroundings) -> tuple[dict[Path, str], tuple[str, ...]]:
    """Return whether a pod that does not say so may be preempted, as its priority class says."""
    written = pod.annotations.get(names.ALLOW_PREEMPTION, "")
    if parse_bool(written) is not None:
        return {}, ()
    text = "true" if around.may_be_preempted(pod.spec.priority_class_name) else "false"
    found: dict[Path, str] = {(*ANNOTATIONS, names.ALLOW_PREEMPTION): text}
    if not written:
        return found, ()
    fault = f"annotation {names.ALLOW_PREEMPTION}: {shown(written)} is neither true nor false"
    return found, (f"{fault}, so it is {text} now",)


def _is_mirror(pod: Pod, request: Request) -> bool:
    return _MIRROR in pod.annotations and _NODES in (request.user_info.groups or ())
