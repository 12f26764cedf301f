"""Truth values and numbers as texts: the words of EVT-106 and the ranges of QUE-18."""

from __future__ import annotations

import pytest

from remuda.base.go_text import parse_bool, parse_int32, parse_uint64, parse_whole


@pytest.mark.remuda_rule("EVT-106", "PLC-70")
@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_words_for_true(text: str) -> None:
    assert parse_bool(text) is True


@pytest.mark.remuda_rule("EVT-106")
@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_words_for_false(text: str) -> None:
    assert parse_bool(text) is False


@pytest.mark.remuda_rule("EVT-106")
@pytest.mark.parametrize("text", ["", "yes", "on", "tRue", " true", "2", "no"])
def test_words_for_neither(text: str) -> None:
    assert parse_bool(text) is None


@pytest.mark.remuda_rule("EVT-106", "QUE-18")
@pytest.mark.parametrize(
    "text, number",
    [
        ("0", 0),
        ("007", 7),
        ("0" * 30 + "5", 5),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", None),
        ("-1", None),
        ("+1", None),
        ("-0", None),
        ("1.0", None),
        ("1e3", None),
        ("1_000", None),
        ("", None),
        ("\u0663", None),
        ("9" * 5000, None),
    ],
)
def test_unsigned_numbers_are_decimals_without_a_sign(text: str, number: int | None) -> None:
    assert parse_uint64(text) == number


@pytest.mark.remuda_rule("QUE-18", "PRP-1")
@pytest.mark.parametrize(
    "text, number",
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("-5", -5),
        ("00000000005", 5),
        ("2147483647", 2**31 - 1),
        ("2147483648", None),
        ("-2147483648", -(2**31)),
        ("-2147483649", None),
        ("--1", None),
        ("0x10", None),
        ("1_0", None),
        ("5 ", None),
        ("", None),
        ("+", None),
        ("9" * 5000, None),
    ],
)
def test_numbers_of_32_bits_may_have_a_sign(text: str, number: int | None) -> None:
    assert parse_int32(text) == number


@pytest.mark.remuda_rule("KV-2")
def test_a_number_too_long_is_cut_and_stays_too_large() -> None:
    large = parse_whole("9" * 5000)
    small = parse_whole("-" + "9" * 5000)
    assert large is not None
    assert large > 2**64
    assert small is not None
    assert small < -(2**64)
