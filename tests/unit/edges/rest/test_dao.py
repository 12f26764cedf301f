"""The JSON shapes against the golden examples of chapter 95 and the schemas of openapi.yaml."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from remuda.config.schema import TemplateConfig
from remuda.core.messages.queries import (
    AllocationView,
    ApplicationView,
    ForeignAllocationView,
    LogEntryView,
    NodeView,
    QueueView,
    RequestView,
)
from remuda.edges.rest import dao
from remuda.edges.rest.go_duration import duration_text
from tests.unit.edges.rest.conftest import partition_view
from tests.unit.edges.rest.schema import assert_valid, shown

PARTITION = partition_view()

QUEUE = QueueView(
    path="root.etl",
    partition="default",
    status="Active",
    leaf=True,
    managed=True,
    parent="root",
    pending={"memory": 96, "vcore": 1001},
    allocated={"memory": 10, "vcore": 1000},
    preempting={},
    maximum={"memory": 100, "vcore": 10000},
    guaranteed={"memory": 10, "vcore": 1000},
    headroom={"memory": 90, "vcore": 9000},
    properties={},
    running_applications=1,
    max_applications=0,
    template=None,
    current_priority=0,
    sort_policy="fifo",
    priority_sorting=True,
    priority_fence=False,
    priority_offset=0,
    preemption_policy="default",
    preemption_delay_ns=30_000_000_000,
    quota_preemption_delay_ns=0,
    children=(),
)

ALLOCATION = AllocationView(
    allocation_key="t-1",
    allocation_id="t-1-0",
    tags={"k": "v"},
    request_time_ns=1767225602000000000,
    allocation_time_ns=1767225602000230000,
    resource={"memory": 10, "vcore": 1000},
    priority=0,
    node_id="n1",
    application_id="job-1",
    partition="default",
    originator=False,
)

REQUEST = RequestView(
    allocation_key="t-2",
    tags={},
    request_time_ns=1767225605000000000,
    resource={"memory": 95, "vcore": 1000},
    pending_count=1,
    priority=0,
    required_node="",
    application_id="job-1",
    partition="default",
    originator=False,
    scheduling_attempted=False,
    triggered_scale_up=False,
    log=(),
    finding=None,
    reservations=(),
)

APPLICATION = ApplicationView(
    application_id="job-1",
    partition="default",
    queue="root.etl",
    user="ann",
    groups=("bi",),
    state="Starting",
    submission_time_ns=1767225601000000000,
    finished_time_ns=0,
    start_time_ns=0,
    used={"memory": 10, "vcore": 1000},
    max_used={"memory": 10, "vcore": 1000},
    pending={"memory": 95, "vcore": 1000},
    rejected_message="",
    max_request_priority=0,
    state_log=((1767225602000000001, "Accepted"), (1767225602000230001, "Starting")),
    backoff_deadline_ns=0,
    requests=(REQUEST,),
    allocations=(ALLOCATION,),
)

NODE = NodeView(
    node_id="n1",
    partition="default",
    attributes={
        "si/hostname": "h1",
        "si/rackname": "/r1",
        "si/node-partition": "[rm-a]default",
    },
    capacity={"memory": 100, "vcore": 20000},
    allocated={"memory": 75, "vcore": 6},
    occupied={},
    available={"memory": 25, "vcore": 19994},
    schedulable=True,
    ready=True,
    allocations=(),
    reservations=(),
    foreign=(),
)


def without(shape: dict[str, Any], *later: str) -> dict[str, Any]:
    """Leave out keys of later releases, which the golden examples do not show."""
    return {key: value for key, value in shape.items() if key not in later}


@pytest.mark.remuda_rule("REST-67", "REST-69", "REST-130")
def test_partition_is_the_golden_example() -> None:
    expected = {
        "clusterId": "rm-a",
        "name": "default",
        "capacity": {
            "capacity": {"memory": 250, "vcore": 25000},
            "usedCapacity": {"memory": 10, "vcore": 1000},
            "utilization": {"memory": 4, "vcore": 4},
        },
        "nodeSortingPolicy": {"type": "fair", "resourceWeights": {"memory": 1, "vcore": 1}},
        "totalNodes": 2,
        "applications": {"Accepted": 1, "Starting": 1, "total": 2},
        "totalContainers": 1,
        "state": "Active",
        "lastStateTransitionTime": 1767225600100000000,
    }
    partition = shown(dao.partition(PARTITION))
    assert without(partition, "preemptionEnabled", "quotaPreemptionEnabled") == expected
    assert partition["preemptionEnabled"] is True
    assert partition["quotaPreemptionEnabled"] is False
    assert_valid("Partition", partition)


@pytest.mark.remuda_rule("REST-131", "REST-19")
def test_partition_without_nodes_keeps_an_empty_capacity() -> None:
    empty = replace(
        PARTITION, capacity=None, allocated={}, total_nodes=0, total_containers=0, applications={}
    )
    partition = shown(dao.partition(empty))
    assert partition["capacity"] == {}
    assert partition["applications"] == {"total": 0}
    assert "totalNodes" not in partition
    assert "totalContainers" not in partition
    assert_valid("Partition", partition)


@pytest.mark.remuda_rule("REST-11")
def test_weights_print_like_the_golden_example() -> None:
    weighted = replace(PARTITION, node_sort_weights={"gpu": 2.5, "vcore": 4.0})
    text = dao.encode(dao.partition(weighted)).decode()
    assert '"resourceWeights":{"gpu":2.5,"vcore":4}' in text


@pytest.mark.remuda_rule("REST-70", "REST-132", "REST-18")
def test_queue_is_the_golden_example() -> None:
    expected = {
        "queuename": "root.etl",
        "status": "Active",
        "partition": "default",
        "pendingResource": {"memory": 96, "vcore": 1001},
        "maxResource": {"memory": 100, "vcore": 10000},
        "guaranteedResource": {"memory": 10, "vcore": 1000},
        "allocatedResource": {"memory": 10, "vcore": 1000},
        "headroom": {"memory": 90, "vcore": 9000},
        "isLeaf": True,
        "isManaged": True,
        "parent": "root",
        "absUsedCapacity": {"memory": 10, "vcore": 10},
        "runningApps": 1,
        "currentPriority": 0,
    }
    queue = shown(dao.queue(QUEUE, subtree=True))
    later = (
        "sortingPolicy",
        "prioritySorting",
        "preemptionEnabled",
        "isPreemptionFence",
        "isPriorityFence",
        "preemptionDelay",
    )
    assert without(queue, *later) == expected
    assert set(later) <= set(queue)
    assert_valid("Queue", queue)


@pytest.mark.remuda_rule("REST-71", "REST-73", "REST-74", "REST-75")
def test_children_are_named_always_and_shown_on_demand() -> None:
    child = replace(QUEUE, path="root.a", maximum=None)
    root = replace(QUEUE, path="root", parent="", leaf=False, children=(child, QUEUE))
    narrow = shown(dao.queue(root, subtree=False))
    assert "children" not in narrow
    assert "parent" not in narrow
    assert narrow["childrenNames"] == ["root.a", "root.etl"]
    assert narrow["childNames"] == ["root.a", "root.etl"]
    wide = shown(dao.queue(root, subtree=True))
    assert [queue["queuename"] for queue in wide["children"]] == ["root.a", "root.etl"]
    assert [queue["partition"] for queue in wide["children"]] == ["default", "default"]
    assert "absUsedCapacity" not in wide["children"][0]
    assert_valid("Queue", wide)


@pytest.mark.remuda_rule("REST-19", "REST-70", "REST-71")
def test_queue_with_nothing_keeps_only_what_is_always_there() -> None:
    empty = replace(
        QUEUE,
        parent="",
        pending={},
        allocated={},
        maximum=None,
        guaranteed=None,
        headroom=None,
        running_applications=0,
        sort_policy="",
        current_priority=-2147483648,
    )
    assert shown(dao.queue(empty, subtree=True)) == {
        "queuename": "root.etl",
        "status": "Active",
        "partition": "default",
        "isLeaf": True,
        "isManaged": True,
        "currentPriority": -2147483648,
        "prioritySorting": True,
        "preemptionEnabled": True,
        "isPreemptionFence": False,
        "isPriorityFence": False,
        "preemptionDelay": "30s",
    }


@pytest.mark.remuda_rule("REST-77", "REST-79", "REST-80", "REST-133")
def test_application_is_the_golden_example_without_allocation_log() -> None:
    expected = {
        "applicationID": "job-1",
        "usedResource": {"memory": 10, "vcore": 1000},
        "maxUsedResource": {"memory": 10, "vcore": 1000},
        "pendingResource": {"memory": 95, "vcore": 1000},
        "partition": "default",
        "queueName": "root.etl",
        "submissionTime": 1767225601000000000,
        "requests": [
            {
                "allocationKey": "t-2",
                "requestTime": 1767225605000000000,
                "resource": {"memory": 95, "vcore": 1000},
                "pendingCount": 1,
                "priority": "0",
                "applicationId": "job-1",
                "partition": "default",
            }
        ],
        "allocations": [
            {
                "allocationKey": "t-1",
                "allocationTags": {"k": "v"},
                "requestTime": 1767225602000000000,
                "allocationTime": 1767225602000230000,
                "allocationDelay": 230000,
                "uuid": "t-1-0",
                "allocationID": "t-1-0",
                "resource": {"memory": 10, "vcore": 1000},
                "priority": "0",
                "nodeId": "n1",
                "applicationId": "job-1",
                "partition": "default",
            }
        ],
        "applicationState": "Starting",
        "user": "ann",
        "groups": ["bi"],
        "stateLog": [
            {"time": 1767225602000000001, "applicationState": "Accepted"},
            {"time": 1767225602000230001, "applicationState": "Starting"},
        ],
    }
    application = shown(dao.application(APPLICATION))
    assert application == expected
    assert_valid("Application", application)


@pytest.mark.remuda_rule("REST-78", "REST-79", "REST-80")
def test_fields_that_are_set_are_shown() -> None:
    request = replace(
        REQUEST,
        tags={"b": "1", "a": "2"},
        priority=-5,
        required_node="n7",
        originator=True,
        scheduling_attempted=True,
    )
    allocation = replace(ALLOCATION, originator=True)
    view = replace(
        APPLICATION,
        start_time_ns=1767225602123456789,
        finished_time_ns=1767225609000000000,
        max_request_priority=-2147483648,
        requests=(request,),
        allocations=(allocation,),
    )
    application = shown(dao.application(view))
    assert application["startTime"] == 1767225602123
    assert application["finishedTime"] == 1767225609000000000
    assert application["maxRequestPriority"] == -2147483648
    assert application["allocations"][0]["originator"] is True
    shown_request = application["requests"][0]
    assert list(shown_request["allocationTags"]) == ["a", "b"]
    assert shown_request["priority"] == "-5"
    assert shown_request["requiredNodeId"] == "n7"
    assert shown_request["originator"] is True
    assert shown_request["schedulingAttempted"] is True
    assert_valid("Application", application)


@pytest.mark.remuda_rule("REST-80")
def test_allocation_of_unknown_creation_has_no_request_time_and_no_delay() -> None:
    view = replace(APPLICATION, allocations=(replace(ALLOCATION, request_time_ns=0),))
    allocation = shown(dao.application(view))["allocations"][0]
    assert "requestTime" not in allocation
    assert "allocationDelay" not in allocation
    assert allocation["allocationTime"] == 1767225602000230000


@pytest.mark.remuda_rule("REST-80", "REST-19")
def test_allocation_made_at_once_has_no_delay() -> None:
    at_once = replace(ALLOCATION, request_time_ns=ALLOCATION.allocation_time_ns)
    allocation = shown(dao.application(replace(APPLICATION, allocations=(at_once,))))
    assert "allocationDelay" not in allocation["allocations"][0]
    assert allocation["allocations"][0]["requestTime"] == 1767225602000230000


@pytest.mark.remuda_rule("REST-136")
def test_rejected_application_keeps_its_empty_queue_name() -> None:
    reason = "failed to place application job-x: application rejected: no placement rule matched"
    view = replace(
        APPLICATION,
        application_id="job-x",
        queue="",
        state="Rejected",
        finished_time_ns=1767225601000000001,
        used={},
        max_used={},
        pending={},
        rejected_message=reason,
        max_request_priority=-2147483648,
        state_log=((1767225601000000001, "Rejected"),),
        requests=(),
        allocations=(),
    )
    application = shown(dao.application(view))
    assert application == {
        "applicationID": "job-x",
        "partition": "default",
        "queueName": "",
        "submissionTime": 1767225601000000000,
        "finishedTime": 1767225601000000001,
        "applicationState": "Rejected",
        "user": "ann",
        "groups": ["bi"],
        "rejectedMessage": reason,
        "stateLog": [{"time": 1767225601000000001, "applicationState": "Rejected"}],
        "maxRequestPriority": -2147483648,
    }
    assert_valid("Application", application)


@pytest.mark.remuda_rule("REST-135")
def test_zero_amounts_stay_in_a_resource_that_was_set() -> None:
    view = replace(APPLICATION, pending={"memory": 0, "vcore": 0}, used={})
    application = shown(dao.application(view))
    assert application["pendingResource"] == {"memory": 0, "vcore": 0}
    assert "usedResource" not in application


@pytest.mark.remuda_rule("REST-85", "REST-137")
def test_node_is_the_golden_example_without_reservation() -> None:
    expected = {
        "nodeID": "n1",
        "hostName": "h1",
        "rackName": "/r1",
        "attributes": {
            "si/hostname": "h1",
            "si/rackname": "/r1",
            "si/node-partition": "[rm-a]default",
        },
        "capacity": {"memory": 100, "vcore": 20000},
        "allocated": {"memory": 75, "vcore": 6},
        "available": {"memory": 25, "vcore": 19994},
        "utilized": {"memory": 75, "vcore": 0},
        "schedulable": True,
        "isReserved": False,
        "ready": True,
    }
    node = shown(dao.node(NODE))
    assert node == expected
    assert_valid("Node", node)


@pytest.mark.remuda_rule("REST-85")
def test_node_shows_percentages_only_of_types_it_has() -> None:
    view = replace(
        NODE,
        attributes={},
        capacity={"gpu": 0, "memory": 100},
        allocated={"gpu": 1, "memory": 100},
        occupied={"memory": 1},
        allocations=(ALLOCATION,),
        schedulable=False,
        ready=False,
    )
    node = shown(dao.node(view))
    assert node["utilized"] == {"memory": 100}
    assert node["occupied"] == {"memory": 1}
    assert node["allocations"][0]["allocationKey"] == "t-1"
    assert node["schedulable"] is False
    assert node["ready"] is False
    assert "hostName" not in node
    assert "attributes" not in node
    assert_valid("Node", node)


@pytest.mark.remuda_rule("REST-85", "REST-137", "REST-77")
def test_node_and_application_show_different_halves_of_a_reservation() -> None:
    reserved = replace(NODE, reservations=(("job-1", "t-3"), ("job-0", "t-9")))
    node = shown(dao.node(reserved))
    assert node["isReserved"] is True
    assert node["reservations"] == ["job-1|t-3", "job-0|t-9"]
    assert_valid("Node", node)
    requests = (
        replace(REQUEST, allocation_key="t-3", reservations=("n2", "n1")),
        replace(REQUEST, allocation_key="t-1", reservations=("n1",)),
        REQUEST,
    )
    application = shown(dao.application(replace(APPLICATION, requests=requests)))
    assert application["hasReserved"] is True
    assert application["reservations"] == ["n1|t-1", "n1|t-3", "n2|t-3"]
    assert_valid("Application", application)


@pytest.mark.remuda_rule("REST-85", "CYC-29")
def test_node_shows_what_others_run_there() -> None:
    foreign = ForeignAllocationView(
        allocation_key="daemon",
        tags={"foreign": "default"},
        allocation_time_ns=1767225602000000000,
        resource={"memory": 5},
        priority=-3,
        node_id="n1",
        preemptable=True,
    )
    static = replace(foreign, allocation_key="static", tags={}, resource={}, preemptable=False)
    node = shown(dao.node(replace(NODE, foreign=(foreign, static))))
    assert node["foreignAllocations"] == [
        {
            "allocationKey": "daemon",
            "allocationTags": {"foreign": "default"},
            "allocationTime": 1767225602000000000,
            "resource": {"memory": 5},
            "priority": "-3",
            "nodeId": "n1",
            "preemptable": True,
        },
        {
            "allocationKey": "static",
            "allocationTime": 1767225602000000000,
            "priority": "-3",
            "nodeId": "n1",
        },
    ]
    assert_valid("Node", node)


@pytest.mark.remuda_rule("REST-79", "REST-81", "REST-133", "REST-134")
def test_request_shows_its_log_the_latest_entry_last() -> None:
    log = (
        LogEntryView("no gpu", 1767225609000000001, 2**40),
        LogEntryView("Not enough user quota", 1767225609000000000, 25),
    )
    view = replace(REQUEST, log=log, triggered_scale_up=True)
    application = shown(dao.application(replace(APPLICATION, requests=(view,))))
    (request,) = application["requests"]
    assert request["allocationLog"] == [
        {
            "message": "Not enough user quota",
            "lastOccurrence": 1767225609000000000,
            "count": 25,
        },
        {"message": "no gpu", "lastOccurrence": 1767225609000000001, "count": 2**31 - 1},
    ]
    assert request["triggeredScaleUp"] is True
    assert_valid("Application", application)


@pytest.mark.remuda_rule("REST-78", "CYC-33")
@pytest.mark.parametrize(
    "deadline_ns, text",
    [
        (1767225602000000000, "2026-01-01T00:00:02Z"),
        (1767225602100000000, "2026-01-01T00:00:02.1Z"),
        (1767225602000000007, "2026-01-01T00:00:02.000000007Z"),
    ],
)
def test_backoff_deadline_is_a_time_of_day(deadline_ns: int, text: str) -> None:
    view = replace(APPLICATION, backoff_deadline_ns=deadline_ns)
    application = shown(dao.application(view))
    assert application["backoffDeadline"] == text
    assert_valid("Application", application)


@pytest.mark.remuda_rule("REST-68")
def test_percentages_are_truncated_capped_and_need_both_sides() -> None:
    view = replace(
        QUEUE,
        maximum={"a": 100, "b": 0, "c": 10, "d": 1, "e": 5},
        allocated={"a": 29, "b": 0, "c": -1, "d": 2**62, "f": 3},
    )
    assert shown(dao.queue(view, subtree=True))["absUsedCapacity"] == {
        "a": 28,
        "b": 0,
        "c": 0,
        "d": 2147483647,
    }
    over = replace(QUEUE, maximum={"a": 0}, allocated={"a": 1})
    assert shown(dao.queue(over, subtree=True))["absUsedCapacity"] == {"a": 100}


@pytest.mark.remuda_rule("REST-11", "REST-20", "REST-18")
def test_bytes_of_a_body() -> None:
    view = replace(
        NODE,
        node_id="<n&1>",
        attributes={"z": "é", "a": "1"},
        capacity={"vcore": 2**63 - 1},
        allocated={},
        available={},
    )
    text = dao.encode(dao.node(view)).decode()
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    assert '"nodeID":"\\u003cn\\u00261\\u003e"' in text
    assert '"attributes":{"a":"1","z":"é"}' in text
    assert '"capacity":{"vcore":9223372036854775807}' in text
    assert json.loads(text)["nodeID"] == "<n&1>"


@pytest.mark.remuda_rule("REST-67", "PAR-3")
def test_partition_says_whether_preemption_is_on() -> None:
    changed = replace(PARTITION, preemption=False, quota_preemption=True)
    partition = shown(dao.partition(changed))
    assert partition["preemptionEnabled"] is False
    assert partition["quotaPreemptionEnabled"] is True
    assert_valid("Partition", partition)


@pytest.mark.remuda_rule("CFG-91", "REST-67")
def test_weights_that_no_integer_can_show() -> None:
    weighted = replace(PARTITION, node_sort_weights={"a": math.nan, "b": 1e300, "c": 2.0**53})
    weights = shown(dao.partition(weighted))["nodeSortingPolicy"]["resourceWeights"]
    assert weights == {"a": 0, "b": 1e300, "c": 2.0**53}


@pytest.mark.remuda_rule("REST-70", "TPL-5", "QUE-22")
def test_queue_with_a_template_and_a_limit_of_applications() -> None:
    template = TemplateConfig(
        max_applications=2, properties={"priority.offset": "5"}, maximum={"memory": 5}
    )
    queue = shown(dao.queue(replace(QUEUE, template=template, max_applications=7), subtree=True))
    assert queue["maxRunningApps"] == 7
    assert queue["template"] == {
        "maxApplications": 2,
        "maxResource": {"memory": 5},
        "properties": {"priority.offset": "5"},
    }
    assert_valid("Queue", queue)
    full = replace(template, guaranteed={"vcore": 0, "memory": 1}, maximum=None)
    queue = shown(dao.queue(replace(QUEUE, template=full), subtree=True))
    assert queue["template"]["guaranteedResource"] == {"memory": 1, "vcore": 0}
    assert "maxResource" not in queue["template"]
    assert "maxRunningApps" not in queue


@pytest.mark.remuda_rule("REST-71", "PRE-74")
@pytest.mark.parametrize(
    "policy, enabled, fence",
    [("default", True, False), ("fence", True, True), ("disabled", False, False)],
)
def test_a_queue_tells_how_far_preemption_looks(policy: str, enabled: bool, fence: bool) -> None:
    found = shown(dao.queue(replace(QUEUE, preemption_policy=policy), subtree=True))
    assert (found["preemptionEnabled"], found["isPreemptionFence"]) == (enabled, fence)
    assert_valid("Queue", found)


@pytest.mark.remuda_rule("REST-71", "PRE-74")
def test_delays_of_preemption_are_texts_and_one_that_is_off_is_left_out() -> None:
    plain = shown(dao.queue(QUEUE, subtree=True))
    assert plain["preemptionDelay"] == "30s"
    assert "quotaPreemptionDelay" not in plain
    set_up = replace(
        QUEUE, preemption_delay_ns=90_000_000_000, quota_preemption_delay_ns=500_000_000
    )
    found = shown(dao.queue(set_up, subtree=True))
    assert (found["preemptionDelay"], found["quotaPreemptionDelay"]) == ("1m30s", "500ms")
    assert_valid("Queue", found)


@pytest.mark.remuda_rule("REST-71")
@pytest.mark.parametrize(
    "nanoseconds, text",
    [
        (1, "1ns"),
        (1_500, "1.5\u00b5s"),
        (20_000_000, "20ms"),
        (1_000_000_000, "1s"),
        (2_050_000_000, "2.05s"),
        (60_000_000_000, "1m0s"),
        (4_500_000_000_000, "1h15m0s"),
        (3_600_000_000_001, "1h0m0.000000001s"),
    ],
)
def test_durations_are_told_as_go_tells_them(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text
