"""One call, many answers: from bytes to a message, to a stream of responses, to its status."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from remuda.edges.grpc.refusals import Context, RefusalError, abort, refusing
from remuda.si import limits

Q = TypeVar("Q", bound=Message)


def streaming(
    kind: type[Q], serve: Callable[[Q, Context], Awaitable[None]], bytes_limit: int
) -> grpc.RpcMethodHandler[bytes, bytes]:
    """Return a handler of one request, of bounded length, and many answers: ``serve`` writes."""

    async def call(data: bytes, context: Context) -> None:
        try:
            with refusing():
                limits.refuse_long(data, bytes_limit)
                await serve(kind.FromString(data), context)
        except RefusalError as refusal:
            await abort(context, refusal)

    return grpc.unary_stream_rpc_method_handler(call)


async def write(context: Context, response: Message, seconds: float) -> None:
    """Send one message. Raises: RefusalError if the client does not take it in time."""
    try:
        async with asyncio.timeout(seconds):
            await context.write(response.SerializeToString())
    except TimeoutError:
        text = f"the client took nothing for {seconds:.0f} s"
        raise RefusalError(grpc.StatusCode.DEADLINE_EXCEEDED, text) from None
