"""Times as the server writes them: RFC 3339 in UTC."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from remuda_kubernetes.objects.values import ObjectError

_FORM: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,9})?Z",
    re.ASCII,
)
_DAY_SECONDS: Final = 86_400
# Days from the beginning of the calendar's year 0 (1 March) to the epoch.
_EPOCH_DAYS: Final = 719_468


@lru_cache(maxsize=4096)
def unix_seconds(text: str | None) -> int:
    """Return the whole Unix seconds of a time, 0 if there is none. Raises: ObjectError."""
    if not text:
        return 0
    found = _FORM.fullmatch(text)
    if found is None:
        raise ObjectError(f"{text[:80]!r} is no time: write it like 2026-11-25T20:15:58Z")
    year, month, day, hour, minute, second = map(int, found.groups())
    return _days(year, month, day) * _DAY_SECONDS + hour * 3600 + minute * 60 + second


def _days(year: int, month: int, day: int) -> int:
    """Return the days since the epoch in the Gregorian calendar.

    Years begin in March here, so that a leap day is the last day of a year.
    """
    if month <= 2:
        year -= 1
        month += 12
    leap_days = year // 4 - year // 100 + year // 400
    return 365 * year + leap_days + (153 * (month - 3) + 2) // 5 + day - 1 - _EPOCH_DAYS
