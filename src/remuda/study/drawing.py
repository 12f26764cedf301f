"""Draws charts as SVG texts, whose colours the style sheet of the page decides.

Each function returns one ``svg`` element. The same values give the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Final, TypeAlias

from remuda.base.message import message

COLOURS: Final = 8
_WIDTH: Final = 560
_ROW: Final = 24
_LABELS: Final = 170
_VALUES: Final = 130
_PLOT: Final = (56, 12, 12, 40)  # left, right, top, bottom
_HEIGHT: Final = 260
_LABEL_CHARACTERS: Final = 26
_LEGEND_CHARACTERS: Final = 72
_TICKS: Final = 5
_CLEAR: Final = 10
# What a picture that stands alone has above its chart: title, explanation, one row of its legend.
_EDGE: Final = 16
_TITLE_HEIGHT: Final = 22
_LINE_HEIGHT: Final = 18
_CHARACTER: Final = 7.2

_VIEW_BOX: Final = re.compile(r'viewBox="0 0 [\d.]+ ([\d.]+)"')

Wording: TypeAlias = Callable[[float], str]


@message
class Bar:
    """A bar with its label, the half of its interval (None: none), and the number of its colour."""

    label: str
    value: float
    half: float | None
    colour: int


@message
class Line:
    """A line through points, and the number of its colour."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    colour: int


@message
class Range:
    """A point with its interval (None: none); ``verdict``: better, worse, or another word."""

    label: str
    value: float
    half: float | None
    verdict: str


def bars(title: str, rows: Sequence[Bar], wording: Wording) -> str:
    """Return horizontal bars from 0, with whiskers for intervals."""
    top = max((row.value + (row.half or 0.0) for row in rows), default=0.0) or 1.0
    room = _WIDTH - _LABELS - _VALUES
    parts = []
    for number, row in enumerate(rows):
        y = number * _ROW + 4
        middle = y + (_ROW - 8) / 2
        end = _LABELS + room * max(row.value, 0.0) / top
        parts.append(_label(row.label, middle))
        width = end - _LABELS
        shape = f'x="{_LABELS}" y="{y}" width="{width:.1f}" height="{_ROW - 8}" rx="2"'
        parts.append(f'<rect class="f{row.colour % COLOURS}" {shape}/>')
        if row.half is not None:
            low = _LABELS + room * max(row.value - row.half, 0.0) / top
            high = _LABELS + room * (row.value + row.half) / top
            parts.append(_whisker(low, high, middle))
        value = escape(wording(row.value))
        parts.append(f'<text x="{_WIDTH}" y="{middle + 4:.1f}" text-anchor="end">{value}</text>')
    return _svg(title, len(rows) * _ROW + 4, parts)


def ranges(title: str, rows: Sequence[Range], wording: Wording) -> str:
    """Return points with intervals about a line at 0."""
    reach = max((abs(row.value) + (row.half or 0.0) for row in rows), default=0.0) or 1.0
    # A point at the end stays clear of the labels.
    room = _WIDTH - _LABELS - _VALUES - 2 * _CLEAR
    centre = _LABELS + _CLEAR + room / 2
    height = len(rows) * _ROW + 4
    parts = [f'<path class="zero" d="M{centre:.1f} 0V{height}"/>']
    for number, row in enumerate(rows):
        middle = number * _ROW + _ROW / 2
        colour = row.verdict if row.verdict in ("better", "worse") else "soft"
        at = centre + room / 2 * row.value / reach
        parts.append(_label(row.label, middle))
        if row.half is not None:
            half = room / 2 * row.half / reach
            line = f'd="M{at - half:.1f} {middle:.1f}H{at + half:.1f}"'
            parts.append(f'<path class="s{colour}" stroke-width="3" {line}/>')
        parts.append(f'<circle class="f{colour}" cx="{at:.1f}" cy="{middle:.1f}" r="5"/>')
        value = escape(wording(row.value))
        place = f'x="{_WIDTH}" y="{middle + 4:.1f}" text-anchor="end"'
        parts.append(f'<text class="f{colour}" {place}>{value}</text>')
    return _svg(title, height, parts)


def lines(
    title: str,
    rows: Sequence[Line],
    across: str,
    wording: Wording,
    *,
    ticks: Sequence[float] = (),
) -> str:
    """Return lines over a common axis, which has the title ``across``.

    ``ticks``: of the other axis, whose first and last are its ends; without them they are chosen.
    """
    left, right, above, below = _PLOT
    xs = [x for row in rows for x in row.xs] or [0.0]
    ys = [y for row in rows for y in row.ys] or [0.0]
    first, last = min(0.0, *xs), max(xs)
    ticks = ticks or nice_ticks(min(0.0, *ys), max(0.0, *ys))
    low, high = ticks[0], ticks[-1]
    wide = (_WIDTH - left - right) / ((last - first) or 1.0)
    tall = (_HEIGHT - above - below) / (high - low)

    def x_of(x: float) -> float:
        return left + (x - first) * wide

    def y_of(y: float) -> float:
        return above + (high - y) * tall

    parts = []
    for tick in ticks:
        y = y_of(tick)
        kind = "zero" if tick == 0 and low < 0 else "grid"
        parts.append(f'<path class="{kind}" d="M{left} {y:.1f}H{_WIDTH - right}"/>')
        place = f'x="{left - 6}" y="{y + 4:.1f}" text-anchor="end"'
        parts.append(f'<text class="tick" {place}>{escape(wording(tick))}</text>')
    for tick in (each for each in nice_ticks(first, last) if first <= each <= last):
        place = f'x="{x_of(tick):.1f}" y="{_HEIGHT - below + 16}" text-anchor="middle"'
        parts.append(f'<text class="tick" {place}>{tick:,g}</text>')
    middle = (left + _WIDTH - right) / 2
    place = f'x="{middle:.1f}" y="{_HEIGHT - 6}" text-anchor="middle"'
    parts.append(f'<text class="tick" {place}>{escape(across)}</text>')
    for row in rows:
        points = " ".join(
            f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in zip(row.xs, row.ys, strict=True)
        )
        dashed = " dashed" if row.colour >= COLOURS else ""
        name = f"<title>{escape(row.label)}</title>"
        kind = f"series s{row.colour % COLOURS}{dashed}"
        parts.append(f'<path class="{kind}" d="M{points}">{name}</path>')
    return _svg(title, _HEIGHT, parts)


def swatch(colour: int) -> str:
    """Return a short line in a colour, for a legend."""
    dashed = " dashed" if colour >= COLOURS else ""
    line = f'<path class="series s{colour % COLOURS}{dashed}" stroke-width="5" d="M0 5H26"/>'
    return f'<svg class="drawn" viewBox="0 0 26 10" aria-hidden="true">{line}</svg>'


def standalone(title: str, about: str, drawn: str, legend: Sequence[str], *, style: str) -> str:
    """Return a chart as a picture of its own: with title, legend and colours.

    ``drawn``: what another function of this module returned. ``style``: the style sheet of charts.
    """
    found = _VIEW_BOX.search(drawn)
    assert found is not None
    height = float(found[1])
    rows, down = _legend_rows(legend)
    top = _EDGE + _TITLE_HEIGHT + _LINE_HEIGHT + down
    inner = drawn.replace(
        "<svg ", f'<svg x="{_EDGE}" y="{top}" width="{_WIDTH}" height="{height:g}" ', 1
    )
    wide, high = _WIDTH + 2 * _EDGE, top + height + _EDGE
    shape = f'viewBox="0 0 {wide} {high:g}" width="{wide}" height="{high:g}"'
    # Without a page around it the chart itself has the colours.
    colours = f"<style>{style.replace(':root', 'svg.drawn')}</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawn" role="img" '
        f'aria-label="{escape(title)}" {shape}>\n{colours}\n'
        f'<rect class="ground" x=".5" y=".5" width="{wide - 1}" height="{high - 1:g}" rx="8"/>\n'
        f'<text class="title" x="{_EDGE}" y="{_EDGE + 12}">{escape(title)}</text>\n'
        f'<text class="tick" x="{_EDGE}" y="{_EDGE + _TITLE_HEIGHT + 8}">{escape(about)}</text>\n'
        f"{rows}{inner}\n</svg>\n"
    )


def _legend_rows(labels: Sequence[str]) -> tuple[str, int]:
    """Return a legend below the title, with as many rows as it needs, and its height."""
    parts = []
    x, y = _EDGE, _EDGE + _TITLE_HEIGHT + _LINE_HEIGHT
    for number, whole in enumerate(labels):
        label = _cut(whole, _LEGEND_CHARACTERS)
        wide = 34 + round(len(label) * _CHARACTER) + 14
        if x > _EDGE and x + wide > _WIDTH + _EDGE:
            x, y = _EDGE, y + _LINE_HEIGHT
        parts.append(
            f'<path class="series s{number % COLOURS}{" dashed" if number >= COLOURS else ""}" '
            f'd="M{x} {y + 8}h26"/><text x="{x + 34}" y="{y + 12}">{escape(label)}'
            f"<title>{escape(whole)}</title></text>\n"
        )
        x += wide
    height = y + _LINE_HEIGHT + 6 - (_EDGE + _TITLE_HEIGHT + _LINE_HEIGHT)
    return "".join(parts), height if labels else 0


def nice_ticks(low: float, high: float) -> list[float]:
    """Return round numbers at equal distances that enclose a range."""
    span = (high - low) or 1.0
    rough = span / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= rough)
    first, last = math.floor(low / step + 1e-9), math.ceil((low + span) / step - 1e-9)
    return [round(number * step, 9) for number in range(first, last + 1)]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}\u2026"


def _label(text: str, middle: float) -> str:
    short = _cut(text, _LABEL_CHARACTERS)
    place = f'x="{_LABELS - 8}" y="{middle + 4:.1f}" text-anchor="end"'
    return f"<text {place}>{escape(short)}<title>{escape(text)}</title></text>"


def _whisker(low: float, high: float, middle: float) -> str:
    up, down = middle - 4, middle + 4
    ends = "".join(f"M{x:.1f} {up:.1f}V{down:.1f}" for x in (low, high))
    return f'<path class="whisker" d="M{low:.1f} {middle:.1f}H{high:.1f}{ends}"/>'


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    box = f'viewBox="0 0 {_WIDTH} {height:g}"'
    about = f'class="chart drawn" role="img" aria-label="{escape(title)}"'
    return f"<svg {about} {box}>{''.join(parts)}</svg>"
