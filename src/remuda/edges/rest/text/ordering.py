"""Sorts very many items while they are read.

To sort them all at once would keep the interpreter for most of a second, and stop scheduling. So a
few thousand are sorted at a time, and these parts are merged while they are read. A None among the
results marks such work, so the reader can pause after it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Any, Final, TypeVar

from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.queries import AskPortionQuery
from remuda.core.messages.rows import Rows, WaitingAsks, rows
from remuda.edges.rest.requests.asking import Views
from remuda.runtime.collection import COLLECTOR

T = TypeVar("T")

# How many are sorted at once, which takes a millisecond.
PART: Final = 2_048

# Asks that the core is asked about at once, and seconds it may take to answer.
PORTION: Final = 256
_ANSWER_SECONDS: Final = 60.0


def in_parts(things: Sequence[T], key: Callable[[T], Any]) -> Generator[None, None, Iterator[T]]:
    """Return things in order of ``key``; yields None while it sorts."""
    parts: list[list[T]] = []
    for at in range(0, len(things), PART):
        part = list(things[at : at + PART])
        part.sort(key=key)
        parts.append(part)
        COLLECTOR.set_apart()
        yield None
    return merge(*parts, key=key) if len(parts) > 1 else iter(parts[0] if parts else ())


def asks_in_order(
    asks: WaitingAsks[RequestView], key: Callable[[object], Any], core: Views
) -> Iterator[RequestView | None]:
    """Yield the asks that have not ended, in order of ``key``, as they are when they are read.

    It waits for the core, so it must not run on the core thread or the event loop. Rules: REST-144.
    Raises: LoopStoppedError, TimeoutError.
    """
    ordered = yield from in_parts(asks.asks, key)
    while chosen := tuple(islice(ordered, PORTION)):
        answer = core.query(AskPortionQuery(asks, chosen))
        yield None
        yield from rows(RequestView, answer.result(_ANSWER_SECONDS))


def rows_in_order(views: Sequence[T]) -> Iterator[T | None]:
    """Yield views in order; unsorted ones are sorted while they are read. Implements: REST-20."""
    # Where it is compiled a tuple counts as an instance of Rows, as of every Sequence.
    key = views.key if type(views) is Rows else None
    if key is None:
        yield from views
        return
    ordered = yield from in_parts(range(len(views)), key)
    for place in ordered:
        yield views[place]
