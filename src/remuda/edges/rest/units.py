"""JSON in small units of work: the text of lists, and of objects that hold long ones.

Joined, the units are what ``dao.encode`` makes of the whole, but for the order of keys: the long
lists of an object come last. Or they are the same in lines, for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, final

import msgspec

from remuda.core.messages.queries import ApplicationView, NodeView
from remuda.edges.rest import dao

# Asks and allocations of an application whose text is made in one go.
_FEW: Final = 16


@final
class Layout:
    """How JSON is laid out: in lines, indented by two blanks, or all in one.

    ``indent``: what a line begins with where the text stands.
    """

    __slots__ = ("_colon", "_indent", "_lines")

    def __init__(self, *, lines: bool, indent: bytes = b"") -> None:
        self._lines = lines
        self._indent = indent
        self._colon = b": " if lines else b":"

    def inner(self) -> Layout:
        """Return how what is within this is laid out."""
        return Layout(lines=self._lines, indent=self._indent + b"  ")

    def new_line(self) -> bytes:
        """Return what begins a line, nothing if there are none."""
        return b"\n" + self._indent if self._lines else b""

    def value(self, shape: object) -> bytes:
        """Return the text of anything; texts have no line breaks in JSON."""
        text = dao.encode(shape).rstrip()
        if not self._lines:
            return text
        return msgspec.json.format(text, indent=2).replace(b"\n", b"\n" + self._indent)

    def key(self, name: str) -> bytes:
        """Return the text before a member's value, on a new line."""
        return self.new_line() + dao.encode(name).rstrip() + self._colon


def array(layout: Layout, items: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Yield a list; each item comes in units, laid out as what is within ``layout``."""
    inner = layout.inner()
    comma = b""
    for item in items:
        yield comma + inner.new_line() if comma else b"[" + inner.new_line()
        yield from item
        comma = b","
    yield layout.new_line() + b"]" if comma else b"[]"


def values(layout: Layout, shapes: Iterable[object]) -> Iterator[tuple[bytes]]:
    """Yield shapes as items of a list, one unit each."""
    inner = layout.inner()
    return ((inner.value(shape),) for shape in shapes)


def nodes(layout: Layout, views: Iterable[NodeView]) -> Iterator[tuple[bytes]]:
    """Yield nodes as items of a list. Rules: REST-85."""
    return values(layout, map(dao.node, views))


def applications(layout: Layout, views: Iterable[ApplicationView]) -> Iterator[Iterable[bytes]]:
    """Yield applications as items of a list. Rules: REST-77."""
    inner = layout.inner()
    return (application(inner, view) for view in views)


def application(layout: Layout, view: ApplicationView) -> Iterator[bytes]:
    """Yield one application; its asks and allocations come last if they are many."""
    if len(view.requests) + len(view.allocations) <= _FEW:
        yield layout.value(dao.application(view))
        return
    reserved: list[tuple[str, str]] = []
    for request in view.requests:
        reserved += dao.reserved(request)
        yield b""
    inner = layout.inner()
    head = layout.value(dao.application_head(view, reserved))
    yield head.removesuffix(layout.new_line() + b"}")
    lists = (
        ("requests", map(dao.request, view.requests), len(view.requests)),
        ("allocations", map(dao.allocation, view.allocations), len(view.allocations)),
    )
    for name, shapes, count in lists:
        if count:
            yield b"," + inner.key(name)
            yield from array(inner, values(inner, shapes))
    yield layout.new_line() + b"}"
