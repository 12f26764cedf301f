"""The same inputs give the same effects: in any process, however steps are cut."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from tests.long_runs import usual
from tests.package import PACKAGES, ROOT
from tests.reference.driver import comparable, digest, play
from tests.reference.workloads import EVERYTHING, Input, Step, record

SEEDS = usual(range(600, 640))
DIGESTS = """
from tests.property.test_determinism import run_digest
print(" ".join(run_digest(seed) for seed in range(600, 606)))
"""


def run_digest(seed: int) -> str:
    """One digest over all effects of a workload, event records included."""
    return digest(effect for answer in play(record(seed).inputs) for effect in answer)


def cut(inputs: list[Input], rng: random.Random) -> list[Input]:
    """The same inputs with every step cut into several at the same time."""
    pieces: list[Input] = []
    for now, what in inputs:
        if not isinstance(what, Step):
            pieces.append((now, what))
            continue
        left = what.limit
        while left > 0 and rng.random() < 0.8:
            part = rng.randint(0, min(left, 4))
            pieces.append((now, Step(part)))
            left -= part
        pieces.append((now, Step(left)))
    return pieces


@pytest.mark.parametrize("seed", SEEDS)
def test_any_split_of_a_run_into_steps_gives_the_same_effects(seed: int) -> None:
    inputs = record(seed).inputs
    whole = [effect for answer in play(inputs) for effect in answer]
    in_parts = [effect for answer in play(cut(inputs, random.Random(seed))) for effect in answer]
    assert in_parts == whole


@pytest.mark.parametrize("seed", SEEDS)
def test_an_idle_step_changes_nothing(seed: int) -> None:
    inputs = record(seed).inputs
    idle = [
        each
        for now, what in inputs
        for each in ([(now, what), (now, what)] if what == Step(EVERYTHING) else [(now, what)])
    ]
    assert comparable(play(idle)) == comparable(play(inputs))


@pytest.mark.parametrize("seed", SEEDS)
def test_replaying_recorded_inputs_gives_the_same_digest(seed: int) -> None:
    assert run_digest(seed) == run_digest(seed)


def test_the_digest_does_not_depend_on_the_process() -> None:
    here = " ".join(run_digest(seed) for seed in range(600, 606))
    for hash_seed in ("0", "1", "4711"):
        path = f"{PACKAGES}{os.pathsep}{ROOT}"
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        there = subprocess.run(
            [sys.executable, "-c", DIGESTS],
            cwd=ROOT,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        assert there.stdout.strip() == here
