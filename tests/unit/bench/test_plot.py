"""Drawings of sessions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.bench.clusters.shapes import SHAPES
from remuda.bench.suites.plot import AXES, GO_RATES, check_target, draw
from remuda.bench.throughput.curves import CURVES, CurveResult
from remuda.bench.throughput.idle import IdleResult, Reaction
from remuda.bench.throughput.run import Percentiles, Result
from tests.unit.bench.sessions import session_of

DOCUMENT = Path(__file__).parents[3] / "docs" / "benchmarks.md"

RATES = [
    Result(shape.name, 30_000.0, Percentiles(30.0, 90.0), 2**20, "interpreted", "d")
    for shape in SHAPES
]
POINTS = [
    CurveResult(point.name, point.curve, point.at, 3e4, 33.3, 2**20, "interpreted", "d")
    for point in CURVES
]


def test_rates_and_curves_are_drawn_and_equal_figures_are_equal_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for path in (first, second):
        draw(session_of(*RATES, *POINTS), path)
    text = first.read_text()
    assert text == second.read_text()
    found = re.findall(r"<text[^>]*>([^<]+)</text>", text)
    assert {shape.name for shape in SHAPES} <= set(found)
    assert set(AXES.values()) <= set(found)
    assert any("Go core" in each for each in found)
    assert any("a processor" in each for each in found)


@pytest.mark.parametrize("results", [RATES[:1], POINTS[:6], POINTS[:24]])
def test_what_is_there_is_drawn(results: list[Result | CurveResult], tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    draw(session_of(*results), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_every_curve_has_an_axis() -> None:
    assert list(AXES) == list(dict.fromkeys(point.curve for point in CURVES))


def test_the_reference_figures_are_those_of_the_document() -> None:
    table = DOCUMENT.read_text().partition("## Reference figures")[2].partition("## Figures")[0]
    for shape, rate in GO_RATES.items():
        row = re.search(rf"^\| {shape} \| (.*) \|$", table, re.MULTILINE)
        assert row is not None
        figures = [cell.partition(" with ")[0] for cell in row[1].split("|")]
        known = [int(re.sub(r"\D", "", cell)) for cell in figures if re.search(r"\d", cell)]
        assert max(known) == rate, shape


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must end in .svg or .png"):
        check_target(tmp_path / "a.pdf")
    with pytest.raises(UsageError, match="there is no directory"):
        check_target(tmp_path / "nowhere" / "a.svg")
    lazy = IdleResult("idle", 1, 1, 0.0, Reaction(1.0, 2.0, 3.0), 2**20, "interpreted")
    with pytest.raises(UsageError, match="only S1 to S10"):
        draw(session_of(lazy), tmp_path / "a.svg")
