"""Requests of the scheduler interface, in the form of level 1.6 and later (SI-111).

There an ask is an allocation without a node, a pod's uid is its only identity, and one release ends
both. Pods of other schedulers are foreign allocations (CYC-29). Amounts come as messages of
``resources.py``, which are copied into the request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.times import unix_seconds
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.applications import Application
from remuda_kubernetes.translation.metadata import Task, priority_of, required_node
from remuda_kubernetes.translation.resources import node_amounts

# Labels and attributes that are passed on. The scheduler shows them; it takes at most 1,024
# entries and a million characters.
LABELS_LIMIT: Final = 256
_TEXT_LIMIT: Final = 1_024
_STATIC_OWNER: Final = "Node"

# May be a victim, may make room for itself; all four, since messages are expensive to make.
_PREEMPTION: Final = {
    (victim, preemptor): si.PreemptionPolicy(allowPreemptSelf=victim, allowPreemptOther=preemptor)
    for victim in (False, True)
    for preemptor in (False, True)
}


def new_application(application: Application) -> si.AddApplicationRequest:
    """Return the request that adds an application."""
    return si.AddApplicationRequest(
        applicationID=application.application_id,
        queueName=application.queue,
        partitionName=names.DEFAULT_PARTITION,
        ugi=si.UserGroupInformation(user=application.user.name, groups=application.user.groups),
        tags=application.tags,
        executionTimeoutMilliSeconds=application.policy.timeout_s * 1000,
        placeholderAsk=resource(application.placeholder_ask)
        if application.placeholder_ask
        else None,
        gangSchedulingStyle=application.policy.style,
    )


def removed_application(application_id: str) -> si.RemoveApplicationRequest:
    """Return the request that removes an application and all that it has."""
    return si.RemoveApplicationRequest(
        applicationID=application_id, partitionName=names.DEFAULT_PARTITION
    )


def ask(
    task: Task,
    amounts: si.Resource,
    pod: Pod,
    *,
    originator: bool = False,
    predicate_class: str = "",
) -> si.Allocation:
    """Return the ask of a pod without a node.

    ``predicate_class``: equal for pods that every node suits alike; "" for a class of its own.
    """
    return _allocation(task, amounts, pod, "", originator, predicate_class)


def allocation(
    task: Task, amounts: si.Resource, pod: Pod, node: str, *, originator: bool = False
) -> si.Allocation:
    """Return what a pod that has a node is to the scheduler."""
    return _allocation(task, amounts, pod, node, originator, "")


def _allocation(  # noqa: PLR0917 - called once a pod, names cost more than the call
    task: Task, amounts: si.Resource, pod: Pod, node: str, originator: bool, predicate_class: str
) -> si.Allocation:
    tags = _tags(pod, task.created_s)
    if task.required_node:
        tags[names.TAG_REQUIRED_NODE] = task.required_node
    if predicate_class:
        tags[names.TAG_PREDICATE_CLASS] = predicate_class
    return si.Allocation(
        allocationKey=task.key,
        applicationID=task.application_id,
        partitionName=names.DEFAULT_PARTITION,
        nodeID=node,
        allocationTags=tags,
        resourcePerAlloc=amounts,
        priority=task.priority,
        taskGroupName=task.task_group,
        placeholder=task.placeholder,
        originator=originator,
        preemptionPolicy=_PREEMPTION[task.preemptable, task.preempting],
    )


def foreign_allocation(pod: Pod, amounts: si.Resource) -> si.Allocation:
    """Return what a pod of another scheduler is: room that is taken on its node.

    Pods that a node owns (static pods) can never be preempted.
    """
    created = unix_seconds(pod.metadata.creation_timestamp)
    tags = _tags(pod, created)
    owners = pod.metadata.owner_references or ()
    static = any(each.kind == _STATIC_OWNER for each in owners)
    tags[names.TAG_FOREIGN] = names.FOREIGN_STATIC if static else names.FOREIGN_DEFAULT
    needed = required_node(pod) if owners else ""
    if needed:
        tags[names.TAG_REQUIRED_NODE] = needed
    return si.Allocation(
        allocationKey=pod.uid,
        partitionName=names.DEFAULT_PARTITION,
        nodeID=pod.spec.node_name,
        allocationTags=tags,
        resourcePerAlloc=amounts,
        priority=priority_of(pod.spec.priority),
    )


def _tags(pod: Pod, created_s: int) -> dict[str, str]:
    metadata = pod.metadata
    tags = {
        names.TAG_POD_NAMESPACE: metadata.namespace,
        names.TAG_POD_NAME: metadata.name,
        names.TAG_CREATED: str(created_s),
    }
    labels = metadata.labels
    if labels:
        prefix = names.TAG_LABEL
        if len(labels) > LABELS_LIMIT:
            labels = dict(sorted(labels.items())[:LABELS_LIMIT])
        for name, text in labels.items():
            tags[prefix + name] = text
    return tags


def release(
    application_id: str,
    key: str,
    kind: si.TerminationType.ValueType = si.STOPPED_BY_RM,
    message: str = "",
) -> si.AllocationRelease:
    """Return the release of a pod's ask or allocation.

    ``application_id``: "" for foreign allocations. ``kind``: STOPPED_BY_RM, or that of the
    scheduler's order which this confirms.
    """
    return si.AllocationRelease(
        partitionName=names.DEFAULT_PARTITION,
        applicationID=application_id,
        allocationKey=key,
        terminationType=kind,
        message=message,
    )


def application_request(
    rm_id: str,
    new: Iterable[si.AddApplicationRequest] = (),
    remove: Iterable[si.RemoveApplicationRequest] = (),
) -> si.ApplicationRequest:
    """Return applications that come and go. The new ones count first (SI-30)."""
    return si.ApplicationRequest(rmID=rm_id, new=new, remove=remove)


def new_node(node: Node, instance_type_label: str = "") -> si.NodeInfo:
    """Return the request that adds a node, draining until all that runs on it is known.

    ``instance_type_label``: the label that names the kind of machine.
    Raises: ObjectError if the node does not say what it has.
    """
    return si.NodeInfo(
        nodeID=node.name,
        action=si.NodeInfo.CREATE_DRAIN,
        attributes=node_attributes(node, instance_type_label),
        schedulableResource=resource(node_amounts(node)),
    )


def changed_node(node: Node, instance_type_label: str = "") -> si.NodeInfo:
    """Return the request that tells what a node has now. Raises: ObjectError."""
    return si.NodeInfo(
        nodeID=node.name,
        action=si.NodeInfo.UPDATE,
        attributes=node_attributes(node, instance_type_label),
        schedulableResource=resource(node_amounts(node)),
    )


def node_action(name: str, action: si.NodeInfo.ActionFromRM.ValueType) -> si.NodeInfo:
    """Return a request about a node's state only.

    ``action``: DRAIN_NODE, DRAIN_TO_SCHEDULABLE, DECOMISSION, or UPDATE for: look again (SI-10).
    """
    return si.NodeInfo(nodeID=name, action=action)


def node_attributes(node: Node, instance_type_label: str = "") -> dict[str, str]:
    """Return the attributes of a node: its labels, and what the scheduler has names for."""
    labels = node.labels
    found = {name: text[:_TEXT_LIMIT] for name, text in sorted(labels.items())[:LABELS_LIMIT]}
    for label, attribute in names.ATTRIBUTES_OF_LABELS.items():
        if labels.get(label):
            found[attribute] = labels[label]
    if labels.get(instance_type_label):
        found[names.ATTRIBUTE_INSTANCE_TYPE] = labels[instance_type_label]
    found[names.ATTRIBUTE_HOST] = node.name
    found[names.ATTRIBUTE_RACK] = names.DEFAULT_RACK
    found[names.ATTRIBUTE_READY] = "true" if node.ready else "false"
    return found
