"""Confidence intervals and tests, against published tables and by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from remuda.study.comparison import Comparison, compare, estimate, sign_test, student_quantile
from remuda.study.reading import read_study

STUDY = """
traces: [{name: t, workload: t.csv, nodes: 1xgpu=4}]
variants: [{name: a}, {name: b}]
seeds: 3
"""


@pytest.mark.remuda_rule("EXT-59")
@pytest.mark.parametrize(
    "freedom,quantile",
    # Tables of Student's distribution, two-sided 95 %.
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (10, 2.2281), (30, 2.0423)],
)
def test_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert student_quantile(0.95, freedom) == pytest.approx(quantile, abs=5e-5)


def test_other_probabilities_and_many_seeds() -> None:
    assert student_quantile(0.99, 5) == pytest.approx(4.0321, abs=5e-5)
    assert student_quantile(0.5, 1) == pytest.approx(1.0)
    assert student_quantile(0.95, 999) == pytest.approx(1.9623, abs=5e-5)


@pytest.mark.remuda_rule("EXT-59")
def test_an_interval_by_hand() -> None:
    found = estimate([1.0, 2.0, 3.0], 0.95)
    assert found.mean == 2.0
    # The variance is 1, so the standard error is 1 / sqrt(3).
    assert found.half == pytest.approx(4.302653 / math.sqrt(3))
    assert estimate([5.0], 0.95).half is None


@pytest.mark.remuda_rule("EXT-59")
def test_the_sign_test_by_hand() -> None:
    assert sign_test(5, 0) == 2 / 32
    assert sign_test(1, 4) == 2 * (1 + 5) / 32
    assert sign_test(2, 2) == 1.0
    assert sign_test(0, 0) == 1.0


def compared(
    tmp_path: Path, before: list[float], after: list[float], key: str = "wait_mean"
) -> Comparison:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    table = {
        ("t", "own", "a"): {key: dict(enumerate(before))},
        ("t", "own", "b"): {key: dict(enumerate(after))},
    }
    (found,) = compare(read_study(path), table)
    return found


@pytest.mark.remuda_rule("EXT-59")
@pytest.mark.parametrize(
    "key,after,verdict",
    [
        ("wait_mean", [90.0, 191.0, 289.0], "better"),
        ("wait_mean", [110.0, 211.0, 309.0], "worse"),
        ("utilisation", [110.0, 211.0, 309.0], "better"),
        ("wait_mean", [90.0, 210.0, 290.0], "unclear"),
        ("wait_mean", [100.0, 200.0, 300.0], "equal"),
    ],
)
def test_runs_of_one_seed_are_compared(
    tmp_path: Path, key: str, after: list[float], verdict: str
) -> None:
    # The seeds differ by far more than the alternatives do: only pairs can tell.
    found = compared(tmp_path, [100.0, 200.0, 300.0], after, key)
    assert found.verdict() == verdict
    assert found.better + found.worse == (0 if verdict == "equal" else 3)


def test_one_seed_tells_nothing_about_others(tmp_path: Path) -> None:
    found = compared(tmp_path, [100.0], [1.0])
    assert found.difference.half is None
    assert found.verdict() == "unclear"


def test_seeds_that_only_one_alternative_has_are_left_out(tmp_path: Path) -> None:
    found = compared(tmp_path, [100.0, 200.0, 300.0], [90.0, 191.0])
    assert found.difference.seeds == 2
