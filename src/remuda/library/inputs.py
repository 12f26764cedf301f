"""What callers pass, checked before it reaches the core.

Everything is refused here that the wire could not carry, so that a call never does more than a
resource manager could, and a mistyped argument is named as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from remuda.library.errors import RequestError
from remuda.si.limits import ID_LENGTH_LIMIT, TEXTS_LENGTH_LIMIT, TEXTS_LIMIT

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1


def text(value: object, what: str) -> str:
    """Return an identifier, which may be empty. Raises: RequestError."""
    if not isinstance(value, str):
        raise RequestError(f"{what} is {value!r:.80}; it has to be a text")
    if len(value) > ID_LENGTH_LIMIT:
        raise RequestError(f"{what} has {len(value)} characters, at most {ID_LENGTH_LIMIT}")
    _encodable(value, what)
    return value


def name(value: object, what: str) -> str:
    """Return an identifier that is not empty. Raises: RequestError."""
    found = text(value, what)
    if not found:
        raise RequestError(f"{what} is empty; give it a name")
    return found


def names(values: object, what: str) -> tuple[str, ...]:
    """Return a list of names. Raises: RequestError."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise RequestError(f"{what} is {values!r:.80}; it has to be a list of texts")
    return tuple([name(value, what) for value in values])


def texts(given: object, what: str) -> dict[str, str]:
    """Return a copy of a map of texts. Raises: RequestError."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise RequestError(f"{what} is {given!r:.80}; it has to be a mapping of texts")
    if len(given) > TEXTS_LIMIT:
        raise RequestError(f"{what}: {len(given)} entries, at most {TEXTS_LIMIT}")
    length = 0
    for key, value in given.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise RequestError(f"{what}: {key!r:.80} is {value!r:.80}; both have to be texts")
        _encodable(key, what)
        _encodable(value, what)
        length += len(key) + len(value)
    if length > TEXTS_LENGTH_LIMIT:
        raise RequestError(f"{what}: {length} characters, at most {TEXTS_LENGTH_LIMIT}")
    return dict(given)


def whole(value: object, what: str, least: int, most: int = INT32_MAX) -> int:
    """Return a whole number within bounds. Raises: RequestError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise RequestError(f"{what} is {value!r:.80}; it has to be a whole number")
    if not least <= value <= most:
        raise RequestError(f"{what} is {value}; it has to be from {least} to {most}")
    return value


def flag(value: object, what: str) -> bool:
    """Return a truth value. Raises: RequestError."""
    if not isinstance(value, bool):
        raise RequestError(f"{what} is {value!r:.80}; it has to be True or False")
    return value


def file(value: object, what: str) -> Path | None:
    """Return the path of a file, None for none. Raises: RequestError."""
    if value is not None and not isinstance(value, Path):
        raise RequestError(f"{what} is {value!r:.80}; it has to be a pathlib.Path")
    if value is not None and "\0" in str(value):
        raise RequestError(f"{what} is {str(value)!r:.80}; no file can have that name")
    return value


def _encodable(value: str, what: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise RequestError(f"{what} is {value!r:.80}; it is no valid Unicode text") from None
