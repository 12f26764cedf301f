"""One call, one answer: from bytes to a message, to a response, to bytes or a status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from remuda.edges.grpc.refusals import Context, RefusalError, abort, refusing
from remuda.si import limits

Q = TypeVar("Q", bound=Message)


def unary(
    kind: type[Q], serve: Callable[[Q], Awaitable[Message]], countable: limits.Countable
) -> grpc.RpcMethodHandler[bytes, bytes]:
    """Return a handler that unpacks requests of ``kind`` and answers with what ``serve`` makes.

    Refusals become the status of the call.
    """

    async def call(data: bytes, context: Context) -> bytes:
        try:
            with refusing():
                limits.refuse_many_fields(data, countable)
                response = await serve(kind.FromString(data))
            return response.SerializeToString()
        except RefusalError as refusal:
            await abort(context, refusal)

    return grpc.unary_unary_rpc_method_handler(call)
