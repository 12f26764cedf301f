"""A connection of a client to a scheduler over gRPC, and its calls.

Every failure of a call becomes one line for a person.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TypeVar

import grpc

from remuda.connection.channel import Security, failure
from remuda.connection.routes import Routes

Q = TypeVar("Q")
A = TypeVar("A")

# A scheduler that was started again is found within seconds, however long it was away.
OPTIONS: Final = (
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


class Connection:
    """A channel to a scheduler. Use as a context manager, or call ``close``."""

    def __init__(self, address: str, timeout: float, security: Security | None) -> None:
        self._timeout = timeout
        self._routes = Routes(address, security or Security(), OPTIONS)

    def close(self) -> None:
        """End the connection."""
        self._routes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _call(
        self,
        method: grpc.UnaryUnaryMultiCallable[Q, A],
        request: Q,
        *,
        wait: bool = False,
        seconds: float | None = None,
    ) -> A:
        """Return the answer to a call; ``wait``: for a scheduler that does not listen yet.

        ``seconds`` None: the usual time. Raises: ClientError.
        """
        try:
            answer, call = method.with_call(
                request,
                timeout=self._timeout if seconds is None else seconds,
                wait_for_ready=wait,
                metadata=self._routes.metadata,
            )
        except grpc.RpcError as error:
            raise failure(error, self._routes.address) from None
        self._routes.look(call)
        return answer

    def _first(
        self, method: Callable[[grpc.Channel], grpc.UnaryUnaryMultiCallable[Q, A]], request: Q
    ) -> A:
        """Return the answer of the first scheduler that gives one. Raises: ClientError."""

        def call(seconds: float) -> A:
            return self._call(method(self._routes.channel), request, seconds=seconds)

        return self._routes.anywhere(call, self._timeout)
