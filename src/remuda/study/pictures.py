"""A finished study as a notebook shows it: tables as HTML, charts as pictures that stand alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from remuda.base.message import message
from remuda.insight.html import table
from remuda.sim.wording import Table
from remuda.study.charts import chart_style, charts_of, trace_results
from remuda.study.comparison import Comparison
from remuda.study.drawing import standalone
from remuda.study.figures import Content
from remuda.study.plan import Study


@message
class Picture:
    """A chart as SVG, in the colours of the reader's system; it asks nobody for anything."""

    title: str
    svg: str

    def __repr__(self) -> str:
        """Return its title: the drawing would fill a terminal."""
        return f"Picture({self.title!r})"

    def _repr_svg_(self) -> str:
        """Return the picture, for notebooks."""
        return self.svg

    def save(self, path: Path | str) -> None:
        """Write it as an SVG file. Raises: OSError."""
        Path(path).write_text(self.svg, encoding="utf-8")


class Pictures(Mapping[str, Picture]):
    """The charts of one trace by their keys, in the order of the report."""

    def __init__(self, found: Mapping[str, Picture]) -> None:
        self._found = dict(found)

    def __getitem__(self, key: str) -> Picture:
        """Return a chart. Raises: KeyError, which names the keys that there are."""
        if key not in self._found:
            raise KeyError(f"no chart {key!r}; there are: {', '.join(self._found)}")
        return self._found[key]

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        return iter(self._found)

    def __len__(self) -> int:
        """Return how many charts there are."""
        return len(self._found)


def pictures_of(
    study: Study, results: Sequence[Content], comparisons: Sequence[Comparison], trace: str
) -> Pictures:
    """Return the charts of a trace. Implements: EXT-94."""
    style = chart_style()
    own = next(each for each in trace_results(study, results, comparisons) if each.name == trace)
    return Pictures(
        {
            chart.key: Picture(
                chart.title,
                standalone(chart.title, chart.about, chart.drawn, chart.legend, style=style),
            )
            for chart in charts_of(own)
        }
    )


def tables_html(tables: Sequence[Table]) -> str:
    """Return tables as HTML, each with its title."""
    parts = [f"<div>{table((each.title, *each.header[1:]), each.rows)}</div>" for each in tables]
    return f"<div>{''.join(parts)}</div>"
