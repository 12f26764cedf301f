"""Addresses and durations as people type them."""

from __future__ import annotations

import pytest

from remuda.base.errors import UsageError
from remuda.cli.serve import parse_address, parse_seconds


@pytest.mark.parametrize(
    "text, address",
    [
        ("127.0.0.1:9080", ("127.0.0.1", 9080)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address("--x", text) == address


@pytest.mark.parametrize(
    "text", ["", ":9080", "9080", "h:", "h:x", "h:65536", "h:-1", "::1:80", "[]:80", "h:٣"]
)
def test_bad_addresses(text: str) -> None:
    with pytest.raises(UsageError, match="--x: "):
        parse_address("--x", text)


@pytest.mark.parametrize(
    "text, seconds",
    [("30s", 30.0), ("500ms", 0.5), ("5m", 300.0), ("1h30m", 5400.0), ("1.5s", 1.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_seconds("--x", text) == seconds


@pytest.mark.parametrize(
    "text", ["", "30", "s", "0", "0s", "-1s", "1 s", "1s2", "1d", "1e3s", "٣s"]
)
def test_bad_durations(text: str) -> None:
    with pytest.raises(UsageError, match="--x: "):
        parse_seconds("--x", text)
