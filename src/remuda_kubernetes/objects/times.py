"""Times as the server writes them: RFC 3339 in UTC."""

from __future__ import annotations

import re
from calendar import timegm
from functools import lru_cache
from typing import Final

from remuda_kubernetes.objects.values import ObjectError

_FORM: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,9})?Z",
    re.ASCII,
)


@lru_cache(maxsize=4096)
def unix_seconds(text: str | None) -> int:
    """Return the whole Unix seconds of a time, 0 if there is none. Raises: ObjectError."""
    if not text:
        return 0
    found = _FORM.fullmatch(text)
    try:
        if found is not None:
            return timegm(tuple(map(int, found.groups())))
    except ValueError:
        # There is no such month or year.
        pass
    raise ObjectError(f"{text[:80]!r} is no time: write it like 2026-11-25T20:15:58Z")
