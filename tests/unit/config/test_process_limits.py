"""The limits of a process as people type them (rules: KV-6, SI-14)."""

from __future__ import annotations

import pytest

from remuda.base.errors import UsageError
from remuda.config.process_limits import DEFAULT_LIMITS, HIGHEST, NO_LIMITS, read_limits


@pytest.mark.remuda_rule("SI-14")
def test_the_defaults() -> None:
    assert DEFAULT_LIMITS == {
        "resource-managers": 1_000,
        "applications": 200_000,
        "nodes": 100_000,
        "queues": 50_000,
        "application-asks": 1_000_000,
        "asks": 2_000_000,
        "tag-characters": 268_435_456,
    }
    assert dict.fromkeys(DEFAULT_LIMITS, HIGHEST) == NO_LIMITS
    assert read_limits("--x", ()) == DEFAULT_LIMITS


@pytest.mark.remuda_rule("SI-14", "KV-6")
def test_the_last_value_of_a_name_counts() -> None:
    found = read_limits("--x", ["nodes=5", f"asks={HIGHEST}", "nodes=007"])
    assert found == {**DEFAULT_LIMITS, "nodes": 7, "asks": HIGHEST}


@pytest.mark.parametrize(
    "value", ["", "=", "=0", "=-1", "=+1", "=1.0", "=1e3", "= 1", "=٣", f"={HIGHEST + 1}", "=1=2"]
)
def test_values_that_are_no_limits(value: str) -> None:
    with pytest.raises(UsageError, match=r"^--x: 'nodes.* is not NAME=NUMBER .* nodes=100000$"):
        read_limits("--x", ["asks=1", f"nodes{value}"])


def test_a_very_long_number_is_not_read() -> None:
    with pytest.raises(UsageError) as refused:
        read_limits("--x", ["nodes=" + "9" * 100_000])
    assert len(str(refused.value)) < 300


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as refused:
        read_limits("--x", ["node=5"])
    names = "resource-managers, applications, nodes, queues, application-asks, asks, tag-characters"
    assert str(refused.value) == f"--x: 'node=5' names no limit; the limits are {names}"
