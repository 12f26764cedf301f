"""The report of a study: one HTML file with tables and charts, and nothing from elsewhere.

It is for people who were not there: it opens offline, in the colours of the reader's system, and
can be attached to a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Final

from remuda.study import drawing
from remuda.study.charts import Chart, TraceResults, chart_style, charts_of, trace_results
from remuda.study.comparison import Comparison
from remuda.study.conclusion import Conclusion, conclusions
from remuda.study.figures import Content
from remuda.study.measures import MAIN, MEASURES
from remuda.study.plan import Study
from remuda.study.tables import interval

REPORT: Final = "report.html"

_CSP: Final = "default-src 'none'; style-src 'unsafe-inline'"


def page(study: Study, results: Sequence[Content], comparisons: Sequence[Comparison]) -> str:
    """Return the report."""
    own = (files("remuda.study") / "report.css").read_text(encoding="utf-8")
    style = f"{chart_style()}{own}"
    sections = [_section(each) for each in trace_results(study, results, comparisons)]
    title = escape(study.title)
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_CSP}"><title>{title}</title>'
        f"<style>\n{style}</style>"
    )
    counts = escape(_counts(study, len(results)))
    body = f"<h1>{title}</h1><p class='soft'>{counts}</p>{''.join(sections)}"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _counts(study: Study, runs: int) -> str:
    """Return how much was played, and how alternatives are compared."""
    alternatives = study.alternatives()
    seeds = len(study.seeds)
    how = f"seed by seed; intervals hold {study.confidence * 100:g} %."
    if seeds == 1:
        how = "by one seed, which does not tell what is chance."
    return (
        f"Runs: {runs}, traces: {len(study.traces)}, alternatives: {len(alternatives)}, "
        f"seeds: {seeds}. Compared with the baseline {alternatives[0].label()}, {how}"
    )


def _section(trace: TraceResults) -> str:
    resource = escape(str(trace.first()["resource"]))
    legend = _legend(trace.labels())
    about = f"The contended resource is {resource}; utilisation and shares are of it."
    drawn = "".join(_figure(chart, trace.labels()) for chart in charts_of(trace))
    told = "".join(_conclusion(each) for each in conclusions(trace.labels()[0], trace.comparisons))
    return (
        f"<h2>{escape(trace.name)}</h2><p>{about}</p>{_table(trace)}{told}{legend}"
        f"<div class='charts'>{drawn}</div>"
    )


def _conclusion(each: Conclusion) -> str:
    rows = "".join(
        f"<li><b class='{verdict}'>{escape(word)}</b>: {escape('; '.join(texts))}</li>"
        for verdict, word, texts in each.parts()
    )
    return f"<p>{escape(each.title())}</p><ul class='told'>{rows}</ul>"


def _table(trace: TraceResults) -> str:
    verdicts = {(c.alternative.label(), c.measure.key): c.verdict() for c in trace.comparisons}
    shown = [measure for measure in MEASURES if measure.key in MAIN]
    head = "".join(f"<th>{escape(measure.title)}</th>" for measure in shown)
    rows = []
    for alternative in trace.alternatives:
        label = alternative.label()
        cells = [f"<td>{escape(label)}</td>"]
        for measure in shown:
            values = trace.values(alternative, measure.key)
            text = interval(measure, trace.estimate(values)) if values else ""
            verdict = verdicts.get((label, measure.key), "")
            cells.append(f"<td class='{verdict}'>{escape(text)}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = f"<tr><th>alternative</th>{head}</tr>"
    return f"<div class='wide'><table>{head}{''.join(rows)}</table></div>"


# --------------------------------------------------------------------------------- pieces


def _figure(chart: Chart, above: Sequence[str]) -> str:
    """Return a chart with its caption; a legend that stands above all charts is not repeated."""
    title, about = escape(chart.title), escape(chart.about)
    legend = _legend(chart.legend) if chart.legend and list(chart.legend) != list(above) else ""
    caption = f"<figcaption>{title}<small>{about}</small></figcaption>"
    return f"<figure>{caption}{legend}{chart.drawn}</figure>\n"


def _legend(labels: Sequence[str]) -> str:
    items = [f"<li>{drawing.swatch(n)}{escape(label)}</li>" for n, label in enumerate(labels)]
    return f"<ul class='legend'>{''.join(items)}</ul>"
