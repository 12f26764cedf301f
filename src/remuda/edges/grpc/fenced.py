"""Lets only the active scheduler answer, and puts its fencing token in front of each answer.

It stands between the services and the library, so that no service can forget it: each message that
leaves the process passes here, and a process whose lease has ended sends none.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from remuda.edges.grpc.refusals import Context, RefusalError, abort
from remuda.edges.grpc.wrapping import Wrapping
from remuda.runtime.lease.fence import Fence
from remuda.si.wire import FENCING_METADATA, token_of

# Probes ask a standby, too.
_OPEN: Final = ("/grpc.health.v1.Health/",)
_NOT_ANY_MORE: Final = "this scheduler is not the active one any more"


class Fenced(Wrapping):
    """Refuses calls while this process is not active. Implements: EXT-35, EXT-36."""

    def __init__(self, fence: Fence) -> None:
        super().__init__(left_alone=_OPEN)
        self._fence = fence

    def _around(self, inner: Any, method: str, kind: str) -> Any:
        fence = self._fence

        async def enter(context: Context) -> Any:
            _refuse_elsewhere(fence, context)
            await context.send_initial_metadata(((FENCING_METADATA, str(fence.token)),))
            return _FencedContext(context, fence)

        async def answer(request: object, context: Context) -> object:
            try:
                response = await inner(request, await enter(context))
                require_open(fence)
            except RefusalError as refusal:
                await abort(context, refusal)
            return response

        async def stream(request: object, context: Context) -> AsyncIterator[object]:
            try:
                async for response in inner(request, await enter(context)):
                    require_open(fence)
                    yield response
            except RefusalError as refusal:
                await abort(context, refusal)

        return stream if inspect.isasyncgenfunction(inner) else answer


class _FencedContext:
    """The context of a call, whose messages leave only while the fence is open."""

    def __init__(self, context: Context, fence: Fence) -> None:
        self._context = context
        self._fence = fence

    async def write(self, message: bytes) -> None:
        """Write a message. Raises: RefusalError."""
        require_open(self._fence)
        await self._context.write(message)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def require_open(fence: Fence) -> None:
    """Raise RefusalError if this process is not active any more."""
    if not fence.open:
        raise RefusalError(grpc.StatusCode.UNAVAILABLE, _NOT_ANY_MORE)


def _refuse_elsewhere(fence: Fence, context: Context) -> None:
    """Raise RefusalError for a call that another scheduler has to answer. Rules: EXT-36."""
    if fence.closed:
        raise RefusalError(grpc.StatusCode.UNAVAILABLE, _NOT_ANY_MORE)
    if not fence.open:
        where = f"the active one is at {fence.active_at}" if fence.active_at else "none is active"
        text = f"this scheduler is a standby; {where}"
        raise RefusalError(grpc.StatusCode.UNAVAILABLE, text)
    for key, value in context.invocation_metadata() or ():
        if key == FENCING_METADATA and (known := token_of(value)) > fence.token:
            text = f"{_NOT_ANY_MORE}: its token is {fence.token}, and {known} is known"
            raise RefusalError(grpc.StatusCode.UNAVAILABLE, text)
