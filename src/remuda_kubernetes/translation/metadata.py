"""What a pod says about itself: application, queue, user, priority, preemption.

Labels and annotations of several names mean the same; the first one that a pod has counts. If two
of them differ, or a value has no meaning, a finding tells the author.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from remuda.base.go_text import parse_bool
from remuda_kubernetes.objects.cluster import PriorityClass
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.times import unix_seconds
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.findings import Finding, shown
from remuda_kubernetes.translation.workloads import Workload, workload_of

# Characters of an application ID, a queue, a user, a group or a task group.
NAME_LIMIT: Final = 256
GROUPS_LIMIT: Final = 1_024
_LABEL_LIMIT: Final = 63
_NAMESPACE_PART: Final = 26
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PRIORITY_LIMIT: Final = 2**31 - 1
_DAEMON_SET: Final = "DaemonSet"
_NODE_NAME_FIELD: Final = "metadata.name"
_NO_FINDINGS: Final[tuple[Finding, ...]] = ()


class User(msgspec.Struct, frozen=True):
    """The owner of an application. Without groups, the scheduler looks them up."""

    name: str
    groups: tuple[str, ...] = ()


class Task(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the scheduler has to know of a pod, but for its amounts.

    ``key``: the pod's uid, its identity for the scheduler. ``queue``: "" if the pod names none.
    ``created_s``: Unix seconds. ``preemptable``: whether it may be a victim like any other.
    ``preempting``: whether others may be ended for it. ``required_node``: "" for any.
    """

    key: str
    pod: str
    application_id: str
    queue: str = ""
    task_group: str = ""
    placeholder: bool = False
    priority: int = 0
    created_s: int = 0
    preemptable: bool = True
    preempting: bool = True
    required_node: str = ""
    findings: tuple[Finding, ...] = _NO_FINDINGS


def task_of(
    pod: Pod,
    priority_classes: Mapping[str, PriorityClass],
    *,
    unique_ids: bool = False,
    gangs: bool = True,
    workloads: tuple[str, ...] = (),
) -> Task:
    """Return what a pod of ours is to the scheduler.

    ``priority_classes``: by name. ``unique_ids``: a pod that names no application gets one of its
    own, not that of its namespace. ``gangs``: whether task groups count. ``workloads``: names of
    the rules by which a pod that says nothing is recognized as a part of a workload.
    Raises: ObjectError for names that the scheduler cannot take; says which and what to do.
    """
    metadata, spec = pod.metadata, pod.spec
    findings: list[Finding] = []
    annotations = pod.annotations
    task_group, placeholder = "", False
    if gangs and annotations:
        placeholder = is_placeholder(pod)
        task_group = _name(annotations.get(names.TASK_GROUP_NAME, ""), names.TASK_GROUP_NAME)
    workload = derived_workload(pod, workloads)
    if gangs and not task_group and workload is not None and derives_gang(pod):
        task_group = _name(workload.group, "task group")
    if placeholder and not task_group:
        findings.append(_PLACEHOLDER_WITHOUT_GROUP)
        placeholder = False
    return Task(
        key=metadata.uid,
        pod=f"{metadata.namespace}/{metadata.name}",
        application_id=application_id(pod, unique=unique_ids, findings=findings, workload=workload),
        queue=queue_of(pod, findings),
        task_group=task_group,
        placeholder=placeholder,
        priority=priority_of(spec.priority),
        created_s=unix_seconds(metadata.creation_timestamp),
        preemptable=_preemptable(pod, priority_classes, findings),
        preempting=spec.preemption_policy != "Never",
        required_node=required_node(pod) if metadata.owner_references else "",
        findings=tuple(findings) if findings else _NO_FINDINGS,
    )


def application_id(
    pod: Pod,
    *,
    unique: bool,
    findings: list[Finding] | None = None,
    workload: Workload | None = None,
) -> str:
    """Return the ID of a pod's application: given, of its workload, or generated.

    A generated one is ``yunikorn-NAMESPACE-autogen`` (at most 63 characters), or with ``unique``
    one of the pod alone: at most 26 characters of the namespace and the pod's uid. Raises:
    ObjectError.
    """
    found = named_application(pod, findings)
    if not found and workload is not None:
        found = workload.application_id
    found = found or generated_application(pod.namespace or names.DEFAULT_NAMESPACE, unique=unique)
    _name(found, names.APPLICATION_ID)
    if found.endswith(names.UNIQUE_SUFFIX):
        return f"{found.removesuffix(names.UNIQUE_SUFFIX)}-{pod.uid}"
    return found


def named_application(pod: Pod, findings: list[Finding] | None = None) -> str:
    """Return the application ID that a pod names, as it stands there; "" if it names none."""
    labels, annotations = pod.labels, pod.annotations
    return _first(
        (
            ("label", names.APPLICATION_ID, labels),
            ("annotation", names.APPLICATION_ID, annotations),
            ("label", names.OLD_APPLICATION_ID, labels),
            ("label", names.SPARK_APPLICATION_ID, labels),
        ),
        findings,
    )


def derived_workload(pod: Pod, rules: tuple[str, ...]) -> Workload | None:
    """Return the workload that a pod is a part of, None if the pod itself says what it is.

    It does if it names another application, or is a placeholder. The application ID that the
    admission controller has written is that of the workload. Implements: EXT-140.
    """
    found = workload_of(pod, rules)
    if found is None or is_placeholder(pod):
        return None
    named = named_application(pod)
    keeps = found.rule.keeps_id and named == pod.labels.get(names.SPARK_APPLICATION_ID)
    return found if not named or keeps or named == found.application_id else None


def derives_gang(pod: Pod) -> bool:
    """Whether the gang of a pod's workload counts: the pod names no groups and does not decline.

    Nor does it after the gang's time was over. Rules: EXT-140.
    """
    annotations = pod.annotations
    return not (
        annotations.get(names.TASK_GROUPS)
        or annotations.get(names.TASK_GROUP_NAME)
        or parse_bool(annotations.get(names.DERIVE_GANG, "")) is False
        or parse_bool(annotations.get(names.RESERVATION_OVER, ""))
    )


def generated_application(namespace: str, *, unique: bool) -> str:
    """Return the application ID of a pod that names none.

    With ``unique`` it ends in the suffix for which the pod's uid is put when the pod has one.
    """
    if unique:
        return f"{namespace[:_NAMESPACE_PART]}{names.UNIQUE_SUFFIX}"
    return f"yunikorn-{namespace}-autogen"[:_LABEL_LIMIT]


def queue_of(pod: Pod, findings: list[Finding] | None = None) -> str:
    """Return the queue that a pod names, "" if it names none. Raises: ObjectError."""
    return _name(named_queue(pod, findings), names.QUEUE)


def named_queue(pod: Pod, findings: list[Finding] | None = None) -> str:
    """Return the queue that a pod names, as it stands there; "" if it names none."""
    labels, annotations = pod.labels, pod.annotations
    return _first(
        (
            ("label", names.QUEUE, labels),
            ("annotation", names.QUEUE, annotations),
            ("label", names.OLD_QUEUE, labels),
        ),
        findings,
    )


def priority_of(given: int | None) -> int:
    """Return a priority within 32 bits, which all priorities of a real server are."""
    return max(-_PRIORITY_LIMIT, min(_PRIORITY_LIMIT, given)) if given else 0


def _first(
    places: tuple[tuple[str, str, Mapping[str, str]], ...], findings: list[Finding] | None
) -> str:
    """Return the first text that is there, "" if none; a later one that differs is a finding."""
    found = where = ""
    for kind, name, texts in places:
        text = texts.get(name) if texts else None
        if not text:
            continue
        if not found:
            found, where = text, f"{kind} {name}"
        elif text != found and findings is not None:
            findings.append(
                Finding(
                    f"{kind} {name}",
                    f"{shown(text)} differs from {shown(found)} of {where}, which counts",
                    "write the same in both, or only one of them",
                )
            )
    return found


def _name(text: str, where: str) -> str:
    """Return a name. Raises: ObjectError if it is too long or has control characters."""
    if len(text) > NAME_LIMIT:
        raise ObjectError(
            f"{where}: {shown(text)} has {len(text)} characters; write at most {NAME_LIMIT}"
        )
    if text and not text.isprintable() and _CONTROL.search(text):
        raise ObjectError(f"{where}: {shown(text)} has control characters; remove them")
    return text


def user_of(pod: Pod) -> tuple[User, tuple[Finding, ...]]:
    """Return the user of a pod, and what is wrong with how it names them.

    The annotation ``yunikorn.apache.org/user.info`` counts, a JSON object with ``user`` and
    ``groups``; without it the label; without both the user is ``nobody``. An annotation that means
    nothing is never replaced by the label, which anybody can write.
    """
    text = pod.annotations.get(names.USER_RECORD, "")
    if text:
        try:
            return read_user(text), _NO_FINDINGS
        except ObjectError as error:
            finding = Finding(
                f"annotation {names.USER_RECORD}",
                f"{error}, so the user is {names.NOBODY}",
                'write JSON such as {"user": "alice", "groups": ["dev"]}',
            )
            return User(names.NOBODY), (finding,)
    label = pod.labels.get(names.USER_NAME, "")
    return User(_name(label, names.USER_NAME) or names.NOBODY), _NO_FINDINGS


class _UserRecord(msgspec.Struct):
    user: str = ""
    groups: tuple[str, ...] | None = None


def read_user(text: str) -> User:
    """Return the user that a record names: ``{"user": "alice", "groups": ["dev"]}``.

    Raises: ObjectError that says what is wrong with it.
    """
    try:
        found = msgspec.json.decode(text, type=_UserRecord)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ObjectError(f"{shown(text)} is not what is expected ({error})") from None
    if not found.user:
        raise ObjectError(f"{shown(text)} names no user")
    groups = found.groups or ()
    if len(groups) > GROUPS_LIMIT:
        raise ObjectError(f"{len(groups)} groups are more than {GROUPS_LIMIT}")
    for each in groups:
        _name(each, "groups")
    return User(_name(found.user, "user"), groups)


def is_placeholder(pod: Pod) -> bool:
    """Whether a pod only reserves room for a member of a gang."""
    annotations = pod.annotations
    for name in (names.PLACEHOLDER, names.OLD_PLACEHOLDER):
        text = annotations.get(name)
        if text:
            return parse_bool(text) is True
    return parse_bool(pod.labels.get(names.OLD_PLACEHOLDER_LABEL, "")) is True


def required_node(pod: Pod) -> str:
    """Return the node that a pod of a DaemonSet is for, "" for all other pods."""
    if not any(each.kind == _DAEMON_SET for each in pod.metadata.owner_references or ()):
        return ""
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    for term in (required.node_selector_terms or ()) if required else ():
        for field in term.match_fields or ():
            if field.key == _NODE_NAME_FIELD and field.operator == "In" and field.values:
                return field.values[0]
    return ""


def _preemptable(
    pod: Pod, priority_classes: Mapping[str, PriorityClass], findings: list[Finding]
) -> bool:
    """Return whether a pod may be a victim: as its annotation says, else as its class says."""
    text = pod.annotations.get(names.ALLOW_PREEMPTION)
    if text:
        allowed = parse_bool(text)
        if allowed is not None:
            return allowed
        findings.append(_bad_preemption(text, "pod"))
    chosen = priority_classes.get(pod.spec.priority_class_name)
    text = chosen.annotations.get(names.ALLOW_PREEMPTION) if chosen else None
    if not text:
        return True
    allowed = parse_bool(text)
    if allowed is None:
        findings.append(_bad_preemption(text, f"PriorityClass {pod.spec.priority_class_name}"))
        return True
    return allowed


def _bad_preemption(text: str, of: str) -> Finding:
    return Finding(
        f"annotation {names.ALLOW_PREEMPTION} of the {of}",
        f"{shown(text)} is neither true nor false, so it does not count",
        'write "true" or "false"',
    )


_PLACEHOLDER_WITHOUT_GROUP: Final = Finding(
    f"annotation {names.PLACEHOLDER}",
    f"a placeholder needs the annotation {names.TASK_GROUP_NAME}, so the pod is an ordinary one",
    "leave the annotation to the scheduler, which makes placeholders itself",
)
