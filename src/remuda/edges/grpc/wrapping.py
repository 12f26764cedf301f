"""Interceptors that put code around the handlers of methods, whatever kind a method is of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import grpc
import grpc.aio

# Makers of handlers, by kind of method.
_MAKERS: Final[Mapping[str, Callable[..., Any]]] = {
    "unary_unary": grpc.unary_unary_rpc_method_handler,
    "unary_stream": grpc.unary_stream_rpc_method_handler,
    "stream_unary": grpc.stream_unary_rpc_method_handler,
    "stream_stream": grpc.stream_stream_rpc_method_handler,
}


class Wrapping(grpc.aio.ServerInterceptor, ABC):
    """Wraps the handler of each method once: the services of a server do not change.

    To make a handler takes more time than some calls do.

    Args:
        left_alone: how the names of methods begin whose handlers stay as they are.
        makers: of the new handlers, by kind of the method that is wrapped.
    """

    def __init__(
        self,
        left_alone: tuple[str, ...] = (),
        makers: Mapping[str, Callable[..., Any]] = _MAKERS,
    ) -> None:
        self._left_alone = left_alone
        self._makers = makers
        self._handlers: dict[str, Any] = {}

    @abstractmethod
    def _around(self, inner: Any, method: str, kind: str) -> Any:
        """Return what serves a method in the place of ``inner``; ``kind``: such as unary_stream."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the handler of a method, None for a method that is not known."""
        method = handler_call_details.method
        found = self._handlers.get(method)
        if found is None:
            handler = await continuation(handler_call_details)
            if handler is not None:
                found = self._handlers[method] = self._wrapped(handler, method)
        return found

    def _wrapped(self, handler: Any, method: str) -> Any:
        if method.startswith(self._left_alone):
            return handler
        for kind, make in self._makers.items():
            inner = getattr(handler, kind)
            if inner is not None:
                return make(
                    self._around(inner, method, kind),
                    request_deserializer=handler.request_deserializer,
                    response_serializer=handler.response_serializer,
                )
        return handler
