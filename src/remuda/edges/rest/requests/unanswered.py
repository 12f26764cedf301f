"""The statuses of questions that are not answered (EXT-66)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from remuda.edges.questions.refusals import Cause, UnansweredError
from remuda.edges.rest.requests.errors import ApiError

# When a client may ask again for what could not be answered now.
_RETRY: Final[Mapping[str, str]] = {"Retry-After": "1"}

_STATUSES: Final[Mapping[Cause, int]] = {
    Cause.WRONG: 400,
    Cause.NOT_FOUND: 404,
    Cause.BUSY: 503,
    Cause.IMPOSSIBLE: 501,
}


@contextmanager
def answering() -> Iterator[None]:
    """Turn the refusal of a question into one of HTTP. Raises: ApiError."""
    try:
        yield
    except UnansweredError as error:
        headers = _RETRY if error.cause is Cause.BUSY else {}
        raise ApiError(_STATUSES[error.cause], error.text, headers=headers) from None
