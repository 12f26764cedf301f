"""The charts of a study: which there are, and what they show.

The report has them with captions of the page, and notebooks as pictures that stand alone; both
come from here, so they cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final

from remuda.base.message import message
from remuda.study import drawing
from remuda.study.comparison import Comparison, Estimate, Table, estimate, values_of
from remuda.study.drawing import Bar, Line, Range
from remuda.study.figures import Content
from remuda.study.measures import BY_KEY, MAIN
from remuda.study.plan import Alternative, Study
from remuda.study.tables import wording

# Measures that have a chart with bars, if any run has a value above 0.
_BARS: Final = {
    "wait_mean": "Mean wait",
    "wait_p95": "95 of 100 tasks wait no longer",
    "slowdown_mean": "Mean slowdown",
    "utilisation": "Mean utilisation",
    "shortfall": "Share owed to queues that they did not have",
    "makespan": "Time to the last end",
    "cut_short": "Starts cut short by preemption or failed nodes",
    "lost_work": "Work lost by such starts",
    "victims": "Preempted allocations",
    "pending": "Tasks never placed",
    "gangs_timed_out": "Gangs whose time for placeholders ran out",
}
# More would be unreadable: queues by their share, alternatives in the order of the study.
_QUEUES_LIMIT: Final = 8
_COURSES_LIMIT: Final = 8
# From so many hours on an axis has days.
_HOURS_LIMIT: Final = 96.0
# Where the axis of waits may have a tick: seconds, and how they are called.
_WAITS: Final = {
    1: "1 s",
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3_600: "1 h",
    21_600: "6 h",
    86_400: "1 d",
    864_000: "10 d",
    8_640_000: "100 d",
    86_400_000: "1,000 d",
    864_000_000: "10,000 d",
    8_640_000_000: "100,000 d",
}


@message
class TraceResults:
    """What charts show of one trace; results by alternative, in the order of the seeds."""

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

    def estimate(self, values: Sequence[float]) -> Estimate:
        """Return the mean of values, and its interval."""
        return estimate(values, self.confidence)

    def labels(self) -> list[str]:
        """Return how results call the alternatives."""
        return [alternative.label() for alternative in self.alternatives]

    def first(self) -> Content:
        """Return the result of the first seed of the baseline."""
        return self.results[self.alternatives[0].label()][0]

    def about_means(self) -> str:
        """Return what the values of bars are."""
        seeds = len(self.results[self.alternatives[0].label()])
        return "mean over seeds, with its interval" if seeds > 1 else "one seed"


@message
class Chart:
    """A chart. ``key``: its name in programs; ``legend``: the labels of its colours, if any."""

    key: str
    title: str
    about: str
    drawn: str
    legend: Sequence[str] = ()


def chart_style() -> str:
    """Return the style sheet of charts."""
    return (files("remuda.study") / "chart.css").read_text(encoding="utf-8")


def trace_results(
    study: Study, results: Sequence[Content], comparisons: Sequence[Comparison]
) -> list[TraceResults]:
    """Return the results of a study, trace by trace."""
    table = values_of(results)
    alternatives = study.alternatives()
    found = []
    for trace in study.traces:
        own: dict[str, list[Content]] = {}
        for each in (result for result in results if result["trace"] == trace.name):
            label = Alternative(str(each["configuration"]), str(each["variant"])).label()
            own.setdefault(label, []).append(each)
        compared = [each for each in comparisons if each.trace == trace.name]
        found.append(TraceResults(trace.name, alternatives, own, table, compared, study.confidence))
    return found


def charts_of(trace: TraceResults) -> list[Chart]:
    """Return all charts of a trace, in the order of the report."""
    return [
        *_bar_charts(trace),
        *_course_charts(trace),
        _queue_waits(trace),
        *_fairness_charts(trace),
        *_difference_charts(trace),
    ]


def _bar_charts(trace: TraceResults) -> list[Chart]:
    """Return a chart for each measure that any run has a value of."""
    found = []
    for key, title in _BARS.items():
        rows = []
        for number, alternative in enumerate(trace.alternatives):
            values = trace.values(alternative, key)
            if values:
                mean = trace.estimate(values)
                rows.append(Bar(alternative.label(), mean.mean, mean.half, number))
        if any(row.value > 0 for row in rows):
            found.append(Chart(key, title, trace.about_means(), _bars(title, rows, key)))
    return found


def _bars(title: str, rows: Sequence[Bar], key: str) -> str:
    """Return bars with their values, all in the unit of their mean."""
    like = math.fsum(row.value for row in rows) / (len(rows) or 1)
    return drawing.bars(title, rows, partial(wording, BY_KEY[key], like=like))


def _course_charts(trace: TraceResults) -> list[Chart]:
    """Return how the runs of the first seed went, and their waits."""
    pending, used, waits = [], [], []
    scale, across = _time_axis(trace)
    for number, label in enumerate(trace.labels()):
        first = trace.results[label][0]
        course = _mapping(first["course"])
        times = _middles(_numbers(course["hours"]), scale)
        pending.append(Line(label, times, _numbers(course["pending"]), number))
        used.append(Line(label, times, _numbers(course["used"]), number))
        quantiles = _numbers(first["wait_quantiles"])
        powers = [math.log10(max(1.0, seconds)) for seconds in quantiles]
        waits.append(Line(label, list(range(len(quantiles))), powers, number))
    seed = f"seed {trace.first()['seed']}"
    titles = ("Tasks that wait", "Utilisation", "Waits, shortest to longest")
    ticks = _wait_ticks(max((power for row in waits for power in row.ys), default=0.0))
    drawn = (
        drawing.lines(titles[0], pending, across, _plain),
        drawing.lines(titles[1], used, across, _percent),
        drawing.lines(titles[2], waits, "% of the tasks", _power, ticks=ticks),
    )
    about = f"time that a part of the tasks does not exceed, on a logarithmic scale, {seed}"
    legend = trace.labels()
    return [
        Chart("tasks-waiting", titles[0], seed, drawn[0], legend),
        Chart("utilisation-over-time", titles[1], seed, drawn[1], legend),
        Chart("waits", titles[2], about, drawn[2], legend),
    ]


def _queue_waits(trace: TraceResults) -> Chart:
    title = "Mean wait by queue"
    rows = []
    for path in _queues(trace):
        for number, label in enumerate(trace.labels()):
            own = [_mapping(each["queues"]) for each in trace.results[label]]
            values = [float(_mapping(each[path])["wait_mean"]) for each in own if path in each]
            if values:
                mean = trace.estimate(values)
                name = path.removeprefix("root.") if number == 0 else ""
                rows.append(Bar(name, mean.mean, mean.half, number))
    drawn = _bars(title, rows, "wait_mean")
    return Chart("wait-by-queue", title, trace.about_means(), drawn, trace.labels())


def _fairness_charts(trace: TraceResults) -> list[Chart]:
    """Return for each alternative what its queues had, less what they were owed; on one scale."""
    paths = _queues(trace)
    scale, across = _time_axis(trace)
    shown: list[tuple[str, list[Line]]] = []
    for label in trace.labels()[:_COURSES_LIMIT]:
        course = _mapping(trace.results[label][0]["course"])
        times = _middles(_numbers(course["hours"]), scale)
        queues = _mapping(course["queues"])
        rows = []
        for number, path in enumerate(paths):
            if path in queues:
                shares = _mapping(queues[path])
                pairs = zip(_numbers(shares["used"]), _numbers(shares["owed"]), strict=True)
                rows.append(Line(path, times, [got - due for got, due in pairs], number))
        shown.append((label, rows))
    values = [0.0, *(value for _, rows in shown for row in rows for value in row.ys)]
    ticks = drawing.nice_ticks(min(values), max(values))
    about = f"below 0 a queue has less than it is owed, seed {trace.first()['seed']}"
    legend = [path.removeprefix("root.") for path in paths]
    found = []
    for label, rows in shown:
        title = f"Share had less share owed: {label}"
        drawn = drawing.lines(title, rows, across, _percent, ticks=ticks)
        found.append(Chart(f"shares: {label}", title, about, drawn, legend))
    return found


def _difference_charts(trace: TraceResults) -> list[Chart]:
    """Return for the main measures the differences from the baseline, in % of it."""
    found = []
    for alternative in trace.alternatives[1:]:
        rows = [
            _range(each)
            for each in trace.comparisons
            if each.alternative == alternative and each.measure.key in MAIN and each.baseline.mean
        ]
        title = f"Difference from the baseline: {alternative.label()}"
        about = "in % of the baseline, with the interval over seeds; green is better, red worse"
        if all(row.half is None for row in rows):
            about = "in % of the baseline; one seed does not tell what is chance"
        if rows:
            drawn = drawing.ranges(title, rows, _signed)
            found.append(Chart(f"differences: {alternative.label()}", title, about, drawn))
    return found


def _range(each: Comparison) -> Range:
    base = abs(each.baseline.mean)
    half = each.difference.half
    scaled = None if half is None else half / base
    return Range(each.measure.title, each.difference.mean / base, scaled, each.verdict())


# --------------------------------------------------------------------------------- pieces


def _queues(trace: TraceResults) -> list[str]:
    """Return the queues with the largest shares in the first run of the baseline, by name."""
    first = _mapping(trace.first()["queues"])
    ranked = sorted(first, key=lambda path: (-float(_mapping(first[path])["share"]), path))
    return sorted(ranked[:_QUEUES_LIMIT])


def _time_axis(trace: TraceResults) -> tuple[float, str]:
    """Return by what hours are multiplied for the axis of time, and its title."""
    last = max(_numbers(_mapping(own[0]["course"])["hours"])[-1] for own in trace.results.values())
    if last > _HOURS_LIMIT:
        return 1 / 24, "days since the first submission"
    return 1.0, "hours since the first submission"


def _middles(edges: Sequence[float], scale: float) -> list[float]:
    return [(left + right) / 2 * scale for left, right in pairwise(edges)]


def _wait_ticks(top: float) -> list[float]:
    """Return the ticks of an axis of waits whose largest power of ten is ``top``."""
    powers = [math.log10(seconds) for seconds in _WAITS]
    last = next((number for number, power in enumerate(powers) if power >= top), len(powers) - 1)
    return powers[: max(last, 1) + 1]


def _power(value: float) -> str:
    return _WAITS[round(10.0**value)]


def _plain(value: float) -> str:
    return f"{value:,g}"


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
