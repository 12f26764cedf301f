"""A connection of a client to a scheduler over gRPC, and its calls.

Every failure of a call becomes one line for a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar, cast

import grpc

Q = TypeVar("Q")
A = TypeVar("A")

# A scheduler that was started again is found within seconds, however long it was away.
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


class ClientError(Exception):
    """The scheduler refused a call or an element, or cannot be reached; one line says why."""


@dataclass(frozen=True, slots=True)
class Security:
    """The files and the token by which client and scheduler identify each other.

    ``ca``: PEM file with the authorities that may have signed the scheduler's certificate, None:
    no TLS. ``certificate`` and ``key``: PEM files of the client's own. ``token``: its own token.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    token: str = field(default="", repr=False)

    def channel(self, address: str, options: Sequence[tuple[str, int]]) -> grpc.Channel:
        """Return a channel to a scheduler. Raises: ClientError if a file cannot be read."""
        if self.ca is None:
            return grpc.insecure_channel(address, options=options)
        ca, key, certificate = [_content(path) for path in (self.ca, self.key, self.certificate)]
        return grpc.secure_channel(
            address, grpc.ssl_channel_credentials(ca, key, certificate), options=options
        )

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the metadata that identify the caller of every call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()


def _content(path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise ClientError(f"cannot read {path}: {error.strerror}") from None


class Connection:
    """A channel to a scheduler. Use as a context manager, or call ``close``."""

    def __init__(self, address: str, timeout: float, security: Security | None) -> None:
        self._address = address
        self._timeout = timeout
        secure = security or Security()
        self._metadata = secure.metadata()
        self._channel = secure.channel(address, _OPTIONS)

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

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
        self, method: grpc.UnaryUnaryMultiCallable[Q, A], request: Q, *, wait: bool = False
    ) -> A:
        """Return the answer to a call; ``wait``: for a scheduler that does not listen yet.

        Raises: ClientError.
        """
        try:
            return method(
                request, timeout=self._timeout, wait_for_ready=wait, metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise ClientError(explain(error, self._address)) from None


def explain(error: grpc.RpcError, address: str) -> str:
    """Return one line on the failure of a call."""
    call = cast("grpc.Call", error)
    code, details = call.code(), call.details()
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return f"no scheduler answers at {address}: {details}"
    return f"{code.name}: {details}"
