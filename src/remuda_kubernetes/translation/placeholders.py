"""Placeholder pods: each keeps room for one member of a gang until that member takes it.

Their names follow from the originator, the group and a number alone, so that after a restart the
same ones are found again, and making one twice is refused by the server.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import plain
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.applications import Application
from remuda_kubernetes.translation.metadata import is_placeholder
from remuda_kubernetes.translation.task_groups import TaskGroup

PAUSE_IMAGE: Final = "registry.k8s.io/pause:3.7"
_CONTAINER: Final = "pause"
# Any user but root: the pause image does nothing.
_USER: Final = 1000
_GROUP: Final = 3000

_APPLICATION_PART: Final = 26
_GROUP_PART: Final = 20
_DIGEST_LENGTH: Final = 10
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")


def placeholder_name(application: Application, group: str, number: int) -> str:
    """Return the name of a placeholder: a DNS label of at most 63 characters.

    It begins with ``tg-`` and what is readable of application and group; ten characters at its end
    tell apart what reads alike, also the applications of two originators.
    """
    identity = "\n".join(
        (application.owner.uid, application.application_id, group, str(number))
    ).encode()
    digest = hashlib.sha256(identity).hexdigest()[:_DIGEST_LENGTH]
    parts = (
        "tg",
        _readable(application.application_id)[:_APPLICATION_PART].strip("-"),
        _readable(group)[:_GROUP_PART].strip("-"),
        digest,
    )
    return "-".join(part for part in parts if part)


def _readable(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text.lower()).strip("-")


def placeholder(
    application: Application, group: TaskGroup, number: int, image: str = PAUSE_IMAGE
) -> dict[str, Any]:
    """Return the manifest of a placeholder, as the server takes it.

    It requests exactly what one member of the group needs, is subject to the same rules about
    nodes and goes with its originator. Its security context passes the restricted Pod Security
    Standard.
    """
    spec: dict[str, Any] = {
        "schedulerName": application.scheduler_name,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _GROUP,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(group, image)],
    }
    if application.priority_class:
        spec["priorityClassName"] = application.priority_class
    if application.pull_secrets:
        spec["imagePullSecrets"] = [{"name": each} for each in application.pull_secrets]
    rules = {
        "nodeSelector": group.node_selector,
        "tolerations": list(group.tolerations),
        "affinity": group.affinity,
        "topologySpreadConstraints": list(group.topology_spread_constraints),
    }
    spec.update({field: value for field, value in rules.items() if value})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(application, group, number),
        "spec": spec,
    }


def _container(group: TaskGroup, image: str) -> dict[str, Any]:
    # "pods" is no resource of a container; every pod takes one of it anyway.
    amounts = {
        name: str(quantity) for name, quantity in group.min_resource.items() if name != names.PODS
    }
    return {
        "name": _CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": amounts, "limits": dict(amounts)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
        },
    }


def _metadata(application: Application, group: TaskGroup, number: int) -> dict[str, Any]:
    """Return who a placeholder is, and what it says. Implements: EXT-144."""
    labels = dict(group.labels)
    annotations = {**group.annotations, **application.carried}
    annotations[names.PLACEHOLDER] = "true"
    annotations[names.TASK_GROUP_NAME] = group.name
    said = {names.APPLICATION_ID: application.application_id, names.QUEUE: application.queue}
    if names.USER_RECORD not in annotations and application.user.name != names.NOBODY:
        said[names.USER_NAME] = application.user.name
    for name, text in said.items():
        labels.pop(name, None)
        annotations.pop(name, None)
        # The value of an annotation may be none that a label can have.
        if text:
            (labels if _LABEL_VALUE.fullmatch(text) else annotations)[name] = text
    labels[names.PLACEHOLDER_LABEL] = "true"
    return {
        "name": placeholder_name(application, group.name, number),
        "namespace": application.namespace,
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [plain(application.owner)],
    }


def missing_placeholders(
    application: Application,
    pods: Iterable[Pod],
    image: str = PAUSE_IMAGE,
    spent: Iterable[str] = (),
    derived: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Give the placeholders that an application still needs, one by one.

    ``pods``: all pods of the application that the server has. Each placeholder that has not ended
    stands for a member of its group, and so does each member that has a node, since it took a
    placeholder's room. Names that any pod has are not used, because a pod that is being deleted
    still has its name; nor are those in ``spent``. ``derived``: by uid, the groups of pods that do
    not name theirs.
    """
    taken = set(spent)
    there: Counter[str] = Counter()
    for pod in pods:
        taken.add(pod.name)
        counts = not pod.ended and not pod.deleted and (is_placeholder(pod) or pod.assigned)
        if counts:
            group_name = (derived or {}).get(pod.uid, "")
            there[pod.annotations.get(names.TASK_GROUP_NAME, group_name)] += 1
    for group in application.groups:
        needed = group.min_member - there[group.name]
        number = 0
        while needed > 0:
            if placeholder_name(application, group.name, number) not in taken:
                yield placeholder(application, group, number, image)
                needed -= 1
            number += 1
