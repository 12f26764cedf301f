"""Answers of the API server that are refusals, and requests that got no answer.

The server explains every refusal with an object of kind Status. Source: the documentation of
Kubernetes, "Kubernetes API Concepts", and recordings of a real server.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Final

import msgspec

from remuda.base.errors import RemudaError
from remuda_kubernetes.objects.values import UNDECODABLE, Value

# What is shown of a message; a refused pod may be quoted in it as a whole.
_MESSAGE_LIMIT: Final = 2000
_LONGEST_RETRY_SECONDS: Final = 300.0
_TRANSIENT: Final = frozenset({0, 401, 408, 429, 500, 502, 503, 504})
EXPIRED: Final = 410
FORBIDDEN: Final = 403
CONFLICT: Final = 409
NOT_FOUND: Final = 404
TOO_MANY_REQUESTS: Final = 429

_ADVICE: Final = {
    401: "the server does not know these credentials: renew the token or certificate",
    403: "bind a role to this account that allows it",
    413: "make the object smaller",
}


class StatusCause(Value, frozen=True):
    """One reason of a refusal: a word, a sentence, the field that is meant."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Value, frozen=True):
    """Which object was refused, why, and when to try again."""

    name: str = ""
    kind: str = ""
    causes: tuple[StatusCause, ...] | None = None
    retry_after_seconds: int = 0


class Status(Value, frozen=True):
    """The server's explanation."""

    kind: str = ""
    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


_DECODER: Final = msgspec.json.Decoder(Status)


class ApiError(RemudaError):
    """A request failed.

    The text names server, request, failure and remedy. ``status`` is the HTTP status, 0 if no
    answer came. ``reason`` and ``details`` are the server's. ``retry_after``: the seconds after
    which the server wants to be asked again, if it said so. ``unsent``: the request certainly did
    not reach the server, so that it may be sent again whatever it does. ``outage``: what is wrong
    with the server as a whole, without the request; "" if only the request failed.
    """

    def __init__(
        self,
        text: str,
        *,
        status: int = 0,
        explanation: Status | None = None,
        retry_after: float | None = None,
        unsent: bool = False,
        outage: str = "",
    ) -> None:
        super().__init__(text)
        found = explanation or Status()
        self.status = status
        self.reason = found.reason
        self.message = found.message
        self.details = found.details or StatusDetails()
        self.retry_after = retry_after
        self.unsent = unsent
        self.outage = outage

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in _TRANSIENT

    @property
    def expired(self) -> bool:
        """Whether the version or the page that was asked for is no longer kept."""
        return self.status == EXPIRED or self.reason in {"Expired", "Gone"}

    @property
    def ahead(self) -> bool:
        """Whether the version that was asked for is newer than all that the server has."""
        return self.has_cause("ResourceVersionTooLarge")

    @property
    def blocked(self) -> bool:
        """Whether a disruption budget forbids the eviction now."""
        return self.status == TOO_MANY_REQUESTS and self.has_cause("DisruptionBudget")

    def has_cause(self, reason: str) -> bool:
        """Whether the server named this word among its causes."""
        return any(cause.reason == reason for cause in self.details.causes or ())


def read_status(body: bytes) -> Status | None:
    """Return the server's explanation, or None if the body holds none."""
    with contextlib.suppress(*UNDECODABLE):
        return _DECODER.decode(body)
    return None


def refusal(where: str, status: int, body: bytes, headers: Mapping[str, str]) -> ApiError:
    """Return the error of a refused request. ``where`` names server and request."""
    explanation = read_status(body)
    if explanation is not None and (explanation.reason or explanation.message):
        what = f"{explanation.reason or 'refused'}: {explanation.message[:_MESSAGE_LIMIT]}"
    else:
        # A proxy answers with a page of its own; its first line is enough to recognize it.
        first = body[:200].decode("utf-8", "replace").strip().partition("\n")[0]
        what = f"answered without an explanation: {first!r}" if first else "no explanation"
    advice = f"; {_ADVICE[status]}" if status in _ADVICE else ""
    return ApiError(
        f"{where}: {status} {what}{advice}",
        status=status,
        explanation=explanation,
        retry_after=_retry_after(explanation, headers),
    )


def _retry_after(explanation: Status | None, headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), _LONGEST_RETRY_SECONDS)
    details = explanation.details if explanation is not None else None
    if details is not None and details.retry_after_seconds > 0:
        return min(float(details.retry_after_seconds), _LONGEST_RETRY_SECONDS)
    return None
