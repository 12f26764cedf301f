"""Quantity texts: the tables of chapter 40 section 2 and chapter 10 section 5."""

from __future__ import annotations

import pytest

from remuda.base.quantity import QuantityError, parse_quantity

MAX = 9223372036854775807

GRAMMAR = "invalid quantity"
SUFFIX = "invalid suffix"
OVERFLOW = "invalid quantity: overflow"


def outcome(name: str, text: str) -> int | str:
    """Return the amount, or the text of the refusal."""
    try:
        return parse_quantity(name, text)
    except QuantityError as error:
        return str(error)


# The table of RES-8: text, as a general type, as vcore.
ROWS: list[tuple[str, int | str, int | str]] = [
    ("10", 10, 10000),
    ("500m", SUFFIX, 500),
    ("1k", 1000, 1000000),
    ("1Ki", 1024, 1024000),
    (" 5 G ", 5000000000, 5000000000000),
    (" 5\tG ", 5000000000, 5000000000000),
    ("5 G\n", 5000000000, 5000000000000),
    ("1K", SUFFIX, SUFFIX),
    ("1ki", SUFFIX, SUFFIX),
    ("1mi", SUFFIX, SUFFIX),
    ("1.5", GRAMMAR, GRAMMAR),
    ("-1", GRAMMAR, GRAMMAR),
    ("+5", GRAMMAR, GRAMMAR),
    ("1e3", GRAMMAR, GRAMMAR),
    ("", GRAMMAR, GRAMMAR),
    ("007", 7, 7000),
    ("7Ei", 8070450532247928832, OVERFLOW),
    ("8Ei", OVERFLOW, OVERFLOW),
    ("10E", OVERFLOW, OVERFLOW),
    ("9223372036854775808", OVERFLOW, OVERFLOW),
    ("9223372036854775807", MAX, OVERFLOW),
    ("9223372036854775", 9223372036854775, 9223372036854775000),
    ("9223372036854776", 9223372036854776, OVERFLOW),
]


@pytest.mark.remuda_rule("RES-5", "RES-6", "RES-7", "RES-8")
@pytest.mark.parametrize("text, general, vcore", ROWS)
def test_a_text_gives_the_amount_or_error_of_the_table(
    text: str, general: int | str, vcore: int | str
) -> None:
    assert outcome("memory", text) == general
    assert outcome("vcore", text) == vcore


@pytest.mark.remuda_rule("RES-5", "QTY-2")
@pytest.mark.parametrize(
    "suffix, factor",
    [
        ("", 1),
        ("k", 1000),
        ("M", 1000000),
        ("G", 1000000000),
        ("T", 1000000000000),
        ("P", 1000000000000000),
        ("E", 1000000000000000000),
        ("Ki", 1024),
        ("Mi", 1048576),
        ("Gi", 1073741824),
        ("Ti", 1099511627776),
        ("Pi", 1125899906842624),
        ("Ei", 1152921504606846976),
    ],
)
def test_every_suffix_has_its_factor(suffix: str, factor: int) -> None:
    assert parse_quantity("memory", f"3{suffix}") == 3 * factor


@pytest.mark.remuda_rule("QTY-2", "RES-8")
@pytest.mark.parametrize("suffix", ["K", "ki", "mi", "gi", "GI", "KI", "g", "Mb", "Gib", "x"])
def test_letters_that_are_no_suffix_are_an_invalid_suffix(suffix: str) -> None:
    assert outcome("memory", f"1{suffix}") == SUFFIX
    assert outcome("vcore", f"1{suffix}") == SUFFIX


@pytest.mark.remuda_rule("QTY-1", "QTY-6", "RES-8")
@pytest.mark.parametrize(
    "text",
    ["ten", "0x10", "1_000", "1,000", "1 000", "G", "m", "1 G 2", "1-", "\u0663", "1\u00e9", "   "],
)
def test_other_spellings_are_an_invalid_quantity(text: str) -> None:
    assert outcome("memory", text) == GRAMMAR
    assert outcome("vcore", text) == GRAMMAR


@pytest.mark.remuda_rule("QTY-1")
def test_blanks_around_and_before_the_suffix_and_leading_zeros_are_fine() -> None:
    assert parse_quantity("memory", " 10 Mi ") == 10485760
    assert parse_quantity("memory", "010") == 10


@pytest.mark.remuda_rule("QTY-3", "QTY-4", "RES-4", "RES-6")
def test_only_the_type_named_vcore_is_in_milli_units() -> None:
    assert parse_quantity("vcore", "10") == 10000
    assert parse_quantity("vcore", "500m") == 500
    assert parse_quantity("vcore", "1k") == 1000000
    assert parse_quantity("cpu", "2") == 2
    assert parse_quantity("vcores", "2") == 2
    assert outcome("cpu", "500m") == SUFFIX
    assert outcome("VCORE", "500m") == SUFFIX


@pytest.mark.remuda_rule("QTY-5", "RES-7")
def test_the_result_must_fit_64_bits() -> None:
    assert parse_quantity("memory", "9E") == 9000000000000000000
    assert parse_quantity("memory", "8E") == 8000000000000000000
    assert outcome("memory", "10E") == OVERFLOW
    assert outcome("memory", "8Ei") == OVERFLOW
    assert parse_quantity("vcore", "9223372036854775") == 9223372036854775000
    assert outcome("vcore", "9223372036854776") == OVERFLOW
    assert parse_quantity("vcore", "9223372036854775807m") == MAX


@pytest.mark.remuda_rule("RES-7")
def test_a_number_of_a_million_digits_is_an_overflow_at_once() -> None:
    assert outcome("memory", "9" * 1_000_000) == OVERFLOW
    assert outcome("memory", "0" * 1_000_000 + "7") == 7
