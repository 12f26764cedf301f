"""Applications: which of its pods says what an application is.

One pod, the originator, speaks for an application. Other pods that say something else change
nothing, and get an event that says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from remuda.base.go_text import parse_bool
from remuda_kubernetes.objects.metadata import OwnerReference
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.times import unix_seconds
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.findings import Finding, shown
from remuda_kubernetes.translation.metadata import (
    User,
    derived_workload,
    derives_gang,
    queue_of,
    user_of,
)
from remuda_kubernetes.translation.namespaces import NamespaceLimits
from remuda_kubernetes.translation.task_groups import (
    Policy,
    TaskGroup,
    policy,
    task_groups,
    total_amounts,
)
from remuda_kubernetes.translation.workloads import Workload

_NO_AMOUNTS: Final[dict[str, int]] = {}
# Each may have 253 characters, and all tags together a million.
_SECRETS_LIMIT: Final = 64


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """What the scheduler and the placeholders of an application have to know of it.

    ``origin``: the pod that speaks for it, as NAMESPACE/NAME; ``owner``: a reference to that pod.
    ``groups``: () if it is no gang. ``workload``: the object that says the groups, None if they are
    known. ``carried``: annotations that its placeholders repeat, so that
    a placeholder alone says the same about the application. ``findings``: faults in what the
    originator says of its user and its gang; those of its own names are with its task.
    """

    application_id: str
    namespace: str
    origin: str
    owner: OwnerReference
    queue: str = ""
    user: User = User(names.NOBODY)
    groups: tuple[TaskGroup, ...] = ()
    workload: Workload | None = None
    policy: Policy = Policy()
    placeholder_ask: dict[str, int] = {}
    priority_class: str = ""
    pull_secrets: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    carried: dict[str, str] = {}
    scheduler_name: str = names.SCHEDULER_NAME
    findings: tuple[Finding, ...] = ()

    def within(self, limits: NamespaceLimits) -> Application:
        """Return the application with tags that pass on the limits of its namespace."""
        return msgspec.structs.replace(self, tags={**self.tags, **limits.tags()})

    def as_gang(self, groups: tuple[TaskGroup, ...], text: str) -> Application:
        """Return the application with the groups of its workload, none if it is no gang."""
        if not groups:
            return msgspec.structs.replace(self, workload=None)
        return msgspec.structs.replace(
            self,
            workload=None,
            groups=groups,
            placeholder_ask=total_amounts(groups),
            tags={**self.tags, names.TASK_GROUPS: text},
            carried={**self.carried, names.TASK_GROUPS: text},
        )

    def group(self, name: str) -> TaskGroup | None:
        """Return a task group by name, None if the application has none of that name."""
        for each in self.groups:
            if each.name == name:
                return each
        return None


def application_of(
    pod: Pod, application_id: str, *, gangs: bool = True, workloads: tuple[str, ...] = ()
) -> Application:
    """Return the application that a pod, its originator, speaks for.

    The limits of its namespace come later (``within``), and so do the groups of a workload
    (``as_gang``). ``gangs``: whether task groups count. ``workloads``: names of rules.
    Groups that cannot be read are a finding with ``error``, and the application is no gang; nor is
    it one after its placeholders timed out, which the annotation ``remuda/reservation-over`` says.
    Raises: ObjectError for a queue or a user that the scheduler cannot take.
    """
    user, found = user_of(pod)
    findings = list(found)
    queue = queue_of(pod)
    groups: tuple[TaskGroup, ...] = ()
    rules = Policy()
    workload = None
    if gangs:
        groups, rules = _gang(pod, findings)
        workload = derived_workload(pod, workloads) if derives_gang(pod) else None
    secrets = tuple(each.name for each in pod.spec.image_pull_secrets or ())[:_SECRETS_LIMIT]
    return Application(
        application_id=application_id,
        namespace=pod.namespace,
        origin=pod.key,
        owner=_owner(pod),
        queue=queue,
        user=user,
        groups=groups,
        workload=workload,
        policy=rules,
        placeholder_ask=total_amounts(groups) if groups else _NO_AMOUNTS,
        priority_class=pod.spec.priority_class_name,
        pull_secrets=secrets,
        tags=_tags(pod, secrets),
        carried=_carried(pod),
        scheduler_name=pod.spec.scheduler_name or names.SCHEDULER_NAME,
        findings=tuple(findings),
    )


def _gang(pod: Pod, findings: list[Finding]) -> tuple[tuple[TaskGroup, ...], Policy]:
    annotations = pod.annotations
    rules, found = policy(annotations.get(names.POLICY_PARAMETERS, ""))
    findings.extend(found)
    text = annotations.get(names.TASK_GROUPS)
    if not text or parse_bool(annotations.get(names.RESERVATION_OVER, "")):
        return (), rules
    try:
        groups, found = task_groups(text)
    except ObjectError as error:
        findings.append(
            Finding(
                f"pod {pod.key}",
                str(error),
                "correct the annotation and submit the application again; until then its pods are "
                "scheduled one by one, not as a gang",
                error=True,
            )
        )
        return (), rules
    findings.extend(found)
    own = annotations.get(names.TASK_GROUP_NAME, "")
    if own and all(each.name != own for each in groups):
        findings.append(_unknown_group(pod.key, own, groups))
    return groups, rules


def _unknown_group(pod: str, own: str, groups: Iterable[TaskGroup]) -> Finding:
    known = ", ".join(shown(each.name) for each in groups)
    return Finding(
        f"pod {pod}: annotation {names.TASK_GROUP_NAME}",
        f"{names.TASK_GROUPS} defines no group {shown(own)}, so no placeholder keeps room for it",
        f"name one of its groups: {known}" if known else f"define it in {names.TASK_GROUPS}",
    )


def _owner(pod: Pod) -> OwnerReference:
    return OwnerReference(
        api_version="v1",
        kind="Pod",
        name=pod.name,
        uid=pod.uid,
        controller=False,
        block_owner_deletion=True,
    )


def _tags(pod: Pod, secrets: tuple[str, ...]) -> dict[str, str]:
    """Return the tags that the reference's shim sends, and those that the scheduler reads."""
    annotations = pod.annotations
    tags = {
        names.TAG_NAMESPACE: pod.namespace or names.DEFAULT_NAMESPACE,
        # The application of a pod that runs must be accepted, whatever the queues are now (SI-25).
        names.TAG_FORCE: "true" if pod.assigned else "false",
        names.TAG_APPLICATION_CREATED: str(unix_seconds(pod.metadata.creation_timestamp)),
    }
    if secrets:
        tags[names.TAG_PULL_SECRETS] = ",".join(secrets)
    for annotation, tag in (
        (names.TASK_GROUPS, names.TASK_GROUPS),
        (names.POLICY_PARAMETERS, names.POLICY_PARAMETERS),
        (names.NODE_SORT_POLICY, names.TAG_NODE_SORT_POLICY),
    ):
        text = annotations.get(annotation)
        if text:
            tags[tag] = text
    return tags


def _carried(pod: Pod) -> dict[str, str]:
    annotations = pod.annotations
    carried = (
        names.TASK_GROUPS,
        names.POLICY_PARAMETERS,
        names.USER_RECORD,
        names.ALLOW_PREEMPTION,
    )
    return {name: annotations[name] for name in carried if annotations.get(name)}


def disagreements(application: Application, pod: Pod) -> tuple[Finding, ...]:
    """Return where a pod contradicts the application that it belongs to; names both pods.

    A pod that says nothing does not contradict. Raises: ObjectError.
    """
    queue = queue_of(pod)
    user, _ = user_of(pod)
    annotations = pod.annotations
    findings = []
    if queue and queue != application.queue:
        findings.append(_differs(application, pod, "queue", queue, application.queue))
    if user.name not in (names.NOBODY, application.user.name):
        findings.append(_differs(application, pod, "user", user.name, application.user.name))
    if pod.namespace != application.namespace:
        findings.append(
            _differs(application, pod, "namespace", pod.namespace, application.namespace)
        )
    for name in (names.TASK_GROUPS, names.POLICY_PARAMETERS):
        text = annotations.get(name)
        if text and text != application.carried.get(name, ""):
            findings.append(
                _differs(application, pod, name, text, application.carried.get(name, ""))
            )
    group = annotations.get(names.TASK_GROUP_NAME, "")
    if group and application.groups and application.group(group) is None:
        findings.append(_unknown_group(pod.key, group, application.groups))
    return tuple(findings)


def _differs(application: Application, pod: Pod, what: str, theirs: str, ours: str) -> Finding:
    said = f"has {what} {shown(ours)}" if ours else f"has no {what}"
    return Finding(
        f"pod {pod.key}",
        f"{what} {shown(theirs)} does not count: application {shown(application.application_id)} "
        f"{said}, as pod {application.origin} says",
        f"write the same {what} in all pods of the application, or give the pod another "
        "application ID",
    )
