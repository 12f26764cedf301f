"""Events of pods, nodes and ConfigMaps: their reasons, which people search for, and their texts.

The reasons are those of Apache YuniKorn and kube-scheduler. An event says what happened, and where
something is wrong what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from remuda.base.texts import shortened
from remuda_kubernetes.objects.metadata import KubernetesObject, ObjectReference
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.translation.findings import Finding, one_line, shown

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

# Characters of a message; the server refuses longer ones.
MESSAGE_LIMIT: Final = 1_024

SCHEDULING: Final = "Scheduling"
SCHEDULED: Final = "Scheduled"
BOUND: Final = "PodBindSuccessful"
FAILED: Final = "FailedScheduling"
UNSCHEDULABLE: Final = "PodUnschedulable"
TASK_FAILED: Final = "TaskFailed"
REJECTED: Final = "ApplicationRejected"
GANG: Final = "GangScheduling"
NODE_ACCEPTED: Final = "NodeAccepted"
NODE_REJECTED: Final = "NodeRejected"
PREEMPTED: Final = "Preempted"
PREEMPTING: Final = "Preempting"
PREEMPTION_BLOCKED: Final = "PreemptionBlocked"
INVALID_METADATA: Final = "InvalidMetadata"
CONFIGURATION: Final = "ConfigurationChanged"
CONFIGURATION_REFUSED: Final = "ConfigurationRefused"
RESTART_NEEDED: Final = "RestartNeeded"


class Event(NamedTuple):
    """One event. ``type``: Normal or Warning. ``action``: what was done, for events.k8s.io."""

    reason: str
    type: str
    message: str
    about: ObjectReference
    action: str = SCHEDULING


def reference(about: KubernetesObject, kind: str) -> ObjectReference:
    """Return a pointer to an object, for an event about it.

    It is the same for all versions of the object, so that equal events are one series. A node is
    named by its name in place of the uid, as kubelet does: `kubectl describe node` looks for that.
    """
    metadata = about.metadata
    return ObjectReference(
        api_version="v1",
        kind=kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.name if kind == "Node" else metadata.uid,
    )


def made(
    reason: str, kind: str, message: str, about: ObjectReference, action: str = SCHEDULING
) -> Event:
    """Return an event whose message the server can take."""
    return Event(reason, kind, shortened(message, MESSAGE_LIMIT), about, action)


def _pod(pod: Pod) -> ObjectReference:
    return reference(pod, "Pod")


def scheduling(pod: Pod, application_id: str, queue: str = "") -> Event:
    """Tell that a pod waits for the scheduler."""
    place = f" of queue {queue}" if queue else ""
    text = f"Pod {pod.key} waits for a node as part of application {application_id}{place}"
    return made(SCHEDULING, NORMAL, text, _pod(pod))


def scheduled(pod: Pod, node: str) -> Event:
    """Tell that the scheduler chose a node."""
    return made(SCHEDULED, NORMAL, f"Assigned pod {pod.key} to node {node}", _pod(pod))


def bound(pod: Pod, node: str) -> Event:
    """Tell that the server took the binding."""
    text = f"Bound pod {pod.key} to node {node}"
    return made(BOUND, NORMAL, text, _pod(pod), "Binding")


def failed_scheduling(pod: Pod, finding: str) -> Event:
    """Tell why a pod has no node yet, as kube-scheduler does under this reason."""
    return made(FAILED, WARNING, finding, _pod(pod))


def unschedulable(pod: Pod, finding: str) -> Event:
    """Tell that no node of the cluster can take a pod, which is for the cluster autoscaler."""
    return made(UNSCHEDULABLE, WARNING, f"Pod {pod.key} cannot be placed: {finding}", _pod(pod))


def binding_failed(pod: Pod, node: str, cause: str) -> Event:
    """Tell that a pod did not get the node that was chosen, and looks for one again."""
    text = f"Pod {pod.key} was not bound to node {node} and waits again: {cause}"
    return made(FAILED, WARNING, text, _pod(pod), "Binding")


def binding_unanswered(pod: Pod, node: str, cause: str) -> Event:
    """Tell that nobody knows whether a pod has got its node, which is found out by a new try."""
    text = f"Pod {pod.key} may be bound to node {node} or not, and this is tried again: {cause}"
    return made(FAILED, WARNING, text, _pod(pod), "Binding")


def ask_refused(pod: Pod, reason: str) -> Event:
    """Tell that the scheduler refused a pod, which asks again later."""
    text = f"The scheduler refused pod {pod.key}, which asks again later: {reason}"
    return made(TASK_FAILED, WARNING, text, _pod(pod))


def not_counted(pod: Pod, reason: str) -> Event:
    """Tell that a pod runs without being counted in any queue."""
    text = f"Pod {pod.key} runs, and no queue counts it: {reason}"
    return made(TASK_FAILED, WARNING, text, _pod(pod))


def room_not_told(pod: Pod, cause: str) -> Event:
    """Tell that the scheduler does not know what a pod of another scheduler takes of its node."""
    text = f"Pod {pod.key} takes room of its node that no figure shows: {cause}"
    return made(INVALID_METADATA, WARNING, text, _pod(pod))


def task_failed(pod: Pod, cause: str) -> Event:
    """Tell that a pod was given up; the cause says what was tried."""
    text = f"Pod {pod.key} failed: {cause}; correct the cause, then create the pod again"
    return made(TASK_FAILED, WARNING, text, _pod(pod))


def application_rejected(pod: Pod, application_id: str, reason: str, queue: str = "") -> Event:
    """Tell that the scheduler refused an application, and why."""
    wanted = f" for queue {shown(queue)}" if queue else ""
    text = (
        f"The scheduler refused application {application_id}{wanted}: {reason}; "
        "correct its queue, user or size, or ask an administrator for the queue, then submit it "
        "again"
    )
    return made(REJECTED, WARNING, text, _pod(pod))


def gang_begins(pod: Pod, application_id: str, placeholders: int) -> Event:
    """Tell that placeholders keep room for a gang."""
    text = (
        f"Application {application_id} is a gang: {placeholders} placeholder pods are created to "
        "keep room for it"
    )
    return made(GANG, NORMAL, text, _pod(pod))


def gang_timed_out(pod: Pod, application_id: str, *, hard: bool) -> Event:
    """Tell that a gang did not come together in time, and what happens now."""
    follows = (
        "the application fails, as its style is Hard; submit it again when there is room"
        if hard
        else "its pods are scheduled one by one now, as its style is Soft"
    )
    text = (
        f"The placeholders of application {application_id} did not all get a node in time: "
        f"{follows}; placeholderTimeoutInSeconds sets the time"
    )
    return made(GANG, WARNING, text, _pod(pod))


def gang_refused(pod: Pod, finding: str) -> Event:
    """Tell that task groups cannot be read, so that an application is no gang."""
    return made(GANG, WARNING, finding, _pod(pod))


def placeholder_failed(pod: Pod, name: str, cause: str) -> Event:
    """Tell that the server refused a placeholder of the gang that a pod speaks for."""
    text = (
        f"Placeholder {name} could not be created: {cause}; "
        "correct the task groups, or the quota or policy that refuses the pod"
    )
    return made(GANG, WARNING, text, _pod(pod))


def preempted(victim: Pod, why: str, node: str) -> Event:
    """Tell a victim that it has to go; ``why``: for which pod, or for which other reason."""
    text = f"Pod {victim.key} has to leave node {node} {why}"
    return made(PREEMPTED, WARNING, text, _pod(victim), "Preempting")


def preempting(preemptor: Pod, victims: Iterable[str]) -> Event:
    """Tell a pod which others have to go for it."""
    text = f"Pod {preemptor.key} gets a node when these are gone: {', '.join(victims)}"
    return made(PREEMPTING, NORMAL, text, _pod(preemptor), "Preempting")


def eviction_blocked(victim: Pod, cause: str) -> Event:
    """Tell that a disruption budget keeps a victim where it is for now."""
    text = f"A disruption budget holds up the eviction of pod {victim.key}: {cause}"
    return made(PREEMPTION_BLOCKED, WARNING, text, _pod(victim), "Preempting")


def metadata_faults(pod: Pod, findings: Iterable[Finding]) -> tuple[Event, ...]:
    """Tell what labels and annotations of a pod say wrongly; no event if nothing.

    Task groups that cannot be read have the reason GangScheduling.
    """
    every = tuple(findings)
    refused = [each for each in every if each.error]
    others = [each for each in every if not each.error]
    events = [gang_refused(pod, str(each)) for each in refused]
    if others:
        events.append(made(INVALID_METADATA, WARNING, one_line(others), _pod(pod)))
    return tuple(events)


def pod_refused(pod: Pod, cause: str) -> Event:
    """Report that the scheduler cannot take a pod at all; the cause says what to do."""
    return made(FAILED, WARNING, f"Pod {pod.key} is not scheduled: {cause}", _pod(pod))
