"""The JSON shapes against the golden examples of chapter 95 and the schemas of openapi.yaml."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from remuda.config.schema import TemplateConfig
from remuda.core.messages.queries import QueueView
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.shapes.go_duration import duration_text
from tests.unit.edges.rest.conftest import partition_view
from tests.unit.edges.rest.golden import NODE
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


@pytest.mark.remuda_rule("REST-131", "REST-19", "REST-143")
def test_partition_without_nodes_keeps_an_empty_capacity() -> None:
    empty = replace(
        PARTITION, capacity=None, allocated={}, total_nodes=0, total_containers=0, applications={}
    )
    partition = shown(dao.partition(empty))
    assert partition["capacity"] == {}
    assert partition["applications"] == {"total": 0}
    assert (partition["totalNodes"], partition["totalContainers"]) == (0, 0)
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
