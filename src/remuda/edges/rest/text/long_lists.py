"""Answers that may be long: at once if the text is short, else in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, TypeAlias, TypeVar

from remuda.edges.rest.requests.asking import Views
from remuda.edges.rest.requests.endpoint import Body, Stream
from remuda.edges.rest.requests.paging import Page, counted
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.text.scribe import opening, written
from remuda.edges.rest.text.units import Layout, array

T = TypeVar("T")

ONE_LINE: Final = Layout(lines=False)

# Makes the text of items in units.
Items: TypeAlias = Callable[[Layout, Iterable[T], Page], Iterable[Iterable[bytes]]]


async def long_list(core: Views, page: Page, views: Sequence[T], items: Items[T]) -> object:
    """Return the answer that lists views, or the requested part of them.

    Neither the core thread nor the event loop does the work.

    Implements: REST-22. Rules: REST-11, REST-122, DMP-17.
    """
    units = array(ONE_LINE, items(ONE_LINE, page.cut(views), page))
    return await long_text(core, units, counted(len(views)))


async def long_text(
    core: Views, units: Iterable[bytes], headers: Mapping[str, str] | None = None
) -> object:
    """Return the answer with a text that is made in units, and has no line break but at its end.

    Rules: REST-11, DMP-17.
    """
    ended = chain(units, [b"\n"])
    begun = await opening(ended)
    headers = headers or {}
    if begun.endswith(b"\n"):
        return Body(begun, dao.JSON_TYPE, headers=headers, by_accept=False)
    rest = _going_on(begun, ended, core)
    return Stream(rest, dao.JSON_TYPE, headers=headers, large=True)


async def pieces(core: Views, units: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a text that is made in units. Implements: DMP-17."""
    begun = await opening(units)
    if begun:
        yield begun
    async for piece in written(units, core):
        yield piece


async def _going_on(begun: bytes, units: Iterator[bytes], core: Views) -> AsyncIterator[bytes]:
    yield begun
    async for piece in written(units, core):
        yield piece
