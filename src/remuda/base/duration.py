"""Durations as texts of a configuration, such as ``30s`` or ``1h15m`` (PRP-1, KV-2).

The grammar is that of Go's ``time.ParseDuration``, because the settings are shared with programs
that read them so: signed numbers with a unit each, one after the other. A number without a unit
is no duration, except 0.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from remuda.base.resources import MAX

NANOSECOND: Final = 1
MICROSECOND: Final = 1000 * NANOSECOND
MILLISECOND: Final = 1000 * MICROSECOND
SECOND: Final = 1000 * MILLISECOND
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

_UNITS: Final = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "\u00b5s": MICROSECOND,  # the micro sign
    "\u03bcs": MICROSECOND,  # the Greek letter
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}

_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]+)")

# Digits that a 64-bit number can have; more of a fraction does not count (and 9 do for hours).
_DIGITS_MAX: Final = 19

# A configuration says the same few durations in thousands of queues, mostly the defaults.
_REMEMBERED: Final = 256


_DECIMAL: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?")


def parse_decimal_seconds(text: str) -> int | None:
    """Return the nanoseconds of a decimal number of seconds; None if it is none.

    It has up to nine digits before the point, and up to nine after it. Rules: EXT-66, EXT-120.
    """
    found = _DECIMAL.fullmatch(text)
    return None if found is None else int(found[1]) * SECOND + int((found[2] or "").ljust(9, "0"))


@lru_cache(maxsize=_REMEMBERED)
def parse_duration(text: str) -> int | None:
    """Return the nanoseconds a text stands for, negative ones too; None if it is no duration.

    Units are ``ns us ms s m h``; a fraction of a nanosecond is cut off; what does not fit a
    signed 64-bit number is no duration. Callers decide what zero and negative mean.
    Rules: PRP-1, PRP-2, QUE-18, HLT-2, RM-18.
    """
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    total = 0
    position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        amount = None if part is None else _amount(*part.groups(default=""))
        if part is None or amount is None:
            return None
        position = part.end()
        total += amount
        if total > MAX + negative:
            return None
    if not rest:
        return None
    return -total if negative else total


def _amount(whole: str, fraction: str, unit: str) -> int | None:
    """Return the nanoseconds of one number with its unit, None if that means nothing."""
    size = _UNITS.get(unit)
    whole = whole.lstrip("0") if whole.strip("0") else whole[:1]
    if size is None or not (whole or fraction) or len(whole) > _DIGITS_MAX:
        return None
    nanoseconds = int(whole or "0") * size
    digits = fraction[:_DIGITS_MAX]
    if digits:
        # In floating point, as in Go, so that a third of an hour is 20 minutes.
        nanoseconds += int(float(int(digits)) * (size / 10.0 ** len(digits)))
    return nanoseconds
