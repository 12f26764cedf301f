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
from remuda.sim import sample
from remuda.sim.experiment import Options, run
from remuda.sim.metrics import Figures
from remuda.sim.results import seconds_text
from remuda.sim.terminal import progress_bar
from remuda.sim.wording import duration, percent

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
        if tag == "svg":
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
    assert page.charts == [
        "Share of each resource in use",
        "Pending tasks",
        "Share of each queue",
        "Number of tasks by waiting time",
    ]
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
    assert words == ["0 s", "1.5 s", "119 s", "2.0 min", "2.0 h", "2.0 d", "42.8 d"]
    assert percent(0.5649) == "56.5 %"
