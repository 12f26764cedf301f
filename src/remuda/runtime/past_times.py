"""Past times as people write them: a time of day, a date with a time, or how long ago.

Commands that look back take the same texts, whatever they look at. The present is an argument, so
that nothing here reads a clock.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

from remuda.base.duration import SECOND, parse_duration

_DAY = timedelta(days=1)

_BELOW_MICROSECONDS = re.compile(r"[.,][0-9]{6}([0-9]{1,3})", re.ASCII)


def past_time_ns(text: str, now: datetime, zone: tzinfo | None = None) -> int | None:
    """Return the Unix time in nanoseconds that a text means, None if it means none.

    ``14:05`` is the latest such time, ``2026-01-31T14:05:00Z`` has its own offset, ``15m`` is so
    long ago. A time without an offset is one of a time zone, None: that of the machine, with the
    offset that it has then. ``now``: with an offset. A fraction of a second counts up to nine
    digits. Rules: EXT-115.
    """
    ago = parse_duration(text)
    if ago is not None and ago >= 0:
        return _nanoseconds(now) - ago
    try:
        clock = datetime.fromisoformat(f"{date.min.isoformat()}T{text}")
    except ValueError:
        clock = None
    # The library leaves out the digits after the sixth one.
    digits = _BELOW_MICROSECONDS.search(text)
    rest = int(digits[1].ljust(3, "0")) if digits else 0
    try:
        if clock is not None:
            return _nanoseconds(_latest(clock, now, zone)) + rest
        return _nanoseconds(_zoned(datetime.fromisoformat(text), zone)) + rest
    except (ValueError, OverflowError):
        return None


def _latest(clock: datetime, now: datetime, zone: tzinfo | None) -> datetime:
    """Return the latest time of day that is not after ``now``."""
    today = now.astimezone(clock.tzinfo or zone).date()
    found = _zoned(datetime.combine(today, clock.timetz()), zone)
    if found > now:
        found = _zoned(datetime.combine(today - _DAY, clock.timetz()), zone)
    return found


def _zoned(time: datetime, zone: tzinfo | None) -> datetime:
    """Return a time with an offset."""
    if time.tzinfo is not None:
        return time
    return time.astimezone() if zone is None else time.replace(tzinfo=zone)


def _nanoseconds(time: datetime) -> int:
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * (
        SECOND // 1_000_000
    )
