"""Truth values, whole numbers and JSON as texts, the way Go reads and writes them.

Settings, tags and queue properties are shared with programs in Go, which take these texts and no
others: no blanks, no ``yes``, no digits but those of ASCII. Durations have a module of their own.
"""

from __future__ import annotations

import re
from typing import Final

_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_FALSE: Final = ("0", "f", "F", "FALSE", "false", "False")

_WHOLE: Final = re.compile(r"([-+]?)([0-9]+)")

# As many as 2^64 has.
_DIGITS_MAX: Final = 20


def escape_json(text: bytes) -> bytes:
    """Return JSON with ``<>&`` escaped; outside of strings there are none. Rules: REST-11."""
    for plain, escaped in ((b"&", b"\\u0026"), (b"<", b"\\u003c"), (b">", b"\\u003e")):
        text = text.replace(plain, escaped)
    return text


def parse_bool(text: str) -> bool | None:
    """Return the truth value a word stands for, None if it is none.

    Rules: EVT-106, PLC-70, UGR-27.
    """
    if text in _TRUE:
        return True
    return False if text in _FALSE else None


def parse_uint64(text: str) -> int | None:
    """Return an unsigned 64-bit number in decimal digits, without sign; None if it is none.

    Rules: EVT-106, PRP-1, PLC-85.
    """
    number = None if text[:1] in ("+", "-") else parse_whole(text)
    return number if number is not None and number < 2**64 else None


def parse_int32(text: str) -> int | None:
    """Return a 32-bit number in decimal digits with an optional sign; None if it is none.

    Rules: PRP-1, QUE-18, KV-3.
    """
    number = parse_whole(text)
    return number if number is not None and -(2**31) <= number < 2**31 else None


def parse_whole(text: str) -> int | None:
    """Return a number from decimal digits with an optional sign; None if the text is no number.

    A number beyond 64 bits is cut to one that is still beyond 64 bits. Rules: KV-2.
    """
    parts = _WHOLE.fullmatch(text)
    if parts is None:
        return None
    sign, digits = parts.groups()
    number = int(digits.lstrip("0")[: _DIGITS_MAX + 1] or "0")
    return -number if sign == "-" else number
