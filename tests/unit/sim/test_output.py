"""The files and the terminal output of a run."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from remuda.base.errors import UsageError
from remuda.sim import charts, sample
from remuda.sim.experiment import Options, run
from remuda.sim.metrics import Figures
from remuda.sim.results import seconds_text
from remuda.sim.series import Bars, History
from remuda.sim.terminal import progress_bar
from remuda.sim.wording import duration, percent, work

Result = tuple[Path, Figures, str]

LINKING = ("href", "src", "xlink:href")
SAMPLE = Path(sample.__file__).parent


class Terminal(io.StringIO):
    """A text sink that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def simulated(
    directory: Path | None, out: io.StringIO | None = None, **more: Any
) -> tuple[Figures, str]:
    options = Options(
        workload=more.pop("workload", SAMPLE / "workload.csv"),
        nodes=more.pop("nodes", str(SAMPLE / "nodes.csv")),
        output=directory,
        **more,
    )
    out = io.StringIO() if out is None else out
    figures = run(options, out, io.StringIO())
    return figures, out.getvalue()


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    directory = tmp_path_factory.mktemp("result")
    figures, text = simulated(directory / "new" / "dir", seed=7)
    return directory / "new" / "dir", figures, text


def test_summary_has_all_figures(result: Result) -> None:
    directory, figures, _ = result
    summary = json.loads((directory / "summary.json").read_text())
    wanted = (
        "tasks_total tasks_placed tasks_pending tasks_skipped tasks_waited wait_seconds "
        "nodes_used utilisation wall_seconds allocations_per_second decisions_digest"
    )
    assert set(wanted.split()) <= set(summary)
    assert set(summary["wait_seconds"]) == {"mean", "p50", "p95", "p99", "max"}
    assert set(summary["utilisation"]) == {"gpu", "memory", "vcore"}
    assert set(summary["utilisation"]["gpu"]) == {"mean", "peak", "final"}
    assert summary["tasks_total"] == 369
    assert summary["tasks_skipped"] == 2
    assert summary["run"]["seed"] == "7"
    assert summary["run"]["queue_by"] == "vc", "the trace has queues"
    assert re.fullmatch(r"[0-9a-f]{64}", summary["decisions_digest"])
    assert summary["decisions_digest"] == figures.decisions_digest


def test_allocations_are_one_row_per_decision(result: Result) -> None:
    directory, figures, _ = result
    with (directory / "allocations.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["task", "queue", "application", "node", "submit", "start", "end"]
    assert len(rows) == len({row["task"] for row in rows}) == figures.tasks_placed
    times = [float(row["start"]) for row in rows]
    assert times == sorted(times)
    waited = sum(float(row["start"]) > float(row["submit"]) for row in rows)
    assert waited == figures.tasks_waited
    assert {row["queue"] for row in rows} == {"root.analytics", "root.product", "root.research"}


class Page(HTMLParser):
    """What a report contains: tags, attributes, IDs, and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.charts: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in LINKING]
        if tag == "svg" and "aria-label" in attributes:
            self.charts.append(attributes["aria-label"] or "")
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag != "meta":
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_is_one_offline_page_with_four_charts(result: Result) -> None:
    directory, _, _ = result
    html = (directory / "report.html").read_text()
    page = Page()
    page.feed(html)
    assert page.open == []
    titles = [
        "Share of each resource in use",
        "Pending tasks",
        "Share of each queue",
        "Number of tasks by waiting time",
    ]
    assert page.charts == [title for title in titles for _ in ("wide", "narrow")]
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    assert "<script" not in html
    assert "@import" not in html
    assert "root.analytics" in page.text


def test_charts_take_every_colour_from_the_page(result: Result) -> None:
    directory, _, _ = result
    html = (directory / "report.html").read_text()
    charts = html[html.index("<svg") :]
    assert not re.findall(r"#[0-9a-f]{6}\b", charts)
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", html))
    assert used <= set(re.findall(r"(--[a-z0-9-]+):", html))


LONG = "nvidia.com/gpu-a100-80gb-sxm4-with-nvlink-and-a-name-that-has-no-end-in-sight"


def test_names_in_legends_are_text_of_the_page_and_whole(tmp_path: Path) -> None:
    workload = tmp_path / "w.csv"
    workload.write_text(f"task,submit,duration,{LONG},gpu\na,0,9,1,1\nb,1,9,1,1\n")
    simulated(tmp_path / "out", workload=workload, nodes=f"1x{LONG}=2,gpu=2")
    html = (tmp_path / "out" / "report.html").read_text()
    legends = re.findall(r'<ul class="legend">(.*?)</ul>', html)
    assert len(legends) == 2
    for legend in legends:
        assert re.findall(r"</svg>([^<]+)</li>", legend) == ["gpu", LONG]
    drawn = "".join(re.findall(r'<div class="chart.*?</div>', html, re.DOTALL))
    assert LONG not in drawn
    assert f"1x{LONG}=2,gpu=2" in html


def test_a_resource_has_the_same_colour_in_every_chart_and_nothing_else_has_it() -> None:
    past = History("h", [0, 1], [0.0], {"cpu": [1.0], "gpu": [1.0], "mem": [1.0]})
    use = charts.use_over_time(past)
    colours = {key.name: key.colour for key in use.legend}
    assert len(set(colours.values())) == 3
    share = charts.share_per_queue(Bars(("gpu", "mem"), ["q"], [[1.0, 0.5]], (1, 2)))
    assert {key.name: key.colour for key in share.legend} == {
        name: colours[name] for name in ("gpu", "mem")
    }
    lost = charts.lost_work(Bars(("lost",), ["cpu", "gpu"], [[0.5], [0.1]], (0, 1)))
    assert list(lost.legend) == []
    for drawing in (lost.wide, lost.narrow):
        found = re.findall(r"fill: (var\(--series-\d\))", drawing)
        assert found == [colours["cpu"], colours["gpu"]]
    others = (
        charts.pending_over_time(past),
        charts.victims_over_time(past),
        charts.wait_distribution(Bars(("tasks",), ["x"], [[1.0]])),
        charts.preemption_per_queue(Bars(("for it", "in it"), ["q"], [[1.0, 2.0]])),
    )
    for chart in others:
        assert "--series-" not in chart.wide + chart.narrow
        assert "--other-1" in chart.wide


def test_a_chart_for_phones_is_drawn_at_their_size() -> None:
    """Text is as large there as in the wide one, which made small would be less than half."""
    past = History("h", [0, 1], [0.0], {"cpu": [1.0]})
    for chart in (
        charts.use_over_time(past),
        charts.wait_distribution(Bars(("n",), ["x"], [[1.0]])),
    ):
        sizes = [re.search(r'viewBox="0 0 ([\d.]+) ', each) for each in (chart.wide, chart.narrow)]
        wide, narrow = (float(found[1]) for found in sizes if found)
        assert narrow <= 3.5 * 72 < wide
        fonts = [
            set(re.findall(r"font: (\d+)px|font-size: (\d+)px", each))
            for each in (chart.wide, chart.narrow)
        ]
        assert fonts[0] == fonts[1]


def test_tables_of_many_columns_name_each_cell_for_phones(result: Result) -> None:
    directory, _, _ = result
    html = (directory / "report.html").read_text()
    (queues,) = re.findall(r'<table class="many">(.*?)</table>', html, re.DOTALL)
    assert queues.count("<td") == queues.count('<td data-label="')
    assert '<td data-label="mean wait">' in queues


def test_names_from_a_trace_cannot_become_formulas(tmp_path: Path) -> None:
    workload = tmp_path / "w.csv"
    workload.write_text("task,submit,duration,cpu\n=1+1,0,1,1\n@x,0,1,1\n")
    simulated(tmp_path / "out", workload=workload, nodes="2xcpu=1")
    with (tmp_path / "out" / "allocations.csv").open(newline="") as file:
        assert {row["task"] for row in csv.DictReader(file)} == {"'=1+1", "'@x"}


def test_names_from_a_trace_cannot_become_markup(tmp_path: Path) -> None:
    workload = tmp_path / "<b>&.csv"
    workload.write_text("task,submit,duration,<script>x</script>\n<i>,0,1,1\n")
    _, _ = simulated(tmp_path / "out", workload=workload, nodes="1x<script>x</script>=2")
    html = (tmp_path / "out" / "report.html").read_text()
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;x" in html


def test_dollar_signs_are_no_formulas(tmp_path: Path) -> None:
    workload = tmp_path / "w.csv"
    workload.write_text("task,submit,duration,$x$\na,0,1,1\n")
    simulated(tmp_path / "out", workload=workload, nodes="1x$x$=2")
    assert "$x$" in (tmp_path / "out" / "report.html").read_text()


def test_fill_has_a_report_too(tmp_path: Path) -> None:
    figures, text = simulated(tmp_path, mode="fill")
    assert figures.tasks_finished == 0
    assert figures.tasks_pending > 0
    assert "Left pending" in (tmp_path / "report.html").read_text()
    assert re.search(rf"^  pending +{figures.tasks_pending}$", text, re.MULTILINE)


def test_a_run_of_one_instant_has_a_report(tmp_path: Path) -> None:
    workload = tmp_path / "w.csv"
    workload.write_text("task,submit,duration,gpu\na,5,0,1\n")
    figures, _ = simulated(tmp_path / "out", workload=workload, nodes="1xgpu=2")
    assert figures.utilisation["gpu"].peak == 0.5
    assert (tmp_path / "out" / "report.html").exists()


def test_pipes_get_plain_columns(result: Result) -> None:
    _, _, text = result
    assert text.isascii()
    assert "  tasks that waited " in text
    assert "  root.research  " in text
    assert "allocations/s" in text


def test_terminals_get_tables_and_names_are_no_markup(tmp_path: Path) -> None:
    workload = tmp_path / "w.csv"
    workload.write_text("task,submit,duration,[red]gpu\na,0,1,1\n")
    _, text = simulated(None, Terminal(), workload=workload, nodes="1x[red]gpu=2")
    assert "[red]gpu" in text
    assert "Queues" in text


def test_many_queues_are_cut_in_the_terminal(tmp_path: Path) -> None:
    workload = tmp_path / "w.csv"
    rows = "".join(f"t{number},0,1,u{number},1\n" for number in range(30))
    workload.write_text(f"task,submit,duration,user,gpu\n{rows}")
    _, text = simulated(None, workload=workload, nodes="1xgpu=9", queue_by="user")
    assert "... and 10 more queues" in text


def test_the_progress_bar_is_for_terminals() -> None:
    quiet, loud = io.StringIO(), Terminal()
    for sink in (quiet, loud):
        with progress_bar(10, sink) as progress:
            progress(5)
    assert quiet.getvalue() == ""
    assert "simulating" in loud.getvalue()


def test_an_output_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--output"):
        simulated(tmp_path / "file")


@pytest.mark.parametrize(
    "ns, text",
    [(0, "0"), (1_500_000_000, "1.5"), (10 * 10**9, "10"), (1, "0.000000001"), (100, "0.0000001")],
)
def test_times_are_written_exactly(ns: int, text: str) -> None:
    assert seconds_text(ns) == text


def test_durations_and_shares_in_words() -> None:
    words = [duration(seconds) for seconds in (0, 1.5, 119, 120, 7_200, 172_800, 3.7e6)]
    assert words == ["0.0 s", "1.5 s", "119.0 s", "2.0 min", "2.0 h", "2.0 d", "42.8 d"]
    assert (duration(0.004), duration(0.05)) == ("< 0.1 s", "0.1 s")
    assert (percent(0.5649), percent(1e-6), percent(0)) == ("56.5 %", "< 0.1 %", "0.0 %")


def test_work_is_told_in_the_units_of_people() -> None:
    assert work("memory", 270_011_708_997_632) == "69.9 GiB h"
    assert work("memory", 2**30 * 90) == "90.0 GiB s"
    assert work("vcore", 82_000) == "82.0 core s"
    assert work("vcore", 1_000 * 3_600 * 1_234.5) == "1,234.5 core h"
    assert work("nvidia.com/gpu", 600) == "10.0 unit min"
    assert work("memory", 2**30 * 90, most=2**30 * 7_200) == "< 0.1 GiB h"
