"""Everything about one object, as a person wants to read it: facts, then sections.

The facts are the columns of its kind; ``sections`` has the others. A section that the server does
not give says why, and the others are shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from remuda.cli.server import NotNowError, WrongRequestError
from remuda.cli.viewing import amounts
from remuda.cli.viewing.columns import NOTHING, Form, Kind
from remuda.cli.viewing.sections import INDENT, SECTIONS, Scene


def described(kind: Kind, scene: Scene) -> Iterator[str]:
    """Yield the lines of a description. Implements: EXT-79."""
    yield from _facts(kind, scene)
    for title, section in SECTIONS.get(kind.name, ()):
        try:
            lines = section(scene)
        except (NotNowError, WrongRequestError) as error:
            lines = [f"not shown: {error}"]
        if lines:
            yield ""
            yield f"{title}:"
            yield from (f"{INDENT}{line}" for line in lines)


def _facts(kind: Kind, scene: Scene) -> Iterator[str]:
    titles = [column.title.replace("-", " ").capitalize() for column in kind.columns]
    longest = max(map(len, titles)) + 1
    for title, column in zip(titles, kind.columns, strict=True):
        cell = column.cell(scene.row, scene.now_ns)
        if column.form is Form.AGE and cell != NOTHING:
            cell = f"{cell}, since {amounts.moment(column.value(scene.row))}"
        if cell != NOTHING:
            yield f"{title + ':':{longest}}  {cell}"
