"""Requests to the scheduler: fields by chapter 70, and what a real scheduler makes of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.cluster import Namespace
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.translation import names, requests
from remuda_kubernetes.translation.applications import application_of
from remuda_kubernetes.translation.metadata import task_of
from remuda_kubernetes.translation.namespaces import namespace_limits
from remuda_kubernetes.translation.placeholders import missing_placeholders
from remuda_kubernetes.translation.resources import (
    node_amounts,
    pod_amounts,
    pod_resource,
)
from remuda_kubernetes.translation.selection import Side, side_of

DOMAIN = "yunikorn.apache.org/"
CREATED = "2026-11-25T20:15:58Z"


def pod(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Pod:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "creationTimestamp": CREATED,
        "labels": {"applicationId": "app-1", "tier": "batch"},
        "annotations": annotations,
        "ownerReferences": spec.pop("owners", None),
    }
    return convert(
        Pod,
        {
            "metadata": metadata,
            "spec": {"schedulerName": "yunikorn", "containers": containers, **spec},
        },
    )


def node(name: str = "n1", **status: Any) -> Node:
    labels = {
        "disk": "ssd",
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": "z1",
        "topology.kubernetes.io/region": "r1",
        "node.kubernetes.io/instance-type": "m7",
    }
    usual = {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110", "nvidia.com/gpu": "2"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return convert(
        Node, {"metadata": {"name": name, "labels": labels}, "status": {**usual, **status}}
    )


def amounts(resource: si.Resource) -> dict[str, int]:
    return {name: each.value for name, each in resource.resources.items()}


def ask(given: Pod, **more: Any) -> si.Allocation:
    return requests.ask(task_of(given, {}), pod_resource(given), given, **more)


@pytest.mark.remuda_rule("SI-111")
def test_an_ask_is_an_allocation_without_node_and_identity() -> None:
    found = ask(pod("p", priority=7), originator=True, predicate_class="c1")
    assert found == si.Allocation(
        allocationKey="uid-p",
        applicationID="app-1",
        partitionName="default",
        priority=7,
        originator=True,
        preemptionPolicy=si.PreemptionPolicy(allowPreemptSelf=True, allowPreemptOther=True),
        resourcePerAlloc=si.Resource(
            resources={
                "vcore": si.Quantity(value=500),
                "memory": si.Quantity(value=1024**3),
                "pods": si.Quantity(value=1),
            }
        ),
        allocationTags={
            "kubernetes.io/meta/namespace": "ns",
            "kubernetes.io/meta/podName": "p",
            "kubernetes.io/label/applicationId": "app-1",
            "kubernetes.io/label/tier": "batch",
            "creationTime": "1795637758",
            "remuda/predicateClass": "c1",
        },
    )


def test_a_placeholder_names_its_group_and_a_victim_may_refuse() -> None:
    annotations = {
        DOMAIN + "task-group-name": "w",
        "internal.yunikorn.apache.org/placeholder": "true",
        DOMAIN + "allow-preemption": "false",
    }
    found = ask(pod("p", annotations, preemptionPolicy="Never"))
    assert (found.taskGroupName, found.placeholder) == ("w", True)
    assert found.HasField("preemptionPolicy")
    assert not found.preemptionPolicy.allowPreemptSelf
    assert not found.preemptionPolicy.allowPreemptOther


FOR_NODE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
            ]
        }
    }
}


@pytest.mark.remuda_rule("SI-39")
def test_a_pod_of_a_daemon_set_names_the_node_it_is_for() -> None:
    given = pod("p", owners=[{"kind": "DaemonSet", "name": "d", "uid": "u"}], affinity=FOR_NODE)
    assert ask(given).allocationTags["yunikorn.apache.org/requiredNode"] == "n2"


def test_a_pod_with_very_many_labels_keeps_within_the_limits_of_the_interface() -> None:
    labels = {f"l{number:04}": "x" for number in range(5_000)}
    given = convert(Pod, {"metadata": {"name": "p", "labels": labels}})
    assert len(ask(given).allocationTags) < 300


@pytest.mark.parametrize(
    "owner, kind", [("Node", "static"), ("DaemonSet", "default"), (None, "default")]
)
def test_a_foreign_pod_only_takes_room(owner: str | None, kind: str) -> None:
    owners = [{"kind": owner, "name": "x", "uid": "u"}] if owner else None
    given = pod("f", owners=owners, schedulerName="default-scheduler", nodeName="n1")
    found = requests.foreign_allocation(given, pod_resource(given))
    assert (found.applicationID, found.nodeID, found.allocationKey) == ("", "n1", "uid-f")
    assert found.allocationTags["foreign"] == kind
    assert found.allocationTags["creationTime"] == "1795637758"


def test_all_kinds_of_resources_keep_their_names_but_cpu() -> None:
    wanted = {
        "cpu": "1500m",
        "memory": "1G",
        "ephemeral-storage": "2Gi",
        "hugepages-2Mi": "4Mi",
        "nvidia.com/gpu": "2",
    }
    container = {"name": "c", "resources": {"requests": wanted, "limits": wanted}}
    given = convert(Pod, {"spec": {"containers": [container]}})
    assert pod_amounts(given) == {
        "vcore": 1500,
        "memory": 10**9,
        "ephemeral-storage": 2 * 1024**3,
        "hugepages-2Mi": 4 * 1024**2,
        "nvidia.com/gpu": 2,
        "pods": 1,
    }


def test_a_node_comes_draining_with_what_it_has_and_what_it_is() -> None:
    found = requests.new_node(node(), "node.kubernetes.io/instance-type")
    assert found.nodeID == "n1"
    assert found.action == si.NodeInfo.CREATE_DRAIN
    assert amounts(found.schedulableResource) == {
        "vcore": 4000,
        "memory": 8 * 1024**3,
        "pods": 110,
        "nvidia.com/gpu": 2,
    }
    assert not found.HasField("occupiedResource")
    assert (
        dict(found.attributes).items()
        >= {
            "si/hostname": "n1",
            "si/rackname": "/rack-default",
            "si/arch": "arm64",
            "si/os": "linux",
            "si/zone": "z1",
            "si/region": "r1",
            "si/instance-type": "m7",
            "ready": "true",
            "disk": "ssd",
        }.items()
    )


def test_a_change_of_a_node_says_whether_it_is_ready() -> None:
    found = requests.changed_node(node(conditions=[{"type": "Ready", "status": "Unknown"}]))
    assert found.action == si.NodeInfo.UPDATE
    assert found.attributes["ready"] == "false"


@pytest.mark.parametrize(
    "allocatable, text",
    [
        (None, "node n1 has no status.allocatable"),
        ({}, "node n1 has no status.allocatable"),
        ({"cpu": "four"}, "node n1: status.allocatable: cpu: 'four' is no quantity"),
        ({"memory": "-1"}, "node n1: status.allocatable: memory is negative"),
    ],
)
def test_a_node_that_does_not_say_what_it_has_is_an_error(allocatable: Any, text: str) -> None:
    with pytest.raises(ObjectError) as caught:
        node_amounts(node(allocatable=allocatable))
    assert str(caught.value).startswith(text)


class Rm:
    """Notes what the scheduler says, as short lines."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.placed: dict[str, str] = {}

    def update_application(self, response: si.ApplicationResponse) -> None:
        self.heard += [f"accepted {each.applicationID}" for each in response.accepted]
        self.heard += [f"refused {each.applicationID}: {each.reason}" for each in response.rejected]
        self.heard += [f"{each.applicationID} {each.state}" for each in response.updated]

    def update_node(self, response: si.NodeResponse) -> None:
        self.heard += [f"accepted {each.nodeID}" for each in response.accepted]
        self.heard += [f"refused {each.nodeID}: {each.reason}" for each in response.rejected]

    def update_allocation(self, response: si.AllocationResponse) -> None:
        self.placed |= {each.allocationKey: each.nodeID for each in response.new}
        self.heard += [f"new {each.allocationKey} on {each.nodeID}" for each in response.new]
        self.heard += [
            f"{si.TerminationType.Name(each.terminationType)} {each.allocationKey}"
            for each in response.released
        ]
        self.heard += [
            f"refused {each.allocationKey}: {each.reason}" for each in response.rejectedAllocations
        ]
        self.heard += [f"refused {each.allocationKey}: {each.reason}" for each in response.rejected]

    def take(self) -> list[str]:
        found, self.heard = self.heard, []
        return found


@pytest.fixture
def scheduler() -> Iterator[InProcessScheduler]:
    with InProcessScheduler() as found:
        yield found


@pytest.fixture
def rm(scheduler: InProcessScheduler) -> Rm:
    found = Rm()
    request = si.RegisterResourceManagerRequest(
        rmID="rm",
        policyGroup="queues",
        extraConfig={"log.level": "warn"},
        buildInfo={names.LEVEL_KEY: names.INTERFACE_LEVEL},
    )
    scheduler.register_resource_manager(request, found)
    scheduler.update_node(si.NodeRequest(rmID="rm", nodes=[requests.new_node(node())]))
    scheduler.wait_idle()
    assert found.take() == ["accepted n1"]
    return found


def send(scheduler: InProcessScheduler, *allocations: si.Allocation) -> None:
    scheduler.update_allocation(si.AllocationRequest(rmID="rm", allocations=allocations))
    scheduler.wait_idle()


def end(scheduler: InProcessScheduler, *releases: si.AllocationRelease) -> None:
    told = si.AllocationReleasesRequest(allocationsToRelease=releases)
    scheduler.update_allocation(si.AllocationRequest(rmID="rm", releases=told))
    scheduler.wait_idle()


def undrain(scheduler: InProcessScheduler) -> None:
    action = requests.node_action("n1", si.NodeInfo.DRAIN_TO_SCHEDULABLE)
    scheduler.update_node(si.NodeRequest(rmID="rm", nodes=[action]))
    scheduler.wait_idle()


def test_the_start_of_a_shim_as_the_scheduler_sees_it(
    scheduler: InProcessScheduler, rm: Rm
) -> None:
    running, waiting = pod("running", nodeName="n1"), pod("waiting")
    foreign = pod("foreign", nodeName="n1", schedulerName="default-scheduler")
    new = requests.new_application(application_of(running, "app-1"))
    scheduler.update_application(requests.application_request("rm", [new]))
    scheduler.wait_idle()
    assert rm.take() == ["accepted app-1"]
    send(
        scheduler,
        requests.allocation(task_of(running, {}), pod_resource(running), running, "n1"),
        requests.foreign_allocation(foreign, pod_resource(foreign)),
        ask(waiting),
    )
    heard = rm.take()
    assert "new uid-running on n1" in heard
    assert "new uid-foreign on n1" in heard
    assert "new uid-waiting on n1" not in heard
    undrain(scheduler)
    assert "new uid-waiting on n1" in rm.take()


def test_a_release_ends_ask_and_allocation_alike(scheduler: InProcessScheduler, rm: Rm) -> None:
    running, waiting = pod("running"), pod("waiting", nodeSelector={})
    new = requests.new_application(application_of(running, "app-1"))
    scheduler.update_application(requests.application_request("rm", [new]))
    undrain(scheduler)
    send(scheduler, ask(running))
    assert rm.placed == {"uid-running": "n1"}
    large = requests.ask(
        task_of(waiting, {}),
        si.Resource(resources={"vcore": si.Quantity(value=10**6)}),
        waiting,
    )
    send(scheduler, large)
    rm.take()
    ends = [requests.release("app-1", "uid-running"), requests.release("app-1", "uid-waiting")]
    end(scheduler, *ends)
    assert "STOPPED_BY_RM uid-running" in rm.take()
    gone = requests.removed_application("app-1")
    scheduler.update_application(requests.application_request("rm", remove=[gone]))
    scheduler.wait_idle()
    assert not [line for line in rm.take() if line.startswith("refused")]


def test_a_gang_is_placed_and_its_placeholder_replaced(
    scheduler: InProcessScheduler, rm: Rm
) -> None:
    groups = [{"name": "w", "minMember": 2, "minResource": {"cpu": "500m", "memory": "1Gi"}}]
    annotations = {DOMAIN + "task-groups": json.dumps(groups), DOMAIN + "task-group-name": "w"}
    origin = pod("origin", annotations)
    application = application_of(origin, "app-1")
    new = requests.new_application(application)
    assert amounts(new.placeholderAsk) == {"vcore": 1000, "memory": 2 * 1024**3, "pods": 2}
    scheduler.update_application(requests.application_request("rm", [new]))
    undrain(scheduler)
    placeholders = []
    for number, manifest in enumerate(missing_placeholders(application, [origin])):
        manifest["metadata"]["uid"] = f"uid-placeholder-{number}"
        placeholders.append(convert(Pod, manifest))
    # Real asks wait for placeholders only if those come first (GANG-6).
    send(scheduler, *(ask(each) for each in placeholders), ask(origin, originator=True))
    assert rm.placed == {"uid-placeholder-0": "n1", "uid-placeholder-1": "n1"}
    replaced = [line for line in rm.take() if line.startswith("PLACEHOLDER_REPLACED")]
    assert len(replaced) == 1
    key = replaced[0].split()[1]
    confirmed = requests.release("app-1", key, si.PLACEHOLDER_REPLACED)
    end(scheduler, confirmed)
    assert rm.placed["uid-origin"] == "n1"


def test_the_quota_of_a_namespace_holds_pods_back(scheduler: InProcessScheduler, rm: Rm) -> None:
    annotations = {DOMAIN + "namespace.quota": '{"cpu": "1", "memory": "8Gi"}'}
    limits = namespace_limits(
        convert(Namespace, {"metadata": {"name": "ns", "annotations": annotations}})
    )
    new = requests.new_application(application_of(pod("p0"), "app-1").within(limits))
    scheduler.update_application(requests.application_request("rm", [new]))
    undrain(scheduler)
    send(scheduler, *(ask(pod(f"p{number}")) for number in range(4)))
    assert len(rm.placed) == 2


def test_foreign_room_is_given_back_by_its_key(scheduler: InProcessScheduler, rm: Rm) -> None:
    foreign = pod("foreign", nodeName="n1", schedulerName="default-scheduler")
    taken = si.Resource(resources={"vcore": si.Quantity(value=4000)})
    new = requests.new_application(application_of(pod("p"), "app-1"))
    scheduler.update_application(requests.application_request("rm", [new]))
    undrain(scheduler)
    send(scheduler, requests.foreign_allocation(foreign, taken))
    send(scheduler, ask(pod("p")))
    assert "uid-p" not in rm.placed
    ended = requests.release("", "uid-foreign")
    end(scheduler, ended)
    assert rm.placed["uid-p"] == "n1"


@pytest.mark.timed
def test_fifty_thousand_pods_are_translated_in_seconds() -> None:
    # The whole synchronisation may take 10 s; this is half of it, at a tenth of the pods.
    pods = [pod(f"p{number}") for number in range(5_000)]
    began = time.process_time()
    asks = [ask(each) for each in pods if side_of(each, ("yunikorn",)) is Side.OURS]
    si.AllocationRequest(rmID="rm", allocations=asks)
    assert time.process_time() - began < 0.5
