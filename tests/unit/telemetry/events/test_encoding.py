"""Event records as JSON: key order, what is left out, numbers for enumerations."""

from __future__ import annotations

import json

import pytest

from remuda.core.messages import events as ev
from remuda.core.messages.effects import EventRecord
from remuda.telemetry.events.encoding import encode, encode_elements, encode_lines
from tests.unit.edges.rest.schema import assert_valid


@pytest.mark.remuda_rule("EVT-9", "EVT-134")
@pytest.mark.parametrize(
    "record, line",
    [
        (
            EventRecord("rm", "default", 4, "root", "", 2, 0, 1),
            '{"type":4,"objectID":"root","timestampNano":1,"eventChangeType":2,"resource":{}}',
        ),
        (
            EventRecord("rm", "default", 5, "bi", "root.etl", 1, 601, 3),
            (
                '{"type":5,"objectID":"bi","timestampNano":3,"eventChangeType":1,'
                '"eventChangeDetail":601,"referenceID":"root.etl","resource":{}}'
            ),
        ),
        (
            EventRecord("rm", "default", 3, "n1", "", 1, 302, 4, None, "schedulable: true"),
            (
                '{"type":3,"objectID":"n1","message":"schedulable: true","timestampNano":4,'
                '"eventChangeType":1,"eventChangeDetail":302,"resource":{}}'
            ),
        ),
        (
            EventRecord(
                "rm", "default", 2, "job-1", "t-1", 2, 201, 10, {"vcore": 1000, "memory": 10}
            ),
            (
                '{"type":2,"objectID":"job-1","timestampNano":10,"eventChangeType":2,'
                '"eventChangeDetail":201,"referenceID":"t-1","resource":{"resources":'
                '{"memory":{"value":10},"vcore":{"value":1000}}}}'
            ),
        ),
    ],
)
def test_records_look_like_the_golden_example(record: EventRecord, line: str) -> None:
    assert encode(record).decode() == line
    assert encode_lines(range(1), [record]).decode() == line + "\n"
    assert encode_elements(range(1), [record]).decode() == line
    assert_valid("EventRecord", json.loads(line))


@pytest.mark.remuda_rule("EVT-8", "EVT-9")
def test_nothing_but_the_resource_is_shown_of_a_record_of_zeros() -> None:
    assert encode(EventRecord("", "", 0, "", "", 0, 0, 0)) == b'{"resource":{}}'
    assert encode(EventRecord("", "", 0, "", "", 0, 0, 0, {})) == b'{"resource":{}}'


@pytest.mark.remuda_rule("EVT-9")
def test_a_quantity_of_zero_is_an_empty_object() -> None:
    record = EventRecord("", "", 0, "", "", 0, 0, 0, {"gpu": 0, "memory": -1})
    expected = b'{"resource":{"resources":{"gpu":{},"memory":{"value":-1}}}}'
    assert encode(record) == expected


@pytest.mark.remuda_rule("EVT-9", "REST-11")
def test_texts_with_quotes_newlines_and_other_scripts_come_back_as_they_were() -> None:
    text = 'a "quoted" <b>&\n\t\\ naïve 日本 \U0001f40e ' + "x" * 2_000
    line = encode(EventRecord("", "", 1, text, "", 0, 0, 0, None, text))
    assert json.loads(line) == {"type": 1, "objectID": text, "message": text, "resource": {}}
    assert b"<" not in line
    assert b"\\u003cb\\u003e\\u0026\\n" in line
    assert b"\n" not in line


@pytest.mark.remuda_rule("EVT-130")
@pytest.mark.parametrize(
    "record, queue",
    [
        (EventRecord("rm", "p", ev.APP, "a", "k", 2, 201, 5, None, "", "root.etl"), "root.etl"),
        (EventRecord("rm", "p", ev.QUEUE, "root.etl", "", 2, 0, 5), "root.etl"),
        (
            EventRecord("rm", "p", ev.USERGROUP, "ann", "root.etl", 1, ev.UG_USER_LIMIT, 5),
            "root.etl",
        ),
        (EventRecord("rm", "p", ev.NODE, "n", "", 2, 0, 5), ""),
    ],
)
def test_the_envelope_says_id_partition_rm_and_queue(record: EventRecord, queue: str) -> None:
    line = json.loads(encode_lines([7], [record], enveloped=True))
    plain = json.loads(encode(record))
    assert list(line) == ["id", "partition", "rmID", "queue", "record"]
    assert line == {"id": 7, "partition": "p", "rmID": "rm", "queue": queue, "record": plain}
