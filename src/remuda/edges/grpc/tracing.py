"""A span for each gRPC call, in the trace that its metadata names."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import grpc

from remuda.edges.grpc.refusals import Context
from remuda.edges.grpc.wrapping import Wrapping
from remuda.telemetry.tracing import Tracing

# Statuses that are the fault of a server.
_FAULTS: Final = (
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.DEADLINE_EXCEEDED,
)


class Traced(Wrapping):
    """Makes a span of each call, whatever service it is for; refused ones, too."""

    def __init__(self, tracing: Tracing) -> None:
        super().__init__()
        self._tracing = tracing

    def _around(self, inner: Any, method: str, kind: str) -> Any:
        async def answer(request: object, context: Context) -> object:
            with self._span(method, context):
                return await inner(request, context)

        async def stream(request: object, context: Context) -> AsyncIterator[object]:
            with self._span(method, context):
                async for response in inner(request, context):
                    yield response

        return stream if inspect.isasyncgenfunction(inner) else answer

    @contextmanager
    def _span(self, method: str, context: Context) -> Iterator[None]:
        service, _, name = method.strip("/").partition("/")
        carrier = {
            key: value
            for key, value in context.invocation_metadata() or ()
            if isinstance(value, str)
        }
        known = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}
        with self._tracing.serving(f"{service}/{name}", carrier, known) as span:
            code = grpc.StatusCode.UNKNOWN
            try:
                yield
                code = _code(context) or grpc.StatusCode.OK
            except asyncio.CancelledError:
                code = _code(context) or grpc.StatusCode.CANCELLED
                raise
            except grpc.aio.AbortError:
                code = _code(context) or code
                raise
            finally:
                span.note("rpc.grpc.status_code", code.value[0])
                if code in _FAULTS:
                    span.fail(code.name)


def _code(context: Context) -> grpc.StatusCode | None:
    """Return the status that the call was given, None while it has none."""
    code: object = context.code()
    for each in grpc.StatusCode:
        if code in (each, each.value[0]) and code != 0:
            return each
    return None
