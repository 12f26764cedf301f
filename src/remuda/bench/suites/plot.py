"""Draws a session: rates per shape beside those of the Go core, and the scaling curves.

The reference figures are those of docs/benchmarks.md, which may have been taken on another machine;
so they show an order of magnitude only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from remuda.base.errors import UsageError
from remuda.bench.suites.session import Session
from remuda.bench.throughput.curves import CurveResult, exponent
from remuda.bench.throughput.run import Result

# Allocations per second of the Go core, the better of the two releases of docs/benchmarks.md; that
# of S8 with a tenth of the backlog.
GO_RATES: Final = {
    "S1": 14_900,
    "S2": 11_500,
    "S3": 1_750,
    "S4": 3_670,
    "S5": 540,
    "S6": 950,
    "S7": 2_070,
    "S8": 58,
    "W1": 4_320,
    "W2": 4_340,
}

# What stands along the axis of each curve.
AXES: Final = {
    "nodes": "nodes",
    "queues": "leaf queues",
    "applications": "applications",
    "backlog": "asks that fit nowhere",
    "types": "types of resources",
    "asks": "asks of one application",
}

_FORMATS: Final = (".svg", ".png")
_OURS: Final = "#2563a8"
_GO: Final = "#b9b4a8"
_INK: Final = "#333333"
_COLUMNS: Final = 3
_LOWEST_RATE: Final = 10
_WIDTH: Final = 10.0
_STYLE: Final = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#cccccc",
    "axes.grid": True,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "remuda",
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def check_target(path: Path) -> None:
    """Refuse a file that cannot be drawn to, before anything is measured. Raises: UsageError."""
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"--plot {path}: the name must end in .svg or .png")
    if not path.parent.is_dir():
        raise UsageError(f"--plot {path}: there is no directory {path.parent}")


def draw(session: Session, path: Path) -> None:
    """Draw the rates and curves of a session.

    Raises: UsageError if it has neither, or the file cannot be written.
    """
    results = session.medians()
    rates = [each for each in results if isinstance(each, Result)]
    points = [each for each in results if isinstance(each, CurveResult)]
    names = list(dict.fromkeys(point.curve for point in points))
    if not rates and not names:
        raise UsageError("--plot: only S1 to S10, W1 to W5 and the scaling curves can be drawn")
    with style.context(["default", _STYLE]):
        figure = _figure(rates, [[p for p in points if p.curve == name] for name in names])
        machine = session.machine
        figure.supxlabel(
            f"remuda {machine.version}, {machine.build}, {machine.python}, "
            f"{machine.cores} cores ({machine.cpu})",
            fontsize=8,
        )
        try:
            figure.savefig(path, dpi=150, metadata=_undated(path))
        except OSError as error:
            raise UsageError(f"--plot {path}: {error.strerror}") from error


def _figure(rates: Sequence[Result], curves: Sequence[Sequence[CurveResult]]) -> Figure:
    """Return the drawing: bars above, the curves in rows of three below."""
    rows = -(-len(curves) // _COLUMNS)
    heights = [3.4] * bool(rates) + [2.9] * rows
    figure = Figure(figsize=(_WIDTH, sum(heights) + 0.3), layout="constrained")
    grid = figure.add_gridspec(len(heights), _COLUMNS, height_ratios=heights)
    if rates:
        _bars(figure.add_subplot(grid[0, :]), rates)
    first: Axes | None = None
    costs = [point.microseconds_per_allocation for points in curves for point in points]
    for place, points in enumerate(curves):
        row, column = divmod(place, _COLUMNS)
        axes = figure.add_subplot(grid[row + bool(rates), column], sharey=first)
        first = first or axes
        _curve(axes, points)
        # The same decades for all curves, and never less than one: flat is to look flat.
        axes.set_ylim(min(costs) / 2, max(*(2 * cost for cost in costs), 5 * min(costs)))
        if column == 0:
            axes.set_ylabel("µs per allocation")
    return figure


def _bars(axes: Axes, rates: Sequence[Result]) -> None:
    places = range(len(rates))
    ours = [each.allocations_per_second for each in rates]
    axes.bar([place - 0.2 for place in places], ours, 0.38, color=_OURS, label="remuda")
    known = [(place, GO_RATES[each.shape]) for place, each in enumerate(rates) if _has_go(each)]
    if known:
        axes.bar(
            [place + 0.2 for place, _ in known],
            [rate for _, rate in known],
            0.38,
            color=_GO,
            label="Go core, reference figures",
        )
    for place, rate in zip(places, ours, strict=True):
        _mark(axes, place - 0.2, rate)
    for place, rate in known:
        _mark(axes, place + 0.2, rate)
    axes.set_yscale("log")
    axes.set_ylim(_LOWEST_RATE, max(*ours, *GO_RATES.values()) * 4)
    axes.set_xticks(list(places), [each.shape for each in rates])
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_title("allocations per second")
    axes.legend(frameon=False, loc="upper right", ncols=2)


def _has_go(result: Result) -> bool:
    return result.shape in GO_RATES


def _short(count: float) -> str:
    """Return a round count in thousands where it has some."""
    return f"{count / 1e3:g}k" if count >= 1e3 else f"{count:g}"


def _mark(axes: Axes, place: float, rate: float) -> None:
    """Write a rate above its bar."""
    text = f"{rate / 1e3:.1f}k" if rate >= 1e3 else f"{rate:.0f}"
    axes.annotate(text, (place, rate), (0, 2), textcoords="offset points", ha="center", fontsize=7)


def _curve(axes: Axes, points: Sequence[CurveResult]) -> None:
    """Draw one curve; a point at 0 has no place on a logarithmic axis and is a line across."""
    shown = [point for point in points if point.at > 0]
    axes.plot(
        [point.at for point in shown],
        [point.microseconds_per_allocation for point in shown],
        color=_OURS,
        marker="o",
        markersize=4,
    )
    for point in points:
        if point.at == 0:
            cost = point.microseconds_per_allocation
            axes.axhline(cost, color=_GO, linestyle="--", label="none")
            axes.legend(frameon=False)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axes.minorticks_off()
    axes.set_xticks([point.at for point in shown])
    slope = exponent(points)
    name = points[0].curve
    axes.set_title(name if slope is None else f"{name}: exponent {slope:+.2f}")
    axes.set_xlabel(AXES[name])


def _undated(path: Path) -> dict[str, str | None]:
    """Return metadata without a date, so that equal figures are equal files."""
    return {"Date": None} if path.suffix.lower() == ".svg" else {}
