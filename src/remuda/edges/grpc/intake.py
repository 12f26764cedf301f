"""Limits calls before they are served: their number per address, and when they are read.

The library reads the message of a unary call before it asks a handler, and so before anybody
knows who calls. Here unary handlers become handlers of streams, which is the same on the wire: the
caller is looked at first, and one message of an address is read at a time, within a
limited time, since it may be as large as messages may be.
Implements: SI-105.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import grpc
import grpc.aio

from remuda.edges.addresses import source_of_peer
from remuda.edges.grpc.refusals import Context, RefusalError, abort
from remuda.edges.grpc.wrapping import Wrapping

# Messages of unary calls of one address that are read at a time; others wait.
_READ_AT_A_TIME: Final = 1

_MAKERS: Final = {
    "unary_unary": grpc.stream_unary_rpc_method_handler,
    "unary_stream": grpc.stream_stream_rpc_method_handler,
    "stream_unary": grpc.stream_unary_rpc_method_handler,
    "stream_stream": grpc.stream_stream_rpc_method_handler,
}


def _turns() -> asyncio.Semaphore:
    return asyncio.Semaphore(_READ_AT_A_TIME)


@dataclass(slots=True)
class _Source:
    """What one source of calls has going."""

    calls: int = 0
    reading: asyncio.Semaphore = field(default_factory=_turns)


class Intake(Wrapping):
    """Counts calls per address and reads the messages of unary ones. Rules: SI-105.

    It comes after the check of callers, so it gets only permitted calls.
    """

    def __init__(self, calls_limit: int, read_seconds: float) -> None:
        super().__init__(makers=_MAKERS)
        self._calls_limit = calls_limit
        self._read_seconds = read_seconds
        self._sources: dict[str, _Source] = {}

    def _around(self, inner: Any, method: str, kind: str) -> Any:
        reads = kind.startswith("unary")

        async def answer(requests: object, context: Context) -> object:
            try:
                with self._counted(context) as origin:
                    request = await self._read(origin, context) if reads else requests
                    return await inner(request, context)
            except RefusalError as refusal:
                await abort(context, refusal)

        async def stream(requests: object, context: Context) -> AsyncIterator[object]:
            try:
                with self._counted(context) as origin:
                    request = await self._read(origin, context) if reads else requests
                    async for response in inner(request, context):
                        yield response
            except RefusalError as refusal:
                await abort(context, refusal)

        return stream if inspect.isasyncgenfunction(inner) else answer

    @contextmanager
    def _counted(self, context: Context) -> Iterator[_Source]:
        """Count a call while it lasts. Raises: RefusalError for one too many."""
        name = source_of_peer(context.peer())
        origin = self._sources.setdefault(name, _Source())
        if origin.calls >= self._calls_limit:
            raise RefusalError(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{name} has {origin.calls} calls open, which is the limit; end some first",
            )
        origin.calls += 1
        try:
            yield origin
        finally:
            origin.calls -= 1
            if not origin.calls:
                self._sources.pop(name, None)

    async def _read(self, origin: _Source, context: Context) -> object:
        """Return the one message of a unary call. Raises: RefusalError."""
        try:
            async with origin.reading, asyncio.timeout(self._read_seconds):
                request: object = await context.read()
        except TimeoutError:
            raise RefusalError(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                f"the message did not arrive within {self._read_seconds:g} s",
            ) from None
        if request is grpc.aio.EOF:
            raise RefusalError(grpc.StatusCode.UNIMPLEMENTED, "the method takes one message")
        return request
