"""Durations in the form in which Go prints them, which is that of the REST API (REST-71)."""

from __future__ import annotations

from remuda.base.duration import MICROSECOND, MILLISECOND, MINUTE, SECOND


def duration_text(nanoseconds: int) -> str:
    """Return a duration, not negative, as Go prints it: ``1h15m0s``, ``1.5s``, ``500ms``."""
    for unit, name in ((1, "ns"), (MICROSECOND, "\u00b5s"), (MILLISECOND, "ms")):
        if 0 < nanoseconds < 1000 * unit:
            return f"{_decimal(nanoseconds, unit)}{name}"
    minutes, rest = divmod(nanoseconds, MINUTE)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, SECOND)}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _decimal(amount: int, unit: int) -> str:
    """Return ``amount / unit`` in decimal, without zeros at the end; ``unit`` is a power of 10."""
    whole, rest = divmod(amount, unit)
    digits = str(rest + unit)[1:].rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
