"""How clients reach a scheduler over gRPC: files for TLS, a token, and errors in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import grpc

from remuda.base.texts import shown


class ClientError(Exception):
    """The scheduler refused a call or an element, or cannot be reached; one line says why."""


class NotAnsweredError(ClientError):
    """No active scheduler answers there: it cannot be reached, or another one is active."""


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


# A call ends so where no active scheduler answers.
_UNANSWERED: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def details(call: grpc.Call) -> str:
    """Return what the other side said about the end of a call, as one line of printable text."""
    return shown(call.details() or "no reason was given")


def explain(error: grpc.RpcError, address: str) -> str:
    """Return one line on the failure of a call, whatever the other side says."""
    call = cast("grpc.Call", error)
    code, said = call.code(), details(call)
    if code in _UNANSWERED:
        return f"no scheduler answers at {address}: {said}"
    return f"{code.name}: {said}"


def failure(error: grpc.RpcError, address: str) -> ClientError:
    """Return the failure of a call; NotAnsweredError if another scheduler may answer."""
    text, code = explain(error, address), cast("grpc.Call", error).code()
    return NotAnsweredError(text) if code in _UNANSWERED else ClientError(text)
