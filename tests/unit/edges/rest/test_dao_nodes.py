"""Nodes as JSON (chapter 95 section 10)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remuda.core.messages.queries import ForeignAllocationView
from remuda.edges.rest.shapes import dao
from tests.unit.edges.rest.golden import ALLOCATION, APPLICATION, NODE, REQUEST
from tests.unit.edges.rest.schema import assert_valid, shown


@pytest.mark.remuda_rule("REST-85", "REST-137")
def test_node_is_the_golden_example() -> None:
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
        "isReserved": True,
        "reservations": ["job-1|t-3"],
        "ready": True,
    }
    node = shown(dao.node(replace(NODE, reservations=(("job-1", "t-3"),))))
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
    assert node["isReserved"] is False
    assert "reservations" not in node
    assert node["ready"] is False
    assert "hostName" not in node
    assert node["attributes"] == {}
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
