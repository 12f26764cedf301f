"""Charts as inline SVG: the same bytes for the same run, in the colours of the page.

Matplotlib writes fixed colours. The ones used here are markers that no chart would have by
chance; they are replaced by the page's CSS variables, so that one drawing serves light and dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from remuda.sim.series import Bars, History

SERIES_LIMIT: Final = 6

_INK: Final = "#0a0b01"
_GRID: Final = "#0a0b02"
_SERIES: Final = tuple(f"#0a0c{number:02x}" for number in range(1, SERIES_LIMIT + 1))
_VARIABLES: Final = {
    _INK: "var(--ink-soft)",
    _GRID: "var(--grid)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(_SERIES, start=1)},
}
_DASHES: Final = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (1, 1)), (0, (9, 3)))

_STYLE: Final = {
    "axes.edgecolor": _GRID,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": _INK,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": _GRID,
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "remuda",
    "text.color": _INK,
    "text.parse_math": False,
    "xtick.color": _INK,
    "xtick.major.pad": 6,
    "xtick.major.size": 0,
    "ytick.color": _INK,
    "ytick.major.size": 0,
}
_WIDE: Final = (9.4, 2.6)
_HALF: Final = 4.6


def use_over_time(past: History) -> str:
    """Return the share in use of each resource type."""

    def draw(axes: Axes) -> None:
        for number, (name, values) in enumerate(list(past.used.items())[:SERIES_LIMIT]):
            axes.stairs(
                values,
                past.axis,
                baseline=None,
                color=_SERIES[number],
                linestyle=_DASHES[number],
                linewidth=1.3,
                label=name,
            )
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(FuncFormatter(_percent))
        _over(axes, past)
        if past.used:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=SERIES_LIMIT, frameon=False)

    return _svg("use", "Share of each resource in use", _WIDE, draw)


def pending_over_time(past: History) -> str:
    """Return how many tasks were pending."""
    return _counts("pending", "Pending tasks", past)


def victims_over_time(past: History) -> str:
    """Return how many allocations had been preempted."""
    return _counts("preempted", "Allocations preempted so far", past)


def _counts(name: str, title: str, past: History) -> str:
    def draw(axes: Axes) -> None:
        axes.stairs(past.pending, past.axis, fill=True, color=_SERIES[0], alpha=0.25)
        axes.stairs(past.pending, past.axis, baseline=None, color=_SERIES[0], linewidth=1.3)
        axes.set_ylim(bottom=0, top=max(1.0, max(past.pending) * 1.05))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        axes.yaxis.set_major_formatter(FuncFormatter(_count))
        _over(axes, past)

    return _svg(name, title, _WIDE, draw)


def share_per_queue(bars: Bars) -> str:
    """Return the queues' parts of what was given out."""
    return _bars("share", "Share of each queue", bars, _percent)


def preemption_per_queue(bars: Bars) -> str:
    """Return for which queues room was made, and which gave it."""
    return _bars("roles", "Preemptions and victims of each queue", bars, _count)


def lost_work(bars: Bars) -> str:
    """Return the part of all use that was lost, by resource."""
    return _bars("lost", "Work lost by preemption", bars, _percent)


def wait_distribution(bars: Bars) -> str:
    """Return how many tasks waited how long."""
    return _bars("wait", "Number of tasks by waiting time", bars, _count)


def _over(axes: Axes, past: History) -> None:
    axes.set_xlim(past.axis[0], past.axis[-1])
    axes.set_xlabel(past.label)
    axes.xaxis.set_major_formatter(FuncFormatter(_count))
    axes.grid(visible=False, axis="x")


def _bars(name: str, title: str, bars: Bars, wording: Callable[[float, int], str]) -> str:
    """Draw horizontal bars, the first on top, each with its value at its end."""
    rows = len(bars.names)
    thick = 0.8 / len(bars.series)

    def draw(axes: Axes) -> None:
        for number, label in enumerate(bars.series):
            values = [row[number] for row in bars.values]
            places = [row + (number + 0.5) * thick - 0.4 for row in range(rows)]
            drawn = axes.barh(
                places, values, height=thick * 0.9, color=_SERIES[number], label=label
            )
            axes.bar_label(drawn, [wording(value, 0) for value in values], padding=3, fontsize=8)
        axes.set_yticks(range(rows), [_short(each) for each in bars.names])
        axes.set_ylim(rows - 0.5, -0.5)
        axes.margins(x=0.16)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.grid(visible=False)
        if len(bars.series) > 1:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False)

    height = 0.5 + rows * max(0.27, 0.17 * len(bars.series))
    return _svg(name, title, (_HALF, height), draw)


def _svg(name: str, title: str, size: tuple[float, float], draw: Callable[[Axes], None]) -> str:
    """Return a drawing as an SVG element that fills its container."""
    with style.context(["default", _STYLE]):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        text = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    return _inlined(text.getvalue(), name, title)


def _inlined(document: str, name: str, title: str) -> str:
    """Turn an SVG document into an element: page colours, own IDs, no links to elsewhere."""
    svg = document[document.index("<svg") :]
    view = re.search(r'viewBox="[^"]*"', svg)
    assert view is not None, "matplotlib writes a viewBox"
    body = svg[svg.index(">") + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = body.replace("url(#", f"url(#{name}-").replace('xlink:href="#', f'href="#{name}-')
    for marker, variable in _VARIABLES.items():
        body = body.replace(marker, variable)
    return f'<svg {view[0]} role="img" aria-label="{title}">{body}'


def _percent(share: float, _: int) -> str:
    shown = share * 100
    return f"{shown:.1f} %" if 0 < shown < 10 else f"{shown:.0f} %"


def _count(number: float, _: int) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,g}"


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:27]}\N{HORIZONTAL ELLIPSIS}"
