"""Answers that are lists of many things: at once if the text is short, else in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, TypeVar

from remuda.edges.rest import dao
from remuda.edges.rest.asking import Asked, Views
from remuda.edges.rest.endpoint import Body, Stream
from remuda.edges.rest.paging import counted, page_of
from remuda.edges.rest.scribe import opening, written
from remuda.edges.rest.units import Layout, array, values

T = TypeVar("T")

_ONE_LINE: Final = Layout(lines=False)


async def long_list(
    core: Views,
    asked: Asked,
    views: Sequence[T],
    items: Callable[[Layout, Iterable[T]], Iterable[Iterable[bytes]]],
    dress: Callable[[T], object],
) -> object:
    """Return the answer that lists views, or the part of them that is asked for.

    ``items`` makes the text of whole ones in units, ``dress`` one shape, of which some keys may be
    wanted. Neither the core thread nor the event loop does the work.

    Raises: ApiError. Rules: REST-11, REST-22, REST-122, DMP-17.
    """
    page = page_of(asked)
    chosen = page.cut(views)
    found: Iterable[Iterable[bytes]]
    if page.fields:
        found = values(_ONE_LINE, (page.picked(dress(view)) for view in chosen))
    else:
        found = items(_ONE_LINE, chosen)
    units = chain(array(_ONE_LINE, found), [b"\n"])
    headers = counted(len(views))
    begun = await opening(units)
    if begun.endswith(b"]\n"):
        return Body(begun, dao.JSON_TYPE, headers=headers, by_accept=False)
    pieces = _going_on(begun, units, core)
    return Stream(pieces, dao.JSON_TYPE, headers=headers)


async def _going_on(begun: bytes, units: Iterator[bytes], core: Views) -> AsyncIterator[bytes]:
    yield begun
    async for piece in written(units, core):
        yield piece
