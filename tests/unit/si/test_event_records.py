"""Event records on the wire of the scheduler interface (chapter 90 section 1)."""

from __future__ import annotations

import pytest

from remuda.core.messages import events as ev
from remuda.core.messages.effects import EventRecord
from remuda.si.codec_out import event_message
from remuda.si.pb import si_pb2 as si

# Of the details that the interface did not have at first (EVT-6), as EVT-4 lists them.
LATER = {
    "APP_CANNOTRUN_QUEUE": 213,
    "APP_RUNNABLE_QUEUE": 214,
    "APP_CANNOTRUN_QUOTA": 215,
    "APP_RUNNABLE_QUOTA": 216,
    "UG_USER_LIMIT": 600,
    "UG_GROUP_LIMIT": 601,
    "UG_APP_LINK": 602,
    "UG_USER_RESOURCE": 603,
    "UG_GROUP_RESOURCE": 604,
}


def record(**fields: object) -> EventRecord:
    given = {
        "rm_id": "rm",
        "partition": "default",
        "kind": ev.APP,
        "object_id": "a",
        "reference_id": "",
        "change": ev.ADD,
        "detail": ev.DETAILS_NONE,
        "timestamp_ns": 1,
        **fields,
    }
    return EventRecord(**given)  # type: ignore[arg-type]


@pytest.mark.remuda_rule("EVT-6", "EVT-2", "EVT-4")
def test_the_interface_has_the_details_and_the_type_that_came_later() -> None:
    for name, number in LATER.items():
        assert si.EventRecord.ChangeDetail.Value(name) == number
    assert si.EventRecord.Type.Value("USERGROUP") == 5
    message = event_message(record(kind=ev.USERGROUP, detail=604))
    read = si.EventRecord.FromString(message.SerializeToString())
    assert (read.type, read.eventChangeDetail) == (5, 604)


@pytest.mark.remuda_rule("EVT-6")
def test_a_reader_takes_numbers_that_it_does_not_know() -> None:
    message = si.EventRecord(objectID="a")
    unknown = b"\x08\x63" + b"\x40\x8f\x4e"  # type 99, eventChangeDetail 9999
    read = si.EventRecord.FromString(message.SerializeToString() + unknown)
    assert (read.objectID, read.type, read.eventChangeDetail) == ("a", 99, 9_999)
    assert si.EventRecord.FromString(read.SerializeToString()) == read


@pytest.mark.remuda_rule("EVT-8")
@pytest.mark.parametrize("amounts", [None, {}])
def test_a_record_without_amounts_has_an_empty_resource(amounts: dict[str, int] | None) -> None:
    message = event_message(record(resource=amounts))
    assert message.HasField("resource")
    assert dict(message.resource.resources) == {}


@pytest.mark.remuda_rule("EVT-8")
def test_amounts_are_whole_numbers_as_they_are() -> None:
    amounts = {"memory": 2**63 - 1, "vcore": 1, "gpu": 0}
    message = event_message(record(resource=amounts))
    assert {name: each.value for name, each in message.resource.resources.items()} == amounts


@pytest.mark.remuda_rule("EVT-10")
def test_what_is_missing_on_the_wire_is_zero_or_empty() -> None:
    read = si.EventRecord.FromString(b"")
    assert (read.type, read.eventChangeType, read.eventChangeDetail) == (0, 0, 0)
    assert (read.objectID, read.referenceID, read.message, read.timestampNano) == ("", "", "", 0)
