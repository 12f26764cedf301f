"""Charts as inline SVG: the same bytes for the same run, in the colours of the page.

Matplotlib writes fixed colours. Charts are drawn in marker colours that no chart would have by
chance. The markers are replaced by the CSS variables of the page, so one drawing serves light and
dark. Each chart is drawn twice, for a wide page and for a phone, because a wide chart cannot be
read when it is made small. Legends are text of the page, so that long names can be wrapped.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from remuda.base.message import message
from remuda.sim.series import Bars, History
from remuda.sim.wording import percent

SERIES_LIMIT: Final = 6

_INK: Final = "#0a0b01"
_GRID: Final = "#0a0b02"
_SERIES: Final = tuple(f"#0a0c{number:02x}" for number in range(1, SERIES_LIMIT + 1))
# What is no resource: counts of tasks, preemptions and victims.
_OTHERS: Final = ("#0a0d01", "#0a0d02")
_VARIABLES: Final = {
    _INK: "var(--ink-soft)",
    _GRID: "var(--grid)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(_SERIES, start=1)},
    **{colour: f"var(--other-{number})" for number, colour in enumerate(_OTHERS, start=1)},
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
# Sizes in inches, of 96 pixels each on a page: what fills it, what fills half, what a phone has.
_WIDE: Final = (9.4, 2.6)
_HALF: Final = 4.6
_NARROW: Final = (3.5, 2.4)

# Characters of a name at the side of bars, in both widths.
_NAME: Final = {_HALF: 28, _NARROW[0]: 16}


@message
class Key:
    """A name in a legend with its colour and dashes, as SVG writes them."""

    name: str
    colour: str
    dashes: str


@message
class Chart:
    """A drawing in two widths, as SVG, and its legend."""

    wide: str
    narrow: str
    legend: Sequence[Key] = ()


def use_over_time(past: History) -> Chart:
    """Return the share in use of each resource type."""

    def draw(axes: Axes, width: float) -> None:
        for number, values in enumerate(list(past.used.values())[:SERIES_LIMIT]):
            axes.stairs(
                values,
                past.axis,
                baseline=None,
                color=_SERIES[number],
                linestyle=_DASHES[number],
                linewidth=1.3,
            )
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(FuncFormatter(_whole_percent))
        _over(axes, past)

    legend = [
        _key(name, _SERIES[number], number)
        for number, name in enumerate(list(past.used)[:SERIES_LIMIT])
    ]
    return _chart("use", "Share of each resource in use", _WIDE, draw, legend)


def pending_over_time(past: History) -> Chart:
    """Return how many tasks were pending."""
    return _counts("pending", "Pending tasks", past)


def victims_over_time(past: History) -> Chart:
    """Return how many allocations had been preempted."""
    return _counts("preempted", "Allocations preempted so far", past)


def _counts(name: str, title: str, past: History) -> Chart:
    def draw(axes: Axes, width: float) -> None:
        axes.stairs(past.pending, past.axis, fill=True, color=_OTHERS[0], alpha=0.25)
        axes.stairs(past.pending, past.axis, baseline=None, color=_OTHERS[0], linewidth=1.3)
        axes.set_ylim(bottom=0, top=max(1.0, max(past.pending) * 1.05))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        axes.yaxis.set_major_formatter(FuncFormatter(_count))
        _over(axes, past)

    return _chart(name, title, _WIDE, draw)


def share_per_queue(bars: Bars) -> Chart:
    """Return each queue's part of all amounts that were allocated."""
    return _bars("share", "Share of each queue", bars, _percent)


def preemption_per_queue(bars: Bars) -> Chart:
    """Return the queues for which allocations were preempted, and the queues that lost them."""
    return _bars("roles", "Preemptions and victims of each queue", bars, _count)


def lost_work(bars: Bars) -> Chart:
    """Return the lost part of all usage, by resource."""
    return _bars("lost", "Work lost by preemption", bars, _percent)


def wait_distribution(bars: Bars) -> Chart:
    """Return how many tasks waited how long."""
    return _bars("wait", "Number of tasks by waiting time", bars, _count)


def _over(axes: Axes, past: History) -> None:
    axes.set_xlim(past.axis[0], past.axis[-1])
    axes.set_xlabel(past.label)
    axes.xaxis.set_major_formatter(FuncFormatter(_count))
    axes.grid(visible=False, axis="x")


def _bars(name: str, title: str, bars: Bars, wording: Callable[[float, int], str]) -> Chart:
    """Draw horizontal bars, the first on top, each with its value at its end."""
    rows = len(bars.names)
    thick = 0.8 / len(bars.series)
    palette = [_SERIES[place % SERIES_LIMIT] for place in bars.resources] or list(_OTHERS)

    def draw(axes: Axes, width: float) -> None:
        for number, _ in enumerate(bars.series):
            values = [row[number] for row in bars.values]
            places = [row + (number + 0.5) * thick - 0.4 for row in range(rows)]
            by_row = bars.resources and len(bars.series) == 1
            colours = palette[:rows] if by_row else palette[number]
            drawn = axes.barh(places, values, height=thick * 0.9, color=colours)
            axes.bar_label(drawn, [wording(value, 0) for value in values], padding=3, fontsize=8)
        axes.set_yticks(range(rows), [_short(each, _NAME[width]) for each in bars.names])
        axes.set_ylim(rows - 0.5, -0.5)
        axes.margins(x=0.16 if width == _HALF else 0.3)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.grid(visible=False)

    height = 0.3 + rows * max(0.27, 0.17 * len(bars.series))
    several = bars.series if len(bars.series) > 1 else ()
    legend = [_key(label, palette[number], 0) for number, label in enumerate(several)]
    return _chart(name, title, (_HALF, height), draw, legend)


def _key(name: str, marker: str, dashes: int) -> Key:
    """Return an entry of a legend for a colour's marker."""
    pattern = _DASHES[dashes]
    lengths = "" if isinstance(pattern, str) else " ".join(str(each) for each in pattern[1])
    return Key(name, _VARIABLES[marker], lengths)


def _chart(
    name: str,
    title: str,
    size: tuple[float, float],
    draw: Callable[[Axes, float], None],
    legend: Sequence[Key] = (),
) -> Chart:
    """Draw a chart in both widths; ``draw`` is told which one it is."""
    narrow = _NARROW if size == _WIDE else (_NARROW[0], size[1])
    return Chart(_svg(name, title, size, draw), _svg(f"{name}-narrow", title, narrow, draw), legend)


def _svg(
    name: str, title: str, size: tuple[float, float], draw: Callable[[Axes, float], None]
) -> str:
    """Return a drawing as an SVG element that fills its container."""
    with style.context(["default", _STYLE]):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot(), size[0])
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
    return percent(share)


def _whole_percent(share: float, _: int) -> str:
    return f"{share * 100:.0f} %"


def _count(number: float, _: int) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,g}"


def _short(name: str, room: int) -> str:
    """Return a name; a long one loses its beginning, because the ends of queue names differ."""
    return name if len(name) <= room else f"\N{HORIZONTAL ELLIPSIS}{name[1 - room :]}"
