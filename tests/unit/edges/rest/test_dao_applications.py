"""Applications, asks and allocations as JSON (chapter 95 section 9)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remuda.core.messages import gates
from remuda.core.messages.ask_views import FindingView, LogEntryView, NodeSummaryView, RequestView
from remuda.core.messages.preemption_queries import PreemptorView
from remuda.edges.rest.shapes import dao
from tests.unit.edges.rest.golden import ALLOCATION, APPLICATION, NODE, REQUEST
from tests.unit.edges.rest.schema import assert_valid, shown


@pytest.mark.remuda_rule("REST-77", "REST-79", "REST-80", "REST-133")
def test_application_is_the_golden_example() -> None:
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
                "allocationLog": [
                    {
                        "message": "Not enough user quota",
                        "lastOccurrence": 1767225609000000000,
                        "count": 25,
                    }
                ],
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
    log = (LogEntryView("Not enough user quota", 1767225609000000000, 25),)
    view = replace(APPLICATION, requests=(replace(REQUEST, log=log),))
    application = shown(dao.application(view))
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


@pytest.mark.remuda_rule("REST-80", "REST-127", "PRE-91")
def test_a_victim_says_whose_it_is() -> None:
    preemptor = PreemptorView(7, "queue", "prod", "t-9", "root.prod")
    victim = replace(ALLOCATION, preemption=7, preempted_by=preemptor)
    application = shown(dao.application(replace(APPLICATION, allocations=(victim, ALLOCATION))))
    gone, stays = application["allocations"]
    assert gone["preempted"] is True
    assert gone["preemptedBy"] == {
        "number": 7,
        "kind": "queue",
        "applicationId": "prod",
        "allocationKey": "t-9",
        "queueName": "root.prod",
    }
    assert not {"preempted", "preemptedBy"} & set(stays)
    assert_valid("Application", application)


@pytest.mark.remuda_rule("REST-127", "PRE-72")
def test_the_victim_of_a_quota_names_the_queue_alone() -> None:
    preemptor = PreemptorView(8, "quota", "", "", "root.etl")
    view = replace(ALLOCATION, preemption=8, preempted_by=preemptor)
    node = shown(dao.node(replace(NODE, allocations=(view,))))
    assert node["allocations"][0]["preemptedBy"] == {
        "number": 8,
        "kind": "quota",
        "queueName": "root.etl",
    }
    assert_valid("Node", node)


@pytest.mark.remuda_rule("REST-79", "REST-127", "PRE-6")
def test_an_ask_says_whether_a_preemption_stands_for_it() -> None:
    view = replace(APPLICATION, requests=(replace(REQUEST, preemption=7), REQUEST))
    application = shown(dao.application(view))
    stands, none = application["requests"]
    assert (stands["triggeredPreemption"], stands["preemption"]) == (True, 7)
    assert not {"triggeredPreemption", "preemption"} & set(none)
    assert_valid("Application", application)


@pytest.mark.remuda_rule("REST-127", "PRE-91")
def test_an_application_names_its_preemptions_by_number() -> None:
    application = shown(dao.application(replace(APPLICATION, preemptions=(3, 7), evictions=(5,))))
    assert (application["preemptions"], application["evictions"]) == ([3, 7], [5])
    assert_valid("Application", application)
    plain = shown(dao.application(APPLICATION))
    assert not {"preemptions", "evictions"} & set(plain)


def finding(request: RequestView) -> object:
    """What an ask shows of what it waits for."""
    application = shown(dao.application(replace(APPLICATION, requests=(request,))))
    assert_valid("Application", application)
    return application["requests"][0].get("finding")


@pytest.mark.remuda_rule("REST-127", "PRE-58", "CYC-12")
def test_an_ask_shows_what_it_waits_for() -> None:
    found = FindingView(
        gate=gates.QUEUE_QUOTA,
        subject="root.etl",
        requested=REQUEST.resource,
        available={"memory": 90},
        nodes=None,
        since_ns=1767225605000000001,
        last_ns=1767225605000000002,
        looks=3,
        preemption="Preemption does not help",
    )
    assert finding(replace(REQUEST, finding=found)) == {
        "gate": "queue quota",
        "subject": "root.etl",
        "available": {"memory": 90},
        "since": 1767225605000000001,
        "lastOccurrence": 1767225605000000002,
        "count": 3,
        "preemption": "Preemption does not help",
    }
    assert finding(REQUEST) is None


@pytest.mark.remuda_rule("REST-127", "REST-19")
def test_what_a_finding_does_not_know_is_left_out() -> None:
    summary = NodeSummaryView(9, 1, 0, 2, 3, 3, (("no gpu", 2), ("taint", 1)))
    found = FindingView("nodes", "", REQUEST.resource, None, summary, 5, 6, 0)
    assert finding(replace(REQUEST, finding=found)) == {
        "gate": "nodes",
        "nodes": {
            "total": 9,
            "draining": 1,
            "tooSmall": 2,
            "noRoom": 3,
            "refused": 3,
            "reasons": {"no gpu": 2, "taint": 1},
        },
        "since": 5,
        "lastOccurrence": 6,
    }
    gang = replace(found, gate="gang", nodes=None, requested={"vcore": 7}, available={}, until_ns=9)
    assert finding(replace(REQUEST, finding=gang)) == {
        "gate": "gang",
        "requested": {"vcore": 7},
        "available": {},
        "since": 5,
        "lastOccurrence": 6,
        "until": 9,
    }


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


@pytest.mark.remuda_rule("REST-78", "RES-57")
def test_the_history_has_three_keys_of_which_empty_ones_are_left_out() -> None:
    assert "resourceHistory" not in shown(dao.application(APPLICATION))
    used = {"UNKNOWN": {"vcore": 0}, "m5.large": {"memory": 45, "vcore": 48}}
    view = replace(APPLICATION, used_seconds=used)
    found = shown(dao.application(view))
    assert_valid("Application", found)
    assert found["resourceHistory"] == {"resourceUsage": used}
    everything = replace(view, preempted_seconds=used, placeholder_seconds=used)
    found = shown(dao.application(everything))
    assert_valid("Application", found)
    assert found["resourceHistory"] == {
        "resourceUsage": used,
        "preemptedResource": used,
        "placeholderResource": used,
    }
