"""The gate is open for this tree, and closes when the scheduler becomes slower.

It runs as a second process, as `make gate` does, because the tests' own switches records that are
really frozen on, which costs time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from remuda.bench.clusters.shapes import SHAPES
from tests.long_runs import COMPILED_ONLY
from tools.gate.plant import burdened
from tools.gate.reference import read
from tools.gate.timing import build, is_interpreted, processor
from tools.gate.work import allocation_work

ROOT = Path(__file__).resolve().parents[2]

RECORDED = read().builds.get(build())
NO_VERDICT = 3
TIMED = RECORDED is not None and RECORDED.time_on(processor()) is not None


def gate(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the gate on the package that the tests run on."""
    environment = {
        name: value for name, value in os.environ.items() if name != "REMUDA_STRICT_RECORDS"
    }
    return subprocess.run(
        [sys.executable, "-m", "tools.gate", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def judged(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the gate on times; skip where other tenants of the host let it tell nothing."""
    ended = gate(*arguments)
    if ended.returncode == NO_VERDICT:
        pytest.skip(ended.stdout.splitlines()[-1])
    return ended


@pytest.mark.timed
@pytest.mark.skipif(RECORDED is None, reason=f"nothing was recorded for {build()}")
def test_an_allocation_takes_the_time_that_was_recorded() -> None:
    ended = judged("--measure", "time")
    print(ended.stdout)
    assert ended.returncode == 0, ended.stdout + ended.stderr


# Instructions are the same on a busy machine.
@pytest.mark.skipif(not is_interpreted(), reason="the work of a compiled core is not counted")
def test_an_allocation_takes_the_work_that_was_recorded() -> None:
    ended = gate("--measure", "work")
    print(ended.stdout)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@COMPILED_ONLY
@pytest.mark.timed
@pytest.mark.skipif(not TIMED, reason=f"no times of {build()} on {processor()}")
@pytest.mark.parametrize("kind,repetitions", [("steps", 4), ("copies", 0), ("pauses", 0)])
def test_a_planted_slow_down_of_70_percent_is_caught(kind: str, repetitions: int) -> None:
    ended = judged(
        *("--measure", "time", "--only", "S1", "--plant", f"{kind}:70"),
        *("--repetitions", str(repetitions)),
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "gate: S1: " in ended.stdout
    assert "more, at most 50% of all shapes is let pass" in ended.stdout


@pytest.mark.skipif(not is_interpreted(), reason="the work of a compiled core is not counted")
def test_equal_work_has_the_same_count_and_added_work_a_higher_one() -> None:
    shape = replace(SHAPES[0], nodes=50, asks=500)
    count = allocation_work(shape)
    # Python itself keeps a few answers, such as who is a subclass of whom.
    assert allocation_work(shape) == pytest.approx(count, rel=1e-3)
    added = allocation_work(shape, burdened("steps", 10e-6))
    assert added > 1.05 * count
