"""One page that shows a run: key figures, four charts, tables. It needs no other file.

The page fetches nothing. It does not depend on when or where it was made, so the same run gives the
same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Final

from remuda.sim import charts, series
from remuda.sim.charts import Chart, Key
from remuda.sim.losses import PreemptionFigures
from remuda.sim.metrics import Figures
from remuda.sim.simulator import Outcome, Scenario
from remuda.sim.wording import Table, count, duration, percent, tables

QUEUES_IN_CHART: Final = 12
TYPES_IN_CHART: Final = 4
QUEUES_IN_TABLE: Final = 500

# Columns that a phone has room for.
MOST_COLUMNS: Final = 4


def page(scenario: Scenario, outcome: Outcome, figures: Figures, run: Mapping[str, str]) -> str:
    """Return the report as HTML; ``run`` names input and options of the run."""
    css = files("remuda.sim").joinpath("report.css").read_text(encoding="utf-8")
    title = f"Simulation of {escape(run['workload'])}"
    options = " \N{MIDDLE DOT} ".join(
        escape(f"{name.replace('_', ' ')} {value}")
        for name, value in run.items()
        if name != "workload" and value
    )
    body = "\n".join(
        (
            f"<header><h1>{title}</h1><p>{options}</p></header>",
            _tiles(scenario, figures),
            *_charts(scenario, outcome, figures),
            _tables(figures),
        )
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{css}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _tiles(scenario: Scenario, figures: Figures) -> str:
    wait = figures.wait_seconds
    total = count(figures.tasks_total)
    tiles = [("Tasks placed", count(figures.tasks_placed), f"of {total}")]
    if figures.tasks_pending:
        tiles.append(("Left pending", count(figures.tasks_pending), f"of {total}"))
    if scenario.mode == "replay":
        waited = figures.tasks_waited / figures.tasks_placed if figures.tasks_placed else 0.0
        tiles.append(("Had to wait", count(figures.tasks_waited), percent(waited)))
        tiles.append(("Mean wait", duration(wait.mean), f"95 % within {duration(wait.p95)}"))
    if figures.gangs is not None:
        late = f"{count(figures.gangs.timed_out)} timed out"
        tiles.append(("Gangs", count(figures.gangs.gangs), late))
    if figures.preemption is not None:
        tiles.append(_preemption_tile(figures.preemption))
    nodes = f"of {count(figures.nodes_total)}"
    tiles.append(("Nodes used", count(figures.nodes_used), nodes))
    busiest = sorted(figures.utilisation.items(), key=lambda item: (-item[1].mean, item[0]))
    for name, use in busiest[:2]:
        label = f"Mean use of {name}" if scenario.mode == "replay" else f"Use of {name}"
        tiles.append((label, percent(use.mean), f"at most {percent(use.peak)}"))
    cells = (
        f'<div class="tile"><dt>{escape(label)}</dt>'
        f"<dd>{escape(value)}<small>{escape(note)}</small></dd></div>"
        for label, value, note in tiles
    )
    return f'<dl class="tiles">{"".join(cells)}</dl>'


def _preemption_tile(figures: PreemptionFigures) -> tuple[str, str, str]:
    """Return the number of preempted tasks, and the largest lost share of a resource."""
    worst = max(figures.lost_work.items(), key=lambda item: item[1].share, default=None)
    note = "" if worst is None else f"{percent(worst[1].share)} of all {worst[0]} lost"
    return ("Preempted", count(figures.victims), note)


def _charts(scenario: Scenario, outcome: Outcome, figures: Figures) -> list[str]:
    past = series.history(scenario, outcome.timeline)
    types = list(figures.utilisation)[:TYPES_IN_CHART]
    given = "all use over time" if scenario.mode == "replay" else "everything in use"
    shares = ""
    if types:
        bars = series.shares(figures, types, QUEUES_IN_CHART)
        text = f"Part of {given}, by resource."
        shares = _card("Share per queue", text, charts.share_per_queue(bars))
    waits = _card(
        "Waiting time",
        "Number of tasks by the time from submission to start.",
        charts.wait_distribution(series.waits(scenario, outcome)),
    )
    preempted: list[str] = []
    if figures.preemption is not None and figures.preemption.victims:
        preempted = _preemption_charts(scenario, outcome, figures.preemption)
    return [
        _card(
            "Utilisation",
            "Share of the cluster's capacity in use.",
            charts.use_over_time(past),
            kind="card wide",
        ),
        _card(
            "Pending",
            "Tasks submitted and not yet placed.",
            charts.pending_over_time(past),
            kind="card wide",
        ),
        f'<div class="pair">{shares}{waits}</div>',
        *preempted,
    ]


def _preemption_charts(
    scenario: Scenario, outcome: Outcome, figures: PreemptionFigures
) -> list[str]:
    over_time = _card(
        "Preempted",
        "Allocations whose release was requested, from the beginning up to each time.",
        charts.victims_over_time(series.victims(scenario, outcome)),
        kind="card wide",
    )
    by_queue = _card(
        "Preemption per queue",
        "How often room was made for a queue, and how many allocations it lost.",
        charts.preemption_per_queue(series.roles(figures.queues, QUEUES_IN_CHART)),
    )
    lost = _card(
        "Lost work",
        "Part of all use that has to be done again, by resource.",
        charts.lost_work(series.losses(figures, TYPES_IN_CHART)),
    )
    return [over_time, f'<div class="pair">{by_queue}{lost}</div>']


def _card(title: str, text: str, chart: Chart, kind: str = "card") -> str:
    keys = "".join(map(_key, chart.legend))
    legend = f'<ul class="legend">{keys}</ul>' if keys else ""
    return (
        f'<section class="{kind}"><h2>{escape(title)}</h2><p>{escape(text)}</p>{legend}'
        f'<div class="chart for-wide">{chart.wide}</div>'
        f'<div class="chart for-narrow">{chart.narrow}</div></section>'
    )


def _key(key: Key) -> str:
    """Return an entry of a legend: a line as in the chart, and its name."""
    line = f'<path d="M0 4H24" style="stroke: {key.colour}" stroke-dasharray="{key.dashes}"/>'
    picture = f'<svg class="key" viewBox="0 0 24 8" aria-hidden="true">{line}</svg>'
    return f"<li>{picture}{escape(key.name)}</li>"


def _tables(figures: Figures) -> str:
    tasks, *others, use, queues = tables(figures, QUEUES_IN_TABLE)
    hidden = len(figures.queues) - len(queues.rows)
    note = f"<p>{count(hidden)} more in summary.json.</p>" if hidden else ""
    digest = f"SHA-256 of all decisions: <code>{figures.decisions_digest}</code>"
    return (
        f'<div class="pair">{_table(tasks)}{_table(use)}</div>'
        f"{''.join(map(_table, others))}{_table(queues, note)}<footer>{digest}</footer>"
    )


def _table(table: Table, note: str = "") -> str:
    """Return a table; on a phone the rows of one with many columns become lists."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    body = "".join(_table_row(row, table.header) for row in table.rows)
    kind = ' class="many"' if len(table.header) > MOST_COLUMNS else ""
    return (
        f'<section class="card"><h2>{escape(table.title)}</h2><div class="table"><table{kind}>'
        f"{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody>"
        f"</table></div>{note}</section>"
    )


def _table_row(row: Sequence[str], header: Sequence[str]) -> str:
    first, *others = row
    labels = header[1:] or [""] * len(others)
    cells = "".join(
        f'<td data-label="{escape(label)}">{escape(cell)}</td>'
        if label
        else f"<td>{escape(cell)}</td>"
        for label, cell in zip(labels, others, strict=True)
    )
    return f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>'
