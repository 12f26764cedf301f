"""Amounts and times in the units of people."""

from __future__ import annotations

import pytest

from remuda.cli.viewing.amounts import age, amounts, compact, exact, memory, moment, moment_utc

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    "found, text",
    [
        (None, "-"),
        ({}, "-"),
        ({"vcore": 0}, "0"),
        ({"vcore": 1000}, "1 core"),
        ({"vcore": 1500}, "1.5 cores"),
        ({"vcore": 100}, "0.1 cores"),
        ({"vcore": 1}, "0.001 cores"),
        ({"vcore": 123_456_000}, "123,456 cores"),
        ({"vcore": -2000}, "-2 cores"),
        (
            {"nvidia.com/gpu": 8, "memory": 1 << 30, "vcore": 4000},
            "4 cores, 1 GiB, 8 nvidia.com/gpu",
        ),
        ({"b": 1, "a": 2, "memory": 0}, "2 a, 1 b"),
        ({"a": "x"}, "x a"),
    ],
)
def test_amounts(found: object, text: str) -> None:
    assert amounts(found) == text


@pytest.mark.parametrize(
    "number, text",
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (1536 << 20, "1.5 GiB"),
        ((1 << 40) - (1 << 30), "1,023 GiB"),
        (1 << 40, "1 TiB"),
        (5 << 60, "5 EiB"),
        (-(1 << 20), "-1 MiB"),
    ],
)
def test_memory(number: int, text: str) -> None:
    assert memory(number) == text


@pytest.mark.parametrize(
    "text, short",
    [
        ("1 core, 1.5 GiB, 8 nvidia.com/gpu", "1c 1.5Gi 8gpu"),
        ("1,500 cores, 10 B", "1,500c 10B"),
        ("-2 cores, 3 GiBs", "-2c 3GiBs"),
        ("-", "-"),
        ("0", "0"),
    ],
)
def test_short_amounts(text: str, short: str) -> None:
    assert compact(text) == short


def test_programs_get_base_units() -> None:
    assert exact({"vcore": 1500, "memory": 1 << 30}) == "memory=1073741824 vcore=1500"
    assert exact(None) == ""


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (75, "1m15s"),
        (3599, "59m"),
        (2 * 3600 + 120, "2h2m"),
        (26 * 3600, "1d2h"),
        (400 * 86_400, "400d"),
        (-5, "0s"),
    ],
)
def test_age(seconds: float, text: str) -> None:
    assert age(10**18, 10**18 + int(seconds * SECOND)) == text


def test_times(monkeypatch: pytest.MonkeyPatch) -> None:
    assert moment_utc(1767225602000230000) == "2026-01-01T00:00:02.000230000Z"
    assert moment_utc(0) == moment_utc(None) == ""
    assert age(None, 5) == age(0, 5) == moment(None) == "-"
    assert moment(2**63 - 1).startswith("2262-04-1")
    assert moment_utc(10**30).startswith("9999")
