"""The service for measurements, of which nothing is built yet.

It is there so that a client that looks for it finds its name and hears what to read instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import grpc

from remuda.edges.grpc.refusals import Context, RefusalError, abort

SERVICE: Final = "remuda.v1.Metrics"

_UNARY: Final = ("GetSamples", "GetUsage", "GetHealth")
_STREAMS: Final = ("WatchSamples", "WatchEvents")

_INSTEAD: Final = "is not built yet; the HTTP API under /ws/v1 shows what there is"


def handlers() -> grpc.GenericRpcHandler:
    """Return the handlers of the service; each answers UNIMPLEMENTED. Rules: EXT-25."""
    methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {}
    for name in _UNARY:
        methods[name] = grpc.unary_unary_rpc_method_handler(_refusal(name))
    for name in _STREAMS:
        methods[name] = grpc.unary_stream_rpc_method_handler(_refusal(name))
    return grpc.method_handlers_generic_handler(SERVICE, methods)


def _refusal(name: str) -> Callable[[bytes, Context], Awaitable[None]]:
    async def call(_data: bytes, context: Context) -> None:
        text = f"{SERVICE}.{name} {_INSTEAD}"
        await abort(context, RefusalError(grpc.StatusCode.UNIMPLEMENTED, text))

    return call
