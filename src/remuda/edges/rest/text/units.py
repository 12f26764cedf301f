"""JSON in small units of work: the text of lists, and of objects that hold long ones.

Joined, the units equal the result of ``dao.encode``, except for the order of keys: the long lists
of an object come last. For people the text is laid out in lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, final

import msgspec

from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import NodeView
from remuda.edges.rest.requests.asking import Views
from remuda.edges.rest.requests.paging import EVERYTHING, Page
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.text.ordering import asks_in_order, rows_in_order

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
        """Return the layout of the lines inside, which are indented further."""
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


def array(layout: Layout, items: Iterable[Iterable[bytes] | None]) -> Iterator[bytes]:
    """Yield a list; each item comes in units, laid out as what is within ``layout``.

    None is no item, but work that was done meanwhile.
    """
    inner = layout.inner()
    comma = b""
    for item in items:
        if item is None:
            yield b""
            continue
        yield comma + inner.new_line() if comma else b"[" + inner.new_line()
        yield from item
        comma = b","
    yield layout.new_line() + b"]" if comma else b"[]"


def values(layout: Layout, shapes: Iterable[object]) -> Iterator[tuple[bytes]]:
    """Yield shapes as items of a list, one unit each."""
    inner = layout.inner()
    return ((inner.value(shape),) for shape in shapes)


def items(layout: Layout, shapes: Iterable[object | None]) -> Iterator[tuple[bytes] | None]:
    """Yield shapes as items of a list, and None where there was other work."""
    inner = layout.inner()
    return (None if shape is None else (inner.value(shape),) for shape in shapes)


def nodes(
    layout: Layout, views: Iterable[NodeView], page: Page = EVERYTHING
) -> Iterator[tuple[bytes]]:
    """Yield nodes as items of a list, with the keys that ``page`` wants. Rules: REST-85."""
    return values(layout, (page.wanted(dao.node(view)) for view in views))


def applications(
    layout: Layout, views: Iterable[ApplicationView], core: Views, page: Page = EVERYTHING
) -> Iterator[Iterable[bytes]]:
    """Yield applications as items of a list, with the keys that ``page`` wants. Rules: REST-77."""
    inner = layout.inner()
    return (application(inner, view, core, page) for view in views)


def application(
    layout: Layout, view: ApplicationView, core: Views, page: Page = EVERYTHING
) -> Iterator[bytes]:
    """Yield one application; its asks and allocations come last if they are many.

    Rules: REST-77, REST-122, REST-144.
    """
    if view.waiting is None and len(view.requests) + len(view.allocations) <= _FEW:
        yield layout.value(page.wanted(dao.application(view)))
        return
    reserved: list[tuple[str, str]] = []
    if view.waiting is not None:
        reserved += view.waiting.reserved
    for request in view.requests:
        reserved += dao.reserved(request)
        yield b""
    inner = layout.inner()
    head = page.wanted(dao.application_head(view, reserved))
    yield layout.value(head).removesuffix(layout.new_line() + b"}")
    comma = b"," if head else b""
    lists = (
        ("requests", _asks(view, core), view.waiting is not None or len(view.requests) > 0),
        ("allocations", _allocations(view), len(view.allocations) > 0),
    )
    for name, shapes, some in lists:
        if some and page.wants(name):
            yield comma + inner.key(name)
            yield from array(inner, items(inner, shapes))
            comma = b","
    yield layout.new_line() + b"}"


def _asks(view: ApplicationView, core: Views) -> Iterator[object]:
    if view.waiting is None:
        return map(dao.request, view.requests)
    found = asks_in_order(view.waiting, view.waiting.key, core)
    return (each and dao.request(each) for each in found)


def _allocations(view: ApplicationView) -> Iterator[object]:
    found = rows_in_order(view.allocations)
    return (each and dao.allocation(each) for each in found)
