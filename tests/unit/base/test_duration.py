"""Duration texts: the Go grammar that PRP-1 and HLT-2 name."""

from __future__ import annotations

import pytest

from remuda.base.duration import MICROSECOND, MILLISECOND, MINUTE, SECOND, parse_duration

VALID: list[tuple[str, int]] = [
    ("30s", 30 * SECOND),
    ("1m30s", 90 * SECOND),
    ("1.5h", 90 * MINUTE),
    ("500ms", 500 * MILLISECOND),
    ("1h15m", 75 * MINUTE),
    ("7ns", 7),
    ("3us", 3 * MICROSECOND),
    ("3\u00b5s", 3 * MICROSECOND),
    ("3\u03bcs", 3 * MICROSECOND),
    ("0", 0),
    ("-0", 0),
    ("0s", 0),
    ("+5s", 5 * SECOND),
    ("-5s", -5 * SECOND),
    (".5s", 500 * MILLISECOND),
    ("5.s", 5 * SECOND),
    ("1s1s", 2 * SECOND),
    ("1.9ns", 1),
    ("0.3333333333333333333h", 20 * MINUTE),
    ("0000000000000000000000001s", SECOND),
    ("9223372036854775807ns", 2**63 - 1),
    ("-9223372036854775808ns", -(2**63)),
    ("2562047h47m16.854775807s", 2**63 - 1),
]

INVALID = [
    "",
    "-",
    "+",
    "30",
    "1.5",
    "00",
    "s",
    ".s",
    ".",
    "1 s",
    " 1s",
    "1s ",
    "1S",
    "1d",
    "1h30",
    "1..5s",
    "--1s",
    "1e3s",
    "\u0661s",
    "9223372036854775808ns",
    "2562048h",
    "1" * 5000 + "s",
]


@pytest.mark.remuda_rule("PRP-1")
@pytest.mark.parametrize("text, nanoseconds", VALID)
def test_a_duration_is_a_sequence_of_numbers_with_units(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.remuda_rule("PRP-1", "PRP-2")
@pytest.mark.parametrize("text", INVALID)
def test_what_is_no_duration_has_no_value(text: str) -> None:
    assert parse_duration(text) is None


def test_a_long_fraction_is_cut_off() -> None:
    assert parse_duration("1." + "9" * 5000 + "s") in (2 * SECOND - 1, 2 * SECOND)
