"""Errors carry whose fault it is and can be told in one line each."""

from __future__ import annotations

import pytest

from remuda.base.errors import (
    ConfigError,
    InvariantViolation,
    Problem,
    ProtocolError,
    RemudaError,
    UsageError,
)


def test_a_configuration_error_tells_one_line_per_problem() -> None:
    error = ConfigError(
        [
            Problem("partitions[0].queues[1].name", "CFG-61", "bad name", 4, 9, "use letters"),
            Problem("", "CFG-5", "not YAML"),
        ],
        "queues.yaml",
    )
    assert str(error).splitlines() == [
        "queues.yaml:4:9: partitions[0].queues[1].name: bad name [CFG-61]; use letters",
        "queues.yaml: not YAML [CFG-5]",
    ]
    assert [problem.rule for problem in error.problems] == ["CFG-61", "CFG-5"]


@pytest.mark.parametrize("kind", [ConfigError, ProtocolError, UsageError])
def test_faults_of_others_share_a_base(kind: type[Exception]) -> None:
    assert issubclass(kind, RemudaError)
    assert not issubclass(kind, AssertionError)


def test_a_broken_invariant_is_nobody_elses_fault() -> None:
    assert issubclass(InvariantViolation, AssertionError)
    assert not issubclass(InvariantViolation, RemudaError)
