"""Rows of hostile and honest files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.base.errors import UsageError
from remuda.sim.traces import rows
from remuda.sim.traces.rows import csv_rows, lines, nanoseconds


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        list(csv_rows(path, ("a",)))
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_values_are_found_by_column_and_lines_counted_with_empty_ones(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n\n 1 ,x\n2,y\n")
    found = [
        (row.line, row.whole("a"), row.text("b"), row.text("c")) for row in csv_rows(path, "a")
    ]
    assert found == [(3, 1, "x", ""), (4, 2, "y", "")]


def test_gzip_is_known_by_its_content_not_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(b"a\n7\n"))
    assert [row.whole("a") for row in csv_rows(path, "a")] == [7]


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa\r\n7\r\n")
    assert [row.whole("a") for row in csv_rows(path, "a")] == [7]


def test_a_row_of_the_wrong_length_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n1\n")
    assert refusal(path) == f"{path}:3: the row has 1 columns, the header has 2"


@pytest.mark.parametrize(
    "content, said",
    [
        (b"b\n1\n", ":1: column 'a' is missing"),
        (b"", ":1: column 'a' is missing"),
        (b"a,a\n1,2\n", ":1: column 'a' is there twice"),
        (b"a\n\xff\n", ":2: the line is not UTF-8 text"),
        (b"a\nx\0y\n", ":2: the line holds a NUL"),
        (b"\x1f\x8bnot gzip", ": not a whole gzip file"),
        (gzip.compress(b"a\n" * 999, mtime=0)[:-9], ": not a whole gzip file"),
        (b"a\n" + b"1" * 70_000, ":2: the line is longer than 65536 bytes"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert f"{path}{said}" in refusal(path)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "absent.csv")
    assert "directory" in refusal(tmp_path)


def test_a_small_gzip_file_cannot_become_a_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "BYTES_LIMIT", 10_000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"x\n" * 100_000))
    with pytest.raises(UsageError, match="larger than 10000 bytes"):
        list(lines(path))


@pytest.mark.parametrize("text", ["x", "1.5", "", "1e3", "--1", "\N{ARABIC-INDIC DIGIT ONE}"])
def test_what_is_no_whole_number_is_refused_with_line_and_column(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n{text},1\n", encoding="utf-8")
    row = next(iter(csv_rows(path, "a")))
    with pytest.raises(UsageError, match=r"t\.csv:2: column 'a' .* is not a whole number"):
        row.whole("a")


def test_amounts_stay_within_64_bits_after_their_unit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n8796093022207,8796093022208,-1\n")
    row = next(iter(csv_rows(path, "a")))
    assert row.amount("a", 1 << 20) == 8796093022207 << 20
    for column in "bc":
        with pytest.raises(UsageError, match=f":2: column '{column}'"):
            row.amount(column, 1 << 20)
    assert row.amount("absent") == 0


@pytest.mark.parametrize(
    "text, expected",
    [
        ("0", 0),
        ("12", 12_000_000_000),
        ("0.1", 100_000_000),
        ("1.000000001", 1_000_000_001),
        ("1.0000000005", 1_000_000_000),
        ("1e3", 1_000_000_000_000),
        ("9000000000", 9_000_000_000_000_000_000),
    ],
)
def test_seconds_are_exact_nanoseconds(text: str, expected: int) -> None:
    assert nanoseconds(text) == expected


@pytest.mark.parametrize("text", ["", "x", "-1", "nan", "inf", "9000000001", "1e999999999"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="seconds"):
        nanoseconds(text)


@given(st.integers(0, 9 * 10**18))
def test_a_nanosecond_is_never_lost(ns: int) -> None:
    assert nanoseconds(f"{ns // 10**9}.{ns % 10**9:09}") == ns
