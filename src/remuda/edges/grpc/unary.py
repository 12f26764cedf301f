"""One call, one answer: from bytes to a message, to a response, to bytes or a status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NoReturn, TypeVar

import grpc
from google.protobuf.message import Message

from remuda.edges.grpc.sessions import RefusalError
from remuda.edges.grpc.streams import Context, refusing
from remuda.si import limits

Q = TypeVar("Q", bound=Message)

# Characters of a status text; it travels in a header, which has a limit of its own.
DETAIL_LENGTH_LIMIT: Final = 2_000


def unary(
    kind: type[Q], serve: Callable[[Q], Awaitable[Message]], countable: limits.Countable
) -> grpc.RpcMethodHandler[bytes, bytes]:
    """Return a handler that unpacks requests of ``kind`` and answers with what ``serve`` makes.

    Refusals become the status of the call.
    """

    async def call(data: bytes, context: Context) -> bytes:
        try:
            with refusing():
                limits.refuse_too_many(data, countable)
                response = await serve(kind.FromString(data))
            return response.SerializeToString()
        except RefusalError as refusal:
            await abort(context, refusal)

    return grpc.unary_unary_rpc_method_handler(call)


async def abort(context: Context, refusal: RefusalError) -> NoReturn:
    """End a call with the status of a refusal."""
    await context.abort(refusal.code, refusal.detail[:DETAIL_LENGTH_LIMIT])
