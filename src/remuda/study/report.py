"""The report of a study: one HTML file with tables and charts, and nothing from elsewhere.

It is for people who were not there: it opens offline, in the colours of the reader's system, and
can be attached to a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final

from remuda.base.message import message
from remuda.study import drawing
from remuda.study.comparison import Comparison, Table, estimate, values_of
from remuda.study.drawing import Bar, Line, Range
from remuda.study.figures import Content
from remuda.study.measures import BY_KEY, MEASURES
from remuda.study.plan import Alternative, Study
from remuda.study.tables import interval, wording

REPORT: Final = "report.html"

# Measures that have a chart with bars, if any run has a value above 0.
_BARS: Final = {
    "wait_mean": "Mean wait",
    "wait_p95": "95 of 100 tasks wait no longer",
    "slowdown_mean": "Mean slowdown",
    "utilisation": "Mean utilisation",
    "shortfall": "Share of the cluster that queues were owed and did not have",
    "makespan": "Time to the last end",
    "cut_short": "Starts cut short by preemption or failed nodes",
    "lost_work": "Work lost by such starts",
    "victims": "Preempted allocations",
    "pending": "Tasks never placed",
    "gangs_timed_out": "Gangs whose time for placeholders ran out",
}
_DIFFERENCES: Final = (
    "wait_mean",
    "wait_p95",
    "slowdown_mean",
    "utilisation",
    "shortfall",
    "makespan",
)
# More would be unreadable: queues by their share, alternatives in the order of the study.
_QUEUES_LIMIT: Final = 8
_COURSES_LIMIT: Final = 8
_CSP: Final = "default-src 'none'; style-src 'unsafe-inline'"


@message
class _Trace:
    """What the report shows of one trace; results by alternative, in the order of the seeds."""

    name: str
    alternatives: Sequence[Alternative]
    results: Mapping[str, Sequence[Content]]
    table: Table
    comparisons: Sequence[Comparison]
    confidence: float

    def values(self, alternative: Alternative, key: str) -> list[float]:
        """Return the values of a measure over the seeds."""
        names = (self.name, alternative.configuration, alternative.variant)
        return list(self.table[names].get(key, {}).values())


def page(study: Study, results: Sequence[Content], comparisons: Sequence[Comparison]) -> str:
    """Return the report."""
    style = (files("remuda.study") / "report.css").read_text(encoding="utf-8")
    alternatives = study.alternatives()
    sections = [_section(each) for each in _traces(study, results, comparisons)]
    title = escape(study.title)
    counts = (
        f"Runs: {len(results)}, traces: {len(study.traces)}, alternatives: {len(alternatives)}, "
        f"seeds: {len(study.seeds)}. Compared with the baseline {alternatives[0].label()}, seed by "
        f"seed; intervals hold {study.confidence * 100:g} %."
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_CSP}"><title>{title}</title>'
        f"<style>\n{style}</style>"
    )
    body = f"<h1>{title}</h1><p class='soft'>{escape(counts)}</p>{''.join(sections)}"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _traces(
    study: Study, results: Sequence[Content], comparisons: Sequence[Comparison]
) -> list[_Trace]:
    table = values_of(results)
    found = []
    for trace in study.traces:
        own: dict[str, list[Content]] = {}
        for each in (result for result in results if result["trace"] == trace.name):
            label = Alternative(str(each["configuration"]), str(each["variant"])).label()
            own.setdefault(label, []).append(each)
        compared = [each for each in comparisons if each.trace == trace.name]
        alternatives = study.alternatives()
        found.append(_Trace(trace.name, alternatives, own, table, compared, study.confidence))
    return found


def _section(trace: _Trace) -> str:
    resource = escape(str(next(iter(trace.results.values()))[0]["resource"]))
    legend = _legend([each.label() for each in trace.alternatives])
    about = f"The contended resource is {resource}; utilisation and shares are of it."
    charts = [*_bar_charts(trace), *_course_charts(trace), *_fairness_charts(trace)]
    charts += _difference_charts(trace)
    drawn = f"<div class='charts'>{''.join(charts)}</div>"
    return f"<h2>{escape(trace.name)}</h2><p>{about}</p>{_table(trace)}{legend}{drawn}"


def _table(trace: _Trace) -> str:
    verdicts = {(c.alternative.label(), c.measure.key): c.verdict() for c in trace.comparisons}
    shown = [measure for measure in MEASURES if measure.key in _DIFFERENCES]
    head = "".join(f"<th>{escape(measure.title)}</th>" for measure in shown)
    rows = []
    for alternative in trace.alternatives:
        label = alternative.label()
        cells = [f"<td>{escape(label)}</td>"]
        for measure in shown:
            values = trace.values(alternative, measure.key)
            text = interval(measure, estimate(values, trace.confidence)) if values else ""
            verdict = verdicts.get((label, measure.key), "")
            cells.append(f"<td class='{verdict}'>{escape(text)}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = f"<tr><th>alternative</th>{head}</tr>"
    return f"<div class='wide'><table>{head}{''.join(rows)}</table></div>"


# --------------------------------------------------------------------------------- charts


def _bar_charts(trace: _Trace) -> list[str]:
    """Return a chart for each measure that any run has a value of."""
    found = []
    for key, title in _BARS.items():
        measure = BY_KEY[key]
        rows = []
        for number, alternative in enumerate(trace.alternatives):
            values = trace.values(alternative, key)
            if values:
                mean = estimate(values, trace.confidence)
                rows.append(Bar(alternative.label(), mean.mean, mean.half, number))
        if any(row.value > 0 for row in rows):
            drawn = drawing.bars(title, rows, partial(wording, measure))
            found.append(_figure(title, "mean over seeds, with its interval", drawn))
    return found


def _course_charts(trace: _Trace) -> list[str]:
    """Return how the runs of the first seed went, the waits, and the waits by queue."""
    pending, used, waits = [], [], []
    for number, alternative in enumerate(trace.alternatives):
        label = alternative.label()
        first = trace.results[label][0]
        course = _mapping(first["course"])
        hours = _middles(_numbers(course["hours"]))
        pending.append(Line(label, hours, _numbers(course["pending"]), number))
        used.append(Line(label, hours, _numbers(course["used"]), number))
        quantiles = _numbers(first["wait_quantiles"])
        hours_waited = [seconds / 3_600 for seconds in quantiles]
        waits.append(Line(label, list(range(len(quantiles))), hours_waited, number))
    seed = f"seed {next(iter(trace.results.values()))[0]['seed']}"
    hours_title = "hours since the first submission"
    titles = ("Tasks that wait", "Utilisation", "Waits, shortest to longest")
    return [
        _figure(titles[0], seed, drawing.lines(titles[0], pending, hours_title, _plain)),
        _figure(titles[1], seed, drawing.lines(titles[1], used, hours_title, _percent)),
        _figure(
            titles[2],
            f"hours that a part of the tasks does not exceed, {seed}",
            drawing.lines(titles[2], waits, "% of the tasks", _plain),
        ),
        _queue_waits(trace),
    ]


def _queue_waits(trace: _Trace) -> str:
    title = "Mean wait by queue"
    rows = []
    for path in _queues(trace):
        for number, alternative in enumerate(trace.alternatives):
            own = [_mapping(each["queues"]) for each in trace.results[alternative.label()]]
            values = [float(_mapping(each[path])["wait_mean"]) for each in own if path in each]
            if values:
                mean = estimate(values, trace.confidence)
                label = path.removeprefix("root.") if number == 0 else ""
                rows.append(Bar(label, mean.mean, mean.half, number))
    drawn = drawing.bars(title, rows, partial(wording, BY_KEY["wait_mean"]))
    return _figure(title, "mean over seeds, with its interval", drawn)


def _fairness_charts(trace: _Trace) -> list[str]:
    """Return for each alternative what its queues had, less what they were owed."""
    paths = _queues(trace)
    legend = _legend([path.removeprefix("root.") for path in paths])
    found = []
    for alternative in trace.alternatives[:_COURSES_LIMIT]:
        first = trace.results[alternative.label()][0]
        course = _mapping(first["course"])
        hours = _middles(_numbers(course["hours"]))
        queues = _mapping(course["queues"])
        rows = []
        for number, path in enumerate(paths):
            if path in queues:
                shares = _mapping(queues[path])
                pairs = zip(_numbers(shares["used"]), _numbers(shares["owed"]), strict=True)
                rows.append(Line(path, hours, [got - due for got, due in pairs], number))
        title = f"Share had less share owed: {alternative.label()}"
        about = f"below 0 a queue has less than it is owed, seed {first['seed']}"
        drawn = drawing.lines(title, rows, "hours since the first submission", _percent)
        found.append(_figure(title, about, f"{legend}{drawn}"))
    return found


def _difference_charts(trace: _Trace) -> list[str]:
    """Return for the main measures the differences from the baseline, in % of it."""
    found = []
    for alternative in trace.alternatives[1:]:
        rows = [
            _range(each)
            for each in trace.comparisons
            if each.alternative == alternative
            and each.measure.key in _DIFFERENCES
            and each.baseline.mean
        ]
        title = f"Difference from the baseline: {alternative.label()}"
        about = "in % of the baseline, with the interval over seeds; green is better, red worse"
        if rows:
            found.append(_figure(title, about, drawing.ranges(title, rows, _signed)))
    return found


def _range(each: Comparison) -> Range:
    base = abs(each.baseline.mean)
    half = each.difference.half
    scaled = None if half is None else half / base
    return Range(each.measure.title, each.difference.mean / base, scaled, each.verdict())


# --------------------------------------------------------------------------------- pieces


def _figure(title: str, about: str, drawn: str) -> str:
    caption = f"<figcaption>{escape(title)}<small>{escape(about)}</small></figcaption>"
    return f"<figure>{caption}{drawn}</figure>\n"


def _legend(labels: Sequence[str]) -> str:
    items = [f"<li>{drawing.swatch(n)}{escape(label)}</li>" for n, label in enumerate(labels)]
    return f"<ul class='legend'>{''.join(items)}</ul>"


def _queues(trace: _Trace) -> list[str]:
    """Return the queues with the largest shares in the first run of the baseline, by name."""
    first = _mapping(trace.results[trace.alternatives[0].label()][0]["queues"])
    ranked = sorted(first, key=lambda path: (-float(_mapping(first[path])["share"]), path))
    return sorted(ranked[:_QUEUES_LIMIT])


def _middles(edges: Sequence[float]) -> list[float]:
    return [(left + right) / 2 for left, right in pairwise(edges)]


def _plain(value: float) -> str:
    return f"{value:g}"


def _percent(value: float) -> str:
    return f"{value * 100:g} %"


def _signed(value: float) -> str:
    return f"{value * 100:+.1f} %"


def _numbers(value: object) -> list[float]:
    assert isinstance(value, list)
    return value


def _mapping(value: object) -> Mapping[str, Any]:
    assert isinstance(value, dict)
    return value
