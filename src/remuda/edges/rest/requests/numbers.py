"""Numbers that clients send in paths and queries (REST-90, EVT-110)."""

from __future__ import annotations

from typing import Final

from remuda.edges.rest.requests.errors import ApiError

_LARGEST: Final = 2**64 - 1


def whole_number(text: str, name: str) -> int:
    """Return an unsigned 64-bit decimal.

    Raises: ApiError 400 naming the parameter ``name`` if it is none.
    Implements: REST-16.
    """
    if text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST)):
        number = int(text)
        if number <= _LARGEST:
            return number
    raise wrong(text, name)


def count_option(text: str, name: str, usual: int, most: int) -> int:
    """Return how many a client wants: ``usual`` if it does not say, never more than ``most``.

    Raises: ApiError 400 naming the option ``name`` if it is no number, or 0 (EVT-110).
    """
    if not text:
        return usual
    number = whole_number(text, name)
    if number == 0:
        raise wrong(text, name)
    return min(number, most)


def wrong(text: str, name: str) -> ApiError:
    """Return the refusal of a value (REST-13)."""
    return ApiError(400, f'{text} is not a valid value for "{name}"')
