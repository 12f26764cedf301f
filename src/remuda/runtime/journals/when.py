"""Moments as people write them: the number of an input, a time, or how long ago."""

from __future__ import annotations

from datetime import datetime, tzinfo

from remuda.base.errors import UsageError
from remuda.runtime.journals.past import Until
from remuda.runtime.past_times import past_time_ns

_FORMS = (
    "an input's number, a time such as 14:05 or 2026-01-31T14:05:00Z, or 15m for 15 minutes ago"
)


def parse_when(text: str, now: datetime, where: str, zone: tzinfo | None = None) -> Until:
    """Return the moment that a text means.

    A time without an offset is one of a time zone, None: that of the machine. A time without a date
    is the latest such time. Raises: UsageError that begins with ``where``. Rules: EXT-49.
    """
    if text.isascii() and text.isdigit():
        if len(text) > 18:
            raise UsageError(f"{where} {text:.40}: no journal has so many inputs")
        return Until(int(text))
    found = past_time_ns(text, now, zone)
    if found is None:
        raise UsageError(f"{where} {text!r:.80} is no moment; write {_FORMS}")
    return Until(now_ns=found)
