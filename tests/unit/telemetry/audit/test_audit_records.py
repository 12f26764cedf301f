"""The line that an audit record becomes."""

from __future__ import annotations

import json

import pytest

from remuda.telemetry.audit.records import (
    AUTHENTICATE,
    DEEDS,
    REFUSED,
    REGISTER,
    TEXT_LIMIT,
    Line,
    Record,
    bounded,
)

NOW_NS = 1_700_000_000_123_456_789

HOSTILE = 'a"b\\c\r\n{"what":"stop"}\x00\x1b[2J\x7f\x9b31m\u2028\u202eevil\U0001f600'


@pytest.mark.remuda_rule("EXT-26")
def test_a_line_has_the_fields_with_a_value() -> None:
    record = Record(REGISTER, who="cluster a", rm_id="rm", origin="10.0.0.1:4711")
    text = Line(NOW_NS, record).encoded()
    assert json.loads(text) == {
        "time": "2023-11-14T22:13:20.123456Z",
        "what": "register",
        "outcome": "done",
        "who": "cluster a",
        "rm": "rm",
        "from": "10.0.0.1:4711",
    }
    assert text.endswith(b"}\n")
    assert json.loads(Line(NOW_NS, record, lost=3, omitted=2).encoded())["lost"] == 3


@pytest.mark.remuda_rule("EXT-26")
@pytest.mark.parametrize("field", ["who", "rm_id", "origin", "target", "reason", "replaced"])
def test_hostile_text_stays_in_its_field_and_its_line(field: str) -> None:
    text = Line(NOW_NS, Record(AUTHENTICATE, REFUSED, **{field: HOSTILE})).encoded()
    assert text.count(b"\n") == 1
    assert all(0x20 <= byte < 0x7F for byte in text[:-1])
    found = json.loads(text)
    assert found["what"] == "authenticate"
    assert HOSTILE in found.values()


@pytest.mark.remuda_rule("EXT-26")
def test_text_that_is_no_unicode_is_written_nevertheless() -> None:
    text = Line(NOW_NS, Record(AUTHENTICATE, target="/\udcff")).encoded()
    assert b"\\udcff" in text


@pytest.mark.remuda_rule("EXT-26")
def test_a_line_has_a_bounded_length() -> None:
    long = "\U0001f600" * 100_000
    record = bounded(Record(AUTHENTICATE, REFUSED, long, long, long, long, long, long))
    assert len(record.reason) == TEXT_LIMIT
    assert record.reason.endswith("...")
    # Six texts, each character 12 bytes, and the names of the fields.
    assert len(Line(NOW_NS, record).encoded()) <= 6 * TEXT_LIMIT * 12 + 300
    exact = Record(AUTHENTICATE, reason="x" * TEXT_LIMIT)
    assert bounded(exact) == exact


def test_the_table_has_a_meaning_for_each_name() -> None:
    assert all(DEEDS.values())
    assert all(name.replace("-", "").isalpha() and name.islower() for name in DEEDS)
