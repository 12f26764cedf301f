"""The results of a study as tables: those of files, and the one on the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

from remuda.base.message import message
from remuda.sim.results import plain_cell
from remuda.sim.wording import Table, unit_of
from remuda.study.comparison import Comparison, Estimate, values_of
from remuda.study.figures import Content
from remuda.study.measures import COUNT, MEASURES, PART, SECONDS, Measure
from remuda.study.plan import Study

_NAMES: Final = ("trace", "configuration", "variant", "seed")
_QUEUE_COLUMNS: Final = ("tasks", "placed", "wait_mean", "share", "shortfall")
# What the terminal shows.
_SHOWN: Final = ("wait_mean", "wait_p95", "slowdown_mean", "utilisation", "shortfall")


@message
class Sheet:
    """A table of a file: its name without an ending, its columns, and its rows.

    A cell is a text, a number, or None if there is none.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


def sheets(results: Sequence[Content], comparisons: Sequence[Comparison]) -> list[Sheet]:
    """Return the tables of the files of a study."""
    return [_runs(results), _queues(results), _comparisons(comparisons)]


def csv_text(sheet: Sheet) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(sheet.columns)
    writer.writerows([_cell(value) for value in row] for row in sheet.rows)
    return text.getvalue()


def _runs(results: Sequence[Content]) -> Sheet:
    """Return a row for each run."""
    keys = [measure.key for measure in MEASURES]
    head = (*_NAMES, "run", "resource", "tasks", "placed", "node_failures", *keys, "decisions")
    rows = []
    for result in results:
        measures = _mapping(result["measures"])
        names = [result[name] for name in (*_NAMES, "id", "resource")]
        counts = [result[name] for name in ("tasks", "placed", "node_failures")]
        rows.append([*names, *counts, *(measures[key] for key in keys), result["decisions"]])
    return Sheet("runs", head, rows)


def _queues(results: Sequence[Content]) -> Sheet:
    """Return a row for each queue of each run."""
    rows = [
        [*(result[name] for name in _NAMES), path, *(_mapping(queue)[k] for k in _QUEUE_COLUMNS)]
        for result in results
        for path, queue in _mapping(result["queues"]).items()
    ]
    return Sheet("queues", (*_NAMES, "queue", *_QUEUE_COLUMNS), rows)


def _comparisons(comparisons: Sequence[Comparison]) -> Sheet:
    """Return a row for each measure of each alternative, compared with the baseline."""
    head = (
        *("trace", "configuration", "variant", "measure", "unit", "seeds"),
        *("baseline", "value", "difference", "low", "high"),
        *("better", "worse", "sign_p", "verdict"),
    )
    return Sheet("comparisons", head, [_comparison(each) for each in comparisons])


def _comparison(each: Comparison) -> list[object]:
    difference = each.difference
    half = difference.half
    low, high = (None, None) if half is None else (difference.mean - half, difference.mean + half)
    names = [each.trace, each.alternative.configuration, each.alternative.variant]
    what = [each.measure.key, each.measure.unit, difference.seeds]
    values = [each.baseline.mean, each.value.mean, difference.mean, low, high]
    return [*names, *what, *values, each.better, each.worse, each.sign_p, each.verdict()]


def summary(
    study: Study, results: Sequence[Content], comparisons: Sequence[Comparison]
) -> list[Table]:
    """Return a table for each trace: the alternatives by their main measures.

    A sign after a value compares it with the baseline: better (+), worse (-), equal (=), or not
    clear beyond chance (~).
    """
    table = values_of(results)
    verdicts = {
        (each.trace, each.alternative.label(), each.measure.key): each.verdict()
        for each in comparisons
    }
    signs = {"better": " +", "worse": " -", "equal": " =", "unclear": " ~"}
    shown = [measure for measure in MEASURES if measure.key in _SHOWN]
    found = []
    for trace in study.traces:
        rows = []
        for alternative in study.alternatives():
            own = table[trace.name, alternative.configuration, alternative.variant]
            cells = []
            for measure in shown:
                values = list(own.get(measure.key, {}).values())
                verdict = verdicts.get((trace.name, alternative.label(), measure.key), "")
                text = wording(measure, sum(values) / len(values)) if values else ""
                cells.append(text + signs.get(verdict, ""))
            rows.append((alternative.label(), *cells))
        head = ("alternative", *(measure.title for measure in shown))
        found.append(Table(trace.name, head, tuple(rows)))
    return found


def wording(measure: Measure, value: float, *, like: float | None = None) -> str:
    """Return a value of a measure for people; seconds in the unit that ``like`` has, if given."""
    if measure.unit == PART:
        return f"{value * 100:.1f} %"
    if measure.unit == COUNT:
        return f"{value:,.1f}"
    if measure.unit == SECONDS:
        unit = unit_of(abs(value if like is None else like))
        return f"{value / unit.seconds:,.1f} {unit.symbol}"
    return f"{value:,.1f} {measure.unit}"


def interval(measure: Measure, estimate: Estimate) -> str:
    """Return a value with its interval for people."""
    mean, half = estimate.mean, estimate.half
    if half is None:
        return wording(measure, mean)
    return f"{wording(measure, mean)} \u00b1 {wording(measure, half, like=mean)}"


def _cell(value: object) -> str:
    """Return a value as text; numbers with so many digits that they are read as they were."""
    if value is None:
        return ""
    return plain_cell(value) if isinstance(value, str) else str(value)


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, dict)
    return value
