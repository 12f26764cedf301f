"""Draw a state machine as SVG: arrows and labels from a table, places from a layout by hand.

A layout says where each state stands and, where a straight line would not do, how an arrow runs. A
state or an arrow that only one of them has is a fault, and not a missing line in the picture.
Colours are those of the other pictures, in light and in dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape

Point = tuple[float, float]

WIDTH: Final = 104.0
HEIGHT: Final = 46.0
_CORNER: Final = 9.0
_CLEAR: Final = 3.0
_APART: Final = 11.0
_LINE: Final = 15.0

_STYLE: Final = """
    .live { fill: #eef6f3; stroke: #1f7a5c; stroke-width: 2; }
    .over { fill: #ffffff; stroke: #93a0ac; stroke-width: 1.5; }
    .head { fill: #17212b; font-size: 15px; font-weight: 650; text-anchor: middle; }
    .go { stroke: #1f7a5c; stroke-width: 2; fill: none; }
    .bad { stroke: #b4541a; stroke-width: 2; fill: none; }
    .old { stroke: #93a0ac; stroke-width: 1.5; fill: none; stroke-dasharray: 5 4; }
    .word { font-size: 12.5px; font-weight: 600; }
    .go-f { fill: #1f7a5c; } .bad-f { fill: #b4541a; } .old-f { fill: #62707d; }
    @media (prefers-color-scheme: dark) {
      .live { fill: #10251f; stroke: #4fbf95; }
      .over { fill: #161d25; stroke: #657381; }
      .head { fill: #eef2f6; }
      .go { stroke: #4fbf95; } .bad { stroke: #e58e4f; } .old { stroke: #657381; }
      .go-f { fill: #5fd0a5; } .bad-f { fill: #f0a46b; } .old-f { fill: #98a5b2; }
    }
"""


@dataclass(frozen=True, slots=True)
class Arrow:
    """One row of the table: what leads from one state to another."""

    source: str
    event: str
    target: str


@dataclass(frozen=True, slots=True)
class Machine:
    """All that may happen to one kind of thing. ``first``: the state it begins in."""

    name: str
    title: str
    first: str
    arrows: tuple[Arrow, ...]

    def states(self) -> list[str]:
        """Every state the table names, in its order."""
        return list(
            dict.fromkeys(state for one in self.arrows for state in (one.source, one.target))
        )


@dataclass(frozen=True, slots=True)
class Route:
    """How an arrow runs: from a side of a box (and how far off its middle) over points to another.

    ``word``: where its label begins; ``anchor`` as in SVG.
    """

    start: tuple[str, float]
    end: tuple[str, float]
    via: tuple[Point, ...] = ()
    word: Point = (0.0, 0.0)
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands.

    ``width``: of each box. ``kinds``: how the arrows of an event look, "go" unless said. ``words``:
    what to write for an event, where that is not its name. ``over``: states that are drawn in grey.
    """

    size: tuple[int, int]
    places: Mapping[str, Point]
    routes: Mapping[tuple[str, str], Route] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    over: frozenset[str] = frozenset()
    width: float = WIDTH


def faults(machine: Machine, layout: Layout) -> list[str]:
    """What keeps the layout from being one of this table."""
    states = machine.states()
    pairs = {(arrow.source, arrow.target) for arrow in machine.arrows}
    events = {arrow.event for arrow in machine.arrows}
    where = f"the {machine.name} picture"
    return [
        *(f"{where} has no place for {one}" for one in states if one not in layout.places),
        *(
            f"{where} speaks of {one}, no state"
            for one in (*layout.places, *sorted(layout.over))
            if one not in states
        ),
        *(
            f"{where} has a way from {one} to {other}, which the table has not"
            for one, other in layout.routes
            if (one, other) not in pairs
        ),
        *(
            f"{where} speaks of {event}, no event"
            for event in {**layout.kinds, **layout.words}
            if event not in events
        ),
    ]


def draw(machine: Machine, layout: Layout) -> str:
    """The picture; see ``faults`` first."""
    width, height = layout.size
    fonts = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
    body = [*_arrows(machine, layout), *_boxes(machine, layout)]
    told = "; ".join(f"{a.source}, {a.event}: {a.target}" for a in machine.arrows)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"',
            f'  aria-labelledby="title desc" font-family="{fonts}">',
            f'  <title id="title">{escape(machine.title)}</title>',
            f'  <desc id="desc">{escape(told)}.</desc>',
            "  <!-- Generated: make diagrams -->",
            f"  <style>{_STYLE}  </style>",
            "  <defs>",
            *(_head(kind) for kind in ("go", "bad", "old")),
            "  </defs>",
            *(f"  {line}" for line in body),
            "</svg>",
            "",
        )
    )


def _head(kind: str) -> str:
    return (
        f'    <marker id="{kind}-m" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6"'
        f' markerHeight="6" markerUnits="strokeWidth" orient="auto">'
        f'<path class="{kind}-f" d="M0 0 10 5 0 10z"/></marker>'
    )


# ------------------------------------------------------------------------------------- boxes


def _boxes(machine: Machine, layout: Layout) -> Iterator[str]:
    for state in machine.states():
        x, y = layout.places[state]
        look = "over" if state in layout.over else "live"
        yield (
            f'<rect class="{look}" x="{x - layout.width / 2:g}"'
            f' y="{y - HEIGHT / 2:g}" width="{layout.width:g}" height="{HEIGHT:g}" rx="10"/>'
        )
        yield f'<text class="head" x="{x:g}" y="{y + 5:g}">{escape(state)}</text>'
    x, y = layout.places[machine.first]
    left = x - layout.width / 2
    yield f'<circle class="go-f" cx="{left - 22:g}" cy="{y:g}" r="5"/>'
    yield _path("go", [(left - 22, y), (left - _CLEAR, y)])


# ------------------------------------------------------------------------------------ arrows


def _arrows(machine: Machine, layout: Layout) -> Iterator[str]:
    """The lines first, then the words, so that no line crosses a word."""
    words: list[str] = []
    pairs: dict[tuple[str, str], list[str]] = {}
    for arrow in machine.arrows:
        pairs.setdefault((arrow.source, arrow.target), []).append(arrow.event)
    for pair, events in pairs.items():
        kind = layout.kinds.get(events[0], "go")
        told = [line for event in events for line in layout.words.get(event, event).split("\n")]
        if pair in layout.routes:
            route = layout.routes[pair]
            points = _routed(pair, route, layout)
            words += _words(kind, told, route.word, route.anchor)
        elif pair[0] == pair[1]:
            points = _loop(layout.places[pair[0]])
            (x, y), (_, top) = layout.places[pair[0]], points[1]
            words += _words(kind, told, (x, min(y, top) - 6), "middle")
        else:
            both = pair[::-1] in pairs
            points = _straight(pair, layout, both=both)
            words += _words(kind, told, *_beside(points, len(told), both=both))
        yield _path(kind, points)
    yield from words


def _words(kind: str, lines: Sequence[str], at: Point, anchor: str) -> Iterator[str]:
    x, y = at
    for number, line in enumerate(lines):
        yield (
            f'<text class="word {kind}-f" x="{x:g}" y="{y + number * _LINE:g}"'
            f' text-anchor="{anchor}">{escape(line)}</text>'
        )


def _routed(pair: tuple[str, str], route: Route, layout: Layout) -> list[Point]:
    start = _port(layout, pair[0], route.start, 0)
    end = _port(layout, pair[1], route.end, _CLEAR)
    return [start, *route.via, end]


def _port(layout: Layout, state: str, side: tuple[str, float], clear: float) -> Point:
    """A point on the border of a box, ``clear`` outside of it."""
    (x, y), (name, off) = layout.places[state], side
    if name in ("top", "bottom"):
        return (x + off, y + (HEIGHT / 2 + clear) * (1 if name == "bottom" else -1))
    return (x + (layout.width / 2 + clear) * (1 if name == "right" else -1), y + off)


def _straight(pair: tuple[str, str], layout: Layout, *, both: bool) -> list[Point]:
    """From border to border on the line of the middles; of two opposite ones each keeps right."""
    (x, y), (u, v) = layout.places[pair[0]], layout.places[pair[1]]
    length = ((u - x) ** 2 + (v - y) ** 2) ** 0.5
    across = ((y - v) / length, (u - x) / length)
    shift = _APART if both else 0.0
    moved = [(a + across[0] * shift, b + across[1] * shift) for a, b in ((x, y), (u, v))]
    return [
        _border(layout, pair[0], moved[0], moved[1], 0),
        _border(layout, pair[1], moved[1], moved[0], _CLEAR),
    ]


def _border(layout: Layout, state: str, inside: Point, outside: Point, clear: float) -> Point:
    """Where the line from a point inside a box to one outside crosses its border."""
    (x, y), (u, v) = inside, outside
    scales = [1.0]
    place = layout.places[state]
    for at, to, middle, half in ((x, u, place[0], layout.width / 2), (y, v, place[1], HEIGHT / 2)):
        if at != to:
            border = middle + (half + clear) * (1 if to > at else -1)
            scales.append((border - at) / (to - at))
    scale = min(scales)
    return (x + (u - x) * scale, y + (v - y) * scale)


def _beside(points: Sequence[Point], lines: int, *, both: bool) -> tuple[Point, str]:
    """A place for the words of a straight line, on the far side of it from an opposite one."""
    (x, y), (u, v) = points[0], points[-1]
    middle = ((x + u) / 2, (y + v) / 2)
    if abs(v - y) < abs(u - x) / 4:
        below = both and u > x  # as it keeps right
        return (middle[0], middle[1] + (16 if below else -7 - (lines - 1) * _LINE)), "middle"
    left = both and v > y
    across = middle[1] + 4 - (lines - 1) * _LINE / 2
    aside = 8 if x == u else 14
    return (middle[0] - aside if left else middle[0] + aside, across), "end" if left else "start"


def _loop(place: Point) -> list[Point]:
    x, y = place
    top = y - HEIGHT / 2
    return [(x - 16, top), (x - 16, top - 24), (x + 16, top - 24), (x + 16, top - _CLEAR)]


def _path(kind: str, points: Sequence[Point]) -> str:
    """A line over points with round corners and a head at its end."""
    steps = [f"M{points[0][0]:.4g} {points[0][1]:.4g}"]
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        one, two = _towards(at, before), _towards(at, after)
        steps.append(
            f"L{one[0]:.4g} {one[1]:.4g}Q{at[0]:.4g} {at[1]:.4g} {two[0]:.4g} {two[1]:.4g}"
        )
    steps.append(f"L{points[-1][0]:.4g} {points[-1][1]:.4g}")
    return f'<path class="{kind}" d="{"".join(steps)}" marker-end="url(#{kind}-m)"/>'


def _towards(at: Point, other: Point) -> Point:
    length = ((other[0] - at[0]) ** 2 + (other[1] - at[1]) ** 2) ** 0.5
    part = min(_CORNER, length / 2) / length
    return (at[0] + (other[0] - at[0]) * part, at[1] + (other[1] - at[1]) * part)
