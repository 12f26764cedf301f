"""The benchmark of the program's start."""

from __future__ import annotations

from remuda.bench.services.startup import StartupShape, measure_startup


def test_the_program_helps_and_serves() -> None:
    result = measure_startup(StartupShape("small", 1))
    assert 0 < result.help_seconds < 60
    assert 0 < result.serving_seconds < 60
    assert 2**20 < result.resident_bytes < 2**30
