"""A study in a notebook: pictures that stand alone, tables, and the conclusion in words."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from remuda.base.errors import UsageError
from remuda.sim import sample as trace
from remuda.study.comparison import Comparison, Estimate
from remuda.study.conclusion import conclusions
from remuda.study.drawing import Bar, bars, standalone
from remuda.study.lab import StudyResult, run_study
from remuda.study.measures import BY_KEY
from remuda.study.plan import Alternative

TRACE = Path(trace.__file__).parent
STUDY = f"""
traces: [{{name: early, workload: {TRACE}/workload.csv, nodes: {TRACE}/nodes.csv, to: 5000}}]
variants: [{{name: spread}}, {{name: packed, node-sort: binpacking}}]
seeds: 2
variation: {{arrival-jitter: 600}}
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "study.yaml").write_text(STUDY)
    return run_study(folder / "study.yaml", folder / "out", workers=1)


@pytest.mark.remuda_rule("EXT-94")
def test_each_chart_of_the_report_is_a_picture_that_stands_alone(found: StudyResult) -> None:
    charts = found.charts()
    report = (found.directory / "report.html").read_text()
    assert {"wait_mean", "waits", "wait-by-queue", "differences: own / packed"} <= set(charts)
    for picture in charts.values():
        root = ET.fromstring(picture._repr_svg_())
        assert root.tag == f"{SVG}svg"
        assert not {"script", "image", "a"} & {each.tag.removeprefix(SVG) for each in root.iter()}
        assert "url(" not in picture.svg
        assert "prefers-color-scheme: dark" in picture.svg
        assert picture.title in {each.text for each in root.iter(f"{SVG}text")}
        assert f'aria-label="{picture.title}"' in report


@pytest.mark.remuda_rule("EXT-94")
def test_names_in_a_picture_are_no_markup_and_a_long_legend_has_rows() -> None:
    title = 'a < "b" & c'
    labels = [f"<alternative {number}>" for number in range(9)]
    svg = standalone(title, title, bars(title, [Bar(title, 1, None, 0)], str), labels, style="")
    root = ET.fromstring(svg)
    shown = [each for each in root.iter(f"{SVG}text") if each.text in labels]
    assert [each.text for each in shown] == labels
    assert len({each.get("y") for each in shown}) == 3
    assert all(float(each.get("x", "")) < 560 for each in shown)
    assert [each.text for each in root.iter(f"{SVG}text")].count(title) == 3


@pytest.mark.remuda_rule("EXT-94")
def test_a_huge_name_stays_within_the_legend_and_is_told_whole() -> None:
    name = "q" * 2_000
    svg = standalone("t", "t", bars("t", [], str), [name, "other"], style="")
    texts = [each for each in ET.fromstring(svg).iter(f"{SVG}text") if each.text != "t"]
    assert all(len(each.text or "") < 75 for each in texts)
    assert [title.text for each in texts for title in each] == [name, "other"]


def test_a_picture_is_saved(found: StudyResult, tmp_path: Path) -> None:
    picture = found.charts("early")["waits"]
    picture.save(tmp_path / "waits.svg")
    assert (tmp_path / "waits.svg").read_text() == picture.svg
    assert repr(picture) == "Picture('Waits, shortest to longest')"


def test_a_chart_or_trace_that_there_is_not_names_those_that_there_are(found: StudyResult) -> None:
    with pytest.raises(UsageError, match="no trace 'late'; it has early"):
        found.charts("late")
    with pytest.raises(KeyError, match="no chart 'x'; there are: wait_mean, "):
        found.charts()["x"]


@pytest.mark.remuda_rule("EXT-94")
def test_a_notebook_shows_a_study_as_its_tables(found: StudyResult) -> None:
    shown = found._repr_html_()
    for cell in found.tables()[0].rows[1]:
        assert f"<td>{cell}</td>" in shown
    assert repr(found) == "<study 'study': 4 runs, 2 alternatives>"


def compared(key: str, before: float, difference: float, half: float | None) -> Comparison:
    seeds = 1 if half is None else 5
    return Comparison(
        "week",
        Alternative("new", "plain"),
        BY_KEY[key],
        Estimate(before, 0.0, seeds),
        Estimate(before + difference, 0.0, seeds),
        Estimate(difference, half, seeds),
        0,
        0,
        1.0,
    )


@pytest.mark.remuda_rule("EXT-93")
def test_the_conclusion_says_what_is_better_and_what_is_worse() -> None:
    rows = [
        compared("wait_mean", 7_200.0, -3_600.0, 60.0),
        compared("wait_p95", 7_200.0, 60.0, 600.0),
        compared("wait_p99", 7_200.0, 600.0, 60.0),
        compared("utilisation", 0.5, -0.1, 0.01),
        compared("makespan", 100.0, 0.0, 0.0),
        compared("lost_work", 0.2, 0.2, 0.1),
        compared("victims", 2.0, 3.0, 5.0),
    ]
    (told,) = conclusions("old / plain", rows)
    assert str(told).splitlines() == [
        "week: new / plain, compared with old / plain",
        "  better",
        "    mean wait 1.0 h instead of 2.0 h",
        "  worse",
        "    mean utilisation 40.0 % instead of 50.0 %",
        "    work lost 40.0 % instead of 20.0 %",
        "  not clear beyond chance",
        "    95th percentile of wait about 2.0 h in both",
        "  equal",
        "    time to the last end",
    ]


@pytest.mark.remuda_rule("EXT-93")
def test_one_seed_makes_nothing_clear() -> None:
    (told,) = conclusions("old / plain", [compared("wait_mean", 60.0, -30.0, None)])
    assert [verdict for verdict, _, _ in told.parts()] == ["unclear"]


@pytest.mark.remuda_rule("EXT-93")
def test_the_report_has_the_conclusions(found: StudyResult) -> None:
    report = (found.directory / "report.html").read_text()
    (told,) = found.conclusions()
    assert told.title() in report
    for verdict, word, texts in told.parts():
        assert f"<b class='{verdict}'>{word}</b>: {'; '.join(texts)}</li>" in report
