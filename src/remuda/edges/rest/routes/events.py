"""The routes of event records: a batch of kept records, and a stream of new ones.

Rules: chapter 90, sections 5, 6 and 8. A long batch is encoded off the event loop, in slices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from remuda.edges.questions.reach import Reach
from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Body, Endpoint, Routes, Stream
from remuda.edges.rest.requests.errors import (
    STREAM_CLOSED,
    STREAM_SLOW,
    TOO_MANY_STREAMS,
    TRACKING_OFF,
    ApiError,
)
from remuda.edges.rest.requests.numbers import count_option, whole_number, wrong
from remuda.edges.rest.routes.applications import PENDING_PATH, application_pending
from remuda.edges.rest.shapes import dao
from remuda.si.pb import si_pb2 as si
from remuda.telemetry.events.encoding import encode, encode_elements, encode_lines
from remuda.telemetry.events.pipeline import EventSystem
from remuda.telemetry.events.selection import (
    Batch,
    Selection,
    batch_from,
    newest_batch,
    newest_of_asks,
)
from remuda.telemetry.events.streams import EventStream, Portion, TooManyStreamsError

# Keywords for an ID (EVT-131).
_OLDEST: Final = "oldest"
_LATEST: Final = "latest"

# Records encoded at a time: a millisecond.
_SLICE: Final = 500

# Seconds a client may take for one piece of a stream (EVT-119).
WRITE_SECONDS: Final = 5.0


def event_routes(events: EventSystem) -> Routes:
    """Return the routes over the records of one scheduler.

    Implements: REST-41, REST-42, REST-89.
    """
    return {
        "/ws/v1/events/batch": Endpoint(partial(_batch, events), reach=Reach.RECORDS),
        "/ws/v1/events/stream": Endpoint(partial(_stream, events), plain=True, reach=Reach.RECORDS),
        PENDING_PATH: Endpoint(partial(_pending, events), reach=Reach.APPLICATION),
    }


async def _pending(events: EventSystem, views: Views, asked: Asked) -> object:
    """Why the asks of an application wait, with the last event of each. Rules: EVT-133."""
    name = asked.path["application"]
    newest = await asyncio.to_thread(newest_of_asks, events, asked.partition, name)

    def event_of(key: str) -> msgspec.Raw | None:
        record = newest.get(key)
        return None if record is None else msgspec.Raw(encode(record))

    return await application_pending(views, asked, event_of)


# ---------------------------------------------------------------------------- batch


async def _batch(events: EventSystem, views: Views, asked: Asked) -> Body:
    """Answer with records from an ID on.

    Implements: EVT-110, EVT-113, REST-90. Rules: EVT-111, EVT-131.
    """
    start = asked.options.get("start", "")
    first_id = whole_number(start or "0", "start") if start not in (_OLDEST, _LATEST) else 0
    bound = events.settings.event_response_size
    count = count_option(asked.options.get("count", ""), "count", bound, bound)
    wanted, enveloped = _selection(asked), _enveloped(asked)

    def answer() -> bytes:
        if start == _LATEST:
            found = newest_batch(events, count, wanted)
        else:
            id_ = events.range().lowest if start == _OLDEST else first_id
            found = batch_from(events, id_, count, wanted)
        return _batch_text(events.instance, found, enveloped=enveloped)

    return Body(await asyncio.to_thread(answer), dao.JSON_TYPE)


def _batch_text(instance: str, batch: Batch, *, enveloped: bool) -> bytes:
    """Return the body of an answer. Implements: EVT-111, REST-139."""
    head = {"InstanceUUID": instance, "LowestID": batch.lowest, "HighestID": batch.highest}
    start = msgspec.json.encode(head)[:-1] + b',"EventRecords":'
    if batch.records is None:
        return start + b"null}\n"
    slices = [
        encode_elements(
            batch.ids[at : at + _SLICE], batch.records[at : at + _SLICE], enveloped=enveloped
        )
        for at in range(0, len(batch.records), _SLICE)
    ]
    return b"".join([start, b"[", b",".join(slices), b"]}\n"])


# ---------------------------------------------------------------------------- stream


async def _stream(events: EventSystem, views: Views, asked: Asked) -> Stream:
    """Open a stream; the checks have this order.

    Implements: REST-91, REST-92. Rules: EVT-114, EVT-115, EVT-116, EVT-117, EVT-118.
    """
    if not events.settings.event_tracking:
        raise ApiError(500, TRACKING_OFF)
    try:
        events.require_slot(asked.peer)
        count = whole_number(asked.options.get("count", "") or "0", "count")
        start = _stream_start(events, asked.options.get("start", ""))
        wanted, enveloped = _selection(asked), _enveloped(asked)
        woken = asyncio.Event()
        stream = events.open_stream(
            asked.peer,
            partial(_wake, asyncio.get_running_loop(), woken),
            recent=count,
            start=start,
        )
    except TooManyStreamsError:
        raise ApiError(503, TOO_MANY_STREAMS) from None
    lines = _Lines(events, stream, woken, wanted, enveloped=enveloped)
    # The connection ends with the stream (EVT-119).
    closing = {"Connection": "close"}
    return Stream(lines, dao.JSON_TYPE, headers=closing, write_seconds=WRITE_SECONDS)


def _stream_start(events: EventSystem, text: str) -> int | None:
    """Return the ID at which a stream begins; None: ``count`` says it. Rules: EVT-131."""
    if text == _OLDEST:
        return events.range().lowest
    if text in ("", _LATEST):
        return None
    return whole_number(text, "start")


def _wake(loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
    """Tell a stream's event loop that there is something, if it still runs. Any thread."""
    try:
        loop.call_soon_threadsafe(woken.set)
    except RuntimeError:
        return


class _Lines:
    """A stream as pieces of text, each of whole lines.

    Implements: EVT-114, EVT-116. Rules: EVT-130.
    """

    def __init__(
        self,
        events: EventSystem,
        stream: EventStream,
        woken: asyncio.Event,
        wanted: Selection,
        *,
        enveloped: bool,
    ) -> None:
        self._events = events
        self._stream = stream
        self._woken = woken
        self._wanted = wanted
        self._enveloped = enveloped
        self._last = b""
        self._first = dao.encode({"InstanceUUID": events.instance})

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        # Sending may return at once, also to a client that is gone: nobody else would get a turn.
        self._stream.written()
        await asyncio.sleep(0)
        while True:
            self._woken.clear()
            portion = await self._take()
            if portion is None:
                return self._end()
            text = self._text(portion)
            if text:
                return text
            # Records that are not wanted must not keep the event loop from others.
            await (asyncio.sleep(0) if portion.records else self._woken.wait())

    async def aclose(self) -> None:
        """Free the slot (EVT-120)."""
        self._events.close_stream(self._stream)

    async def _take(self) -> Portion | None:
        if self._stream.may_wait:
            return await asyncio.to_thread(self._stream.take, _SLICE)
        return self._stream.take(_SLICE)

    def _text(self, portion: Portion) -> bytes:
        gap = b""
        if portion.gap is not None:
            requested, lowest = portion.gap
            gap = dao.encode({"gap": {"requested": requested, "lowest": lowest}})
        ids, records = self._wanted.of(portion.first_id, portion.records)
        return gap + encode_lines(ids, records, enveloped=self._enveloped)

    def _end(self) -> bytes:
        """Return the last line of a stream whose client was too slow, once. Rules: EVT-119."""
        if self._stream.dropped and not self._last:
            self._last = dao.encode(ApiError(200, STREAM_CLOSED, STREAM_SLOW).body())
            return self._last
        raise StopAsyncIteration


# ---------------------------------------------------------------------------- options


def _enveloped(asked: Asked) -> bool:
    """Whether records come with ID, partition, RM and queue. Rules: EVT-130."""
    wanted = asked.options.get("format", "")
    if wanted not in ("", "v1", "v2"):
        raise wrong(wanted, "format")
    return wanted == "v2"


def _selection(asked: Asked) -> Selection:
    """Return what records are wanted and may be seen.

    Raises: ApiError 400. Rules: EVT-131, EXT-32.
    """
    options = asked.options
    return Selection(
        kind=_choice(options.get("type", ""), "type", _KINDS),
        detail=_choice(options.get("detail", ""), "detail", _DETAILS),
        object_id=options.get("objectID", ""),
        reference_id=options.get("referenceID", ""),
        since_ns=whole_number(options.get("since", "") or "0", "since"),
        scope=asked.scope,
    )


def _choice(text: str, name: str, known: Mapping[str, int]) -> int | None:
    """Return the number of an enumeration for its name, or for the number itself."""
    if not text:
        return None
    if text in known:
        return known[text]
    return whole_number(text, name)


_KINDS: Final[Mapping[str, int]] = dict(si.EventRecord.Type.items())
_DETAILS: Final[Mapping[str, int]] = dict(si.EventRecord.ChangeDetail.items())
