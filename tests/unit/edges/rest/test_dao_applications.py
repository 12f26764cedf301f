"""Applications, asks and allocations as JSON (chapter 95 section 9)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remuda.core.messages.queries import LogEntryView
from remuda.edges.rest import dao
from tests.unit.edges.rest.golden import ALLOCATION, APPLICATION, REQUEST
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
