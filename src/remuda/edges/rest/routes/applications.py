"""The routes about single applications, ended ones, and waiting ones.

There may be very many applications of a state. So they are read and sent a few at a time, and
neither the scheduler nor other clients wait. An application that ends while a long list is sent is
missing in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from typing import Final

import msgspec

from remuda.base.message import message
from remuda.core.messages.application_queries import (
    ACTIVE,
    COMPLETED,
    PENDING,
    REJECTED,
    ApplicationIndex,
    ApplicationIndexQuery,
    ApplicationKey,
    ApplicationPortionQuery,
    ApplicationQuery,
    AskOrder,
    AskOrderQuery,
    LiveIds,
    LiveIdsQuery,
    PendingPortionQuery,
    PendingView,
)
from remuda.core.messages.application_views import ApplicationView
from remuda.edges.questions.reach import Reach
from remuda.edges.rest.requests.asking import Asked, Views, after_partition, ask, ask_many, ask_rows
from remuda.edges.rest.requests.endpoint import Endpoint, Shown, Stream
from remuda.edges.rest.requests.errors import (
    ACTIVE_STATUSES,
    APPLICATION_NOT_FOUND,
    BAD_STATE,
    BAD_STATUS,
    ApiError,
    check_queue_path,
)
from remuda.edges.rest.requests.paging import Page, counted, page_of
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.text import units as unit_text
from remuda.edges.rest.text.long_lists import ONE_LINE, Items, long_text, pieces
from remuda.edges.rest.text.pending import no_event, pending_application, pending_text, served_asks
from remuda.edges.rest.text.units import array

# Applications that are asked for at a time.
PORTION: Final = 64

# Keys that are asked for, or sorted, at a time: others get a turn between.
_SORTED: Final = 2_048

# The default and the highest number of waiting applications in an answer (REST-121).
_USUAL: Final = 100
_MOST: Final = 1_000


async def application(views: Views, asked: Asked) -> object:
    """One application, a live one or one that ended if ``include`` says so (REST-83).

    Implements: REST-35.
    """
    include = await after_partition(views, asked, lambda: _include(asked))
    view = await _find(views, asked, include, "")
    return await long_text(views, unit_text.application(ONE_LINE, view, views))


async def queue_application(views: Views, asked: Asked) -> object:
    """One application, if it is in that queue (REST-83). Implements: REST-34."""
    path = asked.path["queue"]
    await after_partition(views, asked, lambda: check_queue_path(path))
    include = await after_partition(views, asked, lambda: _include(asked))
    view = await _find(views, asked, include, path.lower())
    return await long_text(views, unit_text.application(ONE_LINE, view, views))


async def applications_by_state(views: Views, asked: Asked) -> object:
    """The applications of a partition that are active, completed or rejected.

    Implements: REST-36, REST-82.
    """
    wanted = await after_partition(views, asked, lambda: _wanted(asked))
    keys = await _keys(views, asked, wanted.which, wanted.status)
    chosen = wanted.page.cut(keys)
    headers = counted(len(keys))
    if len(chosen) > PORTION:
        text = _pieces(views, asked, wanted, chosen)
        return Stream(text, dao.JSON_TYPE, headers=headers, large=True)
    found = await _portion(views, asked, wanted, chosen)
    units = array(ONE_LINE, unit_text.applications(ONE_LINE, found, views, wanted.page))
    return await long_text(views, units, headers)


async def queue_pending(views: Views, asked: Asked) -> object:
    """The applications of a queue that wait, those first that are served first.

    A parent queue has none, because the applications belong to its leaves (REST-76).
    Implements: REST-121.
    """
    path = asked.path["queue"]
    await after_partition(views, asked, lambda: check_queue_path(path))
    keys = await _keys(views, asked, PENDING, "", path.lower())
    page = page_of(asked, _USUAL, _MOST)
    chosen = page.cut(keys)
    positions = {key[1]: page.offset + number + 1 for number, key in enumerate(chosen)}
    shapes: list[object] = []
    for at in range(0, len(chosen), PORTION):
        some = tuple(chosen[at : at + PORTION])
        query = PendingPortionQuery(asked.partition, some, asked.rm_id)
        found = await ask_rows(views, query, PendingView)
        shapes += [pending_application(view, positions[view.application_id]) for view in found]
    return Shown(page.pick(shapes), counted(len(keys)))


async def application_pending(
    views: Views, asked: Asked, event_of: Callable[[str], msgspec.Raw | None] = no_event
) -> object:
    """The asks of an application that wait, in the order in which they are served.

    ``event_of``: returns the last event of an ask, by its key.
    Implements: REST-120.
    """
    view = await _find(views, asked, (), "")
    order: Sequence[str] = ()
    if view.waiting is None:
        found = await ask(views, AskOrderQuery(asked.partition, view.application_id, asked.rm_id))
        assert isinstance(found, AskOrder)
        order = found.allocation_keys
    waiting = await _keys(views, asked, PENDING, "", view.queue.lower())
    names = [key[1] for key in waiting]
    place = names.index(view.application_id) + 1 if view.application_id in names else 0
    asks = served_asks(view, order, views)
    return await long_text(views, pending_text(view, asks, event_of, position=(place, len(names))))


def application_items(views: Views) -> Items[ApplicationView]:
    """Return what makes the text of applications in a list."""
    return lambda layout, found, page: unit_text.applications(layout, found, views, page)


# Answered here from the core alone, and with event records where these are kept (EVT-133).
PENDING_PATH: Final = "/ws/v1/partition/{partition}/application/{application}/pending"

APPLICATION_ROUTES: Final[Mapping[str, Endpoint]] = {
    "/ws/v1/partition/{partition}/queue/{queue}/application/{application}": Endpoint(
        queue_application, reach=Reach.QUEUE
    ),
    "/ws/v1/partition/{partition}/queue/{queue}/pending": Endpoint(
        queue_pending, reach=Reach.QUEUE
    ),
    "/ws/v1/partition/{partition}/application/{application}": Endpoint(
        application, reach=Reach.APPLICATION
    ),
    PENDING_PATH: Endpoint(application_pending, reach=Reach.APPLICATION),
    "/ws/v1/partition/{partition}/applications/{state}": Endpoint(
        applications_by_state, reach=Reach.PARTITION
    ),
}


@message
class _Wanted:
    """Which applications are wanted, and which part of their list."""

    which: str
    status: str
    page: Page


def _wanted(asked: Asked) -> _Wanted:
    """Read what is wanted. Raises: ApiError for an unknown state or status (REST-13)."""
    which = asked.path["state"].lower()
    if which not in (ACTIVE, COMPLETED, REJECTED):
        raise ApiError(400, BAD_STATE)
    status = asked.options.get("status", "").lower() if which == ACTIVE else ""
    if status and status not in ACTIVE_STATUSES:
        raise ApiError(400, BAD_STATUS)
    return _Wanted(which, status, page_of(asked))


def _include(asked: Asked) -> tuple[str, ...]:
    """Return which ended applications are wanted as well. Raises: ApiError 400.

    Implements: REST-83.
    """
    names = asked.options.get("include", "").lower().split(",")
    found = tuple([name.strip() for name in names if name.strip()])
    for name in found:
        if name not in (COMPLETED, REJECTED):
            raise ApiError(400, f'{name} is not a valid value for "include"')
    return found


async def _find(views: Views, asked: Asked, include: Sequence[str], queue: str) -> ApplicationView:
    """Return the application that the path names. Raises: ApiError if there is none.

    There is none for a caller whose scope does not include its queue. Rules: EXT-32.
    """
    query = ApplicationQuery(
        asked.partition,
        asked.path["application"],
        queue,
        completed=COMPLETED in include,
        rejected=REJECTED in include,
        rm_id=asked.rm_id,
    )
    for view in await ask_rows(views, query, ApplicationView):
        if asked.sees(asked.partition, view.queue):
            return view
    raise ApiError(404, APPLICATION_NOT_FOUND)


async def _keys(
    views: Views, asked: Asked, which: str, status: str, queue: str = ""
) -> list[ApplicationKey]:
    """Return the keys of all applications of a kind, in order."""
    keys: list[ApplicationKey] = []
    ids: tuple[str, ...] = ()
    if which in (ACTIVE, PENDING):
        live = await ask(views, LiveIdsQuery(asked.partition, queue, asked.rm_id))
        assert isinstance(live, LiveIds)
        ids = live.ids
    for at in range(0, len(ids) or 1, _SORTED):
        some = ids[at : at + _SORTED]
        query = ApplicationIndexQuery(asked.partition, which, status, some, asked.rm_id)
        index = await ask(views, query)
        assert isinstance(index, ApplicationIndex)
        keys += index.keys
    return await asyncio.to_thread(in_order, keys)


def in_order(keys: Sequence[ApplicationKey]) -> list[ApplicationKey]:
    """Return keys sorted, in portions: no other thread can run during a single sort."""
    portions = [sorted(keys[at : at + _SORTED]) for at in range(0, len(keys), _SORTED)]
    return list(merge(*portions)) if len(portions) > 1 else list(keys and portions[0])


async def _portion(
    views: Views, asked: Asked, wanted: _Wanted, keys: Sequence[ApplicationKey]
) -> Sequence[ApplicationView]:
    query = ApplicationPortionQuery(asked.partition, wanted.which, tuple(keys), asked.rm_id)
    return await ask_many(views, query, ApplicationView)


async def _pieces(
    views: Views, asked: Asked, wanted: _Wanted, keys: Sequence[ApplicationKey]
) -> AsyncIterator[bytes]:
    """Yield the JSON list of applications, a portion at a time (REST-11).

    It ends early if the partition goes, and its applications with it.
    """
    before = b"["
    for at in range(0, len(keys), PORTION):
        try:
            found = await _portion(views, asked, wanted, keys[at : at + PORTION])
        except ApiError:
            break
        texts = unit_text.applications(ONE_LINE, found, views, wanted.page)
        async for piece in pieces(views, _joined(before, texts)):
            yield piece
        before = b"," if len(found) else before
    yield b"]\n" if before == b"," else b"[]\n"


def _joined(before: bytes, texts: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Yield items with a comma between them, and ``before`` the first."""
    for text in texts:
        yield before
        yield from text
        before = b","
