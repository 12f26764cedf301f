"""The report of a study: whole, from one file, readable in both themes."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from remuda.sim import sample as trace
from remuda.study.drawing import COLOURS, Bar, Line, Range, bars, lines, nice_ticks, ranges
from remuda.study.lab import run_study

TRACE = Path(trace.__file__).parent
STUDY = f"""
title: Is a < b & "c"?
traces: [{{name: early, workload: {TRACE}/workload.csv, nodes: {TRACE}/nodes.csv, to: 5000}}]
variants: [{{name: spread}}, {{name: packed, node-sort: binpacking}}]
seeds: 2
variation: {{arrival-jitter: 600, node-failures: {{every: 40000, repair: 3600}}}}
"""
STYLE = (files("remuda.study") / "chart.css").read_text()


class Outline(HTMLParser):
    """The elements of a page, with their attributes, and whether each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    (folder / "study.yaml").write_text(STUDY)
    run_study(folder / "study.yaml", folder / "out", workers=1)
    return (folder / "out" / "report.html").read_text()


def test_the_page_is_well_formed_and_has_at_least_eight_charts(page: str) -> None:
    outline = Outline()
    outline.feed(page)
    assert not outline.open
    charts = [
        each
        for tag, each in outline.found
        if tag == "svg" and "chart" in (each.get("class") or "").split()
    ]
    titles = {each["aria-label"] for each in charts}
    assert len(titles) == len(charts) >= 8
    assert {"Mean wait", "Utilisation", "Mean wait by queue"} <= titles
    assert "nan" not in page.lower().replace("nance", "")


def test_nothing_comes_from_elsewhere_and_nothing_runs(page: str) -> None:
    outline = Outline()
    outline.feed(page)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in outline.found}
    assert not {"src", "href", "onload"} & {name for _, each in outline.found for name in each}
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_texts_of_the_study_are_no_markup(page: str) -> None:
    assert "<h1>Is a &lt; b &amp; &quot;c&quot;?</h1>" in page


def themes() -> list[dict[str, str]]:
    """The colours of the light and the dark theme, by name."""
    light, _, dark = STYLE.partition("@media (prefers-color-scheme: dark)")
    found = [dict(re.findall(r"--([\w]+): (#\w{6})", part)) for part in (light, dark)]
    assert found[0].keys() == found[1].keys()
    return found


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_colours_stand_out_as_the_guidelines_for_accessible_pages_ask(
    theme: dict[str, str],
) -> None:
    # WCAG 2: 4.5 for texts, 3 for graphics.
    needed = {f"c{number}": 3.0 for number in range(COLOURS)}
    needed |= {"text": 4.5, "soft": 4.5, "better": 4.5, "worse": 4.5}
    for name, least in needed.items():
        for ground in ("page", "card"):
            pair = sorted((luminance(theme[name]), luminance(theme[ground])))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= least, (name, ground)


def test_ticks_are_round_and_enclose_the_range() -> None:
    assert nice_ticks(0, 100) == [0, 20, 40, 60, 80, 100]
    assert nice_ticks(-0.3, 0.12) == [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2]
    assert nice_ticks(0, 0) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert nice_ticks(3, 4.1)[0] <= 3


def test_a_bar_is_as_long_as_its_value() -> None:
    drawn = bars("t", [Bar("a", 10.0, None, 0), Bar("b", 5.0, 1.0, 9)], str)
    assert [float(each) for each in re.findall(r'width="([\d.]+)"', drawn)] == [260.0, 130.0]
    # More colours than there are begin anew.
    assert 'class="f1"' in drawn
    assert drawn.count("whisker") == 1


def test_a_difference_beyond_chance_has_the_colour_of_its_verdict() -> None:
    rows = [Range("a", -1.0, 0.5, "better"), Range("b", 1.0, None, "unclear")]
    drawn = ranges("t", rows, str)
    assert "fbetter" in drawn
    assert "fsoft" in drawn
    assert "fworse" not in drawn


def test_empty_and_constant_lines_can_be_drawn() -> None:
    assert "<svg" in lines("t", [], "x", str)
    assert "<svg" in lines("t", [Line("a", [0.0], [0.0], 0)], "x", str)


def test_a_wait_of_a_century_stays_within_its_chart(tmp_path: Path) -> None:
    rows = ["task,submit,duration,queue,vcore", "a,0,4000000000,q,8", "b,1,1,q,8"]
    (tmp_path / "tasks.csv").write_text("\n".join(rows))
    study = tmp_path / "study.yaml"
    study.write_text("traces: [{name: t, workload: tasks.csv, nodes: 1xvcore=8}]")
    drawn = run_study(study, tmp_path / "out", workers=1).charts()["waits"].svg
    (line,) = re.findall(r'class="series s0" d="M([\d. ,-]+,[\d. ,-]+)">', drawn)
    assert min(float(point.split(",")[1]) for point in line.split()) >= 12
    assert ">100,000 d<" in drawn
